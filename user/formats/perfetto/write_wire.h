/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodes protobuf fields. Each function writes at `at` and returns the end of what it wrote. A recording may write
 * a million events a second; the generated code, which needs a tree of structures and then walks it twice, takes
 * several times as long for each.
 *
 * A function may overwrite up to three bytes behind the end that it returns, so the caller has to reserve them.
 */
#ifndef PROFTRACE_FORMATS_PERFETTO_WRITE_WIRE_H
#define PROFTRACE_FORMATS_PERFETTO_WRITE_WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/perfetto/fields.h"

static inline size_t wire_varint_size(uint64_t value)
{
	return (70 - __builtin_clzll(value | 1)) / 7;
}

/* Byte by byte; writes nothing behind the end. */
static inline uint8_t *wire_varint_exact(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)value | 0x80;
	*at++ = (uint8_t)value;
	return at;
}

/*
 * For numbers whose length varies, such as times and values: the branch predictor could not predict where a loop
 * ends. Four groups of seven bits are spread over four bytes, which are written at once, and the returned end
 * depends on the highest bit that is set.
 */
static inline uint8_t *wire_varint_any(uint8_t *at, uint64_t value)
{
	uint32_t bytes, last;

	if (value >= 1 << 28)
		return wire_varint_exact(at, value);
	bytes = (value & 0x3fff) | (value & 0xfffc000) << 2;
	bytes = (bytes & 0x7f007f) | (bytes & 0x3f803f80) << 1;
	last = (31 ^ (uint32_t)__builtin_clz(bytes | 1)) & 24; /* the first bit of the last byte */
	bytes |= (uint32_t)((0x808080ull << last) >> 24);      /* those before it go on */
	bytes = htole32(bytes);
	memcpy(at, &bytes, sizeof(bytes));
	return at + 1 + last / 8;
}

/* For numbers that nearly always take nine bytes, such as the uuids of tracks: writes eight bytes at once. */
static inline uint8_t *wire_varint_long(uint8_t *at, uint64_t value)
{
	uint64_t bytes;

	if (value < 1ull << 56)
		return wire_varint_any(at, value);
	bytes = (value & 0xfffffff) | (value & 0xfffffff0000000) << 4;
	bytes = (bytes & 0x3fff00003fff) | (bytes & 0xfffc0000fffc000) << 2;
	bytes = (bytes & 0x7f007f007f007f) | (bytes & 0x3f803f803f803f80) << 1;
	bytes = htole64(bytes | 0x8080808080808080);
	memcpy(at, &bytes, sizeof(bytes));
	return wire_varint_exact(at + 8, value >> 56);
}

/* For numbers that are mostly below 128: an id, a tag, a length. */
static inline uint8_t *wire_varint(uint8_t *at, uint64_t value)
{
	if (value >= 0x80)
		return wire_varint_any(at, value);
	*at = (uint8_t)value;
	return at + 1;
}

static inline uint8_t *wire_number(uint8_t *at, unsigned field, uint64_t value)
{
	at = wire_varint(at, field << 3 | WIRE_VARINT);
	return wire_varint(at, value);
}

static inline uint8_t *wire_any(uint8_t *at, unsigned field, uint64_t value)
{
	at = wire_varint(at, field << 3 | WIRE_VARINT);
	return wire_varint_any(at, value);
}

static inline uint8_t *wire_long(uint8_t *at, unsigned field, uint64_t value)
{
	at = wire_varint(at, field << 3 | WIRE_VARINT);
	return wire_varint_long(at, value);
}

/* A field number below 16 and a value below 128. */
static inline uint8_t *wire_small(uint8_t *at, unsigned field, uint8_t value)
{
	at[0] = (uint8_t)(field << 3 | WIRE_VARINT);
	at[1] = value;
	return at + 2;
}

static inline uint8_t *wire_fixed64(uint8_t *at, unsigned field, uint64_t value)
{
	at = wire_varint(at, field << 3 | WIRE_FIXED64);
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static inline uint8_t *wire_double(uint8_t *at, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return wire_fixed64(at, field, bits);
}

static inline uint8_t *wire_text(uint8_t *at, unsigned field, const char *text, size_t length)
{
	at = wire_varint(at, field << 3 | WIRE_LENGTH);
	at = wire_varint(at, length);
	memcpy(at, text, length);
	return at + length;
}

/*
 * A nested message begins with its length, which is known only when its contents are written. Nearly all are shorter
 * than 128 bytes, so wire_open() leaves one byte for the length, and wire_close() moves the contents when the length
 * needs more, up to four bytes more.
 */
static inline uint8_t *wire_open(uint8_t *at, unsigned field)
{
	return wire_varint(at, field << 3 | WIRE_LENGTH) + 1;
}

static inline uint8_t *wire_close(uint8_t *contents, uint8_t *end)
{
	size_t length = end - contents, extra;

	if (length < 0x80) {
		contents[-1] = (uint8_t)length;
		return end;
	}
	extra = wire_varint_size(length) - 1;
	memmove(contents + extra, contents, length);
	wire_varint_exact(contents - 1, length);
	return end + extra;
}

#endif
