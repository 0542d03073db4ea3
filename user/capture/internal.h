/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of capture/ and its folders: the recorder's view of sites, files and
 * processes, and the functions of the modules that have no header of their own (decode.c, sched.c,
 * static_names.c, selection.c, files.c, guard.c, processes.c, scans.c).
 */
#ifndef PROFTRACE_CAPTURE_INTERNAL_H
#define PROFTRACE_CAPTURE_INTERNAL_H

#include <dirent.h>

#include "privilege/broker/broker.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "bpf/event.h"
#include "bpf/sched/wait_reasons.h"
#include "tracee/code/linker_calls.h"
#include "tracee/elf_file.h"
#include "tracee/file_access.h"
#include "tracee/maps.h"
#include "tracee/markers.h"
#include "base/hash_key.h"
#include "base/marker_note.h"
#include "base/rare.h"

struct ring_buffer;
struct rings;
struct proftrace_bpf__bss;
struct batches;
struct stacks;

/* A probe site. A record refers to it by its index, which is in the attach cookie. */
struct site {
	const struct file *file;
	uint64_t vaddr;		   /* of the attached instruction */
	uint64_t offset;	   /* in the file */
	uint64_t semaphore_offset; /* in the file; 0: none */
	unsigned kind;
	const struct name *category; /* name of the domain; NULL: the control site */
	bool only_categories;	     /* only marks with categories are recorded */
	bool batches;		     /* not attached: its marks come in batches */
	bool returns;	      /* attached as a return probe or, if the kernel has them, a session */
	bool in_session;      /* not attached: its hits come with those of the site behind it */
	uint64_t plain_token; /* replaces the token of marks without one */
	struct probe *probe;  /* an existing USDT probe or a function; NULL: a marker */
	unsigned guard;	      /* number of the domain in guard.c; 0: the control site */
};

struct file_link {
	unsigned link;	   /* the broker's number, of one process, of several or of all */
	unsigned guard;	   /* number of the domain; 0: several, or none */
	unsigned turns_on; /* RECORD_BATCH_ON or RECORD_EXACT_ON: only semaphores; 0: sites */
	pid_t pid;	   /* for which process; 0: for all */
	bool leaves;	   /* another one takes its place */
	bool flushes; /* where batches are handed over, for all processes also if others are not */
};

/* A file by its numbers; `nth` is not 0 where others have the same (file_key.c). */
struct file_key {
	uint64_t device, inode, nth; /* the device as /proc/PID/maps has it: major << 32 | minor */
};

/*
 * A file that is mapped executable in a traced process. It stays open, so that the kernel cannot
 * reuse its inode number.
 */
