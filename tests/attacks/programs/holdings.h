/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process has that must not outlive a recording, as root sees it. */
#ifndef HOLDINGS_H
#define HOLDINGS_H

#include <dirent.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum {
	HOLDS_CAPABILITIES = 1,
	HOLDS_DESCRIPTORS = 2, /* of BPF or perf events */
	HOLDS_MAPS = 4,	       /* in its memory */
	HOLDS_GUARD = 8,       /* CAP_BPF, and nothing else, permitted and not in effect */
};

/* Whether the kernel must not let its user look into it while it exits, by the guard: a process of the broker. */
static inline int is_guarded(const char *name)
{
	return !strcmp(name, "proftrace-close") || !strcmp(name, "proftrace-start") ||
	       !strcmp(name, "proftrace-prove") || !strcmp(name, "proftrace-trial");
}

static int holds_descriptors(pid_t pid)
{
	char path[300], kind[64];
	struct dirent *entry;
	int found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, entry->d_name);
		n = readlink(path, kind, sizeof(kind) - 1);
		kind[n > 0 ? n : 0] = '\0';
		found = !strncmp(kind, "anon_inode:", 11) &&
			(strstr(kind, "bpf") || strstr(kind, "perf_event"));
	}
	if (dir)
		closedir(dir);
	return found;
}

static int file_has(pid_t pid, const char *name, const char *word)
{
	char path[64], line[512];
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, word) != NULL;
	if (file)
		fclose(file);
	return found;
}

/* Capabilities are those of a thread. */
static int read_holdings(pid_t pid)
{
	unsigned long long permitted = 0, effective = 0;
	char path[64], line[256];
	int holds = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "CapPrm:", 7))
			permitted = strtoull(line + 7, NULL, 16);
		if (!strncmp(line, "CapEff:", 7))
			effective = strtoull(line + 7, NULL, 16);
	}
	if (file)
		fclose(file);
	if (permitted == 1ull << CAP_BPF && !effective)
		holds = HOLDS_GUARD;
	else if (permitted || effective)
		holds = HOLDS_CAPABILITIES;
	if (holds_descriptors(pid))
		holds |= HOLDS_DESCRIPTORS;
	if (file_has(pid, "maps", " anon_inode:bpf-map"))
		holds |= HOLDS_MAPS;
	return holds;
}

static void print_holdings(const char *name, int holds)
{
	printf("holds %s%s%s%s%s\n", name, holds & HOLDS_CAPABILITIES ? " capabilities" : "",
	       holds & HOLDS_GUARD ? " a guard" : "",
	       holds & HOLDS_DESCRIPTORS ? " descriptors" : "", holds & HOLDS_MAPS ? " maps" : "");
}

#endif
