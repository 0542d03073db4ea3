/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The labels unit, container and process of metrics (`proftrace serve`): to whom the rows of the table belong. Processes
 * with the same three share rows, so that a worker that is replaced adds no series. There are LABEL_SETS of them; processes
 * with others share one more, "(other)".
 */
#ifndef PROFTRACE_RECORD_METRICS_LABELS_H
#define PROFTRACE_RECORD_METRICS_LABELS_H

#include <stdint.h>

/*
 * The names of the labels, as titles of groups (stats_by()). Of the values, "UNIT CONTAINER PROCESS", only the last one may
 * contain a space: units have no such names (is_unit_name()), and a container is its ID.
 */
#define LABEL_NAMES "unit\tcontainer\tprocess"

enum {
	LABEL_SETS = 64,
};

struct labels;
struct names;
struct name;

struct labels *labels_new(struct names *names); /* NULL: out of memory */
void labels_free(struct labels *labels);
/* The number, from 1 on, or 0 for (other), of the process's labels. They are read when it is seen first. */
uint32_t labels_of(struct labels *labels, uint32_t pid);
/* It executes another program, or has another process's number: its labels are read again. */
void labels_forget(struct labels *labels, uint32_t pid);
/* Its main thread, and so the process, has another name. */
void labels_rename(struct labels *labels, uint32_t pid, const char *comm);
const struct name *labels_text(const struct labels *labels, uint32_t number);
/* Processes that share "(other)". */
uint64_t labels_beyond(const struct labels *labels);

#endif
