/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts of CPython. For 3.11 and 3.12 the offsets are those of its headers, which are the same for all releases of a
 * version; 3.13 has a table of its own offsets at the beginning of _PyRuntime, for debuggers and profilers.
 */
#include "capture/stacks/python_layout.h"

#include <errno.h>
#include <string.h>

#define PYTHON_VERSION(v) ((uint32_t)((v) >> 16 & 0xffff))

static const struct python_layout layouts[] = {
	[0] = { /* 3.11 */
		.setup = {
			.interpreters = 40, .next_interpreter = 0, .threads = 16,
			.next_thread = 8, .thread_id = 152, .frame = 56, .frame_in = 8,
			.code = 32, .previous = 48, .instruction = 56, .owner = 69, .is_entry = 68,
			.identity = 128, .instructions = 184,
		},
		.filename = 112, .function = 128, .lines = 136, .first_line = 72,
		.text_length = 16, .text_state = 32, .text_ascii = 48, .text_wide = 72,
		.bytes_size = 16, .bytes_data = 32,
	},
	[1] = { /* 3.12 */
		.setup = {
			.interpreters = 40, .next_interpreter = 0, .threads = 72,
			.next_thread = 8, .thread_id = 136, .frame = 56, .frame_in = 0,
			.code = 0, .previous = 8, .instruction = 56, .owner = 70,
			.is_entry = PYTHON_NOWHERE, .identity = 128, .instructions = 192,
		},
		.filename = 112, .function = 128, .lines = 136, .first_line = 68,
		.text_length = 16, .text_state = 32, .text_ascii = 40, .text_wide = 56,
		.bytes_size = 16, .bytes_data = 32,
	},
};

/* The beginning of _PyRuntime of 3.13: struct _Py_DebugOffsets of pycore_runtime.h, as far as it is needed. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
	struct {
		uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins,
			ceval_gil;
		uint64_t gil_runtime_state, gil_enabled, gil_locked, gil_holder;
	} interpreter;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id;
		uint64_t datastack_chunk, status;
	} thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount;
		uint64_t localsplusnames, localspluskinds, co_code_adaptive;
	} code;
	uint64_t object[2], type[4], tuple[3], list[3], dict[3], floating[2], integer[3];
	struct {
		uint64_t size, ob_size, ob_sval;
	} bytes;
	struct {
		uint64_t size, state, length, ascii_size;
	} text;
};

static int read_debug_offsets(const struct elf_file *elf, uint64_t runtime,
			      struct debug_offsets *ret)
{
	uint64_t offset;
	int error = elf_file_range(elf, runtime, sizeof(*ret), ELF_ANYWHERE, &offset);

	error = error ?: elf_file_read(elf, offset, ret, sizeof(*ret));
	if (!error && (memcmp(ret->cookie, "xdebugpy", 8) || ret->free_threaded))
		error = -ENOTSUP;
	return error;
}

/* The file may say anything: offsets that do not fit are those of something else. */
static bool offset_fits(uint64_t offset, uint64_t limit, uint16_t *ret)
{
	*ret = (uint16_t)offset;
	return offset < limit;
}

static int layout_from_file(const struct elf_file *elf, uint64_t runtime, struct python_layout *l)
{
	struct python_setup *s = &l->setup;
	struct debug_offsets d;
	int error = read_debug_offsets(elf, runtime, &d);

	if (error)
		return -ENOTSUP;
	if (!offset_fits(d.runtime.interpreters_head, PYTHON_NOWHERE, &s->interpreters) ||
	    !offset_fits(d.interpreter.next, PYTHON_NOWHERE, &s->next_interpreter) ||
	    !offset_fits(d.interpreter.threads_head, PYTHON_NOWHERE, &s->threads) ||
	    !offset_fits(d.thread.next, PYTHON_NOWHERE, &s->next_thread) ||
	    !offset_fits(d.thread.thread_id, PYTHON_NOWHERE, &s->thread_id) ||
	    !offset_fits(d.thread.current_frame, PYTHON_NOWHERE, &s->frame) ||
	    !offset_fits(d.frame.executable, PYTHON_FRAME_BYTES - 7, &s->code) ||
	    !offset_fits(d.frame.previous, PYTHON_FRAME_BYTES - 7, &s->previous) ||
	    !offset_fits(d.frame.instr_ptr, PYTHON_FRAME_BYTES - 7, &s->instruction) ||
	    !offset_fits(d.frame.owner, PYTHON_FRAME_BYTES, &s->owner) ||
	    !offset_fits(d.code.qualname, PYTHON_NOWHERE, &s->identity) ||
	    !offset_fits(d.code.co_code_adaptive, PYTHON_NOWHERE, &s->instructions) ||
	    !offset_fits(d.code.filename, PYTHON_NOWHERE, &l->filename) ||
	    !offset_fits(d.code.linetable, PYTHON_NOWHERE, &l->lines) ||
	    !offset_fits(d.code.firstlineno, PYTHON_NOWHERE, &l->first_line) ||
	    !offset_fits(d.text.length, PYTHON_NOWHERE, &l->text_length) ||
	    !offset_fits(d.text.state, PYTHON_NOWHERE, &l->text_state) ||
	    !offset_fits(d.text.ascii_size, 4096, &l->text_ascii) ||
	    !offset_fits(d.bytes.ob_size, PYTHON_NOWHERE, &l->bytes_size) ||
	    !offset_fits(d.bytes.ob_sval, PYTHON_NOWHERE, &l->bytes_data))
		return -ENOTSUP;
	l->function = s->identity;
	/* The length in UTF-8 and its address come between. */
	l->text_wide = (uint16_t)(l->text_ascii + 16);
	s->frame_in = s->is_entry = PYTHON_NOWHERE;
	return l->lines == l->function + 8 ? 0 : -ENOTSUP;
}

int python_layout_of(const struct elf_file *elf, struct python_layout *ret, uint64_t *ret_version)
{
	Elf64_Sym runtime, eval, version;
	uint64_t number = 0;
	int error = 0;

	*ret_version = 0;
	if (elf->machine != EM_X86_64 || elf_file_dynamic_entry(elf, "_PyRuntime", &runtime))
		return -ENOENT;
	if (elf_file_dynamic_entry(elf, "_PyEval_EvalFrameDefault", &eval) ||
	    elf_file_dynamic_entry(elf, "Py_Version", &version) ||
	    elf_file_bytes(elf, version.st_value, &number, sizeof(number)))
		return -ENOTSUP;
	*ret_version = number;
	memset(ret, 0, sizeof(*ret));
	switch (PYTHON_VERSION(number)) {
	case 0x030b:
		*ret = layouts[0];
		break;
	case 0x030c:
		*ret = layouts[1];
		break;
	case 0x030d:
		error = layout_from_file(elf, runtime.st_value, ret);
		break;
	default:
		error = -ENOTSUP;
	}
	if (error || eval.st_size > UINT64_MAX - eval.st_value)
		return -ENOTSUP;
	ret->runtime = runtime.st_value;
	ret->eval = eval.st_value;
	ret->eval_end = eval.st_value + eval.st_size;
	return 0;
}
