/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/meminfo: "MemTotal:  24684596 kB". */
#include "system/internal.h"

#include <stdlib.h>
#include <string.h>

static uint64_t meminfo_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	/* At the beginning of a line: "Cached:" is also in "SwapCached:". */
	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, name);
	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

void system_memory(struct system_counters *s, char *text, double seconds)
{
	uint64_t total = meminfo_field(text, "MemTotal:"),
		 available = meminfo_field(text, "MemAvailable:");
	uint64_t swap = meminfo_field(text, "SwapTotal:"),
		 swap_free = meminfo_field(text, "SwapFree:");
	struct series out;

	(void)seconds;
	series_start(&out, s, "memory", "bytes");
	if (total >= available)
		series_add_bytes(&out, names_intern_string(s->names, "used"), total - available);
	series_add_bytes(&out, names_intern_string(s->names, "cached"),
			 meminfo_field(text, "Cached:"));
	series_add_bytes(&out, names_intern_string(s->names, "dirty"),
			 meminfo_field(text, "Dirty:"));
	if (swap >= swap_free)
		series_add_bytes(&out, names_intern_string(s->names, "swap"), swap - swap_free);
	series_end(&out);
}
