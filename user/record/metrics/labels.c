/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the labels of a process from its directory in /proc, once. */
#include "record/metrics/labels.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/target_filter.h"
#include "timeline/names.h"

enum {
	REMEMBERED = 4096, /* processes; of those with the same low bits the latest */
	OTHER = 0,	   /* of rows that belong to no process, too */
	LONGEST = 1024,
};

struct labels {
	struct names *names;
	const struct name *sets[LABEL_SETS + 1];
	unsigned n; /* beside (other) */
	uint64_t beyond;
	struct {
		uint32_t pid, number;
	} remembered[REMEMBERED];
};

struct labels *labels_new(struct names *names)
{
	struct labels *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->names = names;
	l->sets[OTHER] = names_intern_string(names, "(other)/(other)/(other)");
	return l;
}

void labels_free(struct labels *l)
{
	free(l);
}

/* False: the process has exited. */
static bool labels_read_process(uint32_t pid, char *text, size_t size)
{
	char path[32], comm[64], unit[TARGET_LABEL], container[TARGET_LABEL];
	int directory, fd;
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = directory < 0 ? -1 : openat(directory, "comm", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, comm, sizeof(comm) - 1);
		close(fd);
	}
	if (n > 0) {
		comm[n] = '\0';
		comm[strcspn(comm, "\n")] = '\0';
		target_labels(directory, unit, container);
		snprintf(text, size, "%s/%s/%s", unit, container, comm);
	}
	if (directory >= 0)
		close(directory);
	return n > 0;
}

static uint32_t labels_find(struct labels *l, uint32_t pid)
{
	const struct name *name;
	char text[LONGEST];

	if (!labels_read_process(pid, text, sizeof(text)))
		return OTHER;
	name = names_intern(l->names, text, strlen(text), sizeof(text));
	for (unsigned i = OTHER + 1; i <= l->n; i++) {
		if (l->sets[i] == name)
			return i;
	}
	if (l->n == LABEL_SETS)
		return OTHER;
	l->sets[++l->n] = name;
	return l->n;
}

uint32_t labels_of(struct labels *l, uint32_t pid)
{
	if (l->remembered[pid % REMEMBERED].pid != pid) {
		l->remembered[pid % REMEMBERED].pid = pid;
		l->remembered[pid % REMEMBERED].number = labels_find(l, pid);
		l->beyond += l->remembered[pid % REMEMBERED].number == OTHER;
	}
	return l->remembered[pid % REMEMBERED].number;
}

void labels_forget(struct labels *l, uint32_t pid)
{
	if (l->remembered[pid % REMEMBERED].pid == pid)
		l->remembered[pid % REMEMBERED].pid = 0;
}

const struct name *labels_text(const struct labels *l, uint32_t number)
{
	return l->sets[number <= l->n ? number : OTHER];
}

uint64_t labels_beyond(const struct labels *l)
{
	return l->beyond;
}
