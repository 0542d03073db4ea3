/* SPDX-License-Identifier: BSD-2-Clause */
/* The notes of markers (tracee/markers.c), in ELF images that are built here, valid and damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "elf_image.h"
#include "bpf/event.h"
#include "tracee/markers.h"

#define CODE(at) (IMAGE_CODE_VADDR + IMAGE_CODE + (at))
#define DATA(at) (IMAGE_DATA_VADDR + IMAGE_DATA + (at))

/* A good site whose stub lies at the beginning of the code. */
static const struct image_site good = {
	.stub = CODE(0),
	.semaphore_vaddr = DATA(0x10),
	.kind = RECORD_BEGIN,
	.slow = 1,
	.fast = 2,
	.flags = 1,
	.domain = "net",
};

static void find(const struct image *m, struct marker_sites *ret)
{
	struct elf_file *elf;
	struct failure f;
	int fd = image_fd(m);

	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	assert_int_equal(markers_find(elf, ret, &f), 0);
	elf_file_free(elf);
	close(fd);
}

static void init(struct image *m)
{
	image_init(m, EM_X86_64);
	image_put_stub(m, IMAGE_CODE);
	image_put_stub(m, IMAGE_CODE + 0x20);
}

/* The image has one note, which must be refused for this reason and no other. */
static void must_refuse(const struct image *m, enum marker_refusal refusal)
{
	struct marker_sites s;
	unsigned i;

	find(m, &s);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.refused, 1);
	for (i = 0; i < MARKER_REFUSALS; i++) {
		assert_int_equal(s.refused_for[i], i == refusal);
		assert_non_null(marker_refusal_reason(i));
	}
	marker_sites_free(&s);
}

static void must_refuse_site(const struct image_site *site, enum marker_refusal refusal)
{
	struct image m;

	init(&m);
	image_add_site(&m, site);
	must_refuse(&m, refusal);
}

static void finds_sites(void **state)
{
	struct image_site control = good;
	struct marker_sites s;
	struct image m;

	(void)state;
	init(&m);
	control.stub = CODE(0x20);
	control.semaphore_vaddr = DATA(0xfc); /* the last bytes of the data in the file */
	control.kind = RECORD_STEP;
	control.domain = "";
	image_add_note(&m, "Other", 1, "12345", 5, 4);
	image_add_site(&m, &good);
	image_add_note(&m, "", 7, "", 0, 4);
	image_add_site(&m, &control);
	find(&m, &s);
	assert_int_equal(s.refused, 0);
	assert_int_equal(s.duplicates, 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.sites[0].vaddr, CODE(1));
	assert_int_equal(s.sites[0].offset, IMAGE_CODE + 1);
	assert_int_equal(s.sites[0].optimised_offset, IMAGE_CODE + 2);
	assert_int_equal(s.sites[0].semaphore_offset, IMAGE_DATA + 0x10);
	assert_int_equal(s.sites[0].kind, RECORD_BEGIN);
	assert_int_equal(s.sites[0].flags, 1);
	assert_string_equal(s.sites[0].domain, "net");
	assert_int_equal(s.sites[1].offset, IMAGE_CODE + 0x21);
	assert_int_equal(s.sites[1].semaphore_offset, IMAGE_DATA + 0xfc);
	assert_int_equal(s.sites[1].kind, RECORD_STEP);
	assert_string_equal(s.sites[1].domain, "");
	marker_sites_free(&s);
}

static void finds_sites_without_section_headers(void **state)
{
	struct marker_sites s;
	struct image m;

	(void)state;
	init(&m);
	image_add_site(&m, &good);
	image_header(&m)->e_shoff = 0;
	image_header(&m)->e_shnum = 0;
	find(&m, &s);
	assert_int_equal(s.n, 1);
	marker_sites_free(&s);
}

static void finds_sites_on_arm64(void **state)
{
	struct image_site site = good;
	struct marker_sites s;
	struct image m;

	(void)state;
	image_init(&m, EM_AARCH64);
	image_put_stub(&m, IMAGE_CODE);
	site.slow = 4;
	site.fast = 255;
	image_add_site(&m, &site);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.sites[0].offset, IMAGE_CODE + 4);
	assert_int_equal(s.sites[0].optimised_offset, 0);
	marker_sites_free(&s);
	m.bytes[IMAGE_CODE + 8] ^= 1; /* no return any more */
	must_refuse(&m, MARKER_WRONG_BYTES);

	image_init(&m, EM_AARCH64);
	image_put_stub(&m, IMAGE_CODE + 2); /* the right bytes between two instructions */
	site.stub = CODE(2);
	image_add_site(&m, &site);
	must_refuse(&m, MARKER_WRONG_BYTES);

	image_init(&m, EM_AARCH64);
	image_put_stub(&m, IMAGE_CODE);
	site.stub = CODE(0);
	site.fast = 8; /* no such nop there */
	image_add_site(&m, &site);
	must_refuse(&m, MARKER_WRONG_BYTES);
}

