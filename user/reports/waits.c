/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the partner and the object of a wait among the arguments of its fact. */
#include "reports/waits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct arg *wait_find_arg(const struct fact *fact, const char *key)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
		if (fact->args[i].key && !strcmp(fact->args[i].key->text, key))
			return &fact->args[i];
	}
	return NULL;
}

static void wait_copy_text(const struct fact *fact, const char *key, char text[WAIT_TEXT])
{
	const struct arg *arg = wait_find_arg(fact, key);

	if (arg && arg->type == ARG_STRING)
		memcpy(text, arg->s, text_fit(arg->s, arg->length, WAIT_TEXT - 1));
	else if (arg && (arg->type == ARG_POINTER || arg->type == ARG_UINT))
		snprintf(text, WAIT_TEXT, "0x%" PRIx64, arg->u);
}

void wait_describe(const struct fact *fact, struct wait_about *about)
{
	memset(about, 0, sizeof(*about));
	wait_copy_text(fact, "file", about->on);
	if (!about->on[0])
		wait_copy_text(fact, "address", about->on);
	/* Of other system calls than the usual ones, the reason is no more than "other". */
	if (!about->on[0] && fact->wait_reason == WAIT_OTHER)
		wait_copy_text(fact, "call", about->on);
	wait_copy_text(fact, "woken_by", about->by);
	wait_copy_text(fact, "woken_by_slice", about->by_slice);
}