struct file {
	struct file_key key;
	bool is_ambiguous;	 /* other files may have its numbers */
	int64_t born_ns;	 /* if so; 0: its file system does not say */
	bool is_served;		 /* by a process, which may never answer */
	uint64_t device, inode;	 /* as in /proc/PID/maps, of the process that was scanned last */
	uint64_t st_dev, st_ino; /* from stat(), which may differ from these */
	bool has_other_key;	 /* already attached under another key */
	struct file *same;	 /* that one, if overlays show one file as two; NULL: none */
	int fd;
	struct elf_file *elf; /* NULL: nothing to record in it */
	struct marker_sites sites;
	unsigned first_site; /* in capture->sites */
	unsigned n_sites;    /* number of selected sites */
	uint64_t flush_stub,
		batch_slots;	 /* addresses in the file; 0: it does not support buffered mode */
	bool changes;		 /* its domains go from exact to buffered mode and back */
	unsigned n_domain_sites; /* those that are not the control site's */
	unsigned first_probe,
		n_probes;    /* selected USDT probes and functions, also in capture->sites */
	unsigned n_leaving;  /* of these, where calls are left by exceptions and longjmp() */
	unsigned first_call; /* those from here on are of functions */
	bool refused;	     /* cannot be attached to; not tried again */
	bool is_unmapped;    /* no process has been seen that has mapped it */
	pid_t late_pid;	     /* was counted as late before it executed this program; 0: none */
	bool is_expected;    /* and its libraries were looked for: file_expect() */
	int watch;	     /* the number of its inotify watch; 0: none */
	uint64_t size;	     /* and its times, before it was read: */
	struct timespec written, changed;
	struct file *next_retired;
	uint64_t linker_function; /* the offset of _dl_debug_state; 0: not the dynamic linker */
	struct broker_site linker[LINKER_MAX_CALLS]; /* that function, or all its calls */
	unsigned n_linker;
	struct broker_site
		executes[4]; /* the functions of a C library that execute programs, and prctl() */
	unsigned n_executes;
	bool hold_sites_pending; /* the hold points above are not attached yet */
	bool turns;		 /* is to be attached to for domains that go over to another mode */
	struct file_link *links;
	unsigned n_links;
	struct file_link *data_links; /* under a schedule: those of the domains' sites */
	unsigned n_data_links;
	bool was_alone; /* it has been said: */
	bool alone; /* processes have links of their own because the kernel refuses one for all */
	bool goes_alone; /* they are going to have them: attach_alone() */
	pid_t *pids;	 /* processes with links of their own (`alone`, capture_attaches_each) */
	unsigned n_pids;
	pid_t *refused_pids; /* processes that have none, because that would take too long */
	unsigned n_refused_pids;
	bool is_counted; /* among the files that were attached to */
	UT_hash_handle hh;
};

/* A marker with a static name. Its name and keys are read from the file once. */
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
	const struct name *category; /* the domain, then its categories */
	const struct name *keys[MAX_ARGS];
	UT_hash_handle hh;
};

#define DECISIONS	   64
#define RECENT_MARKER_BITS 8
#define RECENT_MARKERS	   (1 << RECENT_MARKER_BITS)

/* A cached decision whether marks with these categories are selected (selection.c). */
struct decision {
	const struct name *category;
	bool selected;
};

/* A mapping whose numbers do not say of which file it is. */
struct resolved_mapping {
	uint64_t start, end, offset;
	struct file_key numbers, key; /* as /proc/PID/maps has them, and those of the file */
};

struct traced_process {
	pid_t pid;
	uint64_t cpu_ns;	  /* the part of its CPU time that guard.c has counted */
	const struct name *place; /* its container and unit; NULL: neither */
	const struct name *rank;  /* "rank 3", as its environment says; NULL: none */
	bool has_inner_pid;	  /* it is in a pid namespace of its own */
	bool has_our_root; /* when it was found, and when it executed its program, if it could be asked then */
	bool is_hidden; /* --all: it has no markers so far, and is not mentioned in the trace */
	bool is_paused;
	bool is_missing;  /* when it was looked for the last time */
	bool is_expected; /* to execute its program, whose environment it has */
	/* Children forked before are attached to by themselves; UINT64_MAX: it has not been attached to; 0: it was from its beginning. */
	uint64_t attached_ns;
	uint64_t since_ns;	/* when it is known to have run */
	unsigned n_mapped;	/* files at the last call of its linker, where it cannot be held */
	uint32_t first_changed; /* the last execution of files_first_changed() */
	struct target_memory *awaited_list; /* of mappings, for which a thread waits; NULL: none */
	bool is_said_locked;		    /* that it could not be read */
	struct resolved_mapping *resolved;  /* since it executed its program (file_key.c) */
	uint32_t n_resolved, resolved_capacity;
	UT_hash_handle hh;
};

#define PLACES 64

/* Where the processes of this recording were (places.c). */
struct places {
	struct place_count {
		const struct name *text;
		unsigned n; /* processes */
	} list[PLACES];
	unsigned n, n_elsewhere; /* elsewhere: processes in places beyond the limit */
	struct known_container *containers;
};

struct guard_domain {
	const struct name *name;
	bool off;
	bool can_buffer;     /* a file supports buffered mode */
	bool buffered;	     /* under --mode auto */
	uint64_t in_batches; /* marks that came in batches */
	uint64_t in_batches_before;
	struct guard_count before; /* at the beginning of the interval */
};

