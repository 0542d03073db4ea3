/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interpreters of processes, and their code objects, each of which is read once. A code object may be freed and its
 * memory used for another one, so it is known by its address and a checksum that the kernel took at the same moment as
 * the frame.
 */
#include "capture/stacks/python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracee/memory/target_memory.h"
#include "capture/stacks/python_layout.h"
#include "timeline/callstack.h"

#define MAX_CODES	 65536	       /* of a process */
#define MAX_TABLES_BYTES (64ull << 20) /* of line tables, of all processes: equal ones count once */
#define RECENT_FRAMES	 1024	       /* cached for each process; a power of two */
#define LINE_BITS	 24

/* What is known of a file. */
struct python_file {
	const struct file *file;
	bool is_python;
	struct python_layout layout;
	UT_hash_handle hh;
};

/* A function of any process. */
struct function_key {
	const struct name *function, *file;
	uint64_t first_line;
};

struct python_function {
	struct function_key key;
	uint64_t id; /* the same in every recording, so that traces can be merged */
	UT_hash_handle hh;
};

struct code_key {
	uint64_t address;
	uint64_t check;
};

/* A line table. Processes that were forked, or run the same program, have equal ones. */
struct line_table {
	uint8_t *bytes; /* its own key */
	size_t size;
	uint64_t users; /* code objects */
	UT_hash_handle hh;
};

struct known_code {
	struct code_key key;
	const struct python_function *function; /* NULL: it could not be read */
	struct line_table *table;		/* NULL: none, or there are too many */
	UT_hash_handle hh;
};

struct python_process {
	struct python *py;
	const struct python_file *file;
	uint64_t bias; /* addresses minus those of the file */
	uint32_t setup;
	struct target_memory *memory; /* NULL: it cannot be read */
	bool is_locked;		      /* the process held the lock of its memory at the last look */
	struct known_code *codes;
	struct {
		uint64_t code, word;
		const struct code_frame *frame;
	} recent[RECENT_FRAMES];
};

struct python {
	struct python_setup *setups;
	uint32_t users[PYTHON_SETUPS]; /* processes that have it */
	struct callstacks *store;
	struct names *names;
	const struct code_mapping *mapping;
	struct python_file *files;
	struct python_function *functions;
	struct line_table *tables;
	uint64_t table_bytes; /* of all */
	char unsupported[32];
	struct python_counts counts;
};

struct python *python_new(struct python_setup *setups, struct callstacks *store,
			  struct names *names)
{
	const struct code_mapping like = {
		.path = names_intern_string(names, "[python]"),
		.kind = CODE_PYTHON,
	};
	struct python *py = calloc(1, sizeof(*py));

	if (!py)
		return NULL;
	py->setups = setups;
	py->store = store;
	py->names = names;
	py->mapping = callstacks_mapping(store, &like);
	return py;
}

void python_free(struct python *py)
{
	if (!py)
		return;
	hash_clear(hh, py->files, f);
	hash_clear(hh, py->functions, f);
	free(py);
}

const char *python_unsupported(const struct python *py)
{
	return py->unsupported[0] ? py->unsupported : NULL;
}

void python_count(const struct python *py, struct python_counts *ret)
{
	*ret = py->counts;
}

/* --- interpreters ------------------------------------------------------------------------------ */

static void name_unsupported(struct python *py, uint64_t version)
{
	if (version)
		snprintf(py->unsupported, sizeof(py->unsupported), "%u.%u",
			 (unsigned)(version >> 24 & 0xff), (unsigned)(version >> 16 & 0xff));
	else
		snprintf(py->unsupported, sizeof(py->unsupported), "older than 3.11");
}

