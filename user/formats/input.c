/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window is one buffer. What was consumed is moved out of it only when space is needed, and it
 * grows only when it is full of bytes that somebody still wants, so a length that lies costs nothing.
 *
 * gzip files may have several members one after the other (so does every .json.gz proftrace writes,
 * and so do files joined with cat); what follows the last one and is no member is ignored, as gzip
 * does.
 *
 * DEFLATE reaches 1032:1, so a small file could be unpacked for hours. Traces do not come near that: with
 * gzip -9, the events of one loop reach 20:1 to 30:1, pretty-printed ones 76:1, and events that all have the
 * same argument of 4 KiB 148:1. A million equal marks of buffered mode reach 26:1 as JSON and 118:1 as Perfetto, where a
 * byte has ten events: neither a lower ratio nor a bound of events for each byte would refuse what is no trace alone. Hence
 * the two limits below. A file that is not compressed has neither: it
 * costs its reader no more than it cost its writer. Unless it is sparse: 1 TiB of holes takes a few blocks. So what
 * is read of a file counts as much as its part of the blocks that the file has, and the first limit applies.
 */
#include "formats/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/reader.h"

enum {
#ifdef SMALL_WINDOWS /* files of fuzzers are small, but shall move and grow the window as well */
	FIRST_SIZE = 256,
	RAW_SIZE = 128,
	ZEROS_ENOUGH = 4096,
#else
	FIRST_SIZE = 256 * 1024,
	RAW_SIZE = 64 * 1024,
	ZEROS_ENOUGH = 16 * 1024 * 1024,
#endif
	/*
	 * Refused: this many unpacked bytes beyond those that the compression ratio and the events excuse. An event
	 * excuses a little more than the text that is kept of an event, EVENT_MAX_ARGS strings of READ_MAX_STRING.
	 * If it excused all before it, 70 events would be enough for 1 GiB of empty packets, which take 20 s.
	 */
#ifdef SMALL_WINDOWS
	BARREN_MAX = 64 * 1024,
#else
	BARREN_MAX = 16 * 1024 * 1024,
#endif
	BARREN_RATIO = 50,
	BARREN_PER_EVENT = 64 * 1024,
	/* Refused: the same for a whole file, with or without events. */
	UNPACKED_MAX = 32 * 1024 * 1024,
	UNPACKED_RATIO = 200,
	STEP = FIRST_SIZE, /* bytes read or unpacked between two checks of the limits */
	GZIP_WINDOW =
		15 + 16, /* inflateInit2(): the largest window, with a gzip header and trailer */
};

struct input {
	int fd;
	bool gzip;
	bool in_member; /* gzip: between a header and its trailer */
	bool at_end;
	bool cut;
	struct reader_limits *limits; /* NULL: none */
	uint64_t work;		      /* bytes read plus bytes unpacked */
	uint64_t reported;	      /* of `work`, bytes counted in the limits */
	uint64_t packed;	      /* of `work`, bytes read; of a sparse file, those stored */
	uint64_t read;		      /* with holes */
	double density;	     /* bytes stored of each byte read; 1 for all but sparse files */
	uint64_t excused;    /* unpacked bytes, by events */
	const char *problem; /* with -EFBIG */
	z_stream
		z; /* next_in also has the bytes of a plain file that were read to recognise gzip */
	uint64_t offset;
	size_t start;
	size_t end;
	size_t capacity;
	uint8_t *bytes;
	uint8_t raw[RAW_SIZE];
};

static ssize_t fd_read(int fd, void *bytes, size_t size)
{
	ssize_t n = TEMP_FAILURE_RETRY(read(fd, bytes, size));

	return n < 0 ? -errno : n;
}

/*
 * 0 blocks say nothing: some network file systems do not count them, and a file of holes alone is no trace. ZFS counts them
 * seconds later, but normal traces have events, which excuse the bytes.
 */
static double input_measure_density(int fd)
{
	struct stat st;
	double stored;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_blocks)
		return 1;
	stored =
		(double)st.st_blocks * 512; /* whatever the size of a block of the file system is */
	return stored < (double)st.st_size ? stored / (double)st.st_size : 1;
}

static void input_count_read(struct input *in, size_t n)
{
	in->work += n;
	in->read += n;
	in->packed = in->density < 1 ? (uint64_t)((double)in->read * in->density) : in->read;
}

