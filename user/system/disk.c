/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/diskstats: "major minor name reads merged sectors ms writes merged sectors ms in_flight
 * busy_ms ...", where a sector is 512 bytes whatever the disk's are.
 */
#include "system/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512

/* Only whole disks have a directory in /sys/block; loop and RAM devices are not disks. */
static bool is_disk(const char *name)
{
	char path[64];

	if (!strncmp(name, "loop", 4) || !strncmp(name, "ram", 3) || strchr(name, '/'))
		return false;
	snprintf(path, sizeof(path), "/sys/block/%s", name);
	return !access(path, F_OK);
}

void system_disk(struct system_counters *s, char *text, double seconds)
{
	struct series read, write, busy;
	char *line, *rest;

	series_start(&read, s, "disk read", "bytes/s");
	series_start(&write, s, "disk write", "bytes/s");
	series_start(&busy, s, "disk busy", "%");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long reads, writes, ms;
		uint64_t more[SYSTEM_VALUES];
		struct system_thing *disk;
		char name[32];

		if (sscanf(line, "%*u %*u %31s %*u %*u %llu %*u %*u %*u %llu %*u %*u %llu", name,
			   &reads, &writes, &ms) != 4 ||
		    !is_disk(name))
			continue;
		disk = system_thing_get(s, SYSTEM_DISK, name);
		if (!disk)
			continue;
		more[0] = system_thing_delta(disk, 0, reads) * SECTOR;
		more[1] = system_thing_delta(disk, 1, writes) * SECTOR;
		more[2] = system_thing_delta(disk, 2, ms);
		if (disk->known && seconds) {
			series_add_double(&read, disk->key, more[0] / seconds);
			series_add_double(&write, disk->key, more[1] / seconds);
			series_add_double(&busy, disk->key, more[2] / 10.0 / seconds);
		}
		disk->known = true;
	}
	series_end(&read);
	series_end(&write);
	series_end(&busy);
}
