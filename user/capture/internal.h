/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of capture share. */
#ifndef PROFTRACE_CAPTURE_INTERNAL_H
#define PROFTRACE_CAPTURE_INTERNAL_H

#include <uthash.h>

#include "broker/broker.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "event.h"
#include "target/elf_file.h"
#include "target/markers.h"

struct ring_buffer;
struct proftrace_bpf__bss;

/* One probe site that is attached: what the cookie in a record stands for. */
struct site {
	const struct file *file;
	uint64_t vaddr;	 /* of the attached instruction */
	uint64_t offset; /* in the file */
	uint64_t switch_offset;
	unsigned kind;
	const struct name *category; /* the domain's name; NULL: the control site */
	bool only_categories;	     /* of its marks, only those with categories besides */
};

/* A file that was found mapped. It stays open, so that its inode number is not given to another. */
struct file {
	uint64_t device, inode;	 /* the key, as /proc/PID/maps has it */
	uint64_t st_dev, st_ino; /* as the file itself says */
	bool known_otherwise;	 /* attached under another key already */
	int fd;
	struct elf_file *elf; /* NULL: nothing of ours in it */
	struct marker_sites sites;
	unsigned first_site;		/* in capture->sites */
	unsigned n_sites;		/* that were selected */
	unsigned n_domain_sites;	/* of these, how many are not the control site's */
	bool refused;			/* could not be attached to: not tried again */
	struct broker_site linker;	/* _dl_debug_state; offset 0: not the dynamic linker */
	struct broker_site executes[3]; /* execve and its like, of a C library */
	unsigned n_executes;
	unsigned *links; /* as the broker knows them */
	unsigned n_links;
	unsigned *data_links; /* under a schedule: those of the domains' sites */
	unsigned n_data_links;
	pid_t alone; /* attached for this process, though children are followed; 0: for all */
	pid_t *pids; /* attached for these alone (children not followed) */
	unsigned n_pids;
	UT_hash_handle hh;
};

/* A static marker: its name and keys, read once from the file. */
struct marker_key {
	uint32_t site;
	int32_t name;
	int32_t keys;
	int32_t categories;
	uint32_t types;
};

struct marker {
	struct marker_key key;
	const struct name *name; /* NULL: none */
	bool unreadable;
	const struct name *category; /* the domain, and those besides */
	const struct name *keys[MAX_ARGS];
	UT_hash_handle hh;
};

#define DECISIONS 64

/* Whether marks of these categories are asked for: see selection.c. */
struct decision {
	const struct name *category;
	bool taken;
};

struct traced_process {
	pid_t pid;
	UT_hash_handle hh;
};

#define DRAIN_AT_MOST 65536
#define MAX_FILES     16384
#define MAX_MARKERS   65536

struct capture {
	struct capture_options options;
	struct broker *broker;
	struct broker_loaded loaded;
	struct proftrace_bpf__bss *shared;
	struct tables *tables; /* NULL: marks are recorded */
	struct ring_buffer *records, *holds;
	struct clocks clocks;
	int epoll_fd;
	bool stopped;
	bool waits; /* under a schedule: the domains' sites are not attached */
	uint64_t attach_ns;
	int error; /* the first one that the receiver of events returned */

	struct file *files;
	unsigned n_marked_files;
	unsigned n_linkers;
	unsigned n_statics; /* static programs with markers */
	struct site *sites;
	unsigned n_sites, sites_room;
	struct marker *markers;
	struct marker uncached; /* the last of too many */
	struct traced_process *processes;

	uint64_t decoded; /* marks taken from the ring buffer */
	uint64_t malformed;
	uint64_t left_out_marks; /* whose categories nobody asked for */
	struct left_out_thread *left_out;
	struct decision decisions[DECISIONS];
	uint64_t told_lost; /* of those lost, how many were told with their place */
	uint64_t unreadable_names;
	uint64_t unreadable_args;
	uint64_t cut_strings;
	uint64_t repaired_strings;
	uint64_t refused;     /* files that could not be opened or attached to */
	uint64_t late;	      /* files attached while their program was already running */
	unsigned budget;      /* records to take before coming back */
	unsigned since_holds; /* records since the holds were looked at */
	char text[(MAX_ARGS + 1) * (MAX_STRING * 4 + 8)];
	struct arg args[MAX_ARGS];
	uint64_t counters[MAX_COUNTERS * COUNTER_PARTS];
};

void capture_log(struct capture *c, int verbosity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int capture_hand_on(struct capture *c, const struct event *event);
uint64_t monotonic_now(void);

/* decode.c: the callbacks of the ring buffers. */
int decode_record(void *context, void *data, size_t size);

size_t whole_characters(const char *bytes, size_t length);

/* static_names.c */
const struct marker *marker_of(struct capture *c, const struct record *head, int32_t keys,
			       int32_t categories);
/* "domain,a,b" */
const struct name *join_categories(struct capture *c, const struct name *domain, const char *more,
				   size_t length);
bool static_string(struct capture *c, uint32_t site, int32_t distance, char *out, size_t size,
		   size_t *ret_length);
void markers_free(struct capture *c);

/* selection.c */
enum selection {
	NOT_SELECTED,
	SELECTED,
	SELECTED_CATEGORIES, /* only marks that have categories besides the domain may be asked for */
};
enum selection selection_of(const struct capture *c, const char *domain);
bool selection_takes_category(struct capture *c, const struct name *domain,
			      const struct name *category);
bool selection_takes(struct capture *c, const struct name *domain, const struct event *e);
void selection_forget(struct capture *c, uint32_t tid);
void selection_free(struct capture *c);

/* files.c */
enum file_news {
	FILE_KNOWN,
	FILE_NOTHING, /* new, without markers */
	FILE_ATTACHED,
};
/* Takes over fd. `pid`: whose file it is. */
int files_add(struct capture *c, int fd, uint64_t device, uint64_t inode, const char *path,
	      pid_t pid, enum file_news *ret_news, struct failure *f);
bool files_known(struct capture *c, uint64_t device, uint64_t inode, pid_t pid,
		 enum file_news *ret_news);
void files_detach(struct capture *c);
void files_detach_data(struct capture *c);
void files_attach_data(struct capture *c);
void files_free(struct capture *c);

/* processes.c */
int process_scan(struct capture *c, const struct broker_target *target, unsigned *ret_marked,
		 unsigned *ret_new, struct failure *f);
/* running: it is what it will be; otherwise it is about to execute a program. */
void process_names(struct capture *c, const struct broker_target *target, bool running);
void process_add(struct capture *c, pid_t pid);
void process_remove(struct capture *c, pid_t pid);
int decode_hold(void *context, void *data, size_t size);
void process_executed(struct capture *c, pid_t pid);

#endif
