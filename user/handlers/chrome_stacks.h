/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call stacks of slices and instants in Chrome JSON. The format's own place for them ("sf", and a
 * table of frames behind all events) is one that Perfetto's loader passes over, and that a file cut off
 * anywhere would lack: so they are an argument "stack", a list of names, the outermost first. The kernel's end in "_[k]", as in
 * other tools' stacks as text.
 */
#ifndef PROFTRACE_HANDLERS_CHROME_STACKS_H
#define PROFTRACE_HANDLERS_CHROME_STACKS_H

#include "handlers/json_writer.h"
#include "timeline/callstack.h"

enum {
	CHROME_STACK_NAMES = 256, /* of the innermost functions; outer ones are "(more)" */
};

#define CHROME_KERNEL_MARK "_[k]"

/* Among the arguments that are open. */
char *chrome_put_stack(struct json_writer *j, char *at, const struct callstack *callstack);

#endif
