/* SPDX-License-Identifier: BSD-2-Clause */
/* --max-overhead: domains that cost the target too much are switched off. */
#ifndef PROFTRACE_CMD_OVERHEAD_H
#define PROFTRACE_CMD_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "failure.h"

struct recording;
struct overhead;

/* After the capture was opened. Refuses where a mark's cost could not be measured. */
int overhead_new(struct recording *r, struct failure *f);
void overhead_free(struct overhead *overhead);
/* Looks now and then whether the limit is passed. */
void overhead_tick(struct recording *r, uint64_t now_ns);

/* A line for each domain that was switched off. */
void overhead_print(const struct recording *r, FILE *out);
/* The i-th of them into `line`; false: there are no more. */
bool overhead_line(const struct recording *r, unsigned i, char *line, size_t size);
/* A field of --summary-json, with a comma. */
void overhead_json(const struct recording *r, FILE *out);

#endif
