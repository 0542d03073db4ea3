/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of other profilers that are included when a recording ends: those of --include-json, and those that the
 * recorded programs name (prof_include_chrome_json).
 */
#ifndef PROFTRACE_RECORD_INCLUDE_H
#define PROFTRACE_RECORD_INCLUDE_H

#include <stdio.h>

#include "timeline/event.h"

struct recording;
struct includes;

/* A program's EVENT_INCLUDE_JSON: kept until the end. From now on only the file may be missing. */
void include_add_named(struct recording *r, const struct event *event);

/*
 * Reads all of them into the recording, as its last events. Returns 0, or negative errno if a file
 * of the command line could not be read; the failure has been printed.
 */
int include_all(struct recording *r);

/* Whether all of them were read completely. */
bool includes_are_whole(const struct recording *r);

/* Prints a line for each file that was read. */
void includes_print(const struct recording *r);
void includes_json(const struct recording *r, FILE *out);
void includes_free(struct includes *includes);

#endif
