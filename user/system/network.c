/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/net/dev: two lines of heading, then "  eth0: bytes packets ... (8 in all) bytes packets ...". */
#include "system/internal.h"

#include <stdio.h>
#include <string.h>

void system_network(struct system_counters *s, char *text, double seconds)
{
	struct series receive, transmit;
	char *line, *rest;

	series_start(&receive, s, "network receive", "bytes/s");
	series_start(&transmit, s, "network transmit", "bytes/s");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long in, out;
		struct system_thing *interface;
		uint64_t more[2];
		char name[32];

		if (sscanf(line, " %31[^: ]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &in,
			   &out) != 3)
			continue;
		interface = system_thing_get(s, SYSTEM_NETWORK, name);
		if (!interface)
			continue;
		more[0] = system_thing_delta(interface, 0, in);
		more[1] = system_thing_delta(interface, 1, out);
		if (interface->known && seconds) {
			series_add_double(&receive, interface->key, more[0] / seconds);
			series_add_double(&transmit, interface->key, more[1] / seconds);
		}
		interface->known = true;
	}
	series_end(&receive);
	series_end(&transmit);
}
