/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names are kept in a hash table by their cleaned text. Nearly every lookup is of a name that is
 * known already and needs no repair: then its bytes are equal to a text in the table, which proves
 * that they are clean, since every text there is. Only bytes that are not found are cleaned.
 */
#include "timeline/names.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DEFAULT_MAX_NAMES 65536
#define OTHER_NAMES	  "(other)"

struct entry {
	UT_hash_handle hh;
	struct name name; /* last: its text follows */
};

/* A cache of the names that were looked up last, by a hash that is cheap to compute. */
#define RECENT 512 /* a power of two */

struct names {
	struct entry *table;
	struct entry *recent[RECENT];
	struct entry *other;
	uint32_t max_names;
	uint32_t n_names; /* without (other) */
	struct names_count count;
	char scratch[NAME_LONGEST * 6 + 1];
};

/*
 * Writes the escape of a control character or a line separator, to which terminals and parsers
 * would react.
 */
static size_t escape_control(char *out, uint32_t code)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;
	int shift = code > 0xff ? 12 : 4;

	out[n++] = '\\';
	out[n++] = code > 0xff ? 'u' : 'x';
	for (; shift >= 0; shift -= 4)
		out[n++] = digits[code >> shift & 15];
	return n;
}

/* Eight bytes, all of them from ' ' to '~': none has its highest bit, none is below, none is DEL. */
static bool is_plain_ascii(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101ull, high = 0x80 * ones;

	return !((word | (word - 0x20 * ones) | (word + ones)) & high);
}

size_t text_clean(char *out, size_t size, const char *bytes, size_t length, bool *ret_changed)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t n = 0, i = 0;

	if (!size)
		return 0;
	/* Nearly all text is plain ASCII, and is copied eight bytes at a time. */
	while (i + 8 <= length && i + 8 < size) {
		uint64_t word;

		memcpy(&word, s + i, 8);
		if (!is_plain_ascii(word))
			break;
		memcpy(out + i, &word, 8);
		i += 8;
	}
	n = i;
	while (i < length) {
		char piece[8];
		const char *from = (const char *)s + i;
		uint32_t code = 0;
		size_t taken, given;

		if (s[i] >= 0x20 && s[i] < 0x7f) {
			if (n + 1 >= size)
				break;
			out[n++] = (char)s[i++];
			continue;
		}
		taken = given = utf8_decode(s + i, length - i, &code);
		if (!taken) {
			memcpy(piece, "\xef\xbf\xbd", 3);
			from = piece;
			taken = 1;
			given = 3;
		} else if (text_is_control(code)) {
			given = escape_control(piece, code);
			from = piece;
		}
		if (n + given >= size)
			break;
		if (from == piece)
			*ret_changed = true;
		memcpy(out + n, from, given);
		n += given;
		i += taken;
	}
	out[n] = '\0';
	return n;
}

/* Hashes the first and the last eight bytes, which may overlap, and the length. */
static unsigned names_recent_slot(const char *text, size_t length)
{
	uint64_t head = 0, tail = 0, sum;

	if (length >= 8) {
		memcpy(&head, text, 8);
		memcpy(&tail, text + length - 8, 8);
	} else if (length >= 4) {
		memcpy(&head, text, 4);
		memcpy(&tail, text + length - 4, 4);
	} else if (length) {
		head = (uint64_t)(unsigned char)text[0] << 8 | (unsigned char)text[length / 2];
		tail = (unsigned char)text[length - 1];
	}
	sum = (head ^ (tail << 21 | tail >> 43) ^ length) * 0x9e3779b97f4a7c15ull;
	return (unsigned)(sum >> 55) & (RECENT - 1);
}

static struct entry *names_find(struct names *names, const char *text, size_t length)
{
	struct entry **recent = &names->recent[names_recent_slot(text, length)], *entry = *recent;

	if (entry && entry->name.length == length && !memcmp(entry->name.text, text, length))
		return entry;
	HASH_FIND(hh, names->table, text, length, entry);
	if (entry)
		*recent = entry;
	return entry;
}

static struct entry *names_add(struct names *names, const char *text, size_t length, uint32_t id)
{
	struct entry *entry = malloc(sizeof(*entry) + length + 1);

	if (!entry)
		return NULL;
	entry->name.id = id;
	entry->name.length = (uint32_t)length;
	memcpy(entry->name.text, text, length);
	entry->name.text[length] = '\0';
	HASH_ADD_KEYPTR(hh, names->table, entry->name.text, length, entry);
	if (!hash_added(hh, entry)) {
		free(entry);
		return NULL;
	}
	return entry;
}

struct names *names_new(uint32_t max_names)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->max_names = max_names ? max_names : DEFAULT_MAX_NAMES;
	/* Made now, so that it exists when the limit is reached or memory is short. */
	names->other = names_add(names, OTHER_NAMES, strlen(OTHER_NAMES), 1);
	if (!names->other) {
		free(names);
		return NULL;
	}
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	hash_clear(hh, names->table, entry);
	free(names);
}

/* The length at which to cut so that no character is split, if the bytes are UTF-8 at all. */
static size_t name_cut_length(const char *bytes, size_t max_length)
{
	for (size_t back = 0; back < 4 && back <= max_length; back++) {
		if (((unsigned char)bytes[max_length - back] & 0xc0) != 0x80)
			return max_length - back;
	}
	return max_length;
}

/*
 * Cleans into the scratch buffer. An escape is up to six times as long as the character it
 * replaces, so the limit applies to the result as well: whoever reserves space for the longest name
 * can rely on it.
 */
static size_t names_clean(struct names *names, const char *bytes, size_t length, size_t max_length,
			  bool was_cut, bool *repaired)
{
	size_t n, most = max_length > NAME_LONGEST_REPAIRED ? max_length : NAME_LONGEST_REPAIRED;

	n = text_clean(names->scratch, sizeof(names->scratch), bytes, length, repaired);
	if (n <= most)
		return n;
	names->count.cut += !was_cut;
	return text_clean(names->scratch, most + 1, bytes, length, repaired);
}

const struct name *names_intern(struct names *names, const char *bytes, size_t length,
				size_t max_length)
{
	struct entry *entry;
	bool repaired = false, cut;

	if (!bytes)
		bytes = "", length = 0;
	if (max_length > NAME_LONGEST)
		max_length = NAME_LONGEST;
	cut = length > max_length;
	if (cut) {
		names->count.cut++;
		length = name_cut_length(bytes, max_length);
	}
	entry = names_find(names, bytes, length);
	if (entry)
		return &entry->name;
	length = names_clean(names, bytes, length, max_length, cut, &repaired);
	if (repaired) {
		names->count.repaired++;
		entry = names_find(names, names->scratch, length);
		if (entry)
			return &entry->name;
	}
	if (names->n_names < names->max_names)
		entry = names_add(names, names->scratch, length, names->n_names + 2);
	if (!entry) {
		names->count.capped++;
		return &names->other->name;
	}
	names->n_names++;
	return &entry->name;
}

const struct name *names_intern_string(struct names *names, const char *string)
{
	return names_intern(names, string, strlen(string), NAME_LONGEST);
}

const struct name *names_intern_foreign(struct names *names, const char *bytes, size_t length)
{
	const struct names_count count = names->count;
	const struct name *name = names_intern(names, bytes, length, NAME_LONGEST);

	names->count.cut = count.cut;
	names->count.repaired = count.repaired;
	return name;
}

const struct names_count *names_count(const struct names *names)
{
	return &names->count;
}
