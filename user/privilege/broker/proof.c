/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verifies that the file itself describes a probe site, and which word of its data is the semaphore
 * of the site.
 *
 * A breakpoint and a semaphore are in every process that maps the file, also in those of other
 * users and of root. The recorder, which requests them, may have been taken over. The bytes at a
 * site prove little. Libraries without markers contain the bytes of a marker stub (an alignment nop
 * before a function that only returns); the bytes of a nop may be the middle of another
 * instruction; and any word of data looks like a semaphore. But the recorder cannot change what the
 * file describes, unless it may write to the file, and then it needs no probe.
 *
 * Three descriptions are accepted: notes of markers, notes of existing USDT probes, and the dynamic
 * symbols of the few functions at which threads are held, one of them also at its calls. (privilege/prover/
 * verifies recorded functions.) No memory is allocated by sizes in the file, and no pointer is computed from it. All
 * data is read with pread(), in limited amounts: numbers at fixed places of structures of fixed
 * size, and names that are only compared with known ones.
 */
#include "privilege/broker/server.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/marker_note.h"
#include "bpf/event.h"

#define NOTES_MOST    (4 << 20) /* bytes of all notes of a file */
#define SYMBOLS_MOST  262144	/* of all tables of a file */
#define SECTIONS_MOST 4096
#define DYNAMIC_MOST  1024
#define CALLS_MOST    32 /* of the function at which threads are held */
#define DESCRIPTION   24 /* bytes of a description that are read */
#define NT_STAPSDT    3
#define SYMBOLS_BLOCK 64
#ifdef __x86_64__
#define STEADY_NOP_SIZE 1
#else
#define STEADY_NOP_SIZE 4
#endif
#define NAME_SIZE sizeof("_dl_debug_state") /* of the longest */

struct proof {
	int fd;
	const struct segments *segments;
	struct broker_site *sites; /* sorted by offset */
	unsigned n;
	bool flushes;	   /* flush sites are proved, and no others */
	bool has_controls; /* the file has control sites: then flush sites have no semaphore */
	bool has_called;   /* the function is known whose calls are proved */
	bool buffered;	   /* the recording may use buffered mode */
	unsigned left;	   /* sites that are not proved yet; a proved site has cookie 0 */
	/* Bytes of notes read so far: each section of a file may contain the same notes. */
	uint64_t walked;
	uint64_t symbols; /* compared so far: a file may have any number of tables */
	/*
	 * A window of the file, because notes are small and close together, and there may be very
	 * many reads.
	 */
	uint64_t window_at;
	size_t window_size;
	unsigned char window[16384];
};

