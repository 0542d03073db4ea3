/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that the files of the Chrome JSON writer call from one another; writer.c describes the format. Each
 * returns the error of the sink, if it returns an int.
 */
#ifndef PROFTRACE_FORMATS_CHROME_WRITER_H
#define PROFTRACE_FORMATS_CHROME_WRITER_H

#include "formats/chrome/json_writer.h"
#include "timeline/callstack.h"
#include "timeline/fact.h"
#include "timeline/origin.h"

/* write_metadata.c: events "M", which describe the trace, its processes and its threads. */
void chrome_write_start(struct json_writer *j, const struct trace_info *info);
int chrome_write_process(struct json_writer *j, const struct process *process);
int chrome_write_labels(struct json_writer *j, const struct process *process);
int chrome_write_thread(struct json_writer *j, const struct thread *thread);
int chrome_write_clock(struct json_writer *j, const struct clock_reading *clock);
/* The last event, and the end of the array. */
int chrome_write_account(struct json_writer *j, const struct account *account);

/* write_sched.c: context switches and wakings. */
struct chrome_sched; /* NULL: no scheduling event so far */

int chrome_sched_write(struct chrome_sched **sched, struct json_writer *j, const struct fact *fact);
/* Says that a recorded thread, or the main thread of a recorded process, has been named. */
int chrome_sched_describe(struct chrome_sched **sched, uint32_t tid);
/* Writes the states of the tasks that have a CPU at the end of the file. */
int chrome_sched_finish(struct chrome_sched *sched, struct json_writer *j);
void chrome_sched_free(struct chrome_sched *sched);
/* "R", "S", ...: as Linux and viewers name a state. */
const char *sched_state_text(enum sched_state state);

/*
 * write_deltas.c: the arguments of an E, whose object is open. `sampled`: bits of the counters that a reader knows by a
 * sample that came before.
 */
char *chrome_put_counted_args(struct json_writer *j, char *at, const struct fact *fact,
			      uint32_t sampled);

/*
 * write_stacks.c: call stacks of slices and instants. Perfetto's loader ignores the place that the format has for
 * them ("sf", and a table of frames after all events), and a file that was cut off would lack the table. So a call
 * stack is an argument "stack": a list of names, the outermost first. Names of the kernel end in "_[k]", as in the
 * folded stacks of other tools.
 */
enum {
	CHROME_STACK_NAMES = 256, /* of the innermost functions; outer ones become "(more)" */
};

#define CHROME_KERNEL_MARK "_[k]"

/* Writes it as one of the arguments of the open event. */
char *chrome_put_stack(struct json_writer *j, char *at, const struct callstack *callstack);

#endif
