/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format a scraper prefers: its header Accept is a list of "TYPE;PARAMETER=VALUE;q=0.7", separated by commas. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "record/metrics/metrics.h"

enum {
	QUALITY = 1000, /* of "q=1" */
	RANGE = 256,
	RANGES = 64,
};

struct range {
	char text[RANGE];
	bool is_text, is_protobuf;
	unsigned quality;
};

/* "1", "0.7": at most three digits behind the point count. */
static unsigned parse_quality(const char *text)
{
	unsigned value = *text == '1' ? QUALITY : 0, digit = QUALITY / 10;

	if (*text++ != '0' || *text++ != '.')
		return value;
	for (; *text >= '0' && *text <= '9'; text++, digit /= 10)
		value += (unsigned)(*text - '0') * digit;
	return value;
}

static void parse_range(struct range *r)
{
	bool of_family = false, delimited = false;
	char *rest = NULL, *part = strtok_r(r->text, "; \t", &rest);
	const char *type = part ? part : "";

	for (r->quality = QUALITY; part; part = strtok_r(NULL, "; \t", &rest)) {
		if (!strncasecmp(part, "q=", 2))
			r->quality = parse_quality(part + 2);
		of_family |= !strcasecmp(part, "proto=io.prometheus.client.MetricFamily");
		delimited |= !strcasecmp(part, "encoding=delimited");
	}
	r->is_text = !strcasecmp(type, "application/openmetrics-text");
	r->is_protobuf =
		!strcasecmp(type, "application/vnd.google.protobuf") && of_family && delimited;
}

bool metrics_prefers_protobuf(const char *accept)
{
	unsigned i, text = 0, protobuf = 0;

	for (i = 0; accept && *accept && i < RANGES; i++) {
		size_t n = strcspn(accept, ",");
		struct range r = { 0 };

		snprintf(r.text, sizeof(r.text), "%.*s", (int)(n < RANGE ? n : 0), accept);
		parse_range(&r);
		if (r.is_text && r.quality > text)
			text = r.quality;
		if (r.is_protobuf && r.quality > protobuf)
			protobuf = r.quality;
		accept += n + (accept[n] == ',');
	}
	return protobuf > text;
}