/* a program that takes this many times as long as the entry was interrupted */
#define GUARD_LONGEST 16
#define DRAIN_AT_MOST 65536
#define MAX_MARKERS   65536

/* The cost of scanning a process (scans.c). */
struct scan_pace {
	pid_t pid; /* 0: not used */
	bool owed; /* its threads continued without a scan, which is made up for later */
	int64_t credit_ns;
	uint64_t at_ns; /* when the credit was computed */
};

/* The priority while threads are held (hurry.c). */
struct hurry {
	bool is_on;
	uint64_t until_ns;
	uint64_t used_ns;	   /* CPU time with this priority, less what has been regained */
	uint64_t at_ns, at_cpu_ns; /* when that was computed */
};

#define GUARD_SHARING 16 /* so many of them are named */

#define SIBLING_FOLDERS 16

/* Folders from which processes have opened libraries (libraries/siblings.c). */
struct siblings {
	struct sibling_folder {
		uint64_t device, inode;
		unsigned scan; /* found the first one; 0: the others have been looked at */
	} folders[SIBLING_FOLDERS];
	unsigned n;
	DIR *list; /* the one that is being looked at; NULL: none */
	bool is_listed;
	char *folder;		      /* its path */
	struct linked_search *linked; /* for the libraries of its files */
	struct requester requester;   /* whose process has mapped the second one of this folder */
};

#define SCAN_PACES    1024
#define SCAN_PACES_ON 64 /* where that of a process may be */
#define HOLDS_AT_ONCE 256

/* An executable mapping of a file. */
struct running_code {
	uint64_t device, inode, offset, start, size;
	uint32_t longest; /* of those of the file that begin before it, or itself */
};

/* running_maps.c: the executable mappings of the process that is scanned, as of the last read. */
struct running_maps {
	struct running_code *list; /* by device, inode, offset */
	pid_t pid;
	uint32_t n, capacity;
	unsigned n_all; /* mappings of any kind; 0: not counted */
	bool is_stale;	/* whoever looks for a place reads them once more */
};

struct scans {
	struct scan_pace paces[SCAN_PACES]; /* by process number */
	unsigned n_owed, next_owed;
	unsigned n;	   /* so many were begun */
	uint64_t until_ns; /* new files are not opened after this time; 0: all are */
	bool left;	   /* some files were not opened */
	unsigned n_mapped; /* executable mappings of files in the last one */
	struct running_maps running;
	unsigned lines_read;			/* of the mappings, beside the scan's own */
	struct record_hold held[HOLDS_AT_ONCE]; /* requests of held threads, oldest first */
	unsigned n_held;
	uint64_t holds_ns; /* serve holds between records again, but not before */
	struct hurry hurry;
};

struct capture {
	struct capture_options options;
	unsigned n_ambiguous; /* files that share their numbers with others, ever seen */
	struct broker *broker;
	struct broker_loaded loaded;
	struct proftrace_bpf__bss *shared;
	struct clocks clocks;
	int epoll_fd;
	int error; /* the first error of the consumer of events */

	/* capture.c: the state of the recording */
	char *stuck_at;	 /* the file on which the broker got stuck; "": unknown */
	bool attaching;	 /* to a running process, for the first time */
	bool searching;	 /* for processes that match: what ends meanwhile was not asked for */
	bool expects;	 /* new files are those that a command will begin with */
	bool is_drained; /* what is recorded is read from time to time */
	bool waits;	 /* under a schedule: the domains' sites are detached */
	bool stopping;	 /* new mappings no longer matter */
	bool stopped;
	bool leaves_detaching; /* to the broker, and does not wait for it */
	uint64_t attach_ns;

	/* Reading records */
	struct rings *rings;
	struct ring_buffer *holds;
	unsigned budget;	 /* records to decode before returning */
	uint64_t drain_until_ns; /* and return after this time */
	unsigned since_holds;	 /* records since holds were served */

