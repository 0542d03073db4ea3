/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of processors by the names in the manuals of their vendors, which libpfm4 knows. */
#include "counters/libpfm.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "counters/counters.h"

#define PFM_LIBRARY "libpfm.so.4"

/* Where it is not installed, its names are unknown. */
static bool libpfm_open(struct libpfm *pfm)
{
	void *library;
	bool all = true;

	if (&static_libpfm) {
		*pfm = static_libpfm;
		return pfm->initialize() == PFM_SUCCESS;
	}
	library = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define PFM_FIND(name)                                       \
	*(void **)&pfm->name = dlsym(library, "pfm_" #name); \
	all &= pfm->name != NULL;
	PFM_FUNCTIONS(PFM_FIND)
	return all && pfm->initialize() == PFM_SUCCESS;
}

int libpfm_encode(const char *name, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t arg = { .attr = attr, .size = sizeof(arg) };
	struct libpfm pfm;

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (!libpfm_open(&pfm) ||
	    pfm.get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) !=
		    PFM_SUCCESS)
		return -ENOENT;
	return 0;
}

unsigned libpfm_each(void (*each)(void *context, const char *name, const char *text), void *context)
{
	struct libpfm pfm;
	unsigned n = 0;
	pfm_pmu_t pmu;

	if (!libpfm_open(&pfm))
		return 0;
	for (pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t pmu_info = { .size = sizeof(pmu_info) };

		/* perf's own names are in names.c. */
		if (pfm.get_pmu_info(pmu, &pmu_info) != PFM_SUCCESS || !pmu_info.is_present ||
		    !strcmp(pmu_info.name, "perf"))
			continue;
		for (int event = pmu_info.first_event; event != -1;
		     event = pfm.get_event_next(event)) {
			pfm_event_info_t info = { .size = sizeof(info) };
			char name[256];

			if (pfm.get_event_info(event, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
				continue;
			snprintf(name, sizeof(name), "%s::%s", pmu_info.name, info.name);
			each(context, name, info.desc);
			n++;
		}
	}
	return n;
}
