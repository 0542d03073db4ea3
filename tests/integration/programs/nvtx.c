/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is annotated for NVTX. It speaks the public protocol from its own declarations: loads the tool that
 * the environment names at its first annotation, offers its tables, and calls what the tool has put there.
 *
 *	nvtx THREADS ROUNDS
 *
 * Each line of its input is a word: `work` annotates and prints at the end what a trace of that contains; `open` begins
 * ranges that nobody ends; `begin` and `end` begin and end some; `cross` has slices of two domains that cross; `bad` does what no program should; `time N` says what
 * a call costs. It ends with its input.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	union {
		uint64_t ull;
		int64_t ll;
		double d;
		uint32_t ui;
		int32_t i;
		float f;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		void *registered;
	} message;
} attributes_t;

/* The places of the functions, which a tool fills in. Until then, and without a tool, they are NULL. */
static void (*mark_ex)(const attributes_t *), (*mark_a)(const char *), (*mark_w)(const wchar_t *);
static uint64_t (*start_ex)(const attributes_t *), (*start_a)(const char *),
	(*start_w)(const wchar_t *);
static void (*range_end)(uint64_t);
static int (*push_ex)(const attributes_t *), (*push_a)(const char *), (*push_w)(const wchar_t *),
	(*pop)(void);
static void (*category_a)(uint32_t, const char *), (*category_w)(uint32_t, const wchar_t *);
static void (*thread_a)(uint32_t, const char *), (*thread_w)(uint32_t, const wchar_t *);
static void (*d_mark)(void *, const attributes_t *);
static uint64_t (*d_start)(void *, const attributes_t *);
static void (*d_end)(void *, uint64_t);
static int (*d_push)(void *, const attributes_t *), (*d_pop)(void *);
static void *(*d_resource)(void *, void *), (*d_resource_destroy)(void *);
static void (*d_category_a)(void *, uint32_t, const char *),
	(*d_category_w)(void *, uint32_t, const wchar_t *);
static void *(*d_string_a)(void *, const char *), *(*d_string_w)(void *, const wchar_t *);
static void *(*domain_a)(const char *), *(*domain_w)(const wchar_t *);
static void (*domain_destroy)(void *), (*initialize)(const void *);

#define AT(f) (void (**)(void))(void *) & f
static void (**core[17])(void) = {
	NULL,		AT(mark_ex),	AT(mark_a),   AT(mark_w),   AT(start_ex), AT(start_a),
	AT(start_w),	AT(range_end),	AT(push_ex),  AT(push_a),   AT(push_w),	  AT(pop),
	AT(category_a), AT(category_w), AT(thread_a), AT(thread_w), NULL
};
static void (**core2[17])(void) = { NULL,
				    AT(d_mark),
				    AT(d_start),
				    AT(d_end),
				    AT(d_push),
				    AT(d_pop),
				    AT(d_resource),
				    AT(d_resource_destroy),
				    AT(d_category_a),
				    AT(d_category_w),
				    AT(d_string_a),
				    AT(d_string_w),
				    AT(domain_a),
				    AT(domain_w),
				    AT(domain_destroy),
				    AT(initialize),
				    NULL };

static int get_module_table(int module, void (****table)(void), unsigned *size)
{
	if (module != 1 && module != 5)
		return 0;
	*table = module == 1 ? core : core2;
	*size = 16;
	return 1;
}

static const struct {
	size_t size;
	int (*get)(int, void (****)(void), unsigned *);
} callbacks = { sizeof(callbacks), get_module_table };

static const void *export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static int load_tool(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(const void *(*)(uint32_t)) = NULL;

	if (!library)
		return 0;
	*(void **)&init = dlsym(library, "InitializeInjectionNvtx2");
	return init && init(export_table);
}

static int n_threads, n_rounds;
static void *domain;
static void *registered;

static attributes_t message(const char *text)
{
	attributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = 3;
	a.size = sizeof(a);
	a.message_type = 1;
	a.message.ascii = text;
	return a;
}

