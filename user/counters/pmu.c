/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events by the kernel's own names: cpu/event=0x3c,umask=0x1/. /sys/bus/event_source/devices has a
 * folder for each PMU. Its `format` has a file for each term, which says which bits of
 * perf_event_attr the term is; its `events` has a file with terms for each named event.
 */
#include "counters/counters.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 256

static bool is_pmu_name(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("_-.", text[i]))
			return false;
	}
	return i && text[0] != '.';
}

/* The first line of a small file. */
static int read_sysfs_line(const char *directory, const char *kind, const char *name,
			   char out[TEXT_SIZE])
{
	char path[3 * TEXT_SIZE];
	FILE *file;
	int error = 0;

	snprintf(path, sizeof(path), "%s%s%s/%s", directory, kind[0] ? "/" : "", kind, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (!fgets(out, TEXT_SIZE, file))
		error = -EINVAL;
	else
		out[strcspn(out, "\n")] = '\0';
	fclose(file);
	return error;
}

/* Lists the names in a directory, for a hint. */
static void append_directory_names(char *out, size_t size, const char *directory, const char *kind)
{
	char path[2 * TEXT_SIZE];
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

static int refuse_pmu_name(struct failure *f, const char *what, const char *object,
			   const char *directory, bool terms)
{
	char names[384] = "";

	failure_set(f, -ENOENT, what, object, "");
	if (terms)
		append_directory_names(names, sizeof(names), directory, "format");
	append_directory_names(names, sizeof(names), directory, terms ? "events" : "");
	if (names[0])
		failure_hint(f, "available: %s", names);
	return -ENOENT;
}

static uint64_t *pmu_config_field(struct perf_event_attr *attr, const char *text, size_t n)
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
static int set_config_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	size_t n = strcspn(format, ":");
	uint64_t *field = pmu_config_field(attr, format, n);
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

static int apply_pmu_terms(const char *directory, char *terms, struct perf_event_attr *attr,
			   bool in_event, struct failure *f);

static int apply_pmu_term(const char *directory, char *term, struct perf_event_attr *attr,
			  bool in_event, struct failure *f)
{
	char *value_text = strchr(term, '='), *end, text[TEXT_SIZE];
	uint64_t value = 1, *field;
	int error;

	if (value_text) {
		*value_text++ = '\0';
		errno = 0;
		value = strtoull(value_text, &end, 0);
		if (!isdigit((unsigned char)value_text[0]) || *end || errno)
			return failure_set(f, -EINVAL, "cannot count", term,
					   "its value is not a number");
	}
	if (!is_pmu_name(term))
		return failure_set(f, -EINVAL, "cannot count", term, "this is not a term");
	field = pmu_config_field(attr, term, strlen(term));
	if (field && value_text) {
		*field = value;
		return 0;
	}
	if (!value_text && !in_event && !read_sysfs_line(directory, "events", term, text))
		return apply_pmu_terms(directory, text, attr, true, f);
	if (read_sysfs_line(directory, "format", term, text))
		return refuse_pmu_name(f, "no such term of the PMU", term, directory, true);
	error = set_config_bits(attr, text, value);
	return error ? failure_set(f, error, "cannot count", term,
				   error == -ERANGE ? "its value is too large" : text)
		     : 0;
}

static int apply_pmu_terms(const char *directory, char *terms, struct perf_event_attr *attr,
			   bool in_event, struct failure *f)
{
	char *term, *rest = terms;
	int error = 0;

	while (!error && (term = strsep(&rest, ",")))
		error = apply_pmu_term(directory, term, attr, in_event, f);
	return error;
}

int pmu_encode(const char *devices, const char *pmu, const char *terms,
	       struct perf_event_attr *attr, struct failure *f)
{
	char directory[2 * TEXT_SIZE], text[TEXT_SIZE], copy[TEXT_SIZE];
	char *end;

	if (!is_pmu_name(pmu))
		return failure_set(f, -EINVAL, "no such PMU", pmu, "");
	snprintf(directory, sizeof(directory), "%s/%.*s", devices, TEXT_SIZE - 1, pmu);
	if (read_sysfs_line(directory, "", "type", text))
		return refuse_pmu_name(f, "no such PMU", pmu, devices, false);
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = (uint32_t)strtoul(text, &end, 10);
	if (end == text || *end)
		return failure_set(f, -EINVAL, "no such PMU", pmu, text);
	if (snprintf(copy, sizeof(copy), "%s", terms) >= (int)sizeof(copy))
		return failure_set(f, -EINVAL, "cannot count", pmu, "too many terms");
	return apply_pmu_terms(directory, copy, attr, false, f);
}

/* Names with a dot (.unit, .scale) are not events but describe one. */
static void each_pmu_event(const char *devices, const char *pmu,
			   void (*each)(void *context, const char *name, const char *text),
			   void *context)
{
	char path[3 * TEXT_SIZE], name[4 * TEXT_SIZE], text[TEXT_SIZE];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%.255s", devices, pmu);
	snprintf(name, sizeof(name), "%s/events", path);
	dir = opendir(name);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strchr(entry->d_name, '.') ||
		    read_sysfs_line(path, "events", entry->d_name, text))
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
		if (is_pmu_name(entry->d_name))
			each_pmu_event(devices, entry->d_name, each, context);
	}
	closedir(dir);
}

static enum pmu_scope read_pmu_scope(const char *directory, const char *pmu)
{
	char text[TEXT_SIZE];

	if (!strcmp(pmu, "msr") || !read_sysfs_line(directory, "", "cpus", text))
		return PMU_OF_CPUS;
	return read_sysfs_line(directory, "", "cpumask", text) ? PMU_OF_OTHERS : PMU_OF_MACHINE;
}

/* Those of cores list their `cpus`, where there are several kinds of them; those of the machine say which CPU asks them. */
enum pmu_scope pmu_find_scope(const char *devices, uint32_t type)
{
	char directory[2 * TEXT_SIZE], text[TEXT_SIZE];
	enum pmu_scope scope = PMU_OF_OTHERS;
	struct dirent *entry;
	DIR *dir = opendir(devices);

	while (dir && scope == PMU_OF_OTHERS && (entry = readdir(dir))) {
		snprintf(directory, sizeof(directory), "%s/%.255s", devices, entry->d_name);
		if (is_pmu_name(entry->d_name) && !read_sysfs_line(directory, "", "type", text) &&
		    strtoul(text, NULL, 10) == type)
			scope = read_pmu_scope(directory, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return scope;
}
