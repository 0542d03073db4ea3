/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/markers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "target/notes.h"

#define NO_DOOR	      255
#define PAGE	      4096
#define DOMAIN_AT     24
#define FAST_DOOR_LEN 10

/* A note's description, decoded but not yet believed. */
struct claim {
	uint64_t door;
	uint64_t fast; /* 0 = none */
	uint64_t switch_vaddr;
	struct marker_site site;
};

struct search {
	const struct elf_file *elf;
	struct marker_sites *found;
	unsigned notes;
	unsigned capacity;
};

const char *marker_kind_name(unsigned kind)
{
	switch (kind) {
	case RECORD_BEGIN:
		return "begin";
	case RECORD_END:
		return "end";
	case RECORD_INSTANT:
		return "instant";
	case RECORD_COUNTER:
		return "counter";
	case RECORD_ASYNC_BEGIN:
		return "async_begin";
	case RECORD_ASYNC_END:
		return "async_end";
	case RECORD_FLOW_OUT:
		return "flow_out";
	case RECORD_FLOW_IN:
		return "flow_in";
	case RECORD_ALLOC:
		return "alloc";
	case RECORD_FREE:
		return "free";
	case RECORD_THREAD_NAME:
		return "thread_name";
	case RECORD_STEP:
		return "step";
	case RECORD_PAUSE:
		return "pause";
	case RECORD_RESUME:
		return "resume";
	case RECORD_DUMP:
		return "dump";
	case RECORD_STOP:
		return "stop";
	case RECORD_INCLUDE_JSON:
		return "include_json";
	case RECORD_SCOPE_PUSH:
		return "scope_push";
	case RECORD_SCOPE_POP:
		return "scope_pop";
	case RECORD_FLUSH:
		return "flush";
	case RECORD_BATCH_SWITCH:
		return "batch";
	case RECORD_BATCH_ROOM:
		return "batch_room";
	default:
		return NULL;
	}
}

const char *marker_refusal_reason(enum marker_refusal refusal)
{
	static const char *const reasons[] = {
		[MARKER_NEWER] = "made for a newer proftrace",
		[MARKER_MALFORMED] = "damaged note",
		[MARKER_UNKNOWN_KIND] = "kind of marker that this proftrace does not know",
		[MARKER_NO_CODE] = "site that does not lie in the file's code",
		[MARKER_WRONG_BYTES] = "site whose bytes are not a marker's",
		[MARKER_NO_SWITCH] = "site whose switch does not lie in the file's data",
		[MARKER_CONFLICT] = "note that contradicts an earlier one about the same site",
		[MARKER_TOO_MANY] = "more than the limit for one file",
	};

	return refusal < MARKER_REFUSALS ? reasons[refusal] : "unknown";
}

/* What the note of the flush site has behind its name, at `at`. */
static void decode_flush(const struct note *note, uint64_t here, size_t at, struct marker_site *s)
{
	uint64_t list;

	if (note->desc_size < at + sizeof(list))
		return;
	memcpy(&list, note->desc + at, sizeof(list));
	s->list = here + at + list;
	at += sizeof(list);
	s->layout = 1;
	if (note->desc_size >= at + sizeof(s->layout))
		memcpy(&s->layout, note->desc + at, sizeof(s->layout));
}

static bool decode(const struct note *note, uint64_t notes_vaddr, struct claim *c)
{
	uint64_t here = notes_vaddr + note->desc_at, stub, distance[2];
	uint16_t kind;
	uint32_t flags;
	size_t length;

	if (note->desc_size <= DOMAIN_AT || note->desc_size > MARKERS_MAX_DESC)
		return false;
	length = strnlen((const char *)note->desc + DOMAIN_AT, note->desc_size - DOMAIN_AT);
	if (length == note->desc_size - DOMAIN_AT)
		return false;
	memcpy(distance, note->desc, sizeof(distance));
	memcpy(&kind, note->desc + 16, sizeof(kind));
	memcpy(&flags, note->desc + 20, sizeof(flags));
	memset(c, 0, sizeof(*c));
	/* Sums wrap around: distances are signed, and a wrong one fits no segment later. */
	stub = here + distance[0];
	c->switch_vaddr = here + 8 + distance[1];
	c->door = stub + note->desc[18];
	if (note->desc[19] != NO_DOOR)
		c->fast = stub + note->desc[19];
	c->site.kind = kind;
	c->site.flags = flags;
	c->site.vaddr = c->door;
	c->site.stub = stub;
	if (kind == RECORD_FLUSH)
		decode_flush(note, here, DOMAIN_AT + length + 1, &c->site);
	if (length > MARKERS_MAX_DOMAIN)
		length = MARKERS_MAX_DOMAIN;
	memcpy(c->site.domain, note->desc + DOMAIN_AT, length);
	return true;
}

/* The bytes from the slow door on: the nop that takes the breakpoint, the fast door, the return. */
static bool has_door(const struct elf_file *elf, const struct claim *c)
{
	static const uint8_t x86[] = { 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3 };
	static const uint8_t arm[] = { 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6 };
	bool is_x86 = elf->machine == EM_X86_64;
	const uint8_t *expected = is_x86 ? x86 : arm;
	size_t n = is_x86 ? sizeof(x86) : sizeof(arm);
	uint8_t bytes[sizeof(x86)];
	uint64_t offset;

	/* All of it inside the code, or what follows the site in memory is not what the file has. */
	if (elf_file_range(elf, c->door, n, ELF_EXECUTABLE, &offset) ||
	    elf_file_read(elf, offset, bytes, n) || memcmp(bytes, expected, n) != 0)
		return false;
	if (is_x86)
		return c->fast == 0 || c->fast == c->door + 1;
	return c->fast == 0 && c->door % 4 == 0;
}

