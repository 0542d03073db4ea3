/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where each event comes by, what is rare is said to be: its code stands aside, and an ordinary event
 * runs straight through.
 */
#ifndef PROFTRACE_RARE_H
#define PROFTRACE_RARE_H

#define rare(condition) __builtin_expect(!!(condition), 0)

#endif
