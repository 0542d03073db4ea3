/* SPDX-License-Identifier: BSD-2-Clause */
/* --max-overhead: turns off domains whose marks cost the target too much. */
#ifndef PROFTRACE_RECORD_OVERHEAD_H
#define PROFTRACE_RECORD_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/failure.h"

struct recording;
struct overhead;

/* Call after the capture was opened. Fails if the cost of a mark could not be measured. */
int overhead_new(struct recording *r, struct failure *f);
void overhead_free(struct overhead *overhead);
/* Call regularly: compares the cost with the limit a few times per second. */
void overhead_poll(struct recording *r, uint64_t now_ns);

/* One line for each domain that was turned off. */
void overhead_print(const struct recording *r, FILE *out);
/* The line of the i-th of them; false: there are no more. */
bool overhead_line(const struct recording *r, unsigned i, char *line, size_t size);
/* A field of --summary-json, followed by a comma. */
void overhead_json(const struct recording *r, FILE *out);

#endif
