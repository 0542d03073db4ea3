/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as the state of a container runtime (the first one chooses which), and as the path of a cgroup. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "privilege/containers.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void see(void *context, const char *id, const char *name)
{
	(void)context;
	if (strlen(id) != CONTAINER_ID || !*name || strlen(name) >= CONTAINER_NAME ||
	    strpbrk(name, "/\"\\ \n\033"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[4096], text[512];
	struct process_place place;
	uint8_t *copy;

	if (!size || size >= sizeof(path))
		return 0;
	/* A copy of its own size, so that reading behind it is noticed. */
	copy = malloc(size);
	memcpy(copy, data, size);
	container_state_read((char *)copy + 1, size - 1, copy[0] & 1 ? ID : NULL, see, NULL);
	free(copy);
	memcpy(path, data, size);
	path[size] = '\0';
	cgroup_place(path, &place);
	process_place_text(&place, "", text, sizeof(text));
	if (place.container[0] && strlen(place.container) != CONTAINER_ID)
		abort();
	return 0;
}