	/* Modules with a state of their own */
	struct tables *tables;	 /* NULL: marks are recorded and not aggregated */
	struct batches *batches; /* NULL: not in buffered mode */
	struct stacks *stacks;	 /* NULL: no call stacks */
	struct probes *probes;	 /* NULL: no USDT probes or functions are selected */
	struct scans scans;
	struct siblings siblings;

	/* decode.c */
	struct {
		uint64_t marks; /* from the ring buffer or from batches */
		uint64_t malformed;
		uint64_t reported_lost; /* lost marks that were reported with their position */
		uint64_t unreadable_names;
		uint64_t unreadable_args;
		uint64_t cut_strings;
		uint64_t repaired_strings;
	} decoded;
	char text[(MAX_ARGS + 1) * (MAX_STRING * 4 + 8)];
	struct arg args[MAX_ARGS + 1];
	uint64_t counters[MAX_COUNTERS * COUNTER_PARTS];

	/* sched.c */
	struct {
		uint32_t lost;	/* number of lost records when last checked */
		bool uncertain; /* not all of them have been reported */
	} sched;

	/* waits.c: the names of system calls by their numbers */
	struct {
		const struct name *calls[WAIT_CALLS];
		const struct name *rare; /* the latest one whose number is higher */
	} waiting;

	/* static_names.c */
	struct {
		struct marker *table;
		struct marker *recent[RECENT_MARKERS]; /* cache by site and name */
		struct marker uncached;		       /* the latest one beyond the limit */
	} markers;

	/* selection.c */
	struct {
		struct left_out_thread *threads;
		struct decision decisions[DECISIONS];
		uint64_t left_out; /* marks that were left out because of their categories */
	} selection;

	/* guard.c */
	struct {
		unsigned n;	      /* numbers in use; 0 is the control site */
		uint64_t cpu_ns;      /* of all processes in this interval */
		uint64_t buffered_ns; /* when a domain was in buffered mode last */
		struct guard_domain domains[GUARD_DOMAINS];
		/* domains without a number of their own, which have the last one as well */
		const struct name *sharing[GUARD_SHARING];
		unsigned n_sharing;
		pid_t forbidden_by; /* the process for which no domain may be in buffered mode; 0: none */
	} guard;

	/* files.c and processes.c */
	struct file *files;
	struct file *retired; /* those that have been written to (file_watch.c) */
	unsigned n_retired, n_retired_sites;
	int watch_fd;	   /* inotify; -1: nothing is watched */
	bool watches_full; /* it has been said */
	struct site *sites;
	unsigned n_sites, sites_capacity;
	struct traced_process *processes;
	bool paused;	  /* so processes begin that are not forked by others */
	unsigned n_links; /* of all files */
	unsigned n_marked_files;
	unsigned n_linkers;
	unsigned n_statics; /* static programs with markers */
	/* attach markers of new files first, and hold points later by files_attach_hold_sites() */
	bool hold_sites_later;
	bool files_parted; /* the same as some is not attached to any more */
	bool holds_alone; /* a file of hold points was to be attached to for each process by itself */
	bool files_go_alone; /* some are to be attached to for each process by itself */
	struct capture_counts counts;
	uint64_t refused;	/* files that could not be opened or attached to */
	uint64_t refused_sites; /* sites that could not be attached to */
	uint64_t named_files;	/* files that a message named as not completely recorded */
	unsigned
		n_exact_files; /* under --mode auto: those that cannot be recorded in buffered mode */
	bool files_turn;       /* some files may have domains that go over to another mode */
	uint64_t late;	       /* files attached while their program was already running */
	struct places places;
};