static void finds_sites_in_eight_byte_aligned_notes(void **state)
{
	struct image_site second = good;
	struct marker_sites s;
	struct image m;

	(void)state;
	init(&m);
	second.stub = CODE(0x20);
	second.domain = "database";
	image_add_note(&m, "GNU", 5, "12345", 5, 8);
	image_add_site_aligned(&m, &good, 8);
	image_add_note(&m, "Other one", 5, "1", 1, 8);
	image_add_site_aligned(&m, &second, 8);
	find(&m, &s);
	assert_int_equal(s.refused, 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.sites[1].domain, "database");
	marker_sites_free(&s);
}

static void counts_a_repeated_note_once(void **state)
{
	struct marker_sites s;
	struct image m;

	(void)state;
	init(&m);
	image_add_site(&m, &good);
	image_add_site(&m, &good);
	image_add_site(&m, &good);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.duplicates, 2);
	assert_int_equal(s.refused, 0);
	marker_sites_free(&s);
}

static void refuses_contradictions(void **state)
{
	struct image_site other[3] = { good, good, good };
	struct marker_sites s;
	struct image m;
	unsigned i;

	(void)state;
	other[0].kind = RECORD_END;
	other[1].domain = "disk";
	other[2].semaphore_vaddr = DATA(0x20);
	init(&m);
	image_add_site(&m, &good);
	for (i = 0; i < 3; i++)
		image_add_site(&m, &other[i]);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.sites[0].domain, "net");
	assert_int_equal(s.sites[0].kind, RECORD_BEGIN);
	assert_int_equal(s.refused_for[MARKER_CONFLICT], 3);
	marker_sites_free(&s);
}

static void refuses_newer_and_unknown(void **state)
{
	static const uint16_t unknown[] = { 0, 11, 31, 41, 64, 65535 };
	struct image_site site = good;
	unsigned i;

	(void)state;
	site.type = 2;
	must_refuse_site(&site, MARKER_NEWER);
	site = good;
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		site.kind = unknown[i];
		assert_null(marker_kind_name(unknown[i]));
		must_refuse_site(&site, MARKER_UNKNOWN_KIND);
	}
}

static void refuses_damaged_descriptions(void **state)
{
	struct marker_sites s;
	struct image m;
	size_t at;

	(void)state;
	init(&m);
	image_add_note(&m, "proftrace", 1, "too short for it", 16, 4);
	must_refuse(&m, MARKER_MALFORMED);

	init(&m);
	at = image_add_site(&m, &good); /* the last byte of the description is the name's NUL */
	m.bytes[at + 27] = 'x';
	must_refuse(&m, MARKER_MALFORMED);

	init(&m);
	at = image_add_site(&m, &good);
	*(uint32_t *)(m.bytes + IMAGE_NOTES + 4) = 0xfffffff0; /* descsz */
	must_refuse(&m, MARKER_MALFORMED);

	init(&m);
	image_add_site(&m, &good);
	*(uint32_t *)(m.bytes + IMAGE_NOTES) = 0xffffffff; /* namesz */
	must_refuse(&m, MARKER_MALFORMED);

	/* The notes end in the middle of the second header: the first counts all the same. */
	init(&m);
	image_add_site(&m, &good);
	image_segment(&m, SEG_NOTE)->p_filesz += 5;
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.refused_for[MARKER_MALFORMED], 1);
	marker_sites_free(&s);

	/* Notes past the end of the file. */
	init(&m);
	image_add_site(&m, &good);
	image_segment(&m, SEG_NOTE)->p_offset = 1ull << 40;
	must_refuse(&m, MARKER_MALFORMED);
}

static void cuts_long_domain_names(void **state)
{
	char name[201];
	struct image_site site = good;
	struct marker_sites s;
	struct image m;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[200] = '\0';
	site.domain = name;
	init(&m);
	image_add_site(&m, &site);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(strlen(s.sites[0].domain), MARKERS_MAX_DOMAIN);
	marker_sites_free(&s);
}