static const struct python_file *python_file_get(struct python *py, const struct file *file)
{
	struct python_file *f;
	uint64_t version;
	int error;

	HASH_FIND_PTR(py->files, &file, f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->file = file;
	error = python_layout_of(file->elf, &f->layout, &version);
	f->is_python = !error;
	if (error == -ENOTSUP)
		name_unsupported(py, version);
	HASH_ADD_PTR(py->files, file, f);
	return f;
}

/* Processes that have the same interpreter at the same address share a setup. Returns 0 if there is no free one. */
static uint32_t setup_get(struct python *py, const struct python_setup *setup)
{
	uint32_t i, unused = 0;

	for (i = 1; i < PYTHON_SETUPS; i++) {
		if (py->users[i] && !memcmp(&py->setups[i], setup, sizeof(*setup)))
			break;
		if (!py->users[i] && !unused)
			unused = i;
	}
	if (i == PYTHON_SETUPS) {
		i = unused;
		if (!i)
			return 0;
		py->setups[i] = *setup;
	}
	py->users[i]++;
	return i;
}

static void setup_put(struct python *py, uint32_t number)
{
	if (!--py->users[number])
		__atomic_store_n(&py->setups[number].runtime, 0, __ATOMIC_RELEASE);
}

/* Where the file's address 0 is. */
static bool mapping_bias(const struct elf_file *elf, uint64_t start, uint64_t offset,
			 uint64_t *ret_bias)
{
	for (unsigned i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *g = &elf->segments[i];
		uint64_t begin = g->offset & ~(g->align > 1 ? g->align - 1 : 0);

		if (g->type != PT_LOAD || !(g->flags & PF_X) || offset < begin ||
		    offset >= g->offset + g->filesz)
			continue;
		*ret_bias = start - (offset + g->vaddr - g->offset);
		return true;
	}
	return false;
}

struct python_process *python_process_new(struct python *py, struct broker *broker, uint32_t pid,
					  const struct file *file, uint64_t start, uint64_t offset,
					  bool *is_refused)
{
	const struct broker_target target = { (pid_t)pid, 0 };
	const struct python_file *f = file->elf ? python_file_get(py, file) : NULL;
	struct python_process *p;
	struct python_setup setup;
	uint64_t bias;
	int memory;

	if (!f || !f->is_python || !mapping_bias(file->elf, start, offset, &bias))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	setup = f->layout.setup;
	setup.runtime = bias + f->layout.runtime;
	*p = (struct python_process){ .py = py, .file = f, .bias = bias };
	p->setup = setup_get(py, &setup);
	if (!p->setup) {
		py->counts.refused += !*is_refused;
		*is_refused = true;
		free(p);
		return NULL;
	}
	memory = broker_open(broker, BROKER_MEMORY, &target, 0, 0, NULL);
	if (memory >= 0)
		p->memory = target_memory_new(memory);
	return p;
}

static void line_table_put(struct python *py, struct line_table *table)
{
	if (!table || --table->users)
		return;
	py->table_bytes -= table->size;
	HASH_DELETE(hh, py->tables, table);
	free(table->bytes);
	free(table);
}

/* Consumes the bytes. NULL: there are none, or too many. */
static struct line_table *line_table_get(struct python *py, uint8_t *bytes, size_t size)
{
	struct line_table *table = NULL;

	if (size)
		HASH_FIND(hh, py->tables, bytes, size, table);
	if (!table && size && size <= MAX_TABLES_BYTES - py->table_bytes) {
		table = calloc(1, sizeof(*table));
		if (table) {
			*table = (struct line_table){ .bytes = bytes, .size = size };
			HASH_ADD_KEYPTR(hh, py->tables, bytes, size, table);
		}
		if (table && !hash_added(hh, table)) {
			free(table);
			table = NULL;
		}
		if (table) {
			py->table_bytes += size;
			bytes = NULL;
		}
	}
	free(bytes);
	if (table)
		table->users++;
	return table;
}

void python_process_free(struct python_process *p)
{
	if (!p)
		return;
	setup_put(p->py, p->setup);
	target_memory_free(p->memory);
	hash_clear(hh, p->codes, c, line_table_put(p->py, c->table));
	free(p);
}

uint32_t python_process_setup(const struct python_process *p)
{
	return p->setup;
}

bool python_process_is(const struct python_process *p, const struct file *file, uint64_t start,
		       uint64_t offset)
{
	uint64_t bias;

	return p->file->file == file && mapping_bias(file->elf, start, offset, &bias) &&
	       bias == p->bias;
}

bool python_is_loop(const struct python_process *p, uint64_t address)
{
	return address - p->bias >= p->file->layout.eval &&
	       address - p->bias < p->file->layout.eval_end;
}

/* --- code objects ------------------------------------------------------------------------------ */

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
	struct python_process *p = context;
	int error = p->memory ? target_memory_read(p->memory, address, out, size) : -EACCES;

	p->is_locked |= error == -EAGAIN;
	return !error;
}

