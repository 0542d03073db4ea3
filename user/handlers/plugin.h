/* SPDX-License-Identifier: BSD-2-Clause */
/* A handler that is somebody else's shared object (include/proftrace/handler.h). */
#ifndef PROFTRACE_HANDLERS_PLUGIN_H
#define PROFTRACE_HANDLERS_PLUGIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "failure.h"
#include "handlers/handler.h"

/*
 * Starts a process for it. `text`: LIB or LIB=ARG. Returns 0 or negative errno: no such file, no
 * handler in it, or it did not want to.
 */
int plugin_handler_new(const char *text, const struct trace_info *info,
		       struct handler **ret_handler, struct failure *f);

/* A Chrome JSON file of another profiler joins the recording. */
void plugin_json_file(struct handler *handler, const char *path);

/*
 * From now on threads of others wait for us: it is never waited for, until plugin_recorded() says that
 * nothing is recorded any more. `signals`: how many have come that shall end us. plugin_tend() is called
 * every now and then in between, and once more when it has failed; it returns whether plugin_failure()
 * has all that it says.
 */
void plugin_live(struct handler *handler);
void plugin_recorded(struct handler *handler, unsigned (*signals)(void *context), void *context);
bool plugin_tend(struct handler *handler);

/* The process that it is in; 0: it has ended. */
pid_t plugin_pid(const struct handler *handler);

/* Why it gets no more, when its `error` is set. */
void plugin_failure(const struct handler *handler, struct failure *f);

/* argv[0] of the process of a plug-in; argv[1] is the descriptor that plugin_host() talks over. */
#define PLUGIN_HOST_NAME "proftrace-handler"

#endif
