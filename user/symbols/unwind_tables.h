/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for walking stacks (bpf/stacks/unwind_maps.h), made of files by a parser process of their own: it must
 * not wait for names, nor names for it. One file is read at a time, without waiting: the recorder
 * asks for a table, and reads what has come whenever the socket is readable.
 *
 * This is the other header to include from outside.
 */
#ifndef PROFTRACE_SYMBOLS_UNWIND_TABLES_H
#define PROFTRACE_SYMBOLS_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/stacks/unwind_maps.h"

struct unwind_row;
struct unwind_tables;

/* What a table is handed over to. Each returns false to refuse the table. */
struct unwind_table_sink {
	/*
	 * `distance`s of rows count from `base`, an address of the file. Both numbers are limited by
	 * UNWIND_MAX_ROWS and UNWIND_RULES.
	 */
	bool (*begin)(void *context, uint64_t base, uint32_t n_rules, uint32_t n_rows);
	bool (*rules)(void *context, const struct unwind_rule *rules, uint32_t n);
	/* Rows are sorted, and their rules have come before. */
	bool (*rows)(void *context, const struct unwind_row *rows, uint32_t n);
	/* The table is complete (0), or there is none (negative errno; -ENOENT: the file has none). */
	void (*end)(void *context, int error);
	void *context;
};

/* Starts the process: before system calls are filtered, and after privileges were dropped. */
int unwind_tables_new(const struct unwind_table_sink *sink, struct unwind_tables **ret);
void unwind_tables_free(struct unwind_tables *tables);
/* Readable when something has come. */
int unwind_tables_fd(const struct unwind_tables *tables);
/* Asks for the table of a file, whose descriptor is borrowed. 0, or -EBUSY: another is being read. */
int unwind_tables_request(struct unwind_tables *tables, int fd);
/* Hands over what has come, but not longer than until `until_ns` of the monotonic clock. */
void unwind_tables_receive(struct unwind_tables *tables, uint64_t until_ns);

#endif