/* Whether the broker is stuck. If it has just got stuck, that was on the file `path`. */
bool capture_check_stuck(struct capture *c, const char *path);
void capture_log(struct capture *c, int verbosity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t monotonic_now(void);

static inline int capture_emit(struct capture *c, const struct event *event)
{
	int error = c->options.event(c->options.context, event);

	if (rare(error) && !c->error)
		c->error = error;
	return error;
}

/* capture.c: samples and thread states can be recorded of a program without any marker. */
bool capture_needs_no_marks(const struct capture *c);

/* decode.c */
int decode_record(void *context, void *data, size_t size);
/*
 * Decodes a mark; false: it is malformed. All fields of `e` are 0 except time, process and thread.
 */
bool decode_mark(struct capture *c, const struct record *r, size_t size, struct event *e);
/* Decodes the counters at the end of a record. Returns the size of the rest, or 0. */
size_t decode_counters(struct capture *c, const struct record *r, size_t size, struct event *e);

/* Operand a is the id of these kinds, and operand b their size. */
static inline bool operand_is_id(unsigned kind)
{
	return kind != RECORD_COUNTER && kind != RECORD_INSTANT && kind != RECORD_END;
}

static inline bool operand_is_size(unsigned kind)
{
	return kind == RECORD_ALLOC || kind == RECORD_FREE || kind == RECORD_STEP;
}

/* sched.c */
bool decode_sched(struct capture *c, const struct record *r, size_t size, struct event *e);
/* waits.c */
bool decode_syscall(struct capture *c, const struct record *r, size_t size, struct event *e);
bool decode_wait(struct capture *c, const struct record *r, size_t size, struct event *e);
/*
 * Called after a record was read and before its event is emitted: checks whether earlier scheduler
 * records were lost.
 */
void sched_check_lost(struct capture *c, uint64_t ts_ns);

size_t whole_characters_length(const char *bytes, size_t length);

/* static_names.c */
const struct marker *marker_find(struct capture *c, const struct marker_key *key);

/* The upper bits of the product depend on all bits of the name's distance. */
static inline struct marker **marker_slot(struct capture *c, const struct marker_key *key)
{
	uint32_t hash = ((uint32_t)key->name + key->site * 31) * 0x9e3779b1u;

	return &c->markers.recent[hash >> (32 - RECENT_MARKER_BITS)];
}

/* The marker of a mark. Called for each mark, and nearly always finds the marker in the cache. */
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
	return marker_find(c, &key);
}

/* Returns "domain,a,b". */
/* The domains of its marks are the first of their categories: those made at run time. */
static inline bool is_runtime_domain(const struct name *domain)
{
	return domain->text[0] == '(' && strcmp(domain->text, MARKER_RUNTIME_DOMAIN) == 0;
}

const struct name *join_categories(struct capture *c, const struct name *domain, const char *more,
				   size_t length);
bool read_static_string(struct capture *c, uint32_t site, int32_t distance, char *out, size_t size,
			size_t *ret_length);
void markers_free(struct capture *c);

/* selection.c */
enum selection {
	NOT_SELECTED,
	SELECTED,
	SELECTED_CATEGORIES, /* only marks with categories may be selected */
};
enum selection selection_of(const struct capture *c, const char *domain);
bool selection_includes_category(struct capture *c, const struct name *domain,
				 const struct name *category);
bool selection_includes(struct capture *c, const struct name *domain, const struct event *e);
void selection_forget(struct capture *c, uint32_t tid);
void selection_free(struct capture *c);

/* Selects and emits a decoded mark. */
static inline void capture_mark(struct capture *c, uint32_t site, const struct event *e)
{
	if (rare(c->options.n_domains) && !selection_includes(c, c->sites[site].category, e)) {
		c->selection.left_out++;
		return;
	}
	if (rare(c->options.sched))
		sched_check_lost(c, e->ts_ns);
	capture_emit(c, e);
}

