/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches and wakings in the Chrome JSON output: what chrome_json.c hands on. */
#ifndef PROFTRACE_HANDLERS_CHROME_SCHED_H
#define PROFTRACE_HANDLERS_CHROME_SCHED_H

#include <errno.h>
#include <string.h>

#include "handlers/json_writer.h"
#include "timeline/fact.h"

struct chrome_sched; /* NULL: nothing was told so far */

int chrome_sched_write(struct chrome_sched **sched, struct json_writer *j, const struct fact *fact);
/* A thread, or a process with such a main thread, has been given its name. */
int chrome_sched_describe(struct chrome_sched **sched, uint32_t tid);
/* The file ends: who has a CPU has it still. */
int chrome_sched_finish(struct chrome_sched *sched, struct json_writer *j);
void chrome_sched_free(struct chrome_sched *sched);

/* "R", "S", ...: as Linux and viewers call it. */
const char *sched_state_text(enum sched_state state);

#endif
