/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows for walking stacks, against what libdw reads in the same files: for every address of the
 * machine's own libraries and programs, of arm64's, and of what compilers make here. Then what no compiler
 * writes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbols/unwind_rows.h"

/* The rule at an address of the file. NULL: none. */
static const struct unwind_rule *unwind_rows_find(const struct unwind_rows *rows, uint64_t address)
{
	uint32_t low = 0, high = rows->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rows->base + rows->rows[middle].distance <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows->rules[rows->rows[low - 1].rule] : NULL;
}

/* --- the same, said by libdw --------------------------------------------------------------------- */

static bool is_arm64; /* the file that is checked */

static uint8_t dwarf_number(uint8_t instruction)
{
	static const uint8_t numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	return instruction < 8 && !is_arm64 ? numbers[instruction] : instruction;
}

static bool op_is_register(const Dwarf_Op *op, unsigned *ret_reg, int64_t *ret_offset)
{
	if (op->atom == DW_OP_bregx) {
		*ret_reg = (unsigned)op->number;
		*ret_offset = (int64_t)op->number2;
		return true;
	}
	*ret_reg = op->atom - DW_OP_breg0;
	*ret_offset = (int64_t)op->number;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

static void expect_cfa(Dwarf_Frame *frame, struct unwind_rule *want)
{
	Dwarf_Op *ops;
	size_t n;
	unsigned reg;
	int64_t offset;

	want->cfa = UNWIND_UNSUPPORTED;
	if (dwarf_frame_cfa(frame, &ops, &n) || !n || !op_is_register(&ops[0], &reg, &offset))
		return;
	want->reg = (uint8_t)reg;
	want->offset = (int32_t)offset;
	if (n == 1)
		want->cfa = UNWIND_REGISTER;
	else if (ops[1].atom == DW_OP_deref && (n == 2 || ops[2].atom == DW_OP_plus_uconst)) {
		want->cfa = UNWIND_DEREF;
		want->second = n == 2 ? 0 : (int32_t)ops[2].number;
	} else if (n == 7 && ops[1].atom == DW_OP_breg9 && ops[5].atom == DW_OP_deref) {
		want->cfa = UNWIND_INDEXED;
		want->second = (int32_t)ops[6].number;
	} else if (n == 9 || n == 8) {
		assert_int_equal(ops[n - 1].atom, DW_OP_plus);
		assert_int_equal(ops[n - 4].atom, DW_OP_ge);
		want->cfa = UNWIND_PLT;
		want->second = (int32_t)(ops[n - 5].atom - DW_OP_lit0);
	}
}

/* Where libdw says that a register is saved. Returns whether it is in a form that rules have. */
static bool expect_saved(Dwarf_Frame *frame, int reg, uint8_t *ret_saved, int64_t *ret_at)
{
	Dwarf_Op memory[3], *ops;
	size_t n;
	unsigned base;

	*ret_at = 0;
	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &n), 0);
	if (!n) {
		*ret_saved = ops ? UNWIND_LOST : UNWIND_SAME;
		return true;
	}
	/* An expression begins with the CFA on its stack, which these do not use. */
	if (n == 2 && op_is_register(&ops[1], &base, ret_at) &&
	    base == (is_arm64 ? DWARF_X29 : DWARF_RBP)) {
		*ret_saved = UNWIND_AT_FRAME;
		return true;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa && n <= 2) {
		*ret_saved = UNWIND_AT_CFA;
		*ret_at = n == 2 ? (int64_t)ops[1].number : 0;
		return n == 1 || ops[1].atom == DW_OP_plus_uconst;
	}
	*ret_saved = UNWIND_LOST;
	return false;
}