static void refuses_sites_outside_the_code(void **state)
{
	struct image_site site = good;

	(void)state;
	site.stub = DATA(0);
	must_refuse_site(&site, MARKER_NO_CODE);
	site.stub = IMAGE_STRING; /* mapped, but not executable */
	must_refuse_site(&site, MARKER_NO_CODE);
	site.stub = UINT64_MAX;
	must_refuse_site(&site, MARKER_NO_CODE);
	site.stub = CODE(IMAGE_DATA - IMAGE_CODE);
	must_refuse_site(&site, MARKER_NO_CODE);
}

static void refuses_other_bytes_at_a_site(void **state)
{
	struct image_site site = good;
	struct image m;
	unsigned i, bit;

	(void)state;
	for (i = 1; i < 13; i++) {
		for (bit = 0; bit < 8; bit++) {
			init(&m);
			image_add_site(&m, &good);
			m.bytes[IMAGE_CODE + i] ^= (uint8_t)(1u << bit);
			must_refuse(&m, MARKER_WRONG_BYTES);
		}
	}
	site.slow = 0; /* the instruction before */
	site.fast = 1;
	must_refuse_site(&site, MARKER_WRONG_BYTES);
	site.slow = 2; /* the optimised nop is not a breakpoint nop */
	site.fast = 255;
	must_refuse_site(&site, MARKER_WRONG_BYTES);
	site.slow = 1;
	site.fast = 3; /* the middle of the optimised nop */
	must_refuse_site(&site, MARKER_WRONG_BYTES);
	/* The bytes of the site are there, but the last of them is not code. */
	init(&m);
	image_add_site(&m, &good);
	image_segment(&m, SEG_CODE)->p_filesz = 12;
	must_refuse(&m, MARKER_WRONG_BYTES);
}

static void site_without_optimised_nop(void **state)
{
	struct image_site site = good;
	struct marker_sites s;
	struct image m;
	unsigned shift;

	(void)state;
	init(&m);
	site.fast = 255;
	image_add_site(&m, &site);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.sites[0].optimised_offset, 0);
	marker_sites_free(&s);

	/* Near the end of a page the optimised nop is not used if it crosses the boundary. */
	for (shift = 0; shift < 16; shift++) {
		uint64_t stub = 0x30ff0 + shift - 2;

		init(&m);
		site = good;
		site.stub = stub;
		image_segment(&m, SEG_CODE)->p_vaddr = stub;
		image_add_site(&m, &site);
		find(&m, &s);
		assert_int_equal(s.n, 1);
		assert_int_equal(s.sites[0].optimised_offset, shift <= 6 ? IMAGE_CODE + 2 : 0);
		marker_sites_free(&s);
	}
}

static void finds_steady_nops(void **state)
{
	struct image_site site = good;
	struct marker_sites s;
	struct image m;

	(void)state;
	init(&m);
	site.flags = 3;
	m.bytes[IMAGE_CODE] = 0x90;
	image_add_site(&m, &site);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.sites[0].steady_offset, IMAGE_CODE);
	marker_sites_free(&s);
	/* The nop is there, but the note does not say so. */
	init(&m);
	m.bytes[IMAGE_CODE] = 0x90;
	image_add_site(&m, &good);
	find(&m, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.sites[0].steady_offset, 0);
	marker_sites_free(&s);
	/* The note says so, and another instruction is there, or no code. */
	must_refuse_site(&site, MARKER_WRONG_BYTES);
	init(&m);
	image_add_site(&m, &site);
	image_segment(&m, SEG_CODE)->p_vaddr++;
	image_segment(&m, SEG_CODE)->p_offset++;
	must_refuse(&m, MARKER_WRONG_BYTES);
}

static void refuses_semaphores_outside_the_data(void **state)
{
	static const uint64_t wrong[] = {
		DATA(0x100),  /* .bss */
		DATA(0xfe),   /* the batch switch in .bss */
		DATA(0x11),   /* odd */
		DATA(0) - 2,  /* the exact switch before the data */
		CODE(0x40),   /* not writable */
		IMAGE_STRING, /* not writable */
		UINT64_MAX - 1,
	};
	struct image_site site = good;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		site.semaphore_vaddr = wrong[i];
		must_refuse_site(&site, MARKER_NO_SEMAPHORE);
	}
}

