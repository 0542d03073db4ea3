/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much text one fact may bring into a trace. What the capture hands over is far shorter (MAX_NAME,
 * MAX_STRING); a file that is converted may hold anything. The limits keep one event below what
 * sink_reserve() gives at once, whatever it consists of.
 */
#ifndef PROFTRACE_HANDLERS_TEXT_LIMIT_H
#define PROFTRACE_HANDLERS_TEXT_LIMIT_H

#include <stddef.h>

#include "timeline/event.h"

enum {
	LIMIT_NAME = 1024,
	LIMIT_KEY = 256,
	LIMIT_STRING = EVENT_MAX_STRING,
};

/* The length of the longest start of `text` within `max` bytes that does not split a character. */
static inline size_t text_fit(const char *text, size_t length, size_t max)
{
	if (length <= max)
		return length;
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

#endif
