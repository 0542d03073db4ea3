/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state behind the page, which is private to this folder: page.c gets the facts, page_rows.c knows threads and
 * names, page_grid.c keeps densities, page_detail.c keeps single slices, page_windows.c chooses where these are kept,
 * page_stream.c is the text in memory, page_data.c, page_flames.c and page_timeline.c turn everything into JSON,
 * page_write.c makes the file.
 *
 * Times are in nanoseconds since the first mark of their trace: several traces begin at the same place.
 */
#ifndef PROFTRACE_REPORTS_PAGE_PAGE_INTERNAL_H
#define PROFTRACE_REPORTS_PAGE_PAGE_INTERNAL_H

#include "base/hash.h"
#include "reports/page/page.h"

enum {
	PAGE_CELLS = 4096,	  /* of a grid at first, a power of two */
	PAGE_CELLS_LEAST = 128,	  /* as above; with less the picture says nothing */
	PAGE_ALL_CELLS = 1 << 21, /* of all grids together */
	PAGE_ROWS = 4096,	  /* threads and lanes of asynchronous slices */
	PAGE_COUNTERS = 512,
	PAGE_RATES = 64,      /* of these, counters of threads */
	PAGE_LEVELS = 64,     /* of nested slices */
	PAGE_KINDS = 1 << 16, /* different categories and names */
	PAGE_LONGEST = 3,     /* instances of a name */
	PAGE_SEEN = 63,	      /* durations for a median */
	PAGE_WINDOWS = 64,
	PAGE_LOSSES = 256,
	PAGE_NAME_BYTES = 250000, /* all together */
	PAGE_FLAMES = 16,	  /* names with a flame graph of their own */
};

/* 146 years; what a file says is later is there. Twice as much fits into 64 bits. */
#define PAGE_TIME_MAX ((uint64_t)1 << 62)

/* --- page_stream.c: JSON in memory, of which the page may contain each byte --- */

struct page_stream {
	FILE *out; /* escapes '<', so that no text can end the element that it is in */
	char *bytes;
	size_t size, capacity;
};

int page_stream_open(struct page_stream *stream);
/* Ends writing. Returns 0 or -ENOMEM. */
int page_stream_close(struct page_stream *stream);
void page_stream_free(struct page_stream *stream);
/* Writes what the stream has, and which is closed, as a string: deflated, in base64. Returns 0 or -ENOMEM. */
int page_stream_put_packed(const struct page_stream *stream, FILE *out);

/* --- page_grid.c: what happened in equal parts of the time --- */

/* What a part of the time has of slices at one level, or of instants. Cells can be added without a loss. */
struct page_cell {
	uint64_t cover_ns; /* within slices */
	uint64_t
		longest_ns; /* the duration of the longest one that is in it, in part or completely */
	uint32_t kind;	    /* of that one, plus 1; 0: the cell is empty */
	uint32_t count;	    /* that began in it */
};

struct page_states {
	uint64_t ns[3]; /* running, runnable, blocked */
};

struct page_values {
	double min, max, last;
	uint64_t count;
};

enum {
	PAGE_RUNNING,
	PAGE_RUNNABLE,
	PAGE_BLOCKED,
};

enum page_grid_type {
	GRID_CELLS,
	GRID_STATES,
	GRID_VALUES,
	GRID_AMOUNTS,
	GRID_TYPES,
};

/* Allocated with its first addition. */
struct page_grid {
	union {
		void *array;
		struct page_cell *cells;
		struct page_states *states;
		struct page_values *values;
		double *amounts; /* what was counted in each part */
	};
	enum page_grid_type type;
	struct page_grid *next; /* of all that are allocated */
};

/* All grids have the same number of parts of the same length, which doubles as the traces go on. */
struct page_scale {
	unsigned shift; /* a part takes 2^shift ns */
	uint32_t n;
	struct page_grid *grids;
	uint32_t n_grids;
	uint64_t end_ns; /* of everything */
};

/* Returns 0; -ENOMEM; or -ENOSPC: there are too many grids already. `begin` <= `end`. */
int page_grid_slice(struct page_scale *scale, struct page_grid *grid, uint64_t begin, uint64_t end,
		    uint32_t kind);
