/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes the notes of markers and checks each of them against the instructions and the writable data of the file,
 * before anybody puts a breakpoint where the note says.
 */
#include "tracee/markers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/marker_note.h"
#include "bpf/event.h"
#include "tracee/notes.h"

#define PAGE		  4096
#define DOMAIN_AT	  sizeof(struct marker_note)
#define OPTIMISED_NOP_LEN 10

/* A decoded note that has not been checked yet. */
struct claim {
	uint64_t optimised_vaddr; /* 0 = none */
	uint64_t semaphore_vaddr;
	struct marker_site site;
};

struct marker_search {
	const struct elf_file *elf;
	struct marker_sites *found;
	unsigned notes;
	unsigned capacity;
};

const char *marker_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[RECORD_BEGIN] = "begin",
		[RECORD_END] = "end",
		[RECORD_INSTANT] = "instant",
		[RECORD_COUNTER] = "counter",
		[RECORD_ASYNC_BEGIN] = "async_begin",
		[RECORD_ASYNC_END] = "async_end",
		[RECORD_FLOW_OUT] = "flow_out",
		[RECORD_FLOW_IN] = "flow_in",
		[RECORD_ALLOC] = "alloc",
		[RECORD_FREE] = "free",
		[RECORD_THREAD_NAME] = "thread_name",
		[RECORD_STEP] = "step",
		[RECORD_PAUSE] = "pause",
		[RECORD_RESUME] = "resume",
		[RECORD_DUMP] = "dump",
		[RECORD_STOP] = "stop",
		[RECORD_INCLUDE_JSON] = "include_json",
		[RECORD_SCOPE_PUSH] = "scope_push",
		[RECORD_SCOPE_POP] = "scope_pop",
		[RECORD_FLUSH] = "flush",
		[RECORD_BATCH_ON] = "batch",
		[RECORD_BATCH_UNUSED] = "batch_room",
		[RECORD_READ_STRINGS] = "read_strings",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

const char *marker_refusal_reason(enum marker_refusal refusal)
{
	static const char *const reasons[] = {
		[MARKER_NEWER] = "made for a newer proftrace",
		[MARKER_MALFORMED] = "damaged note",
		[MARKER_UNKNOWN_KIND] = "marker of an unknown kind",
		[MARKER_NO_CODE] = "site outside the code of the file",
		[MARKER_WRONG_BYTES] = "site without the instructions of a marker",
		[MARKER_NO_SEMAPHORE] = "site whose semaphore is outside the data of the file",
		[MARKER_CONFLICT] = "note that contradicts an earlier one about the same site",
		[MARKER_TOO_MANY] = "beyond the limit for one file",
	};

	return refusal < MARKER_REFUSALS ? reasons[refusal] : "unknown";
}

/* Decodes what follows the name in the note of the flush site, at `at`. */
static void marker_decode_flush(const struct note *note, uint64_t here, size_t at,
				struct marker_site *s)
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

static bool marker_decode(const struct note *note, uint64_t notes_vaddr, struct claim *c)
{
	uint64_t here = notes_vaddr + note->desc_at;
	struct marker_note n;
	size_t length;

	if (note->desc_size <= DOMAIN_AT || note->desc_size > MARKERS_MAX_DESC)
		return false;
	length = strnlen((const char *)note->desc + DOMAIN_AT, note->desc_size - DOMAIN_AT);
	if (length == note->desc_size - DOMAIN_AT)
		return false;
	memcpy(&n, note->desc, sizeof(n));
	memset(c, 0, sizeof(*c));
	/* Distances are signed, so sums wrap around. A wrong address is in no segment, which is checked later. */
	c->semaphore_vaddr = here + offsetof(struct marker_note, semaphore) + n.semaphore;
	c->site.stub = here + n.stub;
	c->site.vaddr = c->site.stub + n.breakpoint_nop;
	if (n.optimised_nop != MARKER_NOTE_NO_SITE)
		c->optimised_vaddr = c->site.stub + n.optimised_nop;
	c->site.kind = n.kind;
	c->site.flags = n.flags;
	if (n.kind == RECORD_FLUSH)
		marker_decode_flush(note, here, DOMAIN_AT + length + 1, &c->site);
	if (length > MARKERS_MAX_DOMAIN)
		length = MARKERS_MAX_DOMAIN;
	memcpy(c->site.domain, note->desc + DOMAIN_AT, length);
	return true;
}

/* Whether the file has the instructions of a stub there: the breakpoint nop, the optimised nop, the return. */
static bool marker_stub_matches(const struct elf_file *elf, const struct claim *c)
{
	static const uint8_t x86[] = { MARKER_STUB_X86 };
	static const uint8_t arm[] = { MARKER_STUB_ARM64 };
	bool is_x86 = elf->machine == EM_X86_64;
	const uint8_t *expected = is_x86 ? x86 : arm;
	size_t n = is_x86 ? sizeof(x86) : sizeof(arm);
	uint8_t bytes[sizeof(x86)];
	uint64_t offset;

	/* All of it has to be in one segment: else other bytes follow the site in memory than in the file. */
	if (elf_file_range(elf, c->site.vaddr, n, ELF_EXECUTABLE, &offset) ||
	    elf_file_read(elf, offset, bytes, n) || memcmp(bytes, expected, n) != 0)
		return false;
	if (is_x86)
		return c->optimised_vaddr == 0 || c->optimised_vaddr == c->site.vaddr + 1;
	return c->optimised_vaddr == 0 && c->site.vaddr % 4 == 0;
}

