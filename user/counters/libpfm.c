/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of processors by the names in the manuals of their vendors, which libpfm4 knows. */
#include "counters/counters.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

int libpfm_encode(const char *name, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t arg = { .attr = attr, .size = sizeof(arg) };

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (pfm_initialize() != PFM_SUCCESS ||
	    pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) !=
		    PFM_SUCCESS)
		return -ENOENT;
	return 0;
}

unsigned libpfm_each(void (*each)(void *context, const char *name, const char *text), void *context)
{
	unsigned n = 0;
	pfm_pmu_t pmu;

	if (pfm_initialize() != PFM_SUCCESS)
		return 0;
	for (pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t pmu_info = { .size = sizeof(pmu_info) };

		/* perf's own names are in names.c. */
		if (pfm_get_pmu_info(pmu, &pmu_info) != PFM_SUCCESS || !pmu_info.is_present ||
		    !strcmp(pmu_info.name, "perf"))
			continue;
		for (int event = pmu_info.first_event; event != -1;
		     event = pfm_get_event_next(event)) {
			pfm_event_info_t info = { .size = sizeof(info) };
			char name[256];

			if (pfm_get_event_info(event, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
				continue;
			snprintf(name, sizeof(name), "%s::%s", pmu_info.name, info.name);
			each(context, name, info.desc);
			n++;
		}
	}
	return n;
}