static void mark_payloads(void)
{
	attributes_t a = message("payload");

	a.payload_type = 1, a.payload.ull = UINT64_MAX, mark_ex(&a);
	a.payload_type = 2, a.payload.ll = INT64_MIN, mark_ex(&a);
	a.payload_type = 3, a.payload.d = 0.25, mark_ex(&a);
	a.payload_type = 4, a.payload.ull = UINT64_MAX, a.payload.ui = 4000000000u, mark_ex(&a);
	a.payload_type = 5, a.payload.i = -7, mark_ex(&a);
	a.payload_type = 6, a.payload.f = 1.5f, mark_ex(&a);
}

/* As Python's binding calls: domains and categories by name, attributes that are used again, text that goes away. */
static void python(int round)
{
	char text[64];
	attributes_t a = message(text);
	void *d = domain_a("py.domain");
	uint64_t id;

	a.color_type = 1;
	a.color = 0xff00ff00;
	a.category = 1;
	d_category_a(d, 1, "load");
	snprintf(text, sizeof(text), "py_slice");
	d_push(d, &a);
	snprintf(text, sizeof(text), "py_mark");
	d_mark(NULL, &a);
	snprintf(text, sizeof(text), "py_range");
	id = d_start(d, &a);
	memset(text, 'x', sizeof(text) - 1);
	d_end(d, id);
	d_pop(d);
	if (round == 0)
		domain_destroy(d);
}

static void one_round(void)
{
	attributes_t a = message("in_category"), r = message(NULL);
	attributes_t *longer =
		calloc(1, sizeof(a) + 64); /* a later version, with more at its end */

	mark_a("plain");
	mark_w(L"weit_\u00e4\u20ac\U0001d11e");
	mark_payloads();
	push_a("outer");
	push_w(L"inner");
	pop();
	a.category = 7;
	d_push(domain, &a);
	push_a("within");
	pop();
	d_pop(domain);
	pop();
	a.category = 99;
	d_mark(domain, &a);
	r.message_type = 3;
	r.message.registered = registered;
	d_push(domain, &r);
	d_pop(domain);
	*longer = message("longer");
	longer->version = 4;
	longer->size = sizeof(a) + 64;
	push_ex(longer);
	free(longer);
	pop();
}

/* Ranges end on another thread than they begin on. */
static uint64_t *ranges;
static pthread_barrier_t barrier;

static void *work(void *number)
{
	const long me = (long)(intptr_t)number;
	char name[32];
	int i;

	snprintf(name, sizeof(name), "worker %ld", me);
	thread_a((uint32_t)syscall(SYS_gettid), name);
	for (i = 0; i < n_rounds; i++) {
		attributes_t a = message("range");

		one_round();
		python(i);
		a.payload_type = 5;
		a.payload.i = i;
		ranges[me * n_rounds + i] = i % 2 ? d_start(domain, &a) : start_ex(&a);
	}
	pthread_barrier_wait(&barrier);
	for (i = 0; i < n_rounds; i++) {
		const uint64_t id = ranges[(me + 1) % n_threads * n_rounds + i];

		if (i % 2)
			d_end(domain, id);
		else
			range_end(id);
	}
	return NULL;
}