int page_grid_state(struct page_scale *scale, struct page_grid *grid, uint64_t begin, uint64_t end,
		    unsigned state);
int page_grid_value(struct page_scale *scale, struct page_grid *grid, uint64_t at, double value);
/* The amount was counted between these times. Nothing is known of when, so it is spread evenly. */
int page_grid_amount(struct page_scale *scale, struct page_grid *grid, uint64_t begin, uint64_t end,
		     double amount);
/* Halves the number of parts. */
void page_scale_coarsen(struct page_scale *scale);
void page_grid_free(struct page_grid *grid);

/* --- page_rows.c: threads, lanes, counters and names --- */

struct page_process {
	uint64_t uuid;
	uint32_t pid;
	unsigned trace;
	const struct name *name; /* may be NULL */
	UT_hash_handle hh;
};

/* A slice that is open. Its arguments are kept only while there is a log. */
struct page_open {
	uint64_t begin_ns;
	const struct name *name, *category;
	unsigned n_args;
	uint32_t text_capacity;
	struct arg args[EVENT_MAX_ARGS];
	char *text; /* of its strings */
};

struct page_row {
	uint64_t uuid; /* of a thread, a lane or a process */
	uint32_t index;
	uint32_t tid;
	unsigned trace;
	bool is_lane;
	unsigned lane;
	struct page_process *process; /* may be NULL */
	const struct name *name;      /* of the thread, or of the slices of the lane; may be NULL */
	struct page_open *open[PAGE_LEVELS]; /* allocated once */
	unsigned n_open, n_levels;
	struct page_grid levels[PAGE_LEVELS], instants, states;
	uint64_t slices, lost;
	UT_hash_handle hh;
};

struct page_counter {
	uint64_t uuid;
	uint32_t index, tid;
	struct page_process *process; /* NULL: of the machine */
	const struct name *name, *key, *unit;
	struct page_grid values;
	/* A hardware or kernel counter of a thread: it is drawn as a rate, from the latest reading on. */
	bool is_rate, has_reading;
	uint64_t read_ns, reading;
	UT_hash_handle hh;
};

/* A slice that can be shown in full detail. */
struct page_instance {
	unsigned trace;
	uint32_t row;
	uint64_t begin_ns, duration_ns;
};

struct page_kind_key {
	const struct name *category; /* may be NULL */
	const struct name *name;
};

/* Slices of one category and name; keys of arguments have no category. */
struct page_kind {
	struct page_kind_key key;
	uint32_t index;
	uint32_t used; /* its number in the page, plus 1; 0: it has none yet */
	uint64_t count, total_ns;
	unsigned n_longest;
	uint32_t n_seen, seen_capacity;
	struct page_instance longest[PAGE_LONGEST];
	struct page_instance *seen; /* each with the same probability */
	UT_hash_handle hh;
};

struct page;

struct page_row *page_thread_row(struct page *page, const struct thread *thread);
struct page_row *page_lane_row(struct page *page, const struct track *track);
/* Of what belongs to no thread. */
struct page_row *page_process_row(struct page *page, const struct process *process);
void page_name_thread(struct page *page, const struct thread *thread);
struct page_counter *page_counter_of(struct page *page, const struct track *track);
struct page_process *page_process_of(struct page *page, const struct process *process);
struct page_kind *page_kind_of(struct page *page, const struct name *category,
			       const struct name *name);
void page_kind_instance(struct page *page, struct page_kind *kind,
			const struct page_instance *instance);
void page_rows_free(struct page *page);

/* --- page_detail.c: every slice, state, value and arrow within some windows --- */

struct page_window {
	unsigned trace;
	uint64_t begin_ns, end_ns;
	bool is_cut; /* there was no space for what came later */
};

enum page_part {
	PART_SLICES,
	PART_INSTANTS,
	PART_STATES,
	PART_VALUES,
	PART_FLOWS,
	PAGE_PARTS,
};

