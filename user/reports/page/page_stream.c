/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON in memory. It stands in a <script> element, which ends at the first "</script" whatever is around it, so each
 * '<' becomes an escape. That is right without looking at the JSON, which has '<' in strings only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "reports/page/page_internal.h"

static int page_stream_reserve(struct page_stream *s, size_t more)
{
	size_t capacity = s->capacity ? s->capacity : 4096;
	char *grown;

	while (capacity - s->size < more)
		capacity *= 2;
	if (capacity == s->capacity)
		return 0;
	grown = realloc(s->bytes, capacity);
	if (!grown)
		return -ENOMEM;
	s->bytes = grown;
	s->capacity = capacity;
	return 0;
}

static ssize_t page_stream_write(void *context, const char *bytes, size_t size)
{
	static const char escape[] = "\\u003c";
	struct page_stream *s = context;

	if (page_stream_reserve(s, size * (sizeof(escape) - 1)))
		return 0; /* an error of the stream */
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '<') {
			s->bytes[s->size++] = bytes[i];
			continue;
		}
		memcpy(s->bytes + s->size, escape, sizeof(escape) - 1);
		s->size += sizeof(escape) - 1;
	}
	return (ssize_t)size;
}

int page_stream_open(struct page_stream *s)
{
	s->out = fopencookie(s, "w", (cookie_io_functions_t){ .write = page_stream_write });
	return s->out ? 0 : -ENOMEM;
}

int page_stream_close(struct page_stream *s)
{
	bool failed = !s->out || ferror(s->out);

	if (s->out && fclose(s->out))
		failed = true;
	s->out = NULL;
	return failed ? -ENOMEM : 0;
}

void page_stream_free(struct page_stream *s)
{
	page_stream_close(s);
	free(s->bytes);
	memset(s, 0, sizeof(*s));
}

/* --- much data in little space ------------------------------------------------------------------ */

static void put_base64(const unsigned char *bytes, size_t size, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		unsigned long word = (unsigned long)bytes[i] << 16;

		word |= i + 1 < size ? (unsigned long)bytes[i + 1] << 8 : 0;
		word |= i + 2 < size ? bytes[i + 2] : 0;
		for (unsigned k = 0; k < 4; k++)
			fputc(i + k > size ? '=' : digits[word >> (18 - 6 * k) & 63], out);
	}
}

int page_stream_put_packed(const struct page_stream *s, FILE *out)
{
	uLongf size = compressBound(s->size);
	unsigned char *packed = malloc(size);

	if (!packed ||
	    compress2(packed, &size, (const unsigned char *)s->bytes, s->size, 6) != Z_OK) {
		free(packed);
		return -ENOMEM;
	}
	fputc('"', out);
	put_base64(packed, size, out);
	fputc('"', out);
	free(packed);
	return 0;
}