/* 0 when the site may be used and is complete, else why not. */
static int check(const struct elf_file *elf, struct claim *c, enum marker_refusal *ret_refusal)
{
	struct marker_site *s = &c->site;
	uint64_t in_page = c->fast % PAGE;

	*ret_refusal = MARKER_UNKNOWN_KIND;
	if (!marker_kind_name(s->kind))
		return -1;
	*ret_refusal = MARKER_NO_CODE;
	if (elf_file_offset(elf, c->door, ELF_EXECUTABLE, &s->offset) || s->offset == 0)
		return -1;
	*ret_refusal = MARKER_WRONG_BYTES;
	if (!has_door(elf, c))
		return -1;
	*ret_refusal = MARKER_NO_SWITCH;
	if (elf_file_range(elf, c->switch_vaddr, s->kind >= RECORD_BATCH_SWITCH ? 2 : 4,
			   ELF_WRITABLE, &s->switch_offset) ||
	    s->switch_offset == 0 || s->switch_offset % 2 || c->switch_vaddr % 2)
		return -1;
	/* The kernel changes the fast door in two writes, which must not fall apart into two pages. */
	if (c->fast && in_page + FAST_DOOR_LEN <= PAGE &&
	    (s->offset + 1) % PAGE + FAST_DOOR_LEN <= PAGE)
		s->fast_offset = s->offset + 1;
	return 0;
}

static void refuse(struct marker_sites *found, enum marker_refusal refusal)
{
	found->refused_for[refusal]++;
	found->refused++;
}

static const struct marker_site *find_offset(const struct marker_sites *found, uint64_t offset)
{
	unsigned i;

	for (i = 0; i < found->n; i++) {
		if (found->sites[i].offset == offset)
			return &found->sites[i];
	}
	return NULL;
}

static int append(struct search *s, const struct marker_site *site)
{
	if (s->found->n == s->capacity) {
		unsigned capacity = s->capacity ? s->capacity * 2 : 64;
		struct marker_site *sites =
			realloc(s->found->sites, capacity * sizeof(*s->found->sites));

		if (!sites)
			return -ENOMEM;
		s->found->sites = sites;
		s->capacity = capacity;
	}
	s->found->sites[s->found->n++] = *site;
	return 0;
}

static int add_note(struct search *s, const struct note *note, uint64_t notes_vaddr)
{
	struct marker_sites *found = s->found;
	const struct marker_site *same;
	enum marker_refusal refusal;
	struct claim c;

	if (s->notes++ >= MARKERS_MAX_NOTES) {
		refuse(found, MARKER_TOO_MANY);
		return 0;
	}
	if (note->type != MARKERS_ABI) {
		refuse(found, MARKER_NEWER);
		return 0;
	}
	if (!decode(note, notes_vaddr, &c)) {
		refuse(found, MARKER_MALFORMED);
		return 0;
	}
	if (check(s->elf, &c, &refusal)) {
		refuse(found, refusal);
		return 0;
	}
	same = find_offset(found, c.site.offset);
	if (same && same->kind == c.site.kind && same->switch_offset == c.site.switch_offset &&
	    strcmp(same->domain, c.site.domain) == 0) {
		found->duplicates++;
		return 0;
	}
	if (same || found->n == MARKERS_MAX_SITES) {
		refuse(found, same ? MARKER_CONFLICT : MARKER_TOO_MANY);
		return 0;
	}
	return append(s, &c.site);
}

static int search_segment(struct search *s, const struct elf_segment *segment)
{
	struct notes notes;
	struct note note;
	int r = notes_read(s->elf, segment->offset, segment->filesz, segment->align, &notes);

	/* A segment that cannot be read is damage of the file; running out of memory is not. */
	if (r) {
		refuse(s->found, MARKER_MALFORMED);
		return r == -ENOMEM ? r : 0;
	}
	while ((r = notes_next(&notes, &note)) > 0) {
		if (!note_is(&note, "proftrace"))
			continue;
		r = add_note(s, &note, segment->vaddr);
		if (r)
			break;
	}
	if (r == -EBADMSG) {
		refuse(s->found, notes.cut ? MARKER_TOO_MANY : MARKER_MALFORMED);
		r = 0;
	}
	notes_free(&notes);
	return r;
}

int markers_find(struct elf_file *elf, struct marker_sites *ret, struct failure *f)
{
	struct marker_sites found = { 0 };
	struct search s = { .elf = elf, .found = &found };
	unsigned i, n = 0;
	int r = 0;

	for (i = 0; r == 0 && i < elf->n_segments; i++) {
		if (elf->segments[i].type != PT_NOTE)
			continue;
		if (n++ == NOTES_MAX_SEGMENTS) {
			refuse(&found, MARKER_TOO_MANY);
			break;
		}
		r = search_segment(&s, &elf->segments[i]);
	}
	if (r) {
		marker_sites_free(&found);
		return failure_set(f, r, "cannot read the markers of file", "", NULL);
	}
	*ret = found;
	return 0;
}

void marker_sites_free(struct marker_sites *sites)
{
	free(sites->sites);
	memset(sites, 0, sizeof(*sites));
}