/* files.c */
enum file_news {
	FILE_KNOWN,
	FILE_NOTHING, /* new, without markers */
	FILE_ATTACHED,
};
/* The list to which a link is added, and the number of its domain. */
struct links {
	struct file_link **list;
	unsigned *n;
	unsigned guard;
	unsigned turns_on;
};
struct site *site_new(struct capture *c);
/* Whether the file makes marks of any domain, besides those of the control site. */
bool file_has_marks(const struct file *file);
/* attach/each_process.c. Attaches for this process, unless that is done already. */
int file_attach(struct capture *c, struct file *file, pid_t pid, struct failure *f);
/* Whether the kernel may have refused because of the memory of one process. */
bool file_error_is_of_one_process(int error);
bool file_has_pid(const struct file *file, pid_t pid);
/* Whether each process has links of its own, and this one has none yet and may have some. */
bool file_lacks_pid(const struct capture *c, const struct file *file, pid_t pid);
/* Detaches from this file. */
void file_detach(struct capture *c, struct file *file);
/* Its present name. `path` has PATH_MAX bytes. */
const char *file_path(const struct file *file, char *path);
/*
 * Refuses this process only, until it ends or executes another program: false for an open file if not each process has links of
 * its own.
 */
bool file_refuse_pid(const struct capture *c, struct file *file, pid_t pid);
/* The process has executed a program: what was refused is tried again. */
void files_forget_refusals(struct capture *c, pid_t pid);
bool file_refuses_pid(const struct file *file, pid_t pid);
uint64_t files_cookie_of(const struct capture *c, unsigned number);
/* What is added to the attach cookie for links of one process; 0: of all. */
uint64_t files_cookie_of_pid(pid_t pid);
/* Attaches to sites with one new link. `pid` 0: for all processes. */
int files_attach_sites(struct capture *c, struct file *file, struct links to,
		       enum broker_program program, pid_t pid, const struct broker_site *sites,
		       unsigned n, struct failure *f);
/* Takes over fd. `pid`: the process that maps the file, `m`: its executable mapping; NULL: not yet. */
int files_add(struct capture *c, int fd, const struct file_key *key, const char *path, pid_t pid,
	      const struct mapping *m, enum file_news *ret_news, struct failure *f);
/* file_bytes.c. Why the process may not have in memory what was read at the sites of the file; NULL: it has. */
const char *file_differs_from_running(struct capture *c, const struct file *file, pid_t pid,
				      const struct mapping *m);
/*
 * file_bytes.c. Why the process may not have what was attached: an overlay has copied the file since the process mapped it, and
 * the kernel attached to the copy. NULL: it has.
 */
const char *file_misses_attached(struct capture *c, const struct file *file, pid_t pid,
				 const struct mapping *m);
/* file_bytes.c. Whether the process has breakpoints in this file where the other one is attached to. */
bool file_runs_attached(struct capture *c, const struct file *file, const struct file *attached,
			pid_t pid, const struct mapping *m);
/*
 * semaphores.c. Refuses a file whose semaphores the kernel would not find in the process. `runs`: the process has mapped
 * the file; otherwise it is going to.
 */
int file_check_semaphores(struct capture *c, const struct file *file, const char *path, pid_t pid,
			  bool runs, struct failure *f);
/* semaphores.c. Whether a page of the file may be in two writable mappings. */
bool elf_shares_writable_page(const struct elf_file *elf);
/*
 * libraries/expect.c. Attaches to a file that a program is going to map, and to the libraries with which it is linked. `pid` 0: for
 * all processes.
 */
int file_expect(struct capture *c, int fd, pid_t pid, struct failure *f);
bool files_are_expected(struct capture *c, const int *fds, unsigned n);
/* Attaches to a file for all processes, before any process that maps it is known. */
void file_expect_for_all(struct capture *c, int fd);
/* The C library that most programs share: threads are held there that execute a program. */
void libc_expect(struct capture *c);
/* The libraries alone. `directory`: where their relative names begin; "": the present one. */
void libraries_expect(struct capture *c, const struct file *program, pid_t pid,
		      const char *directory);
/*
 * libraries/siblings.c. A process has mapped a new library. When it is the second one of a folder, the others there, and what
 * these are linked with, are looked at.
 */
