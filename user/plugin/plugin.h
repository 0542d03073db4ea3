/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plug-ins: shared objects of users that get the events of a recording (--handler,
 * include/proftrace/handler.h).
 *
 * Foreign code must not be able to crash or stop the recorder. So each plug-in runs in a process of
 * its own, its host, and facts go there through a socket. This is the header to include from
 * outside; this folder calls timeline/ and base/.
 */
#ifndef PROFTRACE_PLUGIN_PLUGIN_H
#define PROFTRACE_PLUGIN_PLUGIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/failure.h"
#include "timeline/consumer.h"
#include "timeline/origin.h"

/*
 * Starts the process of a plug-in. `text`: LIB or LIB=ARG. Returns 0 or negative errno: the file
 * does not exist, has no proftrace_get_handler(), or its open() refused.
 */
int plugin_new(const char *text, const struct trace_info *info, struct consumer **ret_consumer,
	       struct failure *f);

/* Passes on the path of a Chrome JSON file of another profiler that joins the recording. */
void plugin_json_file(struct consumer *consumer, const char *path);

/*
 * From now on threads of the target may wait for the recorder, so the plug-in is never waited for,
 * until plugin_recorded() says that the recording is over. `signals` returns how many signals have
 * come that ask the recorder to end. plugin_tend() is called regularly in between, and once more
 * after a failure; it returns whether plugin_failure() has its final result.
 */
void plugin_live(struct consumer *consumer);
void plugin_recorded(struct consumer *consumer, unsigned (*signals)(void *context), void *context);
bool plugin_tend(struct consumer *consumer);

/* The PID of its process; 0: it has ended. */
pid_t plugin_pid(const struct consumer *consumer);

/* Why it was disabled, when its `error` is set. */
void plugin_failure(const struct consumer *consumer, struct failure *f);

/*
 * The process of a plug-in: main() calls plugin_host() when argv[0] is PLUGIN_HOST_NAME, with the socket
 * that argv[1] names. It reads messages until the recorder closes the socket, and returns an exit status.
 */
#define PLUGIN_HOST_NAME "proftrace-handler"
int plugin_host(int socket);

#endif
