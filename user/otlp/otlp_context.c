/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace context of a service's own tracer, as the W3C defines its header (https://www.w3.org/TR/trace-context). */
#include "otlp/otlp_internal.h"

#include <string.h>

enum {
	LENGTH = 55, /* of version 00; later versions may have more behind it */
};

/* Only lower-case digits are allowed. False: others, or all of them are zero. */
static bool read_hex(const char *text, uint8_t *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t any = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const char *high = memchr(digits, text[2 * i], 16);
		const char *low = memchr(digits, text[2 * i + 1], 16);

		if (!high || !low)
			return false;
		out[i] = (uint8_t)((high - digits) << 4 | (low - digits));
		any |= out[i];
	}
	return any != 0;
}

bool otlp_parse_traceparent(const char *text, size_t length, struct otlp_context *ret_context)
{
	struct otlp_context context;
	uint8_t version = 0, flags = 0;

	if (length < LENGTH || text[2] != '-' || text[35] != '-' || text[52] != '-')
		return false;
	/* Version 00 and no flags are all zero. */
	if ((!read_hex(text, &version, 1) && memcmp(text, "00", 2)) || version == 0xff ||
	    (!version && length != LENGTH) || (length > LENGTH && text[LENGTH] != '-'))
		return false;
	if ((!read_hex(text + 53, &flags, 1) && memcmp(text + 53, "00", 2)) ||
	    !read_hex(text + 3, context.trace_id, 16) || !read_hex(text + 36, context.span_id, 8))
		return false;
	context.sampled = flags & 1;
	*ret_context = context;
	return true;
}
