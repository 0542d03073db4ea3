/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window is one buffer. What was consumed is moved out of it only when room is needed, and it
 * grows only when it is full of bytes that somebody still wants, so a length that lies costs nothing.
 *
 * gzip files may have several members one after the other (so does every .json.gz proftrace writes,
 * and so do files joined with cat); what follows the last one and is no member is ignored, as gzip
 * does.
 */
#include "readers/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "readers/reader.h"

enum {
#ifdef SMALL_WINDOWS /* the fuzzers' files are small: so that windows move and grow with these, too */
	FIRST_SIZE = 256,
	RAW_SIZE = 128,
	ZEROS_ENOUGH = 4096,
#else
	FIRST_SIZE = 256 * 1024,
	RAW_SIZE = 64 * 1024,
	ZEROS_ENOUGH = 16 * 1024 * 1024,
#endif
	STEP = FIRST_SIZE,     /* bytes read or unpacked between two looks at the limits */
	GZIP_WINDOW = 15 + 16, /* zlib's way of saying: largest window, gzip's header and trailer */
};

struct input {
	int fd;
	bool gzip;
	bool in_member; /* gzip: between a header and its trailer */
	bool at_end;
	bool cut;
	struct reader_limits *limits; /* NULL: none */
	uint64_t work;		      /* bytes that were read, and unpacked */
	uint64_t told;		      /* of these, to the limits */
	z_stream
		z; /* next_in, avail_in also hold what was read of a plain file to tell it from gzip */
	uint64_t offset;
	size_t start;
	size_t end;
	size_t capacity;
	uint8_t *bytes;
	uint8_t raw[RAW_SIZE];
};