static void expect_rule(Dwarf_Frame *frame, bool is_signal, struct unwind_rule *want)
{
	const int registers[] = { [UNWIND_FP] = is_arm64 ? DWARF_X29 : DWARF_RBP,
				  [UNWIND_RBX] = is_arm64 ? DWARF_X30 : DWARF_RBX };
	uint8_t saved;
	int64_t at;
	unsigned i;

	memset(want, 0, sizeof(*want));
	if (expect_saved(frame, is_arm64 ? DWARF_X30 : DWARF_RETURN, &saved, &at) &&
	    saved == UNWIND_LOST) {
		want->cfa = UNWIND_END;
		return;
	}
	expect_cfa(frame, want);
	if (is_signal && want->cfa == UNWIND_DEREF && want->offset == 160) {
		memset(want, 0, sizeof(*want));
		want->cfa = UNWIND_SIGNAL;
		return;
	}
	if (is_signal || (is_arm64 ? saved != UNWIND_AT_CFA && saved != UNWIND_SAME
				   : saved != UNWIND_AT_CFA || at != -8))
		want->cfa = UNWIND_UNSUPPORTED;
	for (i = 0; i < UNWIND_FOLLOWED; i++) {
		expect_saved(frame, registers[i], &want->saved[i], &at);
		want->at[i] = (int16_t)(at / 8);
	}
}

static void assert_same_rule(const char *path, uint64_t address, const struct unwind_rule *got,
			     const struct unwind_rule *want)
{
	bool same = got && got->cfa == want->cfa;
	unsigned i;

	if (same && want->cfa != UNWIND_NONE && want->cfa < UNWIND_SIGNAL) {
		same = dwarf_number(got->reg) == want->reg && got->offset == want->offset &&
		       got->second == want->second;
		/* libdw takes a register that is not mentioned for lost. */
		for (i = 0; i < UNWIND_FOLLOWED; i++)
			same &= want->saved[i] == UNWIND_LOST ||
				(got->saved[i] == want->saved[i] && got->at[i] == want->at[i]);
	}
	if (same)
		return;
	fail_msg("%s: 0x%llx: cfa %d reg %d%+d %d fp %d%+d rbx/lr %d%+d, but libdw has "
		 "cfa %d reg %d%+d %d fp %d%+d rbx/lr %d%+d",
		 path, (unsigned long long)address, got ? got->cfa : -1,
		 got ? dwarf_number(got->reg) : -1, got ? got->offset : 0, got ? got->second : 0,
		 got ? got->saved[0] : -1, got ? got->at[0] : 0, got ? got->saved[1] : -1,
		 got ? got->at[1] : 0, want->cfa, want->reg, want->offset, want->second,
		 want->saved[0], want->at[0], want->saved[1], want->at[1]);
}

/* --- files --------------------------------------------------------------------------------------- */

struct opened {
	int fd;
	struct elf_file *elf;
	struct unwind_rows rows;
	int error;
	uint64_t took_ns;
};

static void open_rows(const char *path, struct opened *o)
{
	struct failure f;
	uint64_t began_ns;

	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(o->fd >= 0);
	assert_int_equal(elf_file_open(o->fd, &o->elf, &f), 0);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	o->error = unwind_rows_read(o->elf, &o->rows);
	o->took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
}

static void close_rows(struct opened *o)
{
	if (!o->error)
		unwind_rows_free(&o->rows);
	elf_file_free(o->elf);
	close(o->fd);
}

/* The rule has to be the same in the whole range of libdw's. */
static void check_range(const char *path, const struct unwind_rows *rows, uint64_t start,
			uint64_t end, const struct unwind_rule *want)
{
	assert_same_rule(path, start, unwind_rows_find(rows, start), want);
	assert_ptr_equal(unwind_rows_find(rows, start), unwind_rows_find(rows, end - 1));
	if (end - start > 2)
		assert_ptr_equal(unwind_rows_find(rows, start),
				 unwind_rows_find(rows, start + (end - start) / 2));
}

