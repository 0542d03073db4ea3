/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -D: what is recorded of the domains and categories there are. GLOB means domains, GLOB/GLOB the marks
 * of domains that have such a category. A mark is asked for when nothing that excludes fits it, and,
 * where there is anything that includes, some of that does.
 *
 * Domains have switches: those that nobody asked for are not attached to. Which categories a marker has
 * is only seen when it is hit: where they matter, a domain is attached to for its marks with categories
 * alone, and here, where their names are known, those that nobody asked for are left out. The END of a
 * slice carries none: so the levels of slices that are left out are remembered.
 */
#include "capture/internal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Whether the glob fits one of the names between commas. */
static bool fits_one(const char *glob, const char *names)
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

/* Whether what stands before the slash fits the domain; then *ret_category is what stands behind. */
static bool fits_before_slash(const char *glob, const char *domain, const char **ret_category)
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

static bool fits(const char *glob, const char *domain, const char *categories)
{
	const char *category;

	return !fnmatch(glob, domain, 0) ||
	       (fits_before_slash(glob, domain, &category) && fits_one(category, categories));
}

/* Whether marks of this domain with these categories are asked for. */
static bool asked_for(const struct capture *c, const char *domain, const char *categories)
{
	bool included = false, any = false;
	unsigned i;

	for (i = 0; i < c->options.n_domains; i++) {
		const char *glob = c->options.domains[i];

		if (glob[0] != '!') {
			any = true;
			included |= fits(glob, domain, categories);
		} else if (fits(glob + 1, domain, categories) || fits_one(glob + 1, categories)) {
			return false;
		}
	}
	return included || !any;
}

enum selection selection_of(const struct capture *c, const char *domain)
{
	const char *category;
	unsigned i;

	if (asked_for(c, domain, ""))
		return SELECTED;
	for (i = 0; i < c->options.n_domains; i++) {
		const char *glob = c->options.domains[i];

		if (glob[0] == '!' && !fnmatch(glob + 1, domain, 0))
			return NOT_SELECTED;
	}
	for (i = 0; i < c->options.n_domains; i++) {
		const char *glob = c->options.domains[i];

		if (glob[0] != '!' && fits_before_slash(glob, domain, &category))
			return SELECTED_CATEGORIES;
	}
	return NOT_SELECTED;
}

struct left_out_thread {
	uint32_t tid;
	uint64_t levels; /* a bit for each slice that is left out */
	UT_hash_handle hh;
};

static bool end_left_out(struct capture *c, const struct event *e)
{
	struct left_out_thread *thread;

	HASH_FIND(hh, c->left_out, &e->tid, sizeof(e->tid), thread);
	return thread && e->level >= 0 && e->level < MAX_NESTING && thread->levels >> e->level & 1;
}

static void remember(struct capture *c, const struct event *e, bool left_out)
{
	struct left_out_thread *thread;
	uint64_t level;

	if (e->level < 0 || e->level >= MAX_NESTING)
		return;
	level = 1ull << e->level;
	HASH_FIND(hh, c->left_out, &e->tid, sizeof(e->tid), thread);
	if (!thread && left_out) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return;
		thread->tid = e->tid;
		HASH_ADD(hh, c->left_out, tid, sizeof(thread->tid), thread);
	}
	if (thread)
		thread->levels = left_out ? thread->levels | level : thread->levels & ~level;
}

/* Asked for each mark: what was found out of a few categories is kept. */
bool selection_takes_category(struct capture *c, const struct name *domain,
			      const struct name *category)
{
	struct decision *d;

	/* Those of the domain alone have been decided on when it was attached to. */
	if (!domain || !category || category == domain)
		return true;
	d = &c->decisions[category->id % DECISIONS];
	if (d->category != category) {
		d->category = category;
		d->taken = asked_for(c, domain->text, category->text + domain->length + 1);
	}
	return d->taken;
}

bool selection_takes(struct capture *c, const struct name *domain, const struct event *e)
{
	bool taken;

	if (e->kind == EVENT_END)
		return !c->left_out || !end_left_out(c, e);
	taken = selection_takes_category(c, domain, e->category);
	if (e->kind == EVENT_BEGIN && (!taken || c->left_out))
		remember(c, e, !taken);
	return taken;
}

void selection_forget(struct capture *c, uint32_t tid)
{
	struct left_out_thread *thread;

	if (!c->left_out)
		return;
	HASH_FIND(hh, c->left_out, &tid, sizeof(tid), thread);
	if (!thread)
		return;
	HASH_DEL(c->left_out, thread);
	free(thread);
}

void selection_free(struct capture *c)
{
	struct left_out_thread *thread, *next;

	HASH_ITER (hh, c->left_out, thread, next) {
		HASH_DEL(c->left_out, thread);
		free(thread);
	}
}
