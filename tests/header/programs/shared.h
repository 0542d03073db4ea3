/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the linking test share: one domain, and each other's functions. */
#ifndef SHARED_H
#define SHARED_H

#include <proftrace.h>

PROF_DOMAIN_EXTERN(net, "net.rpc");
PROF_DOMAIN_EXTERN(net, "net.rpc"); /* twice does no harm */

#ifdef __cplusplus
extern "C" {
#endif
extern int second_evaluated;
int second_work(int x);
int library_work(int x);
int library_is_on(void);
#ifdef __cplusplus
}
#endif

#endif