/* Where libdw knows nothing, rows may only continue as padding. Returns the number of ranges. */
static unsigned check_code(const char *path, const struct opened *o, Dwarf_CFI *cfi, uint64_t low,
			   uint64_t high)
{
	unsigned n = 0, unknown = 0;
	uint64_t at = low;

	while (at < high) {
		struct unwind_rule want;
		Dwarf_Frame *frame;
		Dwarf_Addr start, end;
		bool is_signal;

		if (dwarf_cfi_addrframe(cfi, at, &frame)) {
			const struct unwind_rule *got = unwind_rows_find(&o->rows, at);

			if (++unknown > 80)
				assert_true(!got || got->cfa == UNWIND_NONE);
			at++;
			continue;
		}
		unknown = 0;
		/* The dynamic linker has a function for TLS that returns to another register. */
		if (dwarf_frame_info(frame, &start, &end, &is_signal) ==
		    (is_arm64 ? DWARF_X30 : DWARF_RETURN))
			expect_rule(frame, is_signal, &want);
		else
			memset(&want, 0, sizeof(want));
		check_range(path, &o->rows, at, end < high ? end : high, &want);
		free(frame);
		at = end;
		n++;
	}
	return n;
}

static unsigned check_file(const char *path)
{
	Dwarf_CFI *cfi;
	struct opened o;
	unsigned i, n = 0;
	Elf *elf;

	open_rows(path, &o);
	is_arm64 = o.elf->machine == EM_AARCH64;
	elf_version(EV_CURRENT);
	elf = elf_begin(o.fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	if (!cfi) {
		assert_int_equal(o.error, -ENOENT);
		n = 0;
	} else {
		assert_int_equal(o.error, 0);
		for (i = 0; i < o.elf->n_segments; i++) {
			const struct elf_segment *g = &o.elf->segments[i];

			if (g->type == PT_LOAD && g->flags & PF_X)
				n += check_code(path, &o, cfi, g->vaddr, g->vaddr + g->memsz);
		}
		print_message("%s: %u rows, %u rules, %u ranges of libdw, %.1f ms\n", path,
			      o.rows.n, o.rows.n_rules, n, (double)o.took_ns / 1e6);
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close_rows(&o);
	return n;
}

static void agrees_about_the_machine(void **state)
{
	static const char *const patterns[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/liblzma.so.5",
		"/usr/bin/sort",
		"/usr/bin/xz",
		"/usr/bin/openssl",
		"/usr/bin/python3.11",
		"/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
		"/usr/aarch64-linux-gnu/lib/libc.so.6",
		"/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
		"/proc/self/exe",
	};
	unsigned i, n = 0;

	(void)state;
	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (!access(patterns[i], R_OK))
			n += check_file(patterns[i]);
	}
	assert_true(n > 1000);
}

/* Large ones take libdw half a minute, so they are only read when they are named. */
static void agrees_about_named_files(void **state)
{
	const char *named = getenv("UNWIND_FILES");
	glob_t found;
	size_t i;

	(void)state;
	if (!named || glob(named, 0, NULL, &found))
		skip();
	for (i = 0; i < found.gl_pathc; i++)
		check_file(found.gl_pathv[i]);
	globfree(&found);
}

/* --- what compilers make ------------------------------------------------------------------------- */

static const char source[] =
	"#include <alloca.h>\n#include <signal.h>\n#include <string.h>\n"
	"typedef int wide __attribute__((vector_size(32)));\n"
	"void use(void *);\n"
	"int leaf(int x) { return x * 3; }\n"
	"int large(int x) { char a[100000]; use(a); return a[x]; }\n"
	"int dynamic(int n) { char *a = alloca(n); use(a); return a[n / 2]; }\n"
	"int aligned(int n) { wide a[4]; char *b = alloca(n); use(a); use(b); return a[1][2]; }\n"
	"int many(int a, int b, int c, int d, int e, int f, int g, int h) {\n"
	"	use(&a); use(&b); use(&c); use(&d); use(&e); use(&f); return g + h; }\n"
	"void use(void *p) { memset(p, 0, 1); }\n"
	"int main(int c, char **v) { (void)v; return leaf(c) + large(c) + dynamic(c) + aligned(c) "
	"+\n"
	"	many(c, 2, 3, 4, 5, 6, 7, 8); }\n";

static void agrees_about_compilers(void **state)
{
	static const char *const compilers[] = {
		"gcc",
		"clang",
		"aarch64-linux-gnu-gcc -mbranch-protection=standard",
		"aarch64-linux-gnu-gcc -mbranch-protection=pac-ret+b-key",
		"clang --target=aarch64-linux-gnu -mbranch-protection=standard",
	};
	static const char *const flags[] = {
		"-O0",
		"-O2",
		"-O3 -mavx2",
		"-O2 -fno-omit-frame-pointer",
		"-Os -fcf-protection",
		"-O2 -static",
		"-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -g",
	};
	char directory[] = "/tmp/unwind-XXXXXX", path[64], line[256];
	unsigned i, j, n = 0;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a.c", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(source, file);
	fclose(file);
	for (i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
		for (j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
			snprintf(line, sizeof(line), "cd %s && %s %s a.c -o a 2>/dev/null",
				 directory, compilers[i], flags[j]);
			if (system(line))
				continue;
			snprintf(path, sizeof(path), "%s/a", directory);
			n += check_file(path) > 0;
		}
	}
	snprintf(line, sizeof(line), "rm -r %s", directory);
	assert_int_equal(system(line), 0);
	assert_true(n > 0);
}

/* --- what no compiler writes --------------------------------------------------------------------- */

#define CODE 0x10000

/* An entry of .debug_frame, in which addresses need no relocation. */
struct written {
	uint8_t bytes[8192];
	size_t size;
};

static void put(struct written *w, const void *bytes, size_t n)
{
	assert_true(w->size + n <= sizeof(w->bytes));
	memcpy(w->bytes + w->size, bytes, n);
	w->size += n;
}

static void put_entry(struct written *w, const void *bytes, size_t n)
{
	uint32_t length = (uint32_t)n;

	put(w, &length, 4);
	put(w, bytes, n);
}

static void put_common(struct written *w, const char *program, size_t n)
{
	uint8_t entry[4096] = { 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, DWARF_RETURN };

	memcpy(entry + 9, program, n);
	put_entry(w, entry, 9 + n);
}

static void put_function(struct written *w, uint64_t start, uint64_t size, const char *program,
			 size_t n)
{
	uint8_t entry[4096] = { 0 };

	memcpy(entry + 4, &start, 8);
	memcpy(entry + 12, &size, 8);
	memcpy(entry + 20, program, n);
	put_entry(w, entry, 20 + n);
}

/* CFA = rsp + 8, return address at CFA - 8 */
#define COMMON				   "\x0c\x07\x08\x90\x01"
#define PUT_COMMON(w)			   put_common(w, COMMON, sizeof(COMMON) - 1)
#define PUT_FUNCTION(w, at, size, program) put_function(w, at, size, program, sizeof(program) - 1)

static int make(const struct written *w, struct unwind_rows *rows)
{
	const struct cfi_section section = { w->bytes, w->size, .is_debug = true };

	return unwind_rows_make(&section, CODE, CODE + 0x100000, rows);
}

static int cfa_at(const struct unwind_rows *rows, uint64_t address)
{
	const struct unwind_rule *rule = unwind_rows_find(rows, address);

	return rule ? rule->cfa : -1;
}

static void follows_functions_in_any_order(void **state)
{
	struct written w = { .size = 0 };
	struct unwind_rows rows;

	(void)state;
	PUT_COMMON(&w);
	PUT_FUNCTION(&w, CODE + 0x1000, 0x100, "\x41\x0e\x10");
	PUT_FUNCTION(&w, CODE, 0x100, "\x44\x0e\x20");
	/* inside the first one: it ends where this one begins */
	PUT_FUNCTION(&w, CODE + 0x1080, 0x20, "\x07\x10");
	PUT_FUNCTION(&w, CODE + 0x200000, 0x20, "");
	assert_int_equal(make(&w, &rows), 0);
	assert_int_equal(unwind_rows_find(&rows, CODE + 3)->offset, 8);
	assert_int_equal(unwind_rows_find(&rows, CODE + 4)->offset, 32);
	assert_int_equal(cfa_at(&rows, CODE + 0x100), UNWIND_NONE);
	assert_int_equal(unwind_rows_find(&rows, CODE + 0x107f)->offset, 16);
	assert_int_equal(cfa_at(&rows, CODE + 0x1080), UNWIND_END);
	assert_int_equal(cfa_at(&rows, CODE + 0x10a0), UNWIND_NONE);
	assert_int_equal(cfa_at(&rows, CODE - 1), -1);
	unwind_rows_free(&rows);
}

static void refuses_to_guess(void **state)
{
	static const struct {
		const char *program;
		size_t size;
	} programs[] = {
		{ "\x0f\x01\x50", 3 },		   /* CFA: an expression that is a register */
		{ "\x0f\x7f\x77", 3 },		   /* CFA: an expression that is longer */
		{ "\x0f\x04\x77\x08\x06\x06", 6 }, /* CFA: two dereferences */
		{ "\x0c\x40\x08", 3 },		   /* CFA: register 64 */
		{ "\x90\x02", 2 },		   /* return address elsewhere */
		{ "\x08\x10", 2 },		   /* return address in a register */
		{ "\x09\x10\x03", 3 },		   /* the same */
		{ "\x3e", 1 },			   /* no instruction */
		{ "\x0b", 1 },			   /* a state that was not saved */
		{ "\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12 },
		{ "\x0e\xff\xff\xff\xff\x7f", 6 }, /* CFA: 32 GiB away */
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct written w = { .size = 0 };
		struct unwind_rows rows;

		PUT_COMMON(&w);
		put_function(&w, CODE, 0x100, programs[i].program, programs[i].size);
		assert_int_equal(make(&w, &rows), 0);
		if (cfa_at(&rows, CODE) != UNWIND_UNSUPPORTED)
			fail_msg("program %u", i);
		unwind_rows_free(&rows);
	}
}

static void bounds_what_it_reads(void **state)
{
	struct written w = { .size = 0 };
	char nops[300] = { 0 };
	struct unwind_rows rows;

	(void)state;
	assert_int_equal(make(&w, &rows), -ENOENT);
	/* Instructions that would run for each function. */
	put_common(&w, nops, sizeof(nops));
	PUT_FUNCTION(&w, CODE, 0x100, "");
	assert_int_equal(make(&w, &rows), -ENOENT);
	/* Functions that end before they begin, or nowhere. */
	w.size = 0;
	PUT_COMMON(&w);
	PUT_FUNCTION(&w, CODE, 0, "");
	PUT_FUNCTION(&w, CODE, ~0ull, "");
	PUT_FUNCTION(&w, ~0ull - 1, 0x100, "");
	assert_int_equal(make(&w, &rows), -ENOENT);
	/* Steps beyond the end of the function. */
	PUT_FUNCTION(&w, CODE, 0x10, "\x04\xff\xff\xff\xff\x0e\x10\x04\xff\xff\xff\xff");
	assert_int_equal(make(&w, &rows), 0);
	assert_int_equal(unwind_rows_find(&rows, CODE + 0xf)->offset, 8);
	assert_int_equal(cfa_at(&rows, CODE + 0x10), UNWIND_NONE);
	unwind_rows_free(&rows);
	/* An entry cut off. */
	w.size -= 3;
	assert_int_equal(make(&w, &rows), -ENOENT);
	/* Code that is too large for the distances in rows. */
	assert_int_equal(
		unwind_rows_make(&(struct cfi_section){ w.bytes, w.size, .is_debug = true }, 0,
				 1ull << 40, &rows),
		-E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_about_the_machine),
		cmocka_unit_test(agrees_about_named_files),
		cmocka_unit_test(agrees_about_compilers),
		cmocka_unit_test(follows_functions_in_any_order),
		cmocka_unit_test(refuses_to_guess),
		cmocka_unit_test(bounds_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
