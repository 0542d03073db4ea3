/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is annotated for ITT. It speaks the public protocol from its own declarations: makes some domains and
 * strings of its own first, loads the tool that the environment names, and calls what the tool has filled in.
 *
 *	itt THREADS ROUNDS
 *
 * Each line of its input is a word: `work` annotates and prints at the end what a trace of that contains; `open` begins
 * tasks that nobody ends; `begin` and `end` begin and end some; `count` and `sync` call once; `submit`, said twice, submits frames; `timed` annotates with the
 * times of a device's clock, and prints them in ours; `begintimed` and `endtimed` begin and end three such tasks; `relate` relates tasks to one another; `histogram` submits one; `bad` does what no program
 * should; `time N` says what a call costs; `fini` tells the tool that the program ends. It ends with its input.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct domain {
	volatile int flags;
	const char *nameA;
	void *nameW;
	int extra1;
	void *extra2;
	struct domain *next;
} domain_t;

typedef struct handle {
	const char *strA;
	void *strW;
	int extra1;
	void *extra2;
	struct handle *next;
} handle_t;

typedef struct {
	unsigned long long d1, d2, d3;
} id_t_;

typedef struct {
	unsigned long long freq, base;
} clock_info_t;

typedef struct clock_domain {
	clock_info_t info;
	void (*fn)(clock_info_t *, void *);
	void *fn_data;
	int extra1;
	void *extra2;
	struct clock_domain *next;
} clock_domain_t;

typedef struct histogram {
	const domain_t *domain;
	const char *nameA;
	void *nameW;
	int x_type, y_type;
	int extra1;
	void *extra2;
	struct histogram *next;
} histogram_t;

typedef struct counter_info {
	const char *nameA;
	void *nameW;
	const char *domainA;
	void *domainW;
	int type;
	long index;
	int extra1;
	void *extra2;
	struct counter_info *next;
} counter_info_t;

typedef struct {
	const char *name;
	void **func_ptr;
	void *init_func, *null_func;
	int group;
} api_info_t;

typedef struct {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *lib, *error_handler;
	const char **dll_path_ptr;
	api_info_t *api_list_ptr;
	void *next, *thread_list;
	domain_t *domain_list;
	handle_t *string_list;
	int state;
	counter_info_t *counter_list;
	unsigned int ipt_collect_events;
	histogram_t *histogram_list;
	void *counter_metadata_list;
} global_t;

static domain_t *(*domain_create)(const char *);
static handle_t *(*string_handle_create)(const char *);
static void (*thread_set_name)(const char *), (*pause_)(void), (*resume)(void);
static void (*task_begin)(const domain_t *, id_t_, id_t_, handle_t *),
	(*task_end)(const domain_t *);
static void (*task_begin_fn)(const domain_t *, id_t_, id_t_, void *);
static void (*task_begin_overlapped)(const domain_t *, id_t_, id_t_, handle_t *);
static void (*task_end_overlapped)(const domain_t *, id_t_);
static void (*region_begin)(const domain_t *, id_t_, id_t_, handle_t *),
	(*region_end)(const domain_t *, id_t_);
static void (*frame_begin)(const domain_t *, id_t_ *), (*frame_end)(const domain_t *, id_t_ *);
static void (*frame_submit)(const domain_t *, id_t_ *, unsigned long long, unsigned long long);
static unsigned long long (*get_timestamp)(void);
static void (*marker)(const domain_t *, id_t_, handle_t *, int);
static void (*metadata_add)(const domain_t *, id_t_, handle_t *, int, size_t, void *);
static void (*metadata_str_add)(const domain_t *, id_t_, handle_t *, const char *, size_t);
static void *(*counter_create)(const char *, const char *),
	*(*counter_create_typed)(const char *, const char *, int);
static void (*counter_inc)(void *), (*counter_dec_delta)(void *, unsigned long long),
	(*counter_set)(void *, void *),
	(*counter_set_ex)(void *, clock_domain_t *, unsigned long long, void *);
static void (*counter_inc_delta_v3)(const domain_t *, handle_t *, unsigned long long);
static clock_domain_t *(*clock_domain_create)(void (*)(clock_info_t *, void *), void *);
static void (*clock_domain_reset)(void);
static void (*task_begin_ex)(const domain_t *, clock_domain_t *, unsigned long long, id_t_, id_t_,
			     handle_t *);
