/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The format of a file is recognised by its contents, never by its name. JSON is recognised by its first characters.
 * Perfetto's format has no magic number; its first field has to be a packet with well-formed fields, as far as the
 * first bytes show them.
 */
#include <ctype.h>
#include <string.h>
#include <zlib.h>

#include "formats/reader.h"
#include "formats/perfetto/read_wire.h"

static const struct {
	const char *magic;
	size_t length;
	const char *what;
} others[] = {
#define MAGIC(string, what)                      \
	{                                        \
		string, sizeof(string) - 1, what \
	}
	MAGIC("\x7f"
	      "ELF",
	      "looks like an ELF file"),
	MAGIC("PERFILE2", "looks like a perf.data file"),
	MAGIC("\x17\x08\x44tracing", "looks like a trace-cmd file"),
	MAGIC("PK\x03\x04", "looks like a zip file"),
	MAGIC("\x28\xb5\x2f\xfd", "looks like a zstd file (unpack it first)"),
	MAGIC("\xfd"
	      "7zXZ",
	      "looks like an xz file (unpack it first)"),
	MAGIC("BZh", "looks like a bzip2 file (unpack it first)"),
	MAGIC("\x89PNG", "looks like a PNG image"),
	MAGIC("%PDF-", "looks like a PDF file"),
	MAGIC("SQLite format 3", "looks like an SQLite database"),
	MAGIC("#!", "looks like a script"),
	MAGIC("<!DOCTYPE", "looks like an HTML file"),
	MAGIC("<html", "looks like an HTML file"),
	MAGIC("<?xml", "looks like an XML file"),
#undef MAGIC
};

static const char *sniff_skip_space(const char *s, const char *end)
{
	while (s < end && isspace((unsigned char)*s))
		s++;
	return s;
}

/* An array of objects, or an object; either may be cut here. */
static bool sniff_is_json(const char *s, const char *end)
{
	char first;

	if (end - s >= 3 && !memcmp(s, "\xef\xbb\xbf", 3))
		s += 3; /* a byte order mark */
	s = sniff_skip_space(s, end);
	if (s == end || (*s != '[' && *s != '{'))
		return false;
	first = *s;
	s = sniff_skip_space(s + 1, end);
	if (s == end)
		return true;
	if (first == '[')
		return *s == '{' || *s == ']' || (end - s >= 4 && !memcmp(s, "null", 4));
	return *s == '"' || *s == '}';
}

/* The first field must be a packet that is well-formed, as far as it is here. */
static bool sniff_is_perfetto(const uint8_t *bytes, size_t size)
{
	struct wire_field field;
	size_t end;
	bool whole;

	if (wire_read_field(bytes, size, &field) == WIRE_MALFORMED || !field.header)
		return false;
	if (field.number != TRACE_PACKET || field.type != WIRE_LENGTH)
		return false;
	whole = field.size <= size;
	end = whole ? field.size : size;
	for (size_t at = field.header; at < end; at += field.size) {
		switch (wire_read_field(bytes + at, end - at, &field)) {
		case WIRE_MALFORMED:
			return false;
		case WIRE_SHORT:
			return !whole; /* it may continue behind these bytes */
		case WIRE_OK:
			break;
		}
	}
	return true;
}

static bool sniff_is_text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((bytes[i] < 0x20 && !isspace(bytes[i])) || bytes[i] == 0x7f)
			return false;
	}
	return true;
}

static enum trace_format sniff_plain(const uint8_t *bytes, size_t size, const char **ret_what)
{
	size_t i;

	*ret_what = "empty";
	if (!size)
		return TRACE_UNKNOWN;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		*ret_what = others[i].what;
		if (size >= others[i].length && !memcmp(bytes, others[i].magic, others[i].length))
			return TRACE_UNKNOWN;
	}
	*ret_what = "looks like JSON";
	if (sniff_is_json((const char *)bytes, (const char *)bytes + size))
		return TRACE_CHROME_JSON;
	/* Before Perfetto: a text may begin with a line feed, which is the tag of a packet. */
	*ret_what = "looks like text";
	if (size > 2 && sniff_is_text(bytes, size))
		return TRACE_UNKNOWN;
	*ret_what = "looks like a Perfetto trace";
	if (sniff_is_perfetto(bytes, size))
		return TRACE_PERFETTO;
	for (i = 0; i < size && !bytes[i]; i++)
		;
	*ret_what = i == size ? "nothing but zeros" : "unknown binary data";
	return TRACE_UNKNOWN;
}

enum trace_format trace_sniff(const void *bytes, size_t size, const char **ret_what)
{
	const uint8_t *packed = bytes;
	uint8_t plain[512];
	enum trace_format format;
	z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (unsigned)size };
	const char *what;

	if (!ret_what)
		ret_what = &what;
	if (size < 2 || packed[0] != 0x1f || packed[1] != 0x8b)
		return sniff_plain(bytes, size, ret_what);
	*ret_what = "looks like a gzip file of something else";
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return TRACE_UNKNOWN;
	z.next_out = plain;
	z.avail_out = sizeof(plain);
	inflate(&z, Z_SYNC_FLUSH);
	format = sniff_plain(plain, sizeof(plain) - z.avail_out, &what);
	inflateEnd(&z);
	if (format != TRACE_UNKNOWN)
		*ret_what = what;
	return format;
}
