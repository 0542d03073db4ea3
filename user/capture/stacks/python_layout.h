/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where CPython keeps what, by version, and what its code objects say. Private to the folder.
 *
 * Nothing here is asked of the interpreter: layouts are known for each version, or stand in the file (3.13), and code
 * objects are read from its memory, where anything may be found.
 */
#ifndef PROFTRACE_CAPTURE_STACKS_PYTHON_LAYOUT_H
#define PROFTRACE_CAPTURE_STACKS_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/stacks/python_maps.h"
#include "tracee/elf_file.h"

enum {
	PYTHON_MAX_NAME = 512,	   /* bytes in UTF-8, of a function */
	PYTHON_MAX_PATH = 1024,	   /* of a source file */
	PYTHON_MAX_TABLE = 262144, /* bytes of a table of lines: a function of 50,000 lines */
};

struct python_layout {
	struct python_setup setup; /* without the address of the runtime */
	/* Addresses in the file. */
	uint64_t runtime;
	uint64_t eval, eval_end; /* _PyEval_EvalFrameDefault, the interpreter's loop */
	/* PyCodeObject */
	uint16_t filename, function, lines, first_line;
	/* Text: ASCII follows one structure, other text a larger one. */
	uint16_t text_length, text_state, text_ascii, text_wide;
	uint16_t bytes_size, bytes_data;
};

/*
 * The layout of the interpreter in a file. Returns 0; -ENOENT: there is none; -ENOTSUP: it is of a version that is not
 * supported, which `ret_version` names as CPython does (0x030b07f0; 0: older than 3.11).
 */
int python_layout_of(const struct elf_file *elf, struct python_layout *ret, uint64_t *ret_version);

/* Reads memory of the program. False: not all of it could be read. */
typedef bool (*python_read_fn)(void *context, uint64_t address, void *out, size_t size);

struct python_code {
	char function[PYTHON_MAX_NAME + 1]; /* with the classes and functions around it */
	char file[PYTHON_MAX_PATH + 1];
	uint32_t first_line;
	uint8_t *table; /* owned by the caller */
	size_t table_size;
};

/*
 * Reads a code object. `check`: PYTHON_FRAME_CHECK() of the frame. False: it could not be read, is none, or is another
 * one than at the time of the sample.
 */
bool python_code_read(const struct python_layout *layout, uint64_t address, uint32_t check,
		      python_read_fn read, void *context, struct python_code *ret);
/*
 * The line of the instruction at an offset in bytes; a negative one is before the first instruction. 0: the instruction
 * has none, or the table is malformed.
 */
uint32_t python_code_line(const uint8_t *table, size_t size, uint32_t first_line, int32_t offset);

#endif
