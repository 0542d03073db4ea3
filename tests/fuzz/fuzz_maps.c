/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as the text of /proc/PID/maps. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracee/maps.h"
#include "tracee/memory/target_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int see(void *context, const struct mapping *m)
{
	unsigned *n = context;
	char path[MAPS_MAX_PATH + 1];

	if (m->start >= m->end || strlen(m->path) > MAPS_MAX_PATH)
		abort();
	strcpy(path, m->path);
	maps_unescape(path);
	if (strlen(path) > strlen(m->path))
		abort();
	return ++*n == 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct target_memory *maps;
	unsigned n = 0;
	int r;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	maps = target_memory_new(dup(fd));
	if (!maps)
		return 0;
	r = maps_read(maps, see, &n);
	target_memory_free(maps);
	if (r >= 0 && r != (n == 1000 ? 1 : (int)n))
		abort();
	return 0;
}
