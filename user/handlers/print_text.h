/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings and numbers as reports for programs have them. */
#ifndef PROFTRACE_HANDLERS_PRINT_TEXT_H
#define PROFTRACE_HANDLERS_PRINT_TEXT_H

#include <stdio.h>

#include "handlers/stats_print.h"

/* With its quotes. */
void put_json_string(FILE *out, const char *text);
/* "key": and the name, or null. */
void put_json_name(FILE *out, const char *key, const struct name *name);
/* What JSON has no number for is null. */
void put_json_double(FILE *out, double value);

/* Quoted where it has to be. */
void put_csv_text(FILE *out, const char *text);
void put_csv_double(FILE *out, double value);
/* All digits that there are; nanoseconds where no unit was asked for. */
void put_csv_time(FILE *out, enum stats_unit unit, uint64_t ns);

#endif
