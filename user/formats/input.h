/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An input reads a file once from its beginning to its end, and unpacks it if it is gzipped. Its window contains the
 * bytes that have not been consumed yet.
 */
#ifndef PROFTRACE_FORMATS_INPUT_H
#define PROFTRACE_FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input;
struct reader_limits; /* formats/reader.h */

enum {
	/*
	 * Bytes behind the available ones that may be read as well, with any values. So a decoder may
	 * check for the end after it has read a number.
	 */
	INPUT_PADDING = 16,
};

/* `fd` is borrowed and read from its current position. Returns 0 or negative errno. */
int input_open(int fd, struct input **ret_input);
void input_free(struct input *input);
/* Applies limits from now on. `limits` is borrowed and may be NULL. */
void input_limit(struct input *input, struct reader_limits *limits);
/*
 * Says that the reader unpacked `size` bytes itself. Returns 0, or -EFBIG if the data is compressed far more than any
 * trace is.
 */
int input_unpack(struct input *input, size_t size);
/* Says that the bytes since the last call contained `n_events` events. Call it before the next input_want(). */
void input_mark_useful(struct input *input, uint64_t n_events);

/*
 * Makes at least `size` bytes available, or fewer at the end of the file. Memory grows with the bytes that exist, not
 * with `size`. Returns 0 or negative errno; -EBADMSG: damaged gzip data; -EFBIG: as input_unpack().
 */
int input_want(struct input *input, size_t size);

const uint8_t *input_bytes(const struct input *input); /* valid until the next input_want() */
size_t input_available(const struct input *input);
void input_consume(struct input *input, size_t size); /* at most what is available */
uint64_t input_offset(const struct input *input);     /* of the first available byte */
/* The message for an error of input_want() or input_unpack(); NULL: that of errno. */
const char *input_problem(const struct input *input, int error);
bool input_is_cut(
	const struct input *input); /* the gzip data ended too early, or a limit was reached */

/*
 * Whether the rest of the file is zeros, as after a crash of the machine, and consumes them. Only the first 16 MiB are
 * examined, since a sparse file may have terabytes of zeros.
 */
bool input_rest_is_zero(struct input *input);

#endif
