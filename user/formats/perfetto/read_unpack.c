/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for decoded packets, and the decompression of bundles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/input.h"
#include "formats/perfetto/reader.h"

enum {
	MAX_BUNDLE = 64 << 20,	  /* unpacked */
	MAX_UNPACKED = 256 << 20, /* memory for one decoded packet */
#ifdef SMALL_WINDOWS
	ARENA_BLOCK = 1 << 10,
#else
	ARENA_BLOCK = 256 << 10,
#endif
};

/*
 * A small packet may need much memory when it is decoded (an empty message of two bytes becomes a structure of a
 * hundred). So there is a limit, and all memory of a packet is freed together.
 */
struct block {
	struct block *next;
	size_t size;
	size_t used;
	max_align_t bytes[];
};

void *perfetto_arena_alloc(void *data, size_t size)
{
	struct arena *arena = data;
	struct block *block = arena->blocks;
	void *bytes;

	if (size > MAX_UNPACKED)
		return NULL;
	size = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	if (!block || block->size - block->used < size) {
		size_t capacity = size > ARENA_BLOCK ? size : ARENA_BLOCK;

		if (arena->total + capacity > MAX_UNPACKED)
			return NULL;
		block = malloc(sizeof(*block) + capacity);
		if (!block)
			return NULL;
		*block = (struct block){ .next = arena->blocks, .size = capacity };
		arena->blocks = block;
		arena->total += capacity;
	}
	bytes = (char *)block->bytes + block->used;
	block->used += size;
	return bytes;
}

void perfetto_arena_ignore(void *data, void *bytes)
{
	(void)data, (void)bytes;
}

/* Keeps the first block for the next packet. */
void perfetto_arena_clear(struct arena *arena, bool all)
{
	while (arena->blocks && (all || arena->blocks->next)) {
		struct block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->total = arena->blocks ? arena->blocks->size : 0;
	if (arena->blocks)
		arena->blocks->used = 0;
}

int perfetto_unpack_bundle(const ProtobufCBinaryData *bundle, uint8_t **ret_bytes, size_t *ret_size)
{
	z_stream z = { .next_in = bundle->data, .avail_in = (unsigned)bundle->len };
	size_t size = 0, capacity = 64 << 10;
	uint8_t *bytes = malloc(capacity + INPUT_PADDING);
	int status = Z_OK;

	if (!bytes || inflateInit2(&z, 15 + 32) != Z_OK) { /* 32: zlib or gzip, by its header */
		free(bytes);
		return -ENOMEM;
	}
	while (status == Z_OK) {
		if (size == capacity) {
			uint8_t *grown = NULL;

			if (capacity < MAX_BUNDLE)
				grown = realloc(bytes, capacity * 2 + INPUT_PADDING);
			if (!grown)
				break;
			bytes = grown;
			capacity *= 2;
		}
		z.next_out = bytes + size;
		z.avail_out = (unsigned)(capacity - size);
		status = inflate(&z, Z_NO_FLUSH);
		size = (size_t)(z.next_out - bytes);
	}
	inflateEnd(&z);
	if (status != Z_STREAM_END) {
		free(bytes);
		return status == Z_OK ? -E2BIG : -EBADMSG;
	}
	memset(bytes + size, 0, INPUT_PADDING);
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}