void siblings_note(struct capture *c, const char *path, pid_t pid, const struct file *file);
/* Looks at some of them. Returns whether there are more. */
bool siblings_look(struct capture *c);
void siblings_end(struct capture *c);
/* files.c. Adds a file that no process has mapped yet, if it has no markers, and may have no other sites. Closes it if not. */
void files_add_plain(struct capture *c, int fd, const struct file_key *key, const char *path);
/*
 * Remembers a file that cannot be opened, so that it is not tried at each scan of this process. Nothing keeps another file from
 * getting its number, so it is tried again for each other process.
 */
void files_refuse(struct capture *c, const struct file_key *key, pid_t pid);
/* Refuses a file for all processes. It stays open, so that no other one gets its number. */
void files_refuse_open(struct capture *c, const struct file *like, int fd);
bool files_known(struct capture *c, const struct file_key *key, pid_t pid,
		 enum file_news *ret_news);
/* The process that is being scanned has it mapped with these numbers. */
void file_is_mapped_as(struct file *file, const struct mapping *m);
/*
 * file_key.c. The key of an open file, also if it is not known yet. False: it cannot be found out. `mapped`: its numbers in
 * /proc/PID/maps; NULL: unknown.
 */
bool files_key_of(struct capture *c, int fd, const struct file_key *mapped, struct file_key *ret);
/* file_key.c. The numbers in /proc/PID/maps. */
struct file_key mapping_numbers(const struct mapping *m);
/*
 * file_key.c. Such a file is opened once for each mapping: a process that maps another one at the same place only misleads about
 * itself. They are forgotten when it executes a program.
 */
const struct file_key *mapping_resolved(struct capture *c, pid_t pid, const struct mapping *m);
void mapping_resolve(struct capture *c, pid_t pid, const struct mapping *m,
		     const struct file *file);
/* file_key.c. Whether other files may have the numbers of this one. */
bool file_numbers_are_shared(int fd, uint64_t device);
int64_t file_born_ns(int fd);
/* The file by which this one is attached to already, since both are one file of a layer; NULL: none. */
struct file *file_find_same(struct capture *c, const struct file *file, pid_t pid,
			    const struct mapping *m);
/* Whether only a process that has mapped the open file can tell. */
bool file_may_have_same(struct capture *c, int fd);
/* Whether what it was read from has changed, or it is the same as one that has. */
bool file_is_outdated(struct capture *c, const struct file *file);
/* Attaches to those that were the same as one that has been retired. */
void files_attach_parted(struct capture *c);

static inline struct file *file_attached(struct file *file)
{
	return file && file->same ? file->same : file;
}
/* Attaches to what files_add() left out while `hold_sites_later` was set. */
void files_attach_hold_sites(struct capture *c);
struct file *files_find(struct capture *c, const struct file_key *key);
void file_set_expected(struct capture *c, const struct file *file);
void files_detach(struct capture *c);
/* Detaches a domain that is switched off, by its number in guard.c. */
void files_detach_domain(struct capture *c, unsigned guard);
/*
 * Turns these domains on in the mode that guard.c has for them, then off in the other one. Where there are many files, some
 * are left to files_turn_some(), so that nobody waits long for something else meanwhile.
 */
void files_change_modes(struct capture *c, const bool *domains);
/* Returns whether some are left. */
bool files_turn_some(struct capture *c);
/* The same, while a thread is held for it. */
void files_leave_buffers(struct capture *c, const bool *domains);
void files_detach_data(struct capture *c);
void files_attach_data(struct capture *c);
void files_free(struct capture *c);

/* guard.c */
unsigned guard_number(struct capture *c, const struct name *domain);
bool guard_is_off(const struct capture *c, unsigned number);
/* Whether the domain is off because of another one, with which it shares its number. */
bool guard_is_off_with(const struct capture *c, unsigned number, const struct name *domain);
bool guard_is_buffered(const struct capture *c, unsigned number);
/* This process is going to forbid itself the counter that marks in buffered mode read: all domains leave that mode. */
void guard_forbid_buffers(struct capture *c, pid_t pid);
/* Whether threads that forbid themselves the processor's counter are held in prctl() of the C library. */
bool capture_holds_in_libc(const struct capture *c);
void guard_process_begin(struct capture *c, struct traced_process *p, bool is_new);
void guard_process_end(struct capture *c, struct traced_process *p, uint64_t cpu_ns);

