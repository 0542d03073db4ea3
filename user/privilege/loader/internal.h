/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside loader/. */
#ifndef PROFTRACE_PRIVILEGE_LOADER_INTERNAL_H
#define PROFTRACE_PRIVILEGE_LOADER_INTERNAL_H

#include "privilege/loader/loader.h"

struct background;
struct bpf_program;
struct kernel_types;
struct proftrace_bpf;

/* configure.c: before loading. `types` may be NULL: then libbpf reads all types of the kernel. */
void programs_configure(struct proftrace_bpf *skel, const struct broker_config *config,
			const struct kernel_types *types, struct loaded_programs *programs,
			struct broker_loaded *loaded);
/* Before that: the size of the map of threads. */
void programs_configure_threads(struct proftrace_bpf *skel, const struct broker_config *config);
void programs_configure_processes(struct proftrace_bpf *skel);
/* The program that is attached to markers. */
struct bpf_program *programs_marks(const struct proftrace_bpf *skel,
				   const struct broker_config *config);
/* The number of ring buffers. */
unsigned configured_buffers(const struct broker_config *config);
/* handlers.c: of libbpf for sections of programs, registered while they are loaded. Returns negative errno if one is not. */
struct handlers {
	int watchers, marks, holds;
};
int handlers_register(struct handlers *h, struct background *background);
void handlers_unregister(const struct handlers *h);
/* counter_off.c: sets counter_off_in of bpf/state.h. */
void find_counter_off(struct proftrace_bpf *skel);
/* Whether the programs that are attached see a thread that forbids itself the counter. */
bool counter_trial_is_seen(struct proftrace_bpf *skel);
bool counters_have(const struct counters *c, enum counter_source source);

/*
 * load_log.c: messages of libbpf are kept instead of printed, from load_log_begin() on. load_log_set() sets the reason
 * of a failure that libbpf does not know.
 */
void load_log_begin(void);
void load_log_set(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The reason is that this needs perf events, and the system does not permit them. */
void load_log_refuse_events(const char *what);
/* Sets the failure for the error of loading, and returns it. */
int load_log_refuse(struct failure *f, int error);

#endif