static ssize_t read_some(int fd, void *bytes, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, bytes, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Adds to what zlib has not taken yet, keeping it at the front of `raw`. Returns bytes added. */
static ssize_t read_raw(struct input *in)
{
	ssize_t n;

	memmove(in->raw, in->z.next_in, in->z.avail_in);
	in->z.next_in = in->raw;
	n = read_some(in->fd, in->raw + in->z.avail_in, sizeof(in->raw) - in->z.avail_in);
	if (n > 0) {
		in->z.avail_in += (unsigned)n;
		in->work += (size_t)n;
	}
	return n;
}

int input_open(int fd, struct input **ret_input)
{
	struct input *in = calloc(1, sizeof(*in));
	ssize_t n = 1;

	if (!in)
		return -ENOMEM;
	in->fd = fd;
	in->z.next_in = in->raw;
	in->capacity = FIRST_SIZE;
	in->bytes = calloc(1, in->capacity + INPUT_PADDING);
	if (!in->bytes)
		n = -ENOMEM;
	while (n > 0 && in->z.avail_in < 2)
		n = read_raw(in);
	if (n >= 0 && in->z.avail_in >= 2 && in->raw[0] == 0x1f && in->raw[1] == 0x8b) {
		in->gzip = in->in_member = true;
		if (inflateInit2(&in->z, GZIP_WINDOW) != Z_OK) {
			in->gzip = false;
			n = -ENOMEM;
		}
	}
	if (n < 0) {
		input_free(in);
		return (int)n;
	}
	*ret_input = in;
	return 0;
}

void input_free(struct input *in)
{
	if (!in)
		return;
	if (in->gzip)
		inflateEnd(&in->z);
	free(in->bytes);
	free(in);
}

void input_limit(struct input *in, struct reader_limits *limits)
{
	in->limits = limits;
}

void input_unpacked(struct input *in, size_t size)
{
	in->work += size;
}

/* Whether a limit is reached: then nothing follows what is there. */
static bool at_limit(struct input *in)
{
	struct reader_limits *l = in->limits;

	if (!l || in->work - in->told < STEP)
		return false;
	l->taken += in->work - in->told;
	in->told = in->work;
	if (l->bytes && l->taken >= l->bytes)
		l->end = READ_ENOUGH;
	else if (l->stop && l->stop(l->context))
		l->end = READ_STOPPED;
	else
		return false;
	in->at_end = in->cut = true;
	return true;
}

/* A window that had to grow is not filled at once: that would be long between two looks. */
static size_t room_of(const struct input *in)
{
	size_t room = in->capacity - in->end;

	return room < STEP ? room : STEP;
}

static int make_room(struct input *in)
{
	uint8_t *bytes;

	if (in->end < in->capacity)
		return 0;
	if (in->start) {
		memmove(in->bytes, in->bytes + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
		return 0;
	}
	bytes = realloc(in->bytes, in->capacity * 2 + INPUT_PADDING);
	if (!bytes)
		return -ENOMEM;
	memset(bytes + in->capacity, 0, in->capacity + INPUT_PADDING);
	in->bytes = bytes;
	in->capacity *= 2;
	return 0;
}

static int fill_plain(struct input *in)
{
	size_t room = room_of(in);
	ssize_t n;

	if (in->z.avail_in) { /* what input_open() looked at */
		n = (ssize_t)(in->z.avail_in < room ? in->z.avail_in : room);
		memcpy(in->bytes + in->end, in->z.next_in, (size_t)n);
		in->z.next_in += n;
		in->z.avail_in -= (unsigned)n;
	} else {
		n = read_some(in->fd, in->bytes + in->end, room);
		in->work += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return (int)n;
	in->at_end = n == 0;
	in->end += (size_t)n;
	return 0;
}

/* Between two members: is there another one? */
static int next_member(struct input *in)
{
	while (in->z.avail_in < 2) {
		ssize_t n = read_raw(in);

		if (n < 0)
			return (int)n;
		if (!n)
			break;
	}
	if (in->z.avail_in < 2 || in->z.next_in[0] != 0x1f || in->z.next_in[1] != 0x8b) {
		in->at_end = true;
		return 0;
	}
	in->in_member = true;
	return inflateReset(&in->z) == Z_OK ? 0 : -EBADMSG;
}

/* One step: may add nothing, then the caller tries again. */
static int fill_gzip(struct input *in)
{
	size_t before = in->end;
	int status;

	if (!in->in_member)
		return next_member(in);
	if (!in->z.avail_in) {
		ssize_t n = read_raw(in);

		if (n < 0)
			return (int)n;
		if (!n) {
			in->at_end = in->cut = true;
			return 0;
		}
	}
	in->z.next_out = in->bytes + in->end;
	in->z.avail_out = (unsigned)room_of(in);
	status = inflate(&in->z, Z_NO_FLUSH);
	in->end = (size_t)(in->z.next_out - in->bytes);
	in->work += in->end - before;
	if (status == Z_STREAM_END)
		in->in_member = false;
	else if (status == Z_MEM_ERROR)
		return -ENOMEM;
	else if (status != Z_OK && status != Z_BUF_ERROR)
		return -EBADMSG;
	return 0;
}

int input_want(struct input *in, size_t size)
{
	int error = 0;

	while (!error && !in->at_end && input_available(in) < size && !at_limit(in)) {
		error = make_room(in);
		if (!error)
			error = in->gzip ? fill_gzip(in) : fill_plain(in);
	}
	/* What came before the damage is good; zlib will say the same again. */
	return input_available(in) >= size ? 0 : error;
}

const uint8_t *input_bytes(const struct input *in)
{
	return in->bytes + in->start;
}

size_t input_available(const struct input *in)
{
	return in->end - in->start;
}

void input_consume(struct input *in, size_t size)
{
	if (size > input_available(in))
		size = input_available(in);
	in->start += size;
	in->offset += size;
	if (in->start == in->end)
		in->start = in->end = 0;
}

uint64_t input_offset(const struct input *in)
{
	return in->offset;
}

bool input_is_cut(const struct input *in)
{
	return in->cut;
}

bool input_rest_is_zero(struct input *in)
{
	uint64_t zeros = 0;

	do {
		const uint8_t *bytes = input_bytes(in);
		size_t i, size = input_available(in);

		for (i = 0; i < size; i++) {
			if (bytes[i])
				return false;
		}
		input_consume(in, size);
		zeros += size;
		if (input_want(in, 1))
			return false;
	} while (input_available(in) && zeros < ZEROS_ENOUGH);
	return true;
}