static void (*task_begin_fn_ex)(const domain_t *, clock_domain_t *, unsigned long long, id_t_,
				id_t_, void *);
static void (*task_end_ex)(const domain_t *, clock_domain_t *, unsigned long long);
static void (*task_begin_overlapped_ex)(const domain_t *, clock_domain_t *, unsigned long long,
					id_t_, id_t_, handle_t *);
static void (*task_end_overlapped_ex)(const domain_t *, clock_domain_t *, unsigned long long,
				      id_t_);
static void (*marker_ex)(const domain_t *, clock_domain_t *, unsigned long long, id_t_, handle_t *,
			 int);
static void (*task_group)(const domain_t *, id_t_, id_t_, handle_t *);
static void (*relation_add)(const domain_t *, id_t_, int, id_t_),
	(*relation_add_to_current)(const domain_t *, int, id_t_);
static void *(*track_group_create)(handle_t *, int), *(*track_create)(void *, handle_t *, int);
static void (*set_track)(void *);
static histogram_t *(*histogram_create)(const domain_t *, const char *, int, int);
static void (*histogram_submit)(histogram_t *, size_t, void *, void *);
static void (*pause_scoped)(int), (*resume_scoped)(int);
static int (*event_create)(const char *, int), (*event_start)(int), (*event_end)(int);
static void (*sync_acquired)(void *);
static void *(*stack_caller_create)(void), *(*heap_function_create)(const char *, const char *);
static void *(*future_create)(void);
static int (*future)(int);

#define API(name, pointer)                                                     \
	{                                                                      \
		"__itt_" #name, (void **)(void *)&pointer, NULL, NULL, 1 << 12 \
	}
static api_info_t api[] = { API(domain_create, domain_create),
			    API(string_handle_create, string_handle_create),
			    API(thread_set_name, thread_set_name),
			    API(pause, pause_),
			    API(resume, resume),
			    API(task_begin, task_begin),
			    API(task_end, task_end),
			    API(task_begin_fn, task_begin_fn),
			    API(task_begin_overlapped, task_begin_overlapped),
			    API(task_end_overlapped, task_end_overlapped),
			    API(region_begin, region_begin),
			    API(region_end, region_end),
			    API(frame_begin_v3, frame_begin),
			    API(frame_end_v3, frame_end),
			    API(frame_submit_v3, frame_submit),
			    API(get_timestamp, get_timestamp),
			    API(marker, marker),
			    API(metadata_add, metadata_add),
			    API(metadata_str_add, metadata_str_add),
			    API(counter_create, counter_create),
			    API(counter_create_typed, counter_create_typed),
			    API(counter_inc, counter_inc),
			    API(counter_dec_delta, counter_dec_delta),
			    API(counter_set_value, counter_set),
			    API(counter_set_value_ex, counter_set_ex),
			    API(counter_inc_delta_v3, counter_inc_delta_v3),
			    API(clock_domain_create, clock_domain_create),
			    API(clock_domain_reset, clock_domain_reset),
			    API(task_begin_ex, task_begin_ex),
			    API(task_begin_fn_ex, task_begin_fn_ex),
			    API(task_end_ex, task_end_ex),
			    API(task_begin_overlapped_ex, task_begin_overlapped_ex),
			    API(task_end_overlapped_ex, task_end_overlapped_ex),
			    API(marker_ex, marker_ex),
			    API(task_group, task_group),
			    API(relation_add, relation_add),
			    API(relation_add_to_current, relation_add_to_current),
			    API(track_group_create, track_group_create),
			    API(track_create, track_create),
			    API(set_track, set_track),
			    API(histogram_create, histogram_create),
			    API(histogram_submit, histogram_submit),
			    API(pause_scoped, pause_scoped),
			    API(resume_scoped, resume_scoped),
			    API(event_create, event_create),
			    API(event_start, event_start),
			    API(event_end, event_end),
			    API(sync_acquired, sync_acquired),
			    API(stack_caller_create, stack_caller_create),
			    API(heap_function_create, heap_function_create),
			    API(future_create, future_create),
			    API(future, future),
			    { NULL, NULL, NULL, NULL, 0 } };

static domain_t early_domain = { .flags = 1, .nameA = "early.domain" };
static handle_t early_string = { .strA = "early_string" };
static counter_info_t early_counter = { .nameA = "early_counter",
					.domainA = "early.domain",
					.type = 4 };
