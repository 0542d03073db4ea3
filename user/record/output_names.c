/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of files with {fields}, which are replaced by properties of the target, the machine and the
 * training step. Each path is used once in a recording.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/record.h"
#include "base/hash.h"

/* A path that was used, and the next number to try. */
struct used_path {
	UT_hash_handle hh;
	uint64_t next;
	char path[];
};

struct output_names {
	struct used_path *used;
	char rank[24];
	char host[64 + 1];
	pid_t pid;
};

static const char *const fields[] = {
	"epoch", "batch", "cycle", "rank", "pid", "host", "time", "n"
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Which field begins at the brace, or -1. */
static int field_at(const char *brace, size_t *ret_length)
{
	const char *end = strchr(brace, '}');

	if (!end)
		return -1;
	*ret_length = end - brace + 1;
	for (unsigned i = 0; i < N_FIELDS; i++) {
		if (strlen(fields[i]) == *ret_length - 2 &&
		    !strncmp(brace + 1, fields[i], *ret_length - 2))
			return (int)i;
	}
	return -1;
}

int output_name_check(const char *name)
{
	const char *at;
	size_t length;

	for (at = strchr(name, '{'); at; at = strchr(at + length, '{')) {
		if (field_at(at, &length) < 0)
			return (int)(at - name);
	}
	return -1;
}

/* A word from the target must not choose the directory, neither by slashes nor as "." or "..". */
static void put_word(char *out, size_t size, const char *word)
{
	snprintf(out, size, "%s", word);
	if (*out == '.')
		*out = '_';
	for (; *out; out++) {
		if (*out == '/' || (unsigned char)*out <= ' ' || (unsigned char)*out >= 0x7f)
			*out = '_';
	}
}

struct output_names *output_names_new(const char *rank, const char *host, pid_t pid)
{
	struct output_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	put_word(names->rank, sizeof(names->rank), rank);
	put_word(names->host, sizeof(names->host), host);
	names->pid = pid;
	return names;
}

void output_names_free(struct output_names *names)
{
	if (!names)
		return;
	hash_clear(hh, names->used, used);
	free(names);
}

static void put_field(const struct output_names *names, FILE *out, int field, uint64_t set,
		      const struct output_fields *values)
{
	unsigned long long number;
	char text[32];
	struct tm utc;
	time_t now;

	switch (field) {
	case 0:
		number = values->has_step ? values->epoch : 0;
		break;
	case 1:
		number = values->has_step ? values->batch : 0;
		break;
	case 2:
		number = values->cycle;
		break;
	case 3:
		fputs(names->rank, out);
		return;
	case 4:
		number = (unsigned long long)names->pid;
		break;
	case 5:
		fputs(names->host, out);
		return;
	case 6:
		now = time(NULL);
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
		fputs(text, out);
		return;
	default:
		number = set;
	}
	fprintf(out, "%llu", number);
}

static char *expand(const struct output_names *names, const char *name, uint64_t set,
		    const struct output_fields *values)
{
	char *text = NULL;
	size_t size, length;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	while (*name) {
		int field = *name == '{' ? field_at(name, &length) : -1;

		if (field < 0) {
			fputc(*name++, out);
			continue;
		}
		put_field(names, out, field, set, values);
		name += length;
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The length of the name without the ending that selects the format. A "-2" goes there. */
static size_t stem_of(const char *name)
{
	static const char *const endings[] = { ".pftrace", ".json", ".json.gz" };
	size_t i, n = strlen(name);

	for (i = 0; i < 3; i++) {
		size_t m = strlen(endings[i]);

		if (n > m && !strcmp(name + n - m, endings[i]))
			return n - m;
	}
	return n;
}

static char *numbered(const char *name, uint64_t number)
{
	size_t stem = stem_of(name);
	char *text;

	if (number < 2)
		return strdup(name);
	if (asprintf(&text, "%.*s-%llu%s", (int)stem, name, (unsigned long long)number,
		     name + stem) < 0)
		return NULL;
	return text;
}

/* Whether any of the paths is used. */
static bool is_used(const struct output_names *names, const char *name, const char *const *suffixes,
		    unsigned n)
{
	struct used_path *used;

	for (unsigned i = 0; i < n; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s%s", name, suffixes[i]);
		HASH_FIND_STR(names->used, path, used);
		if (used)
			return true;
	}
	return false;
}

static struct used_path *use(struct output_names *names, const char *name, const char *suffix)
{
	size_t n = strlen(name) + strlen(suffix) + 1;
	struct used_path *used = calloc(1, sizeof(*used) + n);

	if (!used)
		return NULL;
	snprintf(used->path, n, "%s%s", name, suffix);
	used->next = 2;
	HASH_ADD_STR(names->used, path, used);
	if (hash_added(hh, used))
		return used;
	free(used);
	return NULL;
}

char *output_name_next(struct output_names *names, const char *name, const char *const *suffixes,
		       unsigned n_suffixes, uint64_t set, const struct output_fields *values)
{
	char *plain = expand(names, name, set, values), *text = NULL, path[PATH_MAX];
	struct used_path *first;
	uint64_t number = 1;

	if (!plain)
		return NULL;
	snprintf(path, sizeof(path), "%s%s", plain, suffixes[0]);
	HASH_FIND_STR(names->used, path, first);
	if (first)
		number = first->next;
	for (;; number++) {
		text = numbered(plain, number);
		if (!text || !is_used(names, text, suffixes, n_suffixes))
			break;
		free(text);
	}
	if (first)
		first->next = number + 1;
	for (unsigned i = 0; text && i < n_suffixes; i++) {
		if (!use(names, text, suffixes[i])) {
			free(text);
			text = NULL;
		}
	}
	free(plain);
	return text;
}

void output_name_forget(struct output_names *names, const char *path)
{
	struct used_path *used;

	HASH_FIND_STR(names->used, path, used);
	/* Numbers after it go on where they are. */
	if (!used || used->next > 2)
		return;
	HASH_DEL(names->used, used);
	free(used);
}