/*
 * 40 bits, by a function that is the same in every process. Whoever searches for it finds another function with the same number, so
 * a frame is never known by that alone.
 */
static uint64_t function_id(const struct python_code *code)
{
	static const uint64_t secret[2];
	const struct hash_key key = hash_key_of(secret);
	uint64_t words[3] = {
		hash_bytes(&key, code->function, strlen(code->function)),
		hash_bytes(&key, code->file, strlen(code->file)),
		code->first_line,
	};

	return hash_bytes(&key, words, sizeof(words)) >> LINE_BITS;
}

/* NULL: no memory. */
static const struct python_function *get_function(struct python *py, const struct python_code *code)
{
	const struct function_key key = {
		names_intern(py->names, code->function, strlen(code->function), PYTHON_MAX_NAME),
		names_intern(py->names, code->file, strlen(code->file), PYTHON_MAX_PATH),
		code->first_line,
	};
	struct python_function *f;

	HASH_FIND(hh, py->functions, &key, sizeof(key), f);
	if (f)
		return f;
	f = hash_add_new(hh, py->functions, key, key);
	if (f)
		f->id = function_id(code);
	return f;
}

static void load_code(struct python_process *p, struct known_code *known)
{
	struct python_code code;

	if (!python_code_read(&p->file->layout, known->key.address, (uint32_t)known->key.check,
			      read_memory, p, &code))
		return;
	known->function = get_function(p->py, &code);
	known->table = line_table_get(p->py, code.table, code.table_size);
	p->py->counts.without_lines += code.table_size && !known->table;
}

/* NULL: there are too many, or it cannot be read now. */
static const struct known_code *get_code(struct python_process *p, uint64_t address, uint32_t check)
{
	const struct code_key key = { address, check };
	struct known_code *known;

	HASH_FIND(hh, p->codes, &key, sizeof(key), known);
	if (known)
		return known;
	if (HASH_COUNT(p->codes) >= MAX_CODES)
		return NULL;
	known = hash_add_new(hh, p->codes, key, key);
	if (!known)
		return NULL;
	p->is_locked = false;
	load_code(p, known);
	if (known->function || !p->is_locked)
		return known;
	/* It is read when the process has released the lock of its memory. */
	HASH_DEL(p->codes, known);
	free(known);
	return NULL;
}

/* The same function and line is the same frame in every process. */
static const struct code_frame *make_frame(struct python_process *p, uint64_t address,
					   uint64_t word)
{
	const struct known_code *code = get_code(p, address, PYTHON_FRAME_CHECK(word));
	struct python *py = p->py;
	struct code_line line = { 0 };

	if (!code || !code->function) {
		py->counts.unreadable++;
		return callstacks_frame(py->store, py->mapping, 0, NULL);
	}
	line.function = code->function->key.function;
	line.file = code->function->key.file;
	line.line = python_code_line(
		code->table ? code->table->bytes : NULL, code->table ? code->table->size : 0,
		(uint32_t)code->function->key.first_line, PYTHON_FRAME_OFFSET(word));
	return callstacks_line_frame(
		py->store, py->mapping,
		code->function->id << LINE_BITS | (line.line & ((1u << LINE_BITS) - 1)), &line);
}

const struct code_frame *python_frame(struct python_process *p, uint64_t code, uint64_t word)
{
	const struct code_frame *frame;
	unsigned place;

	word &= ~PYTHON_FRAME_ENTRY;
	place = (code >> 4 ^ word) & (RECENT_FRAMES - 1);
	p->py->counts.frames++;
	if (p->recent[place].code == code && p->recent[place].word == word &&
	    p->recent[place].frame)
		return p->recent[place].frame;
	p->is_locked = false;
	frame = make_frame(p, code, word);
	if (!p->is_locked) {
		p->recent[place].frame = frame;
		p->recent[place].code = code;
		p->recent[place].word = word;
	}
	return frame;
}