static bool read_all(const struct proof *p, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX - size &&
	       pread(p->fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

static bool read_near(struct proof *p, void *buffer, size_t size, uint64_t offset)
{
	uint64_t into = offset - p->window_at;
	ssize_t n;

	if (offset > INT64_MAX - size)
		return false;
	if (offset < p->window_at || into > p->window_size || size > p->window_size - into) {
		n = pread(p->fd, p->window, sizeof(p->window), (off_t)offset);
		p->window_at = offset;
		p->window_size = n > 0 ? (size_t)n : 0;
		into = 0;
	}
	if (size > p->window_size)
		return false;
	memcpy(buffer, p->window + into, size);
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const struct broker_site *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The first requested site at this address, or NULL. */
static struct broker_site *find_requested_site(const struct proof *p, uint64_t vaddr)
{
	struct broker_site key = { 0 }, *found;

	if (!segments_offset(p->segments, vaddr, true, &key.offset))
		return NULL;
	found = bsearch(&key, p->sites, p->n, sizeof(key), by_offset);
	while (found && found > p->sites && found[-1].offset == key.offset)
		found--;
	return found;
}

/*
 * The file describes a site with this semaphore (0: none). A semaphore outside of the data of the
 * file cannot be incremented, so the site may be attached without one. With `reason`, only sites of this
 * cookie are meant.
 */
static void prove_site_for(struct proof *p, uint64_t site, uint64_t semaphore, uint64_t reason)
{
	struct broker_site *found = find_requested_site(p, site);
	uint64_t word = 0, offset = found ? found->offset : 0;

	if (semaphore && !segments_offset(p->segments, semaphore, false, &word))
		word = 0;
	for (; found && found < p->sites + p->n && found->offset == offset; found++) {
		if (!found->cookie || found->semaphore_offset != word ||
		    (reason && found->cookie != reason))
			continue;
		found->cookie = 0;
		p->left--;
	}
}

static void prove_site(struct proof *p, uint64_t site, uint64_t semaphore)
{
	prove_site_for(p, site, semaphore, 0);
}

/*
 * --- notes
 * ----------------------------------------------------------------------------------------
 */

struct note {
	uint64_t vaddr; /* of the description */
	union {
		unsigned char bytes[DESCRIPTION];
		struct marker_note marker;
	};
};

static uint64_t number(const struct note *note, unsigned at)
{
	uint64_t value;

	memcpy(&value, note->bytes + at, sizeof(value));
	return value;
}

static void find_controls(struct proof *p, const struct note *note, uint64_t moved)
{
	(void)moved;
	p->has_controls |=
		note->marker.kind >= RECORD_THREAD_NAME && note->marker.kind < RECORD_FLUSH;
}

/*
 * Distances are signed, so sums wrap around. A wrong address is in no segment.
 *
 * The kernel refuses a second link at a site whose semaphore is another one than that of the first, also none, to
 * whoever asks for it. So the file alone decides which semaphore a site has, and the recorder has no choice.
 */
static void prove_marker(struct proof *p, const struct note *note, uint64_t moved)
{
	uint64_t stub = note->vaddr + note->marker.stub;
	uint64_t word =
		note->vaddr + offsetof(struct marker_note, semaphore) + note->marker.semaphore;

	(void)moved;
	if (p->flushes != (note->marker.kind == RECORD_FLUSH))
		return;
	if (p->flushes && p->has_controls)
		word = 0;
	/* A program that forbids itself the processor's counter does not survive what it was not recorded for. */
	if (note->marker.kind == RECORD_BATCH_ON && !p->buffered)
		return;
	/* Probes at steady nops have no semaphore. The one in the stub of kind 49 increments the other half. */
	if (note->marker.flags & MARKER_NOTE_STEADY)
		prove_site(p, stub + note->marker.breakpoint_nop - STEADY_NOP_SIZE,
			   note->marker.kind == RECORD_BATCH_ON ? word - sizeof(uint16_t) : 0);
	prove_site(p, stub + note->marker.breakpoint_nop, word);
	if (note->marker.optimised_nop != MARKER_NOTE_NO_SITE)
		prove_site(p, stub + note->marker.optimised_nop, word);
}

/*
 * The return instruction of a marker stub is an exit of a function that ends with a tail call of
 * the stub. The bytes from the nop to the return are those of a stub (attach.c).
 */
static void prove_marker_return(struct proof *p, const struct note *note, uint64_t moved)
{
	static const unsigned char x86[] = { MARKER_STUB_X86 };
	static const unsigned char arm64[] = { MARKER_STUB_ARM64 };
	uint64_t marker = note->vaddr + note->marker.stub + note->marker.breakpoint_nop, offset;
	unsigned char bytes[sizeof(x86)] = { 0 };

	(void)moved;
	if (!segments_offset(p->segments, marker, true, &offset) || offset > INT64_MAX ||
	    pread(p->fd, bytes, sizeof(bytes), (off_t)offset) < (ssize_t)sizeof(arm64))
		return;
	if (!memcmp(bytes, x86, sizeof(x86)))
		prove_site(p, marker + sizeof(x86) - 1, 0);
	else if (!memcmp(bytes, x86 + 1, sizeof(x86) - 1))
		prove_site(p, marker + sizeof(x86) - 2, 0);
	else if (!memcmp(bytes, arm64, sizeof(arm64)))
		prove_site(p, marker + 4, 0);
}

/* `moved`: the address of .stapsdt.base; 0: the file has none. */
static void prove_usdt(struct proof *p, const struct note *note, uint64_t moved)
{
	uint64_t base = number(note, 8), semaphore = number(note, 16);

	moved = moved && base ? moved - base : 0;
	prove_site(p, number(note, 0) + moved, semaphore ? semaphore + moved : 0);
}

struct kind {
	char owner[12];
	uint32_t owner_size;
	uint32_t type;
	void (*prove)(struct proof *p, const struct note *note, uint64_t moved);
};

static const struct kind markers = { "proftrace", sizeof("proftrace"), 1, prove_marker };
static const struct kind controls = { "proftrace", sizeof("proftrace"), 1, find_controls };
static const struct kind returns = { "proftrace", sizeof("proftrace"), 1, prove_marker_return };
static const struct kind usdt = { "stapsdt", sizeof("stapsdt"), NT_STAPSDT, prove_usdt };

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static void walk_notes(struct proof *p, const struct kind *kind, uint64_t offset, uint64_t size,
		       uint64_t align, uint64_t vaddr, uint64_t moved)
{
	uint64_t at = 0, description;
	struct {
		Elf64_Nhdr head;
		char owner[sizeof(kind->owner)];
	} start;
	struct note note;

	align = align == 8 ? 8 : 4;
	if (size > NOTES_MOST - p->walked)
		size = NOTES_MOST - p->walked;
	if (offset > INT64_MAX - size)
		return;
	/* The sizes of a note have 32 bits: no sum overflows. */
	while (p->left && at < size && read_near(p, &start, sizeof(start), offset + at)) {
		description = align_up(at + sizeof(start.head) + start.head.n_namesz, align);
		if (description + start.head.n_descsz > size)
			break;
		note.vaddr = vaddr + description;
		if (start.head.n_type == kind->type && start.head.n_namesz == kind->owner_size &&
		    !memcmp(start.owner, kind->owner, kind->owner_size) &&
		    start.head.n_descsz >= DESCRIPTION &&
		    read_near(p, note.bytes, DESCRIPTION, offset + description))
			kind->prove(p, &note, moved);
		at = align_up(description + start.head.n_descsz, align);
	}
	p->walked += at < size ? at : size;
}

/* Notes of markers are in a loaded segment, so stripping keeps them. */
static void read_marker_notes(struct proof *p, const struct kind *kind)
{
	unsigned i;

	for (i = 0; i < p->segments->n; i++) {
		const struct segment *s = &p->segments->list[i];

		if (s->type == PT_NOTE)
			walk_notes(p, kind, s->begin, s->end - s->begin, s->align, s->vaddr, 0);
	}
}

/* Notes of existing USDT probes are not in a segment, so they are found by section headers. */
static void read_usdt_notes(struct proof *p)
{
	static const char base[] = ".stapsdt.base";
	Elf64_Shdr names = { 0 }, s;
	char name[sizeof(base)];
	uint64_t moved = 0;
	unsigned i, n;
	Elf64_Ehdr h;

	if (!read_all(p, &h, sizeof(h), 0) || h.e_shentsize != sizeof(s) ||
	    h.e_shoff > INT64_MAX / 2)
		return;
	n = h.e_shnum < SECTIONS_MOST ? h.e_shnum : SECTIONS_MOST;
	if (h.e_shstrndx < h.e_shnum)
		read_all(p, &names, sizeof(names), h.e_shoff + h.e_shstrndx * sizeof(s));
	for (i = 1; i < n && !moved; i++) {
		if (read_near(p, &s, sizeof(s), h.e_shoff + i * sizeof(s)) &&
		    s.sh_type == SHT_PROGBITS && names.sh_offset <= INT64_MAX / 2 &&
		    read_all(p, name, sizeof(name), names.sh_offset + s.sh_name) &&
		    !memcmp(name, base, sizeof(name)))
			moved = s.sh_addr;
	}
	for (i = 1; i < n && p->left; i++) {
		if (read_all(p, &s, sizeof(s), h.e_shoff + i * sizeof(s)) && s.sh_type == SHT_NOTE)
			walk_notes(p, &usdt, s.sh_offset, s.sh_size, s.sh_addralign, 0, moved);
	}
}

/*
 * --- functions
 * ------------------------------------------------------------------------------------
 */

struct hold_function {
	char name[NAME_SIZE];
	uint64_t reason; /* the cookie; 0: any */
};

/* The functions at which threads are held. No other function is accepted, and each for its own reason only. */
static const struct hold_function linker[] = { { "_dl_debug_state", 0 } };
static const struct hold_function executes[] = {
	{ "execve", HOLD_EXECVE },
	{ "execveat", HOLD_EXECVEAT },
	{ "fexecve", HOLD_FEXECVE },
	{ "prctl", HOLD_COUNTER }, /* the last one: only for buffered mode */
};

struct names {
	const struct hold_function *list;
	unsigned n;
	bool calls;	  /* calls of the function are proved, too */
	uint64_t strings; /* the file offset of the names of symbols */
};

static const struct hold_function *find_named(const struct proof *p, const struct names *names,
					      uint32_t name)
{
	char text[NAME_SIZE];
	unsigned i;
	ssize_t n;

	if (names->strings > INT64_MAX - UINT32_MAX)
		return NULL;
	n = pread(p->fd, text, sizeof(text), (off_t)(names->strings + name));
	for (i = 0; i < names->n; i++) {
		size_t size = strlen(names->list[i].name) + 1;

		if (n >= (ssize_t)size && !memcmp(text, names->list[i].name, size))
			return &names->list[i];
	}
	return NULL;
}

/* Whether the instruction at the site is a call of the function, or a jump to it. */
static bool site_calls(const struct proof *p, const struct broker_site *site, uint64_t function)
{
	unsigned char call[5];
	int32_t distance;
	uint64_t vaddr;

	if (!segments_code_vaddr(p->segments, site->offset, sizeof(call), &vaddr) ||
	    !read_all(p, call, sizeof(call), site->offset) || !is_x86_call(call[0]))
		return false;
	memcpy(&distance, call + 1, sizeof(distance));
	return vaddr + sizeof(call) + (uint64_t)(int64_t)distance == function &&
	       instruction_begins(p->fd, vaddr);
}

/* Of one function only: a file may have any number of symbols of this name. Each site takes some decoding. */
static void prove_calls(struct proof *p, uint64_t function)
{
	if (p->has_called)
		return;
	p->has_called = true;
	for (unsigned i = 0; i < p->n && i < CALLS_MOST; i++) {
		struct broker_site *site = &p->sites[i];

		if (!site->cookie || site->semaphore_offset || !site_calls(p, site, function))
			continue;
		site->cookie = 0;
		p->left--;
	}
}

/* Compares `n` consecutive symbols with the names. */
static void prove_symbols(struct proof *p, const struct names *names, uint64_t offset, uint64_t n)
{
	const struct hold_function *function;
	Elf64_Sym block[SYMBOLS_BLOCK];
	uint64_t i, j, some;

	if (n > SYMBOLS_MOST - p->symbols)
		n = SYMBOLS_MOST - p->symbols;
	p->symbols += n;
	for (i = 0; i < n && p->left; i += some) {
		some = n - i < SYMBOLS_BLOCK ? n - i : SYMBOLS_BLOCK;
		if (!read_all(p, block, some * sizeof(block[0]), offset + i * sizeof(block[0])))
			return;
		for (j = 0; j < some; j++) {
			if (ELF64_ST_TYPE(block[j].st_info) != STT_FUNC ||
			    block[j].st_shndx == SHN_UNDEF ||
			    (!names->calls && !find_requested_site(p, block[j].st_value)))
				continue;
			function = find_named(p, names, block[j].st_name);
			if (!function)
				continue;
			prove_site_for(p, block[j].st_value, 0, function->reason);
			if (names->calls)
				prove_calls(p, block[j].st_value);
		}
	}
}

/*
 * The file does not have the number of symbols. Their names usually follow the table, and then they
 * bound it.
 */
static void read_dynamic_symbols(struct proof *p, struct names *names,
				 const struct segment *dynamic)
{
	uint64_t symbols = 0, strings = 0, offset, n;
	Elf64_Dyn d;
	unsigned i;

	for (i = 0; i < DYNAMIC_MOST && i < (dynamic->end - dynamic->begin) / sizeof(d); i++) {
		if (!read_all(p, &d, sizeof(d), dynamic->begin + i * sizeof(d)) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			symbols = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
	}
	if (!symbols || !segments_within(p->segments, symbols, &offset) ||
	    !segments_within(p->segments, strings, &names->strings))
		return;
	n = strings > symbols ? (strings - symbols) / sizeof(Elf64_Sym) : SYMBOLS_MOST;
	prove_symbols(p, names, offset, n);
}

static void read_hold_functions(struct proof *p, enum broker_program program)
{
	struct names names = { linker, 1, true, 0 };
	unsigned i;

	if (program == BROKER_EXECUTES) {
		names.list = executes;
		names.calls = false;
		names.n = sizeof(executes) / sizeof(executes[0]) - !p->buffered;
	}

	for (i = 0; i < p->segments->n; i++) {
		if (p->segments->list[i].type == PT_DYNAMIC)
			read_dynamic_symbols(p, &names, &p->segments->list[i]);
	}
}

bool sites_proved(int elf_fd, const struct segments *segments, enum broker_program program,
		  bool buffered, const struct broker_site *sites, unsigned n)
{
	struct proof p = { .fd = elf_fd,
			   .segments = segments,
			   .n = n,
			   .left = n,
			   .flushes = program == BROKER_FLUSH,
			   .buffered = buffered };
	unsigned i;

	p.sites = malloc(n * sizeof(*sites));
	if (!p.sites)
		return false;
	memcpy(p.sites, sites, n * sizeof(*sites));
	for (i = 0; i < n && program != BROKER_EXECUTES; i++)
		p.sites[i].cookie = 1;
	qsort(p.sites, n, sizeof(*p.sites), by_offset);
	if (p.flushes)
		read_marker_notes(&p, &controls);
	p.walked = 0;
	if (program == BROKER_MARKS || program == BROKER_FLUSH)
		read_marker_notes(&p, &markers);
	else if (program == BROKER_USDT)
		read_usdt_notes(&p);
	else if (program == BROKER_LIBRARIES || program == BROKER_EXECUTES)
		read_hold_functions(&p, program);
	else if (program == BROKER_FUNCTIONS)
		read_marker_notes(&p, &returns);
	free(p.sites);
	return !p.left;
}
