/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An input is a file being read once from its beginning to its end, unpacked on the way when it is
 * gzipped, through a window over the bytes that were not consumed yet.
 */
#ifndef PROFTRACE_READERS_INPUT_H
#define PROFTRACE_READERS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input;
struct reader_limits; /* readers/reader.h */

enum {
	/*
	 * So many bytes behind those that are available may be read, too: they are anything. Where
	 * something ends may so be looked at after it was read.
	 */
	INPUT_PADDING = 16,
};

/* fd: borrowed, read from where it stands. Returns 0 or negative errno. */
int input_open(int fd, struct input **ret_input);
void input_free(struct input *input);
/* From now on. Borrowed; may be NULL. */
void input_limit(struct input *input, struct reader_limits *limits);
/* What was read held so many bytes more, packed in a way that only its reader knows. */
void input_unpacked(struct input *input, size_t size);

/*
 * Makes at least `size` bytes available, fewer only where the file ends. Memory grows with what is
 * really there, not with `size`. Returns 0 or negative errno; -EBADMSG: damaged gzip data.
 */
int input_want(struct input *input, size_t size);

const uint8_t *input_bytes(const struct input *input); /* valid until the next input_want() */
size_t input_available(const struct input *input);
void input_consume(struct input *input, size_t size); /* at most what is available */
uint64_t input_offset(const struct input *input);     /* of the first available byte */
bool input_is_cut(
	const struct input *input); /* the gzip data ended too early, or a limit was reached */

/*
 * Whether all that is left is zeros: what a crash leaves in a file. They are consumed. Of many the
 * first 16 MiB stand for the rest, since a file may have terabytes of them that it need not store.
 */
bool input_rest_is_zero(struct input *input);

#endif
