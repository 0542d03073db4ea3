/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the labels of a process from its directory in /proc, once. What a process can do as often as it likes, such as
 * naming itself, does not make the recorder read again: that takes 13 us each time.
 */
#include "record/metrics/labels.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "privilege/target_filter.h"
#include "timeline/names.h"

enum {
	RECENT =
		4096, /* processes that are found at once; of those with the same low bits the latest */
	REMEMBERED = 65536, /* then all are read again */
	OTHER = 0,	    /* of rows that belong to no process, too */
	LONGEST = 1024,
};

struct labelled {
	uint32_t pid, number;
	const struct name *place; /* unit and container; NULL: it had exited */
	bool was_counted;	  /* in `beyond` */
	UT_hash_handle hh;
};

struct labels {
	struct names *names;
	const struct name *sets[LABEL_SETS + 1];
	unsigned n; /* beside (other) */
	uint64_t beyond;
	struct labelled *remembered, *recent[RECENT];
};

struct labels *labels_new(struct names *names)
{
	struct labels *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->names = names;
	l->sets[OTHER] = names_intern_string(names, "(other) (other) (other)");
	return l;
}

static void labels_clear(struct labels *l)
{
	memset(l->recent, 0, sizeof(l->recent));
	hash_clear(hh, l->remembered, p);
}

void labels_free(struct labels *l)
{
	if (!l)
		return;
	labels_clear(l);
	free(l);
}

/* False: the process has exited. */
static bool labels_read_process(uint32_t pid, char *place, size_t size, char comm[64])
{
	char path[32], unit[TARGET_LABEL], container[TARGET_LABEL];
	int directory, fd;
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = directory < 0 ? -1 : openat(directory, "comm", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, comm, 63);
		close(fd);
	}
	if (n > 0) {
		comm[n - (comm[n - 1] == '\n')] = '\0';
		target_labels(directory, unit, container);
		snprintf(place, size, "%s %s ", unit, container);
	}
	if (directory >= 0)
		close(directory);
	return n > 0;
}

static uint32_t labels_number(struct labels *l, const struct name *place, const char *comm)
{
	const struct name *name;
	char text[LONGEST];

	snprintf(text, sizeof(text), "%s%s", place->text, comm);
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

/* Each process once, however often it changes its name. */
static void labels_count(struct labels *l, struct labelled *p)
{
	if (p->number != OTHER || p->was_counted)
		return;
	p->was_counted = true;
	l->beyond++;
}

static struct labelled *labels_remember(struct labels *l, uint32_t pid)
{
	char place[LONGEST], comm[64];
	struct labelled *p;

	if (HASH_COUNT(l->remembered) >= REMEMBERED)
		labels_clear(l);
	p = hash_add_new(hh, l->remembered, pid, pid);
	if (!p)
		return NULL;
	if (labels_read_process(pid, place, sizeof(place), comm)) {
		p->place = names_intern(l->names, place, strlen(place), sizeof(place));
		p->number = labels_number(l, p->place, comm);
	}
	labels_count(l, p);
	return p;
}

static struct labelled *labels_find(const struct labels *l, uint32_t pid)
{
	struct labelled *p = l->recent[pid % RECENT];

	if (!p || p->pid != pid)
		HASH_FIND(hh, l->remembered, &pid, sizeof(pid), p);
	return p;
}

uint32_t labels_of(struct labels *l, uint32_t pid)
{
	struct labelled *p = labels_find(l, pid) ?: labels_remember(l, pid);

	l->recent[pid % RECENT] = p;
	return p ? p->number : OTHER;
}

void labels_forget(struct labels *l, uint32_t pid)
{
	struct labelled *p = labels_find(l, pid);

	if (!p)
		return;
	if (l->recent[pid % RECENT] == p)
		l->recent[pid % RECENT] = NULL;
	HASH_DEL(l->remembered, p);
	free(p);
}

void labels_rename(struct labels *l, uint32_t pid, const char *comm)
{
	struct labelled *p = labels_find(l, pid);

	if (!p || !p->place)
		return;
	p->number = labels_number(l, p->place, comm);
	labels_count(l, p);
}

const struct name *labels_text(const struct labels *l, uint32_t number)
{
	return l->sets[number <= l->n ? number : OTHER];
}

uint64_t labels_beyond(const struct labels *l)
{
	return l->beyond;
}
