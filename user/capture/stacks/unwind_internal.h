/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by unwind.c (files), unwind_kernel.c (rows) and unwind_processes.c (processes). */
#ifndef PROFTRACE_CAPTURE_STACKS_UNWIND_INTERNAL_H
#define PROFTRACE_CAPTURE_STACKS_UNWIND_INTERNAL_H

#include "capture/stacks/unwind.h"
#include "bpf/stacks/python_maps.h"
#include "symbols/unwind_tables.h"

enum {
	/* Ranges of a process are allocated in pieces of 16, 32, ... up to the largest. */
	UNWIND_SMALLEST_PIECE = 16,
	UNWIND_PIECES = 9,
};

/* The table of a file. */
struct unwind_file {
	const struct file *file; /* the key; NULL: the vdso */
	enum unwind_table state;
	uint64_t size; /* of its code, so that a table is about as large */
	uint64_t base; /* the file's address at which its first page begins */
	uint32_t first_page, n_pages;
	bool is_queued;
	struct unwind_file *next; /* in the queue */
	UT_hash_handle hh;
};

struct unwind_known_rule {
	struct unwind_rule rule;
	uint32_t number;
	UT_hash_handle hh;
};

/* A process whose ranges are in the map. */
struct unwind_ranges_of {
	uint32_t pid;
	uint32_t slot;
	uint32_t first, piece; /* piece: its size is UNWIND_SMALLEST_PIECE << piece */
	uint32_t n;
	struct unwind_file **files; /* of each range; NULL: none */
	UT_hash_handle hh;
};

struct unwind {
	/* The kernel's maps. */
	void *mapped[BROKER_UNWIND_MAPS];
	size_t sizes[BROKER_UNWIND_MAPS];
	uint32_t *rows;
	struct unwind_rule *rules;
	struct unwind_page *pages;
	struct unwind_range *ranges;
	struct unwind_process *processes;

	struct unwind_tables *tables; /* NULL: no process reads files */
	struct unwind_file *files;
	uint64_t n_refused;
	struct unwind_file *first; /* queue of files to be read */
	struct unwind_file *reading;
	int vdso_fd;

	/* unwind_kernel.c */
	struct unwind_known_rule *known_rules;
	uint32_t n_rows, n_rules, n_pages;
	uint32_t *numbers; /* of the rules of the file that is read */
	uint32_t n_numbers;
	uint32_t rows_before, pages_before; /* when it began */
	uint32_t rule;			    /* of its last row */

	/* unwind_processes.c */
	struct unwind_ranges_of *owners;
	uint32_t n_ranges;		 /* allocated so far */
	uint32_t *unused[UNWIND_PIECES]; /* pieces that were given back */
	uint32_t n_unused[UNWIND_PIECES];
	uint64_t number;
};

/* Creates it if need be; NULL: no memory. */
struct unwind_file *unwind_file_get(struct unwind *u, const struct file *file);
/* Queues a file whose table is pending. */
void unwind_file_request(struct unwind *u, struct unwind_file *file);

/* unwind_kernel.c */
bool kernel_rows_begin(struct unwind *u, uint32_t n_rules);
bool kernel_rows_add_rules(struct unwind *u, const struct unwind_rule *rules, uint32_t n);
bool kernel_rows_add(struct unwind *u, const struct unwind_row *rows, uint32_t n);
/* False: takes back what was added. */
void kernel_rows_end(struct unwind *u, bool keep);
void kernel_rules_free(struct unwind *u);

/* unwind_processes.c */
/* The table of a file is there, or it is known that there is none. */
void unwind_processes_update(struct unwind *u, const struct unwind_file *file);
void unwind_processes_free(struct unwind *u);

#endif
