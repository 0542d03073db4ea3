/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as the reply of a collector, as an argument `traceparent`, and as headers of the environment. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/otlp_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char message[64], headers[256], *text;
	struct otlp_context context;
	int i, n;

	/* Copies of their own size, so that reading behind them is noticed. */
	text = malloc(size + 1);
	memcpy(text, data, size);
	if (otlp_reply_rejected((uint8_t *)text, size, message, sizeof(message)) < -1 ||
	    strlen(message) >= sizeof(message) || strpbrk(message, "\n\r\033"))
		abort();
	text[size] = '\0';
	if (otlp_parse_traceparent(text, strlen(text), &context) && strlen(text) < 55)
		abort();
	otlp_url_is_valid(text);
	n = otlp_parse_headers(text, headers, sizeof(headers));
	for (i = 0, data = (uint8_t *)headers; i < n; i++, data += strlen((const char *)data) + 1) {
		if (!strstr((const char *)data, ": ") || strpbrk((const char *)data, "\r\n"))
			abort();
	}
	free(text);
	return 0;
}
