/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles the conditions of --name and --user, and applies them to a process in /proc. */
#include "privilege/target_filter.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quantity.h"

/* --- globs --------------------------------------------------------------------------------------- */

static void glob_accept(struct target_glob *g, unsigned position, unsigned first, unsigned last)
{
	unsigned byte;

	for (byte = first; byte <= last; byte++)
		g->next[byte] |= 1ull << position;
}

/* Reads the character of a set, which may be escaped. */
static unsigned char glob_set_char(const char **at)
{
	if (**at == '\\' && (*at)[1])
		(*at)++;
	return (unsigned char)*(*at)++;
}

/* Compiles [...], and returns where it ends; a [ without ] stands for itself. */
static const char *glob_add_set(struct target_glob *g, unsigned position, const char *set)
{
	const char *at = set + 1, *first;
	bool negated = *at == '!' || *at == '^';
	unsigned byte;

	at += negated;
	for (first = at; *at && (*at != ']' || at == first);) {
		unsigned char from = glob_set_char(&at), to = from;

		if (*at == '-' && at[1] && at[1] != ']') {
			at++;
			to = glob_set_char(&at);
		}
		glob_accept(g, position, from, to);
	}
	if (!*at) {
		for (byte = 0; byte < 256; byte++)
			g->next[byte] &= ~(1ull << position);
		glob_accept(g, position, '[', '[');
		return set + 1;
	}
	for (byte = 0; negated && byte < 256; byte++)
		g->next[byte] ^= 1ull << position;
	return at + 1;
}

static const char *glob_compile(struct target_glob *g, const char *text)
{
	unsigned position = 0;

	memset(g, 0, sizeof(*g));
	g->is_path = strchr(text, '/') != NULL;
	while (*text) {
		if (*text == '*') {
			g->stays |= 1ull << position;
			text++;
			continue;
		}
		if (position == TARGET_POSITIONS)
			return "it is longer than 63 characters";
		if (*text == '?') {
			glob_accept(g, position, 1, 255);
			text++;
		} else if (*text == '[') {
			if (strstr(text, "[:") || strstr(text, "[=") || strstr(text, "[."))
				return "classes such as [:alpha:] are not supported";
			text = glob_add_set(g, position, text);
		} else {
			text += *text == '\\' && text[1];
			glob_accept(g, position, (unsigned char)*text, (unsigned char)*text);
			text++;
		}
		position++;
	}
	g->final = 1ull << position;
	return NULL;
}

bool target_glob_matches(const struct target_glob *g, const char *text)
{
	uint64_t positions = 1;
	unsigned i;

	for (i = 0; i < TARGET_TEXT - 1 && text[i]; i++)
		positions = target_glob_step(g, positions, (unsigned char)text[i]);
	return positions & g->final;
}

/* --- conditions ---------------------------------------------------------------------------------- */

const char *target_filter_add_name(struct target_filter *f, const char *glob)
{
	const char *why;

	if (!*glob)
		return "it is empty";
	if (f->n_globs == TARGET_GLOBS)
		return "there are eight already";
	why = glob_compile(&f->globs[f->n_globs], glob);
	f->n_globs += !why;
	return why;
}

const char *target_filter_add_user(struct target_filter *f, const char *user)
{
	const struct passwd *entry;
	uint64_t uid;

	if (f->n_users == TARGET_USERS)
		return "there are sixteen already";
	if (!parse_integer(user, 0, UINT32_MAX - 1, &uid)) {
		entry = getpwnam(user);
		if (!entry)
			return "there is no such user";
		uid = entry->pw_uid;
	}
	f->users[f->n_users++] = (uint32_t)uid;
	return NULL;
}

bool target_filter_is_empty(const struct target_filter *f)
{
	return !f->n_globs && !f->n_users;
}

/* --- processes ----------------------------------------------------------------------------------- */

static bool any_glob_matches(const struct target_filter *f, const char *text, bool is_path)
{
	unsigned i;

	for (i = 0; i < f->n_globs; i++) {
		if ((f->globs[i].is_path != 0) == is_path &&
		    target_glob_matches(&f->globs[i], text))
			return true;
	}
	return false;
}

static bool process_has_name(const struct target_filter *f, int directory)
{
	char comm[64], path[PATH_MAX], *at;
	int fd = openat(directory, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, comm, sizeof(comm) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		comm[n - (comm[n - 1] == '\n')] = '\0';
		if (any_glob_matches(f, comm, false))
			return true;
	}
	n = readlinkat(directory, "exe", path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	/* The kernel adds this to the path of a file that was deleted or replaced. */
	at = strstr(path, " (deleted)");
	if (at && !at[10])
		*at = '\0';
	at = strrchr(path, '/');
	return any_glob_matches(f, at ? at + 1 : path, false) || any_glob_matches(f, path, true);
}

/* The directory belongs to the effective user, but to root if the process is not dumpable. */
static bool process_has_user(const struct target_filter *f, int directory)
{
	struct stat st;
	unsigned i;

	if (fstat(directory, &st))
		return false;
	for (i = 0; i < f->n_users; i++) {
		if (f->users[i] == st.st_uid)
			return true;
	}
	return false;
}

bool target_filter_matches(const struct target_filter *f, int directory)
{
	return !target_filter_is_empty(f) && (!f->n_users || process_has_user(f, directory)) &&
	       (!f->n_globs || process_has_name(f, directory));
}