/* Reads more bytes into `raw`, behind those that zlib has not consumed. Returns how many. */
static ssize_t input_read_raw(struct input *in)
{
	ssize_t n;

	memmove(in->raw, in->z.next_in, in->z.avail_in);
	in->z.next_in = in->raw;
	n = fd_read(in->fd, in->raw + in->z.avail_in, sizeof(in->raw) - in->z.avail_in);
	if (n > 0) {
		in->z.avail_in += (unsigned)n;
		input_count_read(in, (size_t)n);
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
	in->density = input_measure_density(fd);
	in->z.next_in = in->raw;
	in->capacity = FIRST_SIZE;
	in->bytes = calloc(1, in->capacity + INPUT_PADDING);
	if (!in->bytes)
		n = -ENOMEM;
	while (n > 0 && in->z.avail_in < 2)
		n = input_read_raw(in);
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

static uint64_t input_unpacked_bytes(const struct input *in)
{
	return in->work - in->packed;
}

/* Without the bytes that were read ahead. */
static uint64_t input_packed_bytes(const struct input *in)
{
	return in->packed > in->z.avail_in ? in->packed - in->z.avail_in : 0;
}

/* Unpacked bytes that neither the compression ratio nor events excuse. */
static uint64_t input_barren_bytes(const struct input *in)
{
	const uint64_t excused = input_packed_bytes(in) * BARREN_RATIO + in->excused;
	const uint64_t unpacked = input_unpacked_bytes(in);

	return unpacked > excused ? unpacked - excused : 0;
}

/* Events excuse what has been unpacked, nothing that is still to come. */
void input_mark_useful(struct input *in, uint64_t n_events)
{
	const uint64_t barren = input_barren_bytes(in);

	in->excused += barren / BARREN_PER_EVENT < n_events ? barren : n_events * BARREN_PER_EVENT;
}

static int input_check_ratio(struct input *in)
{
	uint64_t packed = input_packed_bytes(in), unpacked = input_unpacked_bytes(in);

	if (input_barren_bytes(in) > BARREN_MAX)
		in->problem =
			in->density < 1
				? "a sparse file with 16 MiB of holes and too few events"
				: "compressed data that unpacks to 16 MiB with too few events";
	else if (in->density == 1 && unpacked > UNPACKED_MAX && unpacked / UNPACKED_RATIO > packed)
		in->problem = "compressed data that unpacks to 32 MiB and to 200 times its size";
	else
		return 0;
	return -EFBIG;
}

int input_unpack(struct input *in, size_t size)
{
	in->work += size;
	return input_check_ratio(in);
}

/* Whether a limit is reached, so that the input ends. */
static bool input_at_limit(struct input *in)
{
	struct reader_limits *l = in->limits;

	if (!l || in->work - in->reported < STEP)
		return false;
	l->taken += in->work - in->reported;
	in->reported = in->work;
	if (l->bytes && l->taken >= l->bytes)
		l->end = READ_ENOUGH;
	else if (l->stop && l->stop(l->context))
		l->end = READ_STOPPED;
	else
		return false;
	in->at_end = in->cut = true;
	return true;
}

/* A large window is filled in steps, so that the limits are checked in between. */
static size_t input_free_space(const struct input *in)
{
	size_t capacity = in->capacity - in->end;

	return capacity < STEP ? capacity : STEP;
}

static int input_make_space(struct input *in)
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

static int input_fill_plain(struct input *in)
{
	size_t capacity = input_free_space(in);
	ssize_t n;

	if (in->z.avail_in) { /* read by input_open() */
		n = (ssize_t)(in->z.avail_in < capacity ? in->z.avail_in : capacity);
		memcpy(in->bytes + in->end, in->z.next_in, (size_t)n);
		in->z.next_in += n;
		in->z.avail_in -= (unsigned)n;
	} else {
		n = fd_read(in->fd, in->bytes + in->end, capacity);
		if (n > 0)
			input_count_read(in, (size_t)n);
	}
	if (n < 0)
		return (int)n;
	in->at_end = n == 0;
	in->end += (size_t)n;
	return 0;
}

/* After a gzip member: whether another one follows. */
static int gzip_next_member(struct input *in)
{
	while (in->z.avail_in < 2) {
		ssize_t n = input_read_raw(in);

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

/* One step. It may add nothing; then the caller tries again. */
static int input_fill_gzip(struct input *in)
{
	size_t before = in->end;
	int status;

	if (!in->in_member)
		return gzip_next_member(in);
	if (!in->z.avail_in) {
		ssize_t n = input_read_raw(in);

		if (n < 0)
			return (int)n;
		if (!n) {
			in->at_end = in->cut = true;
			return 0;
		}
	}
	in->z.next_out = in->bytes + in->end;
	in->z.avail_out = (unsigned)input_free_space(in);
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

	while (!error && !in->at_end && input_available(in) < size && !input_at_limit(in)) {
		error = input_check_ratio(in);
		error = error ?: input_make_space(in);
		if (!error)
			error = in->gzip ? input_fill_gzip(in) : input_fill_plain(in);
	}
	/* Bytes before the damage are valid; zlib will return the same error again. */
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

const char *input_problem(const struct input *in, int error)
{
	if (error == -EBADMSG)
		return "damaged gzip data";
	return error == -EFBIG ? in->problem : NULL;
}

bool input_is_cut(const struct input *in)
{
	return in->cut;
}

bool input_rest_is_zero(struct input *in)
{
	uint64_t zeros = 0;
	int error;

	do {
		const uint8_t *bytes = input_bytes(in);
		size_t i, size = input_available(in);

		for (i = 0; i < size; i++) {
			if (bytes[i])
				return false;
		}
		input_consume(in, size);
		zeros += size;
		error = input_want(in, 1);
		if (error) /* zeros compress well, so the ratio is exceeded */
			return error == -EFBIG;
	} while (input_available(in) && zeros < ZEROS_ENOUGH);
	return true;
}
