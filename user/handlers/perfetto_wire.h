/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The few rules of protobuf's encoding that the events need, as functions that write at a pointer
 * and return where they stopped. An event is written a million times a second: generated code, which
 * first wants a tree of structures and then walks it twice, costs several times as much. What they write
 * last may be followed by up to three bytes that are theirs for a moment: there has to be room for these.
 */
#ifndef PROFTRACE_HANDLERS_PERFETTO_WIRE_H
#define PROFTRACE_HANDLERS_PERFETTO_WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
};

enum {
	WIRE_VARINT_MAX = 10,
};

static inline size_t wire_varint_size(uint64_t value)
{
	return (70 - __builtin_clzll(value | 1)) / 7;
}

/* Byte by byte, none too many. */
static inline uint8_t *wire_varint_exact(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)value | 0x80;
	*at++ = (uint8_t)value;
	return at;
}

/*
 * For what has another length each time, as times and values do: where a loop ends could not be
 * predicted. Four groups of seven bits are spread over four bytes, and of these as many count as have
 * anything.
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

/* For what nearly always takes nine bytes, as the uuids of tracks do: eight of them at once. */
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

/* For what is mostly below 128: an id, a tag, a length. */
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

/* A field below 16 with a value that is known to be below 128. */
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
	at = wire_varint(at, field << 3 | WIRE_BYTES);
	at = wire_varint(at, length);
	memcpy(at, text, length);
	return at + length;
}

/*
 * A message within a message is preceded by its length, which is known when it is written. Nearly
 * all are shorter than 128 bytes: wire_open() leaves room for a length of one byte, and wire_close()
 * moves the contents up when that was too little. Up to four bytes more than the contents are used.
 */
static inline uint8_t *wire_open(uint8_t *at, unsigned field)
{
	return wire_varint(at, field << 3 | WIRE_BYTES) + 1;
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