struct page_detail {
	bool active; /* there are windows that facts may be in */
	bool everything;
	unsigned n_windows;
	struct page_window windows[PAGE_WINDOWS]; /* by trace and time, without overlaps */
	unsigned at;	     /* the window whose time is now, or the next one */
	size_t budget;	     /* bytes for the rest of them */
	size_t window_limit; /* where the present window ends */
	struct page_stream parts[PAGE_PARTS];
	uint64_t counts[PAGE_PARTS];
};

int page_detail_begin(struct page_detail *detail, size_t budget);
void page_detail_free(struct page_detail *detail);
/* Each fact, while `active`; before the stack of its row changes. */
void page_detail_fact(struct page *page, const struct fact *fact);
/* A slice ended; `open` may be NULL. */
void page_detail_slice(struct page *page, const struct page_row *row, unsigned level,
		       const struct fact *fact, const struct page_open *open);
void page_detail_state(struct page *page, const struct page_row *row, uint64_t begin, uint64_t end,
		       unsigned state);
void page_keep_args(struct page_open *open, const struct fact *fact);
/* page_windows.c: chooses for the second reading. Returns 0 or negative errno. */
int page_choose_windows(struct page *page);

/* --- page.c --- */

/* An instance that a window was chosen for. */
struct page_shown {
	uint32_t kind;
	struct page_instance instance;
	bool is_median;
};

struct page_loss {
	uint32_t row; /* UINT32_MAX: of an unknown thread */
	unsigned trace;
	uint64_t at_ns, count;
};

struct page {
	struct consumer consumer;
	struct page_options options;
	struct consumer *stats, *samples;
	unsigned n_slowest;
	struct consumer *slowest[PAGE_NAMES];
	bool is_again, is_selection, only_samples;
	uint64_t n_samples; /* of everything */
	int failed;
	unsigned trace;		    /* the number of the present one, from 0 */
	uint64_t first_ns, last_ns; /* of it */
	bool has_first;
	/* By trace, as far as there is memory for them. */
	uint64_t *first_of;
	uint32_t n_traces, traces_capacity;
	uint64_t random;
	struct page_scale scale;
	struct page_process *processes;
	struct page_row *rows, *recent_row, **row_list;
	uint32_t n_rows, rows_capacity;
	struct page_counter *counters, *recent_counter;
	uint32_t n_counters, n_rates;
	struct page_kind *kinds, **kind_list, *recent_kinds[1024];
	uint32_t n_kinds, kinds_capacity, n_used;
	uint32_t *used; /* indices of kinds in the order of their numbers in the page */
	uint32_t used_capacity;
	size_t used_bytes; /* of their text in the page */
	struct page_detail detail;
	unsigned n_shown;
	struct page_shown shown[PAGE_WINDOWS];
	unsigned n_losses;
	struct page_loss losses[PAGE_LOSSES];
	uint64_t n_lost;
	/* What the page does not have. */
	uint64_t rows_left_out /* facts */, rows_without_levels, counters_left_out, levels_left_out,
		names_left_out, before_first;
	unsigned comparisons_left_out, flames_left_out;
};

/* The time since the beginning of its trace. */
uint64_t page_time(struct page *page, uint64_t ts_ns);
/* The number of a kind in the page. */
uint32_t page_use_kind(struct page *page, struct page_kind *kind);
/* No kind has a number any more. */
void page_forget_used(struct page *page);
uint32_t page_use_name(struct page *page, const struct name *category, const struct name *name);

/* page_timeline.c, page_data.c: JSON of about `limit` bytes at most. Return 0 or negative errno. */
/* Without full detail if not `with_detail`: then the windows are left out. */
int page_put_timeline(struct page *page, FILE *out, size_t limit, bool with_detail);
int page_put_report(struct page *page, const struct reading *reading, FILE *out, size_t limit,
		    struct failure *f);
int page_put_comparisons(struct page *page, const struct reading *reading, FILE *out, size_t limit);
/* page_flames.c */
int page_put_flames(struct page *page, const struct reading *reading, FILE *out, size_t limit);
void page_put_names(struct page *page, FILE *out);

#endif
