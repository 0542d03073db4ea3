/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of capture share. */
#ifndef PROFTRACE_CAPTURE_INTERNAL_H
#define PROFTRACE_CAPTURE_INTERNAL_H

#include "broker/broker.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "event.h"
#include "target/elf_file.h"
#include "target/markers.h"
#include "timeline/hash_key.h"
#include "rare.h"

struct ring_buffer;
struct rings;
struct proftrace_bpf__bss;
struct batches;
struct stacks;

/* One probe site that is attached: what the cookie in a record stands for. */
struct site {
	const struct file *file;
	uint64_t vaddr;	 /* of the attached instruction */
	uint64_t offset; /* in the file */
	uint64_t switch_offset;
	unsigned kind;
	const struct name *category; /* the domain's name; NULL: the control site */
	bool only_categories;	     /* of its marks, only those with categories besides */
	bool batches;		     /* not attached: its marks come in batches */
	uint64_t plain_token;	     /* of marks without a token */
	struct probe *probe;	     /* of others; NULL: a marker of ours */
	unsigned guard;		     /* guard.c: its domain's number; 0: the control site */
};

struct file_link {
	unsigned link;	/* as the broker knows it */
	unsigned guard; /* of the domain it is of; 0: of several, or none */
};

/* A file that was found mapped. It stays open, so that its inode number is not given to another. */
struct file {
	uint64_t device, inode;	 /* the key, as /proc/PID/maps has it */
	uint64_t st_dev, st_ino; /* as the file itself says */
	bool known_otherwise;	 /* attached under another key already */
	int fd;
	struct elf_file *elf; /* NULL: nothing of ours in it */
	struct marker_sites sites;
	unsigned first_site;		 /* in capture->sites */
	unsigned n_sites;		 /* that were selected */
	uint64_t flush_stub, batch_list; /* addresses in the file; 0: its markers cannot batch */
	unsigned n_domain_sites;	 /* of these, how many are not the control site's */
	unsigned first_probe, n_probes;	 /* of others, that were selected: in capture->sites, too */
	unsigned first_call;		 /* of these, those from here on are of functions */
	bool refused;			 /* could not be attached to: not tried again */
	struct broker_site linker;	 /* _dl_debug_state; offset 0: not the dynamic linker */
	struct broker_site executes[3];	 /* execve and its like, of a C library */
	unsigned n_executes;
	bool doors_wait; /* the two above are still to be attached to */
	struct file_link *links;
	unsigned n_links;
	struct file_link *data_links; /* under a schedule: those of the domains' sites */
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

#define DECISIONS	   64
#define RECENT_MARKER_BITS 8
#define RECENT_MARKERS	   (1 << RECENT_MARKER_BITS)

/* Whether marks of these categories are asked for: see selection.c. */
struct decision {
	const struct name *category;
	bool taken;
};

struct traced_process {
	pid_t pid;
	uint64_t cpu_ns; /* guard.c: of its CPU time, what was counted */
	UT_hash_handle hh;
};

struct guard_domain {
	const struct name *name;
	bool off;
	struct guard_count before; /* at the begin of the interval */
};

#define GUARD_LONGEST 16 /* times what comes before: a program takes as long as that, or less */
#define DRAIN_AT_MOST 65536
#define MAX_MARKERS   65536

/* What looking at one process has cost: see scans.c. */
struct scan_pace {
	pid_t pid; /* 0: nobody's */
	bool owed; /* it was let go on without a look, which is made up for */
	int64_t credit_ns;
	uint64_t at_ns; /* when it had that */
};

#define SCAN_PACES    1024
#define HOLDS_AT_ONCE 256

struct scans {
	struct scan_pace paces[SCAN_PACES]; /* by process id */
	unsigned n_owed, next_owed;
	uint64_t until_ns; /* files that are new are not looked into any more; 0: all are */
	bool left;	   /* some were not */
	struct record_hold
		held[HOLDS_AT_ONCE]; /* threads that wait, in the order in which they began */
	unsigned n_held;
	uint64_t holds_ns; /* between records, not before */
};

struct capture {
	struct capture_options options;
	struct broker *broker;
	struct broker_loaded loaded;
	struct proftrace_bpf__bss *shared;
	struct tables *tables;	 /* NULL: marks are recorded */
	struct batches *batches; /* NULL: each mark comes by itself */
	struct stacks *stacks;	 /* NULL: no call stacks are taken */
	struct rings *rings;	 /* of records */
	struct ring_buffer *holds;
	struct clocks clocks;
	int epoll_fd;
	char *stuck_at; /* the file that the broker was given up over; "" where it is not known which */
	bool stopped;
	bool waits; /* under a schedule: the domains' sites are not attached */
	uint64_t attach_ns;
	bool doors_later; /* files that are found now: markers first, the rest by files_attach_doors() */
	bool expects; /* files that are found now are what a command will begin with */
	int error;    /* the first one that the receiver of events returned */