static histogram_t early_histogram = { .domain = &early_domain,
				       .nameA = "early_histogram",
				       .y_type = 4 };
static global_t global = { .magic = { 0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30 },
			   .version_major = 3,
			   .version_minor = 0,
			   .version_build = 20180723,
			   .mutex = PTHREAD_MUTEX_INITIALIZER,
			   .api_list_ptr = api,
			   .domain_list = &early_domain,
			   .string_list = &early_string,
			   .counter_list = &early_counter,
			   .histogram_list = &early_histogram };

static void *library;

static int load_tool(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void (*init)(global_t *, int) = NULL;

	library = path ? dlopen(path, RTLD_LAZY) : NULL;
	if (!library)
		return 0;
	*(void **)&init = dlsym(library, "__itt_api_init");
	if (!init)
		return 0;
	init(&global, -1);
	return 1;
}

static int n_threads, n_rounds;
static const id_t_ null;
static domain_t *domain;
static handle_t *outer, *inner, *late, *moment, *key, *texts, *added;
static void *whole, *part;
static histogram_t *histogram;
static clock_domain_t *device;
static void *stream;
static int event;

static void one_round(int me, int i)
{
	const id_t_ id = { (unsigned)(me * n_rounds + i + 1), 5, 0 }, parent = { 77, 0, 0 };
	int32_t three[3] = { -1, i, 1 << 30 };
	double half = i + 0.5;
	uint64_t value = (uint64_t)i;

	task_begin(domain, null, null, outer);
	task_begin(&early_domain, id, parent, &early_string);
	metadata_add(domain, null, key, 4, 3, three);
	metadata_add(domain, id, key, 8, 1, &half);
	metadata_str_add(domain, null, texts, "not all of it", 7);
	task_end(&early_domain);
	task_begin_fn(domain, null, null, (void *)(uintptr_t)load_tool);
	task_end(domain);
	task_end(domain);
	task_begin_overlapped(domain, id, null, late);
	region_begin(domain, id, null, inner);
	marker(domain, null, moment, 2);
	task_end_overlapped(domain, id);
	region_end(domain, id);
	frame_begin(domain, NULL);
	frame_end(domain, NULL);
	counter_set(whole, &value);
	counter_set(part, &half);
	event_start(event);
	event_end(event);
}

static void *work(void *number)
{
	char name[32];
	int i;

	snprintf(name, sizeof(name), "worker %d", (int)(intptr_t)number);
	thread_set_name(name);
	for (i = 0; i < n_rounds; i++)
		one_round((int)(intptr_t)number, i);
	return NULL;
}

