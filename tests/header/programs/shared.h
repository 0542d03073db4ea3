/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the linking test share: one domain, and each other's functions. */
#ifndef SHARED_H
#define SHARED_H

#include <proftrace.h>

PROF_DOMAIN_EXTERN(net, "net.rpc");
PROF_DOMAIN_EXTERN(net, "net.rpc"); /* twice does no harm */

/* Objects that the files of the program share, whatever they are written in. */
PROF_MARKER_EXTERN(request, net, "request", .categories = "io,net", .instant_on_start = 1);
PROF_TASK_EXTERN(parse, net, "parse");
PROF_FRAME_EXTERN(tick, net, "tick");
PROF_EVENT_EXTERN(loaded, "loaded");
PROF_COUNTER_OBJECT_EXTERN(sent, net, "sent", 40);

#ifdef __cplusplus
extern "C" {
#endif
extern int second_evaluated;
int second_work(int x);
int second_object(const prof_marker_t *marker);
int library_work(int x);
int library_is_on(void);
#ifdef __cplusplus
}
#endif

#endif
