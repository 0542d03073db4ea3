/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a name and as the value of a string: what comes out is UTF-8 that no terminal and no
 * parser of JSON makes anything of, and cleaning it again changes nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "formats/json_text.h"
#include "formats/chrome/json_filter.h"
#include "base/number.h"
#include "timeline/names.h"

#define MOST 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* Slowly, by the book: the length of the character at `s`, which must be one. */
static size_t must_be_character(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4, i;
	uint32_t code = n == 1 ? s[0] : s[0] & (0x7f >> n);

	must(n <= left && (s[0] < 0x80 || s[0] >= 0xc2) && s[0] <= 0xf4);
	for (i = 1; i < n; i++) {
		must((s[i] & 0xc0) == 0x80);
		code = code << 6 | (s[i] & 0x3f);
	}
	must(code >= 0x20 && !(code >= 0x7f && code < 0xa0));
	must(code != 0x2028 && code != 0x2029 && !(code >= 0xd800 && code < 0xe000));
	must(code <= 0x10ffff && (n < 3 || code >= 0x800) && (n < 4 || code >= 0x10000));
	return n;
}

static void must_be_clean(const char *text, size_t length)
{
	size_t i;

	must(text[length] == '\0');
	for (i = 0; i < length;)
		i += must_be_character((const unsigned char *)text + i, length - i);
}

static void clean(const char *bytes, size_t length, size_t capacity)
{
	char out[6 * MOST + 1], again[6 * MOST + 1];
	bool changed = false, changed_again = false;
	size_t n, whole;

	whole = text_clean(out, 6 * length + 1, bytes, length, &changed);
	must(whole <= 6 * length);
	must_be_clean(out, whole);
	must(changed || (whole == length && !memcmp(out, bytes, length)));
	n = text_clean(again, sizeof(again), out, whole, &changed_again);
	must(n == whole && !changed_again && !memcmp(out, again, n));
	/* With less room: the beginning of it. */
	n = text_clean(again, capacity, bytes, length, &changed);
	must(capacity ? n < capacity && n <= whole && !memcmp(out, again, n) : n == 0);
	if (capacity)
		must_be_clean(again, n);
}

static void escape(const char *text, size_t length)
{
	char out[2 * MOST + 1];
	size_t n = (size_t)(json_escaped(out, text, length) - out), i;

	must(n >= length && n <= 2 * length);
	for (i = 0; i < n; i++) {
		must((unsigned char)out[i] >= 0x20 && out[i] != '"');
		i += out[i] == '\\';
	}
	must(i == n);
}

static void intern(struct names *names, const char *bytes, size_t length, size_t most)
{
	const struct name *name = names_intern(names, bytes, length, most);

	must(name && name->id && strlen(name->text) == name->length);
	must_be_clean(name->text, name->length);
	must(names_intern(names, bytes, length, most) == name);
}

static void fail(const char *text)
{
	struct failure f;
	const char *at;

	failure_set(&f, -1, "cannot", text, text);
	failure_hint(&f, "%s", text);
	for (at = f.object; *at; at++)
		must((unsigned char)*at >= 0x20 && *at != 0x7f && memcmp(at, "\xc2\x9b", 2) != 0);
	must(strlen(f.reason) < sizeof(f.reason) && strlen(f.hint) < sizeof(f.hint));
}

static void filter(const uint8_t *bytes, size_t size)
{
	struct json_filter f = { 0 };
	enum json_fate fate;

	while (size) {
		size_t n = json_filter(&f, bytes, size, &fate);

		must(n <= size && (n || fate == JSON_TOO_LONG));
		if (fate == JSON_TOO_LONG)
			break;
		bytes += n;
		size -= n;
	}
}

static void number(const char *text, size_t length)
{
	struct number n = number_read(text, length, true);
	int64_t ns;
	uint64_t id;

	must(n.type >= NUMBER_NONE && n.type <= NUMBER_DOUBLE);
	(void)number_microseconds(text, length, &ns);
	(void)number_id(text, length, &id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct names *names;
	static unsigned n;
	char text[MOST + 1];
	size_t capacity;

	if (size < 2 || size > MOST)
		return 0;
	if (!names || ++n % 4096 == 0) {
		names_free(names);
		names = names_new(256);
	}
	capacity = data[0];
	data++, size--;
	memcpy(text, data, size);
	text[size] = '\0';
	clean(text, size, capacity);
	escape(text, size);
	intern(names, text, size, capacity);
	fail(text);
	filter(data, size);
	number(text, size);
	return 0;
}
