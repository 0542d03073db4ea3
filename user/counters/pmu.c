/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events by the names that the kernel gives to them: cpu/event=0x3c,umask=0x1/. Which terms a PMU has, and
 * which bits each of them is, it says in /sys/bus/event_source/devices: `format` holds a file for each
 * term, `events` one for each event that has a name of its own.
 */
#include "counters/counters.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ROOM 256

static bool is_name(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("_-.", text[i]))
			return false;
	}
	return i && text[0] != '.';
}

/* The first line of a small file. */
static int read_text(const char *directory, const char *kind, const char *name, char out[TEXT_ROOM])
{
	char path[3 * TEXT_ROOM];
	FILE *file;
	int error = 0;

	snprintf(path, sizeof(path), "%s%s%s/%s", directory, kind[0] ? "/" : "", kind, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (!fgets(out, TEXT_ROOM, file))
		error = -EINVAL;
	else
		out[strcspn(out, "\n")] = '\0';
	fclose(file);
	return error;
}

/* What there is in a directory, for a hint. */
static void append_names(char *out, size_t size, const char *directory, const char *kind)
{
	char path[2 * TEXT_ROOM];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s%s", directory, kind[0] ? "/" : "", kind);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		size_t n = strlen(out);

		if (entry->d_name[0] == '.' || strchr(entry->d_name, '.') ||
		    n + strlen(entry->d_name) + 3 > size)
			continue;
		snprintf(out + n, size - n, "%s%s", n ? ", " : "", entry->d_name);
	}
	closedir(dir);
}

static int refuse(struct failure *f, const char *what, const char *object, const char *directory,
		  bool terms)
{
	char names[384] = "";

	failure_set(f, -ENOENT, what, object, "");
	if (terms)
		append_names(names, sizeof(names), directory, "format");
	append_names(names, sizeof(names), directory, terms ? "events" : "");
	if (names[0])
		failure_hint(f, "there are %s", names);
	return -ENOENT;
}

static uint64_t *field_of(struct perf_event_attr *attr, const char *text, size_t n)
{
	if (n == 6 && !strncmp(text, "config", n))
		return (uint64_t *)&attr->config;
	if (n == 7 && !strncmp(text, "config1", n))
		return (uint64_t *)&attr->config1;
	if (n == 7 && !strncmp(text, "config2", n))
		return (uint64_t *)&attr->config2;
	return NULL;
}

/* `format`: config:0-7,32-35. The value's lowest bits go to the first range. */
static int put_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	size_t n = strcspn(format, ":");
	uint64_t *field = field_of(attr, format, n);
	const char *at = format + n;

	if (!field || !*at)
		return -ENOTSUP;
	do {
		char *end;
		unsigned long low = strtoul(at + 1, &end, 10), high = low;
		uint64_t mask;

		if (end == at + 1)
			return -ENOTSUP;
		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (low > high || high > 63)
			return -ENOTSUP;
		mask = high - low == 63 ? UINT64_MAX : (1ull << (high - low + 1)) - 1;
		*field = (*field & ~(mask << low)) | (value & mask) << low;
		value = high - low == 63 ? 0 : value >> (high - low + 1);
		at = end;
	} while (*at == ',');
	if (*at)
		return -ENOTSUP;
	return value ? -ERANGE : 0;
}

static int put_terms(const char *directory, char *terms, struct perf_event_attr *attr,
		     bool in_event, struct failure *f);

static int put_term(const char *directory, char *term, struct perf_event_attr *attr, bool in_event,
		    struct failure *f)
{
	char *value_text = strchr(term, '='), *end, text[TEXT_ROOM];
	uint64_t value = 1, *field;
	int error;

	if (value_text) {
		*value_text++ = '\0';
		errno = 0;
		value = strtoull(value_text, &end, 0);
		if (!isdigit((unsigned char)value_text[0]) || *end || errno)
			return failure_set(f, -EINVAL, "cannot count", term,
					   "its value is no number");
	}
	if (!is_name(term))
		return failure_set(f, -EINVAL, "cannot count", term, "that is no term");
	field = field_of(attr, term, strlen(term));
	if (field && value_text) {
		*field = value;
		return 0;
	}
	if (!value_text && !in_event && !read_text(directory, "events", term, text))
		return put_terms(directory, text, attr, true, f);
	if (read_text(directory, "format", term, text))
		return refuse(f, "no such term of the PMU", term, directory, true);
	error = put_bits(attr, text, value);
	return error ? failure_set(f, error, "cannot count", term,
				   error == -ERANGE ? "its value is too large" : text)
		     : 0;
}

static int put_terms(const char *directory, char *terms, struct perf_event_attr *attr,
		     bool in_event, struct failure *f)
{
	char *term, *rest = terms;
	int error = 0;

	while (!error && (term = strsep(&rest, ",")))
		error = put_term(directory, term, attr, in_event, f);
	return error;
}

int pmu_encode(const char *devices, const char *pmu, const char *terms,
	       struct perf_event_attr *attr, struct failure *f)
{
	char directory[2 * TEXT_ROOM], text[TEXT_ROOM], copy[TEXT_ROOM];
	char *end;

	if (!is_name(pmu))
		return failure_set(f, -EINVAL, "no such PMU", pmu, "");
	snprintf(directory, sizeof(directory), "%s/%.*s", devices, TEXT_ROOM - 1, pmu);
	if (read_text(directory, "", "type", text))
		return refuse(f, "no such PMU", pmu, devices, false);
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = (uint32_t)strtoul(text, &end, 10);
	if (end == text || *end)
		return failure_set(f, -EINVAL, "no such PMU", pmu, text);
	if (snprintf(copy, sizeof(copy), "%s", terms) >= (int)sizeof(copy))
		return failure_set(f, -EINVAL, "cannot count", pmu, "too many terms");
	return put_terms(directory, copy, attr, false, f);
}

/* Files beside the events' own say in which unit they count. */
static void each_event(const char *devices, const char *pmu,
		       void (*each)(void *context, const char *name, const char *text),
		       void *context)
{
	char path[3 * TEXT_ROOM], name[4 * TEXT_ROOM], text[TEXT_ROOM];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%.255s", devices, pmu);
	snprintf(name, sizeof(name), "%s/events", path);
	dir = opendir(name);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strchr(entry->d_name, '.') || read_text(path, "events", entry->d_name, text))
			continue;
		snprintf(name, sizeof(name), "%.200s/%.200s/", pmu, entry->d_name);
		each(context, name, text);
	}
	closedir(dir);
}

void pmu_each(const char *devices, void (*each)(void *context, const char *name, const char *text),
	      void *context)
{
	struct dirent *entry;
	DIR *dir = opendir(devices);

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (is_name(entry->d_name))
			each_event(devices, entry->d_name, each, context);
	}
	closedir(dir);
}