static void work_all(void)
{
	pthread_t threads[64];
	int i;

	for (i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	for (i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
}

static void bad(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		task_begin(NULL, null, null, NULL);
		task_end(NULL);
		task_end(domain);
		task_end_overlapped(domain, null);
		marker(domain, null, moment, 99);
		metadata_add(domain, null, key, 99, 3, NULL);
		metadata_add(domain, null, key, 4, SIZE_MAX, NULL);
		metadata_str_add(domain, null, NULL, NULL, 5);
		counter_inc((void *)0x30);
		counter_inc(part);
		counter_set(whole, NULL);
		counter_set_ex(whole, NULL, 5, NULL);
		event_start(-5);
		event_end(4000);
		task_end_ex(domain, NULL, 5);
		task_begin_ex(domain, (clock_domain_t *)&global, 5, null, null, outer);
		task_end_ex(domain, NULL, 5);
		task_end_overlapped_ex(domain, device, 5, null);
		marker_ex(domain, NULL, UINT64_MAX, null, NULL, 99);
		histogram_submit((histogram_t *)0x30, 3, NULL, &i);
		histogram_submit(histogram, 3, NULL, NULL);
		set_track((void *)0x30);
		thread_set_name(NULL);
		domain_create("");
		string_handle_create(NULL);
		if (future(5) || !future_create() || !heap_function_create("f", "d") ||
		    !counter_create(NULL, NULL))
			abort();
	}
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock of a device: it ticks ten million times a second, and was started at another time. */
static unsigned long long device_time(uint64_t ns)
{
	return ns / 100 + 12345678;
}

static void read_device(clock_info_t *info, void *data)
{
	if (data != &device)
		abort();
	info->freq = 10000000;
	info->base = device_time(now());
}

static void print_timed(const char *name, uint64_t begin, uint64_t end, const char *track)
{
	printf("timed %s %llu %llu %s\n", name, (unsigned long long)begin, (unsigned long long)end,
	       track);
}

/* Tasks of the last 20 us, that nest, overlap, and are on a track of their own; in nanoseconds they begin at whole ticks. */
static void timed(void)
{
	const id_t_ id = { 11, 0, 0 }, other = { 12, 0, 0 }, parent = { 10, 0, 0 };
	const uint64_t t = now() / 100 * 100 - 20000;
	uint64_t value = 4096;
	unsigned i;

	task_begin_ex(domain, device, device_time(t), id, parent, outer);
	task_begin_fn_ex(domain, device, device_time(t + 2000), null, null, (void *)0x1234);
	task_end_ex(domain, device, device_time(t + 3000));
	task_end_ex(domain, device, device_time(t + 9000));
	print_timed("outer", t, t + 9000, "itt.domain");
	print_timed("(function)", t + 2000, t + 3000, "itt.domain");
	task_begin_ex(domain, NULL, t, null, null, inner);
	task_end_ex(domain, NULL, t + 500);
	print_timed("inner", t, t + 500, "itt.domain");
	set_track(stream);
	for (i = 0; i < 2; i++)
		task_begin_overlapped_ex(domain, device, device_time(t + 1000 * i), i ? other : id,
					 null, late);
	for (i = 0; i < 2; i++) {
		task_end_overlapped_ex(domain, device, device_time(t + 5000 + 1000 * i),
				       i ? other : id);
		print_timed("late", t + 1000 * i, t + 5000 + 1000 * i, "outer/added");
	}
	marker_ex(domain, device, device_time(t + 700), id, moment, 1);
	print_timed("moment", t + 700, t + 700, "outer/added");
	counter_set_ex(whole, device, device_time(t + 800), &value);
	print_timed("whole", t + 800, t + 800, "outer/added");
	set_track(NULL);
}

/* The running task is the parent of one that begins later, and depends on one that began earlier. */
static void relate(void)
{
	const id_t_ first = { 21, 0, 0 }, child = { 22, 0, 0 };

	task_begin(domain, null, null, outer);
	relation_add_to_current(domain, 3, child);
	task_begin(domain, first, null, inner);
	task_end(domain);
	task_begin(domain, child, null, inner);
	relation_add_to_current(domain, 1, first);
	task_end(domain);
	task_end(domain);
	relation_add(domain, first, 7, child);
	relation_add(domain, first, 99, child);
	task_group(domain, first, null, key);
}

static void submit_histograms(void)
{
	int32_t x[3] = { -1, 2, 40 }, small[2] = { 5, -6 };
	uint64_t y[3] = { 10, 20, 1ull << 40 };

	histogram_submit(histogram, 3, x, y);
	histogram_submit(&early_histogram, 2, NULL, small);
}

static void print_time(int n)
{
	const uint64_t begun = now();
	int i;

	for (i = 0; i < n; i++) {
		task_begin(domain, null, null, outer);
		task_end(domain);
	}
	printf("ns %.2f\n", (double)(now() - begun) / n / 2);
}

static void print_seen(int times)
{
	const int n = n_threads * n_rounds * times;

	printf("saw BEGIN outer itt.domain %d\nsaw BEGIN early_string early.domain %d\n", n, n);
	printf("saw BEGIN (function) itt.domain %d\nsaw BEGIN an_event itt %d\n", n, n);
	printf("saw ASYNC_BEGIN late itt.domain %d\nsaw ASYNC_BEGIN inner itt.domain %d\n", n, n);
	printf("saw INSTANT moment itt.domain %d\nsaw INSTANT key itt.domain %d\n", n, 2 * n);
	printf("saw INSTANT texts itt.domain %d\nsaw FRAME itt.domain itt.domain %d\n", n, n);
	printf("counts whole %d\ncounts part %d\n", n, n);
	/* 4 slices, 2 overlapping ones, a frame, 4 moments, 2 counters */
	printf("calls %d\nnames %d\n", n * (2 * 4 + 2 * 2 + 2 + 4 + 2), n_threads * times);
}

static void do_word(const char *line)
{
	static id_t_ ids[16];
	static unsigned long long last;
	static uint64_t last_clock;
	const uint64_t t = get_timestamp();
	int i;

	if (!strncmp(line, "work", 4)) {
		work_all();
	} else if (!strncmp(line, "open", 4)) {
		task_begin(domain, null, null, outer);
		task_begin_overlapped(domain, null, null, late);
	} else if (!strcmp(line, "begin\n")) {
		for (i = 0; i < 16; i++) {
			ids[i].d1 = 1000u + (unsigned)i;
			task_begin_overlapped(domain, ids[i], null, late);
		}
		task_begin(domain, null, null, inner);
	} else if (!strcmp(line, "end\n")) {
		for (i = 0; i < 16; i++)
			task_end_overlapped(domain, ids[i]);
		task_end(domain);
	} else if (!strncmp(line, "count", 5)) {
		counter_inc(whole);
		counter_dec_delta(whole, 5);
		counter_inc(&early_counter);
		counter_inc_delta_v3(domain, added, 1000);
	} else if (!strncmp(line, "submit", 6)) {
		/* Frames that have passed and overlap: from the last `submit` to now, and to half of that. */
		const uint64_t clock = now();

		if (last_clock) {
			printf("submitted %llu %llu %llu %llu\n", last, (unsigned long long)t,
			       (unsigned long long)last_clock, (unsigned long long)clock);
			frame_submit(domain, NULL, last, t);
			frame_submit(domain, NULL, last, last + (t - last) / 2);
			frame_submit(domain, NULL, t, last);
		}
		last = t;
		last_clock = clock;
	} else if (!strncmp(line, "timed", 5)) {
		clock_domain_reset();
		timed();
	} else if (!strncmp(line, "begintimed", 10)) {
		for (i = 0; i < 3; i++)
			task_begin_ex(domain, NULL, now(), null, null, outer);
	} else if (!strncmp(line, "endtimed", 8)) {
		for (i = 0; i < 3; i++)
			task_end_ex(domain, NULL, now());
	} else if (!strncmp(line, "relate", 6)) {
		relate();
	} else if (!strncmp(line, "histogram", 9)) {
		submit_histograms();
	} else if (!strncmp(line, "pausehost", 9)) {
		pause_scoped(2);
		pause_scoped(1);
	} else if (!strncmp(line, "resumehost", 10)) {
		resume_scoped(0x7fffffff);
	} else if (!strncmp(line, "sync", 4)) {
		sync_acquired(&ids);
	} else if (!strcmp(line, "pause\n")) {
		pause_();
	} else if (!strcmp(line, "resume\n")) {
		resume();
	} else if (!strncmp(line, "bad", 3)) {
		bad();
	} else if (!strncmp(line, "time ", 5)) {
		print_time(atoi(line + 5));
	} else if (!strncmp(line, "fini", 4)) {
		void (*fini)(global_t *) = NULL;

		*(void **)&fini = dlsym(library, "__itt_api_fini");
		fini(&global);
	}
}

int main(int argc, char **argv)
{
	char line[64];
	int done = 0;

	n_threads = argc > 1 ? atoi(argv[1]) : 1;
	n_rounds = argc > 2 ? atoi(argv[2]) : 1;
	if (!load_tool() || !domain_create || !sync_acquired) {
		fprintf(stderr, "itt: there is no tool\n");
		return 1;
	}
	domain = domain_create("itt.domain");
	outer = string_handle_create("outer");
	inner = string_handle_create("inner");
	late = string_handle_create("late");
	moment = string_handle_create("moment");
	key = string_handle_create("key");
	texts = string_handle_create("texts");
	added = string_handle_create("added");
	whole = counter_create("whole", "itt.domain");
	part = counter_create_typed("part", "itt.domain", 8);
	event = event_create("an_event, cut", 8);
	histogram = histogram_create(domain, "histogram", 4, 1);
	device = clock_domain_create(read_device, &device);
	stream = track_create(track_group_create(outer, 0), added, 0);
	if (domain != domain_create("itt.domain") || strcmp(domain->nameA, "itt.domain") ||
	    !domain->flags || outer != string_handle_create("outer") ||
	    strcmp(outer->strA, "outer") || !whole || !part || !event || !histogram || !device ||
	    !stream || !stack_caller_create()) {
		fprintf(stderr, "itt: something was not made\n");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		do_word(line);
		done += !strncmp(line, "work", 4);
		puts("did");
		fflush(stdout);
	}
	if (done)
		print_seen(done);
	puts("done");
	return 0;
}