/* Finds the steady nop, if the note says that there is one. False: other bytes are there. */
static bool marker_find_steady_nop(const struct elf_file *elf, struct marker_site *s)
{
	static const uint8_t x86[] = { MARKER_NOP_X86 };
	static const uint8_t arm[] = { MARKER_NOP_ARM64 };
	bool is_x86 = elf->machine == EM_X86_64;
	size_t n = is_x86 ? sizeof(x86) : sizeof(arm);
	uint8_t bytes[sizeof(arm)];
	uint64_t offset;

	if (!(s->flags & MARKER_NOTE_STEADY))
		return true;
	/* The breakpoint nop follows it in memory and in the file. */
	if (elf_file_range(elf, s->vaddr - n, n + 1, ELF_EXECUTABLE, &offset) || !offset ||
	    elf_file_read(elf, offset, bytes, n) || memcmp(bytes, is_x86 ? x86 : arm, n) != 0)
		return false;
	s->steady_offset = offset;
	return true;
}

/* Completes the site and returns 0 if it may be used. */
static int marker_check(const struct elf_file *elf, struct claim *c,
			enum marker_refusal *ret_refusal)
{
	struct marker_site *s = &c->site;
	uint64_t in_page = c->optimised_vaddr % PAGE;

	*ret_refusal = MARKER_UNKNOWN_KIND;
	if (!marker_kind_name(s->kind))
		return -1;
	*ret_refusal = MARKER_NO_CODE;
	if (elf_file_offset(elf, s->vaddr, ELF_EXECUTABLE, &s->offset) || s->offset == 0)
		return -1;
	*ret_refusal = MARKER_WRONG_BYTES;
	if (!marker_stub_matches(elf, c) || !marker_find_steady_nop(elf, s))
		return -1;
	*ret_refusal = MARKER_NO_SEMAPHORE;
	if (elf_file_range(elf, c->semaphore_vaddr, s->kind >= RECORD_BATCH_ON ? 2 : 4,
			   ELF_WRITABLE, &s->semaphore_offset) ||
	    s->semaphore_offset == 0 || s->semaphore_offset % 2 || c->semaphore_vaddr % 2)
		return -1;
	/* The kernel changes the optimised nop in two writes, which must be within one page. */
	if (c->optimised_vaddr && in_page + OPTIMISED_NOP_LEN <= PAGE &&
	    (s->offset + 1) % PAGE + OPTIMISED_NOP_LEN <= PAGE)
		s->optimised_offset = s->offset + 1;
	return 0;
}

static void marker_refuse(struct marker_sites *found, enum marker_refusal refusal)
{
	found->refused_for[refusal]++;
	found->refused++;
}

static const struct marker_site *marker_at_offset(const struct marker_sites *found, uint64_t offset)
{
	for (unsigned i = 0; i < found->n; i++) {
		if (found->sites[i].offset == offset)
			return &found->sites[i];
	}
	return NULL;
}

static int marker_append(struct marker_search *s, const struct marker_site *site)
{
	if (!array_reserve(s->found->sites, s->found->n, s->capacity, 64))
		return -ENOMEM;
	s->found->sites[s->found->n++] = *site;
	return 0;
}

static int markers_add_note(struct marker_search *s, const struct note *note, uint64_t notes_vaddr)
{
	struct marker_sites *found = s->found;
	const struct marker_site *same;
	enum marker_refusal refusal;
	struct claim c;

	if (s->notes++ >= MARKERS_MAX_NOTES) {
		marker_refuse(found, MARKER_TOO_MANY);
		return 0;
	}
	if (note->type != MARKER_NOTE_VERSION) {
		marker_refuse(found, MARKER_NEWER);
		return 0;
	}
	if (!marker_decode(note, notes_vaddr, &c)) {
		marker_refuse(found, MARKER_MALFORMED);
		return 0;
	}
	if (marker_check(s->elf, &c, &refusal)) {
		marker_refuse(found, refusal);
		return 0;
	}
	same = marker_at_offset(found, c.site.offset);
	if (same && same->kind == c.site.kind &&
	    same->semaphore_offset == c.site.semaphore_offset &&
	    strcmp(same->domain, c.site.domain) == 0) {
		found->duplicates++;
		return 0;
	}
	if (same || found->n == MARKERS_MAX_SITES) {
		marker_refuse(found, same ? MARKER_CONFLICT : MARKER_TOO_MANY);
		return 0;
	}
	return marker_append(s, &c.site);
}

static int markers_search_segment(struct marker_search *s, const struct elf_segment *segment)
{
	struct notes notes;
	struct note note;
	int r = notes_read(s->elf, segment->offset, segment->filesz, segment->align, &notes);

	/* If the segment cannot be read, the file is damaged. */
	if (r) {
		marker_refuse(s->found, MARKER_MALFORMED);
		return r == -ENOMEM ? r : 0;
	}
	while ((r = notes_next(&notes, &note)) > 0) {
		if (!note_is(&note, "proftrace"))
			continue;
		r = markers_add_note(s, &note, segment->vaddr);
		if (r)
			break;
	}
	if (r == -EBADMSG) {
		marker_refuse(s->found, notes.cut ? MARKER_TOO_MANY : MARKER_MALFORMED);
		r = 0;
	}
	notes_free(&notes);
	return r;
}

int markers_find(const struct elf_file *elf, struct marker_sites *ret, struct failure *f)
{
	struct marker_sites found = { 0 };
	struct marker_search s = { .elf = elf, .found = &found };
	unsigned i, n = 0;
	int r = 0;

	for (i = 0; r == 0 && i < elf->n_segments; i++) {
		if (elf->segments[i].type != PT_NOTE)
			continue;
		if (n++ == NOTES_MAX_SEGMENTS) {
			marker_refuse(&found, MARKER_TOO_MANY);
			break;
		}
		r = markers_search_segment(&s, &elf->segments[i]);
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
