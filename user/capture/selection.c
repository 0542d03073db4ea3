/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selecting domains and categories (-D). GLOB selects domains, GLOB/GLOB the marks of domains that
 * have such a category. A mark is selected if no excluding glob matches and, if there are including
 * globs, one of them matches.
 *
 * Domains have semaphores, so a domain that is not selected is not attached to. The categories of a
 * marker are only known when it is hit. If they matter, only the domain's marks with categories are
 * sent by the kernel. Here their names are known, and those that are not selected are left out. An
 * END carries no categories, so the levels of slices that are left out are remembered.
 *
 * Domains that are made at run time share the probe sites of one domain. Which of them a mark belongs to is known
 * when it is hit as well: it is the first of its categories.
 */
#include "capture/internal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Whether the glob matches one of the names in a list with commas. */
static bool glob_matches_listed(const char *glob, const char *names)
{
	char name[2 * MAX_NAME + 2];

	while (*names) {
		size_t n = strcspn(names, ",");

		if (n < sizeof(name)) {
			memcpy(name, names, n);
			name[n] = '\0';
			if (!fnmatch(glob, name, 0))
				return true;
		}
		names += n + (names[n] == ',');
	}
	return false;
}

/*
 * Whether the part before the slash matches the domain; *ret_category is then the part behind it.
 */
static bool glob_matches_domain_part(const char *glob, const char *domain,
				     const char **ret_category)
{
	const char *slash = strchr(glob, '/');
	char before[2 * MAX_NAME + 2];

	if (!slash || (size_t)(slash - glob) >= sizeof(before))
		return false;
	memcpy(before, glob, (size_t)(slash - glob));
	before[slash - glob] = '\0';
	*ret_category = slash + 1;
	return !fnmatch(before, domain, 0);
}

static bool selection_glob_matches(const char *glob, const char *domain, const char *categories)
{
	const char *category;

	return !fnmatch(glob, domain, 0) || (glob_matches_domain_part(glob, domain, &category) &&
					     glob_matches_listed(category, categories));
}

/* Whether marks of this domain with these categories are selected. */
static bool marks_are_selected(const struct capture *c, const char *domain, const char *categories)
{
	bool included = false, any = false;

	for (unsigned i = 0; i < c->options.n_domains; i++) {
		const char *glob = c->options.domains[i];

		if (glob[0] != '!') {
			any = true;
			included |= selection_glob_matches(glob, domain, categories);
		} else if (selection_glob_matches(glob + 1, domain, categories) ||
			   glob_matches_listed(glob + 1, categories)) {
			return false;
		}
	}
	return included || !any;
}

enum selection selection_of(const struct capture *c, const char *domain)
{
	const char *category;

	if (strcmp(domain, MARKER_RUNTIME_DOMAIN) == 0)
		return c->options.n_domains ? SELECTED_CATEGORIES : SELECTED;
	if (marks_are_selected(c, domain, ""))
		return SELECTED;
	for (unsigned i = 0; i < c->options.n_domains; i++) {
		const char *glob = c->options.domains[i];

		if (glob[0] == '!' && !fnmatch(glob + 1, domain, 0))
			return NOT_SELECTED;
	}
	for (unsigned i = 0; i < c->options.n_domains; i++) {
		const char *glob = c->options.domains[i];

		if (glob[0] != '!' && glob_matches_domain_part(glob, domain, &category))
			return SELECTED_CATEGORIES;
	}
	return NOT_SELECTED;
}

struct left_out_thread {
	uint32_t tid;
	uint64_t levels; /* one bit for each slice that is left out */
	UT_hash_handle hh;
};

static bool end_is_left_out(struct capture *c, const struct event *e)
{
	struct left_out_thread *thread;

	HASH_FIND(hh, c->selection.threads, &e->tid, sizeof(e->tid), thread);
	return thread && e->level >= 0 && e->level < MAX_NESTING && thread->levels >> e->level & 1;
}

static void set_level_left_out(struct capture *c, const struct event *e, bool left_out)
{
	struct left_out_thread *thread;
	uint64_t level;

	if (e->level < 0 || e->level >= MAX_NESTING)
		return;
	level = 1ull << e->level;
	HASH_FIND(hh, c->selection.threads, &e->tid, sizeof(e->tid), thread);
	if (!thread && left_out) {
		thread = hash_add_new(hh, c->selection.threads, tid, e->tid);
		if (!thread)
			return;
	}
	if (thread)
		thread->levels = left_out ? thread->levels | level : thread->levels & ~level;
}

/* Splits the first category from the others, which stay behind it. */
static bool runtime_marks_are_selected(const struct capture *c, const struct name *category)
{
	char domain[2 * MAX_NAME + 2];
	size_t n = strcspn(category->text, ",");

	if (n >= sizeof(domain))
		return false;
	memcpy(domain, category->text, n);
	domain[n] = '\0';
	return marks_are_selected(c, domain, category->text + n + (category->text[n] == ','));
}

/* Called for each mark, so results are cached for some categories. */
bool selection_includes_category(struct capture *c, const struct name *domain,
				 const struct name *category)
{
	struct decision *d;

	/* The domain itself was checked before it was attached to. */
	if (!domain || !category || category == domain)
		return true;
	d = &c->selection.decisions[category->id % DECISIONS];
	if (d->category != category) {
		d->category = category;
		d->selected = is_runtime_domain(domain)
				      ? runtime_marks_are_selected(c, category)
				      : marks_are_selected(c, domain->text,
							   category->text + domain->length + 1);
	}
	return d->selected;
}

bool selection_includes(struct capture *c, const struct name *domain, const struct event *e)
{
	bool selected;

	if (e->kind == EVENT_END)
		return !c->selection.threads || !end_is_left_out(c, e);
	selected = selection_includes_category(c, domain, e->category);
	if (e->kind == EVENT_BEGIN && (!selected || c->selection.threads))
		set_level_left_out(c, e, !selected);
	return selected;
}

void selection_forget(struct capture *c, uint32_t tid)
{
	struct left_out_thread *thread;

	if (!c->selection.threads)
		return;
	HASH_FIND(hh, c->selection.threads, &tid, sizeof(tid), thread);
	if (!thread)
		return;
	HASH_DEL(c->selection.threads, thread);
	free(thread);
}

void selection_free(struct capture *c)
{
	hash_clear(hh, c->selection.threads, thread);
}