	struct file *files;
	unsigned n_marked_files;
	unsigned n_links; /* of all files */
	unsigned n_linkers;
	unsigned n_statics; /* static programs with markers */
	struct site *sites;
	unsigned n_sites, sites_room;
	struct marker *markers;
	struct marker *recent_markers[RECENT_MARKERS]; /* found lately, by site and name */
	struct marker uncached;			       /* the last of too many */
	struct probes *probes;			       /* NULL: none of others are asked for */
	struct traced_process *processes;

	struct {
		unsigned n;	 /* numbers in use; 0 is the control site's */
		uint64_t cpu_ns; /* of all processes, in this interval */
		struct guard_domain domains[GUARD_DOMAINS];
	} guard;
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
	uint64_t refused;	 /* files that could not be opened or attached to */
	uint64_t named_files;	 /* files of which it was said that something is not recorded */
	uint64_t late;		 /* files attached while their program was already running */
	uint32_t sched_lost;	 /* records of the scheduler, as far as it was looked */
	bool sched_uncertain;	 /* and not all of them were told */
	unsigned budget;	 /* records to take before coming back */
	uint64_t drain_until_ns; /* and not longer, if each takes long */
	bool attaching;		 /* to a running process, for the first time */
	bool stopping;		 /* what is mapped from now on is nobody's concern */
	struct scans scans;
	unsigned since_holds;	/* records since the holds were looked at */
	uint64_t refused_sites; /* of probes, for one reason or another */
	char text[(MAX_ARGS + 1) * (MAX_STRING * 4 + 8)];
	struct arg args[MAX_ARGS];
	uint64_t counters[MAX_COUNTERS * COUNTER_PARTS];
};

/* Whether the broker was given up; if just now, then over the file of this name. */
bool capture_stuck_at(struct capture *c, const char *path);
void capture_log(struct capture *c, int verbosity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t monotonic_now(void);

static inline int capture_hand_on(struct capture *c, const struct event *event)
{
	int error = c->options.event(c->options.context, event);

	if (rare(error) && !c->error)
		c->error = error;
	return error;
}

/* decode.c: the callbacks of the ring buffers. */
int decode_record(void *context, void *data, size_t size);
/* A mark; false: it makes no sense. `e` is all 0 but for when and whose it is. */
bool decode_mark(struct capture *c, const struct record *r, size_t size, struct event *e);

/* What the operands are: a its id, where its kind has one, and b its size. */
static inline bool operand_is_id(unsigned kind)
{
	return kind != RECORD_COUNTER && kind != RECORD_INSTANT && kind != RECORD_END;
}

static inline bool operand_is_size(unsigned kind)
{
	return kind == RECORD_ALLOC || kind == RECORD_STEP;
}

/* sched.c */
bool decode_sched(struct capture *c, const struct record *r, size_t size, struct event *e);
/* After a record was taken, and before it is handed on: whether some before it found no room. */
void sched_look_lost(struct capture *c, uint64_t ts_ns);

size_t whole_characters(const char *bytes, size_t length);

/* static_names.c */
const struct marker *marker_look_up(struct capture *c, const struct marker_key *key);

/* Names lie at even distances: the upper bits of a product have something of all their bits. */
static inline struct marker **marker_slot(struct capture *c, const struct marker_key *key)
{
	uint32_t hash = ((uint32_t)key->name + key->site * 31) * 0x9e3779b1u;

	return &c->recent_markers[hash >> (32 - RECENT_MARKER_BITS)];
}

/* The marker of a mark that comes by the million: it is nearly always one of those found lately. */
static inline const struct marker *marker_of(struct capture *c, const struct record *head,
					     int32_t keys, int32_t categories)
{
	const struct marker_key key = {
		.site = head->site,
		.name = head->flags & (RECORD_NAME_COPIED | RECORD_NAME_UNREADABLE) ? 0
										    : head->name,
		.keys = keys,
		.categories = categories,
		.types = keys ? head->types : 0,
	};
	const struct marker *m = *marker_slot(c, &key);

	if (m && m->key.site == key.site && m->key.name == key.name && m->key.keys == key.keys &&
	    m->key.categories == key.categories && m->key.types == key.types)
		return m;
	return marker_look_up(c, &key);
}

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

/* What becomes of a mark that has been decoded. */
static inline void capture_mark(struct capture *c, uint32_t site, const struct event *e)
{
	if (rare(c->options.n_domains) && !selection_takes(c, c->sites[site].category, e)) {
		c->left_out_marks++;
		return;
	}
	if (rare(c->options.sched))
		sched_look_lost(c, e->ts_ns);
	capture_hand_on(c, e);
}

/* files.c */
enum file_news {
	FILE_KNOWN,
	FILE_NOTHING, /* new, without markers */
	FILE_ATTACHED,
};
/* Where a link is kept, and of which domain it is. */
struct links {
	struct file_link **list;
	unsigned *n;
	unsigned guard;
};
struct site *site_new(struct capture *c);
/* What marks of this site bring along. */
uint64_t files_cookie_of(const struct capture *c, unsigned number);
/* One link more. `pid` 0: for all processes. */
int files_attach_sites(struct capture *c, struct file *file, struct links to,
		       enum broker_program program, pid_t pid, const struct broker_site *sites,
		       unsigned n, struct failure *f);
/* Takes over fd. `pid`: whose file it is. */
int files_add(struct capture *c, int fd, uint64_t device, uint64_t inode, const char *path,
	      pid_t pid, enum file_news *ret_news, struct failure *f);
/* It cannot be opened: that is not tried again at each look. */
void files_refuse(struct capture *c, uint64_t device, uint64_t inode);
bool files_known(struct capture *c, uint64_t device, uint64_t inode, pid_t pid,
		 enum file_news *ret_news);
/* What files_add() left out while `doors_later` was set. */
void files_attach_doors(struct capture *c);
const struct file *files_find(struct capture *c, uint64_t device, uint64_t inode);
void files_detach(struct capture *c);
/* Of a domain that is switched off already: its number in guard.c. */
void files_detach_domain(struct capture *c, unsigned guard);
void files_detach_data(struct capture *c);
void files_attach_data(struct capture *c);
void files_free(struct capture *c);

/* guard.c */
unsigned guard_number(struct capture *c, const struct name *domain);
bool guard_is_off(const struct capture *c, unsigned number);
void guard_process_begin(struct capture *c, struct traced_process *p, bool is_new);
void guard_process_end(struct capture *c, struct traced_process *p, uint64_t cpu_ns);

/* processes.c */
int process_scan(struct capture *c, const struct broker_target *target, unsigned *ret_marked,
		 unsigned *ret_new, struct failure *f);
/* running: it is what it will be; otherwise it is about to execute a program. */
void process_names(struct capture *c, const struct broker_target *target, bool running);
/* is_new: it has just begun. `cpu_ns`: what it has used in all, as far as the kernel's side knows. */
void process_add(struct capture *c, pid_t pid, bool is_new);
void process_remove(struct capture *c, pid_t pid, uint64_t cpu_ns);
void process_executed(struct capture *c, pid_t pid);
/* What a held thread is about to execute. */
void process_prepare(struct capture *c, const struct record_hold *r);

/* scans.c: process_scan() as often as the recorder can afford it. */
int decode_hold(void *context, void *data, size_t size);
/* Releases held threads, after their processes have been looked at; but comes back after a while. */
int holds_serve(struct capture *c);
/* The same, between records, which want their share of the time. */
void holds_between(struct capture *c);
/* Whether the process may be looked at; if not, it is later. */
bool scans_afford(struct capture *c, pid_t pid);
/* *ret_cost_ns: what it is rated at; may be NULL. */
int scans_look(struct capture *c, pid_t pid, unsigned *ret_new, uint64_t *ret_cost_ns);
/* Whether this look has taken so long that files must wait for the next one. */
bool scans_is_over(struct capture *c);
/* How many are still waiting for the look that they are owed. */
unsigned scans_owed(const struct capture *c);

#endif