static void work_all(void)
{
	pthread_t threads[64];
	int i;

	ranges = calloc((size_t)(n_threads * n_rounds), sizeof(*ranges));
	pthread_barrier_init(&barrier, NULL, (unsigned)n_threads);
	for (i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	for (i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	free(ranges);
}

static void bad(void)
{
	attributes_t a = message("bad");
	char *small = malloc(8);
	int i;

	for (i = 0; i < 3; i++) {
		push_ex(NULL);
		pop();
		memset(small, 0, 8);
		small[0] = 3;
		small[2] = 8;
		push_ex((attributes_t *)(void *)small);
		pop();
		a.message_type = 77;
		mark_ex(&a);
		a.message_type = 3;
		mark_ex(&a); /* a string that was not registered */
		a.message_type = 1;
		a.payload_type = 77;
		mark_ex(&a);
		a.payload_type = 0;
		d_mark((void *)0x10, &a);
		mark_a(NULL);
		mark_w(NULL);
		pop();
		range_end(UINT64_MAX);
		domain_destroy((void *)0x20);
		d_string_a(NULL, NULL);
		domain_a(NULL);
		thread_a(1, "another thread");
		thread_a((uint32_t)getpid(), NULL);
		d_category_a(domain, 3, NULL);
		category_w(4, NULL);
	}
	free(small);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void print_seen(int times)
{
	const int rounds = n_rounds * times, n = n_threads * rounds;

	printf("saw INSTANT plain nvtx %d\nsaw INSTANT weit_\u00e4\u20ac\U0001d11e nvtx %d\n", n,
	       n);
	printf("saw INSTANT payload nvtx %d\n", 6 * n);
	printf("saw BEGIN outer nvtx %d\nsaw BEGIN inner nvtx %d\nsaw BEGIN within nvtx %d\n", n, n,
	       n);
	printf("saw BEGIN in_category client.domain,io %d\nsaw INSTANT in_category client.domain "
	       "%d\n",
	       n, n);
	printf("saw BEGIN kept client.domain %d\nsaw BEGIN longer nvtx %d\n", n, n);
	printf("saw BEGIN py_slice py.domain,load %d\nsaw INSTANT py_mark nvtx %d\n", n, n);
	printf("saw ASYNC_BEGIN py_range py.domain,load %d\n", n);
	printf("saw ASYNC_BEGIN range nvtx %d\n", n_threads * times * (n_rounds - n_rounds / 2));
	if (n_rounds > 1)
		printf("saw ASYNC_BEGIN range client.domain %d\n",
		       n_threads * times * (n_rounds / 2));
	/* 10 moments, 7 slices, 2 ranges, each of which begins and ends; the threads have names */
	printf("calls %d\nnames %d\n", n * (10 + 2 * 7 + 2 * 2), n_threads * times);
}

int main(int argc, char **argv)
{
	char line[64];
	uint64_t ids[16] = { 0 };
	int i, done = 0;

	n_threads = argc > 1 ? atoi(argv[1]) : 1;
	n_rounds = argc > 2 ? atoi(argv[2]) : 1;
	if (!load_tool() || !mark_ex || !initialize) {
		fprintf(stderr, "nvtx: there is no tool\n");
		return 1;
	}
	initialize(NULL);
	domain = domain_w(L"client.domain");
	registered = d_string_w(domain, L"kept");
	if (!domain || !registered || !d_resource(domain, NULL) || !d_string_a(domain, "kept")) {
		fprintf(stderr, "nvtx: something was not made\n");
		return 1;
	}
	d_category_w(domain, 7, L"io");
	thread_w((uint32_t)getpid(), L"the first");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "work", 4)) {
			work_all();
			done++;
		} else if (!strncmp(line, "open", 4)) {
			push_a("left_open");
			start_a("left_open_too");
		} else if (!strncmp(line, "begin", 5)) {
			for (i = 0; i < 16; i++)
				ids[i] = start_w(L"begun_before");
			push_a("pushed_before");
		} else if (!strncmp(line, "end", 3)) {
			for (i = 0; i < 16; i++)
				range_end(ids[i]);
			pop();
		} else if (!strncmp(line, "cross", 5)) {
			/* Each domain nests by itself. */
			attributes_t a = message("first");

			d_push(domain, &a);
			push_a("crosses");
			d_pop(domain);
			pop();
		} else if (!strncmp(line, "bad", 3)) {
			bad();
		} else if (!strncmp(line, "time", 4)) {
			const int n = atoi(line + 5);
			const uint64_t begun = now();

			for (i = 0; i < n; i++)
				mark_a("timed");
			printf("ns %.2f\n", (double)(now() - begun) / n);
		}
		puts("did");
		fflush(stdout);
	}
	if (done)
		print_seen(done);
	puts("done");
	return 0;
}