/* processes.c */
int process_scan(struct capture *c, const struct broker_target *target, unsigned *ret_marked,
		 unsigned *ret_new, struct failure *f);
/* Emits the present names of a process that runs its program, and of its threads. */
void process_names(struct capture *c, const struct broker_target *target);
/* is_new: it has just been created. `cpu_ns`: its whole CPU time, if the kernel has reported it. */
struct traced_process *process_add(struct capture *c, pid_t pid, bool is_new);
void process_remove(struct capture *c, pid_t pid, uint64_t cpu_ns);
void process_set_paused(struct capture *c, pid_t pid, bool paused);
/* Children that are forked from now on have what it has. */
void process_set_attached(struct capture *c, pid_t pid, uint64_t at_ns);
struct traced_process *process_find(const struct capture *c, pid_t pid);
/* A hidden process is mentioned in the trace from now on. */
void process_show(struct capture *c, const struct broker_target *target);
/*
 * places.c: emits the rank, the container, the unit and the inner PID of a traced process. `is_expected`: its next program has the
 * environment that it has now.
 */
void process_place_emit(struct capture *c, pid_t pid, bool is_expected);
/* The same for a child, which is where its parent is. */
void process_place_inherit(struct capture *c, pid_t parent, pid_t child);
void places_free(struct capture *c);
/* Whether processes without markers are not mentioned in the trace. */
bool capture_hides(const struct capture *c);
/* Whether each process has links of its own, instead of one link for all. */
bool capture_attaches_each(const struct capture *c);
/*
 * attach/each_process.c: a process was forked. If each process has links of its own, the broker gives it those of its parent; of a
 * file that cannot be attached to for all processes it gets links here.
 */
void files_follow(struct capture *c, pid_t parent, pid_t child);
/* The process has exited, or may not be recorded any more: the broker closes its links. */
void files_release(struct capture *c, pid_t pid);
/* Another thread than the first has executed a program, the process's `execution`-th. */
void files_first_changed(struct capture *c, pid_t pid, uint32_t execution);
void process_executed(struct capture *c, pid_t pid);
void process_forked(struct capture *c, pid_t child, pid_t parent, uint64_t forked_ns);
/* targets.c: the kernel has found a process that --wait waits for. */
void target_started(struct capture *c, pid_t pid);
void count_not_followed(struct capture *c, unsigned n);
/* Attaches to the program that a held thread is going to execute. */
void process_prepare(struct capture *c, const struct record_hold *r);

/* scans.c: limits how often process_scan() runs. */
int decode_hold(void *context, void *data, size_t size);
/* Scans the processes of held threads and releases the threads, but returns after a while. */
int holds_serve(struct capture *c);
/* The same between records, at most for the same time as records. */
void holds_serve_if_due(struct capture *c);
/* Whether the process may be scanned now; if not, it is scanned later. */
bool scans_can_afford(struct capture *c, pid_t pid);
/* Its list of mappings cannot be read: it is scanned later, as well. */
void scans_put_off(struct capture *c, pid_t pid);
/* Scans the process. *ret_cost_ns: what the scan is rated at; may be NULL. */
int scans_run(struct capture *c, pid_t pid, unsigned *ret_new, uint64_t *ret_cost_ns);
/* Whether the present scan has taken so long that files must wait for the next one. */
bool scans_out_of_time(struct capture *c);
/* hurry.c: raises the priority of the recorder while threads are held, and lowers it afterwards. */
void hurry_update(struct capture *c, bool is_held);
/* How many processes are waiting for a scan that was put off. */
unsigned scans_count_owed(const struct capture *c);

/* accounting.c: a number of the BPF programs, over all CPUs; and marks that found the buffer full. */
uint64_t account_sum(const struct capture *c, enum account_slot slot);
uint64_t account_lost_full(const struct capture *c);

#endif
