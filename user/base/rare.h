/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hint for the compiler in code that runs for each event: the code of a rare condition is moved
 * out of the way, so that an ordinary event runs straight through.
 */
#ifndef PROFTRACE_BASE_RARE_H
#define PROFTRACE_BASE_RARE_H

#define rare(condition) __builtin_expect(!!(condition), 0)

#endif