/* More sites than the limit, and more notes than are looked at. */
static void stops_at_the_limits(void **state)
{
	enum {
		SITES = 5000,
		NOTES = 20000,
		STRIDE = 16,
		NOTE = 12 + 12 + 28
	};
	size_t code = IMAGE_SIZE, notes = code + SITES * STRIDE, size = notes + NOTES * NOTE;
	uint8_t *bytes = calloc(1, size);
	struct marker_sites s;
	struct elf_file *elf;
	struct failure f;
	struct image m;
	size_t at;
	unsigned i;
	int fd;

	(void)state;
	assert_non_null(bytes);
	init(&m);
	for (i = 0; i < SITES; i++)
		memcpy(bytes + code + i * STRIDE, m.bytes + IMAGE_CODE, 13);
	at = image_add_site(&m, &good);
	for (i = 0; i < NOTES; i++) {
		uint8_t *note = bytes + notes + i * NOTE;
		uint64_t desc_at = notes + i * NOTE + 24;
		uint64_t distance[2] = { 0x100000 + code + i % SITES * STRIDE -
						 (0x200000 + desc_at),
					 DATA(0) - (0x200000 + desc_at + 8) };

		memcpy(note, m.bytes + IMAGE_NOTES, at - IMAGE_NOTES + 28);
		memcpy(note + 24, distance, sizeof(distance));
	}
	image_put_segment(&m, SEG_CODE, PT_LOAD, PF_R | PF_X, code, 0x100000 + code,
			  SITES * STRIDE);
	image_put_segment(&m, SEG_NOTE, PT_NOTE, PF_R, notes, 0x200000 + notes, NOTES * NOTE);
	memcpy(bytes, m.bytes, sizeof(m.bytes));
	fd = image_bytes_fd(bytes, size);
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	assert_int_equal(markers_find(elf, &s, &f), 0);
	assert_int_equal(s.n, MARKERS_MAX_SITES);
	assert_int_equal(s.sites[0].offset, code + 1);
	assert_int_equal(s.n + s.duplicates + s.refused, NOTES);
	assert_int_equal(s.refused_for[MARKER_TOO_MANY], s.refused);
	marker_sites_free(&s);
	elf_file_free(elf);
	close(fd);
	free(bytes);
}

/*
 * Whatever byte of the file is wrong, and wherever it ends: what is found has the bytes of a probe site at
 * its offset.
 */
static void check_damaged(const struct image *m, size_t size)
{
	struct marker_sites s;
	struct elf_file *elf;
	struct failure f;
	int fd = image_bytes_fd(m->bytes, size);
	unsigned i;

	if (elf_file_open(fd, &elf, &f) == 0) {
		assert_int_equal(markers_find(elf, &s, &f), 0);
		for (i = 0; i < s.n; i++) {
			assert_true(s.sites[i].offset + 12 <= size);
			if (elf->machine == EM_X86_64)
				assert_memory_equal(m->bytes + s.sites[i].offset,
						    "\x90\x66\x2e\x0f\x1f\x84\0\0\0\0\0\xc3", 12);
			assert_true(s.sites[i].semaphore_offset % 2 == 0);
			assert_non_null(marker_kind_name(s.sites[i].kind));
		}
		marker_sites_free(&s);
		elf_file_free(elf);
	} else {
		assert_true(f.what[0] != '\0');
	}
	close(fd);
}

static void survives_any_damage(void **state)
{
	static const uint8_t values[] = { 0, 1, 4, 0x7f, 0x80, 0xff };
	struct image_site second = good;
	struct image whole, m;
	size_t i, k;

	(void)state;
	init(&whole);
	second.stub = CODE(0x20);
	image_add_site(&whole, &good);
	image_add_site(&whole, &second);
	for (i = 0; i < IMAGE_DATA; i++) {
		for (k = 0; k < sizeof(values); k++) {
			m = whole;
			m.bytes[i] = values[k];
			check_damaged(&m, sizeof(m.bytes));
		}
	}
	for (i = 0; i < sizeof(whole.bytes); i += 3)
		check_damaged(&whole, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_sites),
		cmocka_unit_test(finds_sites_without_section_headers),
		cmocka_unit_test(finds_sites_on_arm64),
		cmocka_unit_test(finds_sites_in_eight_byte_aligned_notes),
		cmocka_unit_test(counts_a_repeated_note_once),
		cmocka_unit_test(refuses_contradictions),
		cmocka_unit_test(refuses_newer_and_unknown),
		cmocka_unit_test(refuses_damaged_descriptions),
		cmocka_unit_test(cuts_long_domain_names),
		cmocka_unit_test(refuses_sites_outside_the_code),
		cmocka_unit_test(refuses_other_bytes_at_a_site),
		cmocka_unit_test(site_without_optimised_nop),
		cmocka_unit_test(finds_steady_nops),
		cmocka_unit_test(refuses_semaphores_outside_the_data),
		cmocka_unit_test(stops_at_the_limits),
		cmocka_unit_test(survives_any_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
