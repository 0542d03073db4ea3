/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libproftrace.so: the functions of proftrace/runtime.h, which are those of proftrace.h behind a C interface that
 * stays. The types of the two headers are the same memory under two names, so that neither needs the other.
 */
#include <proftrace.h>
#include <proftrace/runtime.h>
#include <pthread.h>
#include <unistd.h>

_Static_assert(sizeof(prof_arg_t) == sizeof(proftrace_arg) &&
		       offsetof(prof_arg_t, type) == offsetof(proftrace_arg, type) &&
		       offsetof(prof_arg_t, bits) == offsetof(proftrace_arg, bits),
	       "arguments are passed on as they are");
_Static_assert(PROFTRACE_INT == PROF_VALUE_INT && PROFTRACE_POINTER == PROF_VALUE_POINTER &&
		       PROFTRACE_SCOPE_MARKER == PROF_SCOPE_MARKER &&
		       PROFTRACE_INSTANT_ON_FINISH == PROF_INSTANT_ON_FINISH &&
		       PROFTRACE_ON_ACTIVE_AND_SAVE == PROF_ON_ACTIVE_AND_SAVE,
	       "both headers have the same numbers");

#define INTERFACE_VERSION 3
#define SOME_ARGS	  64 /* checked at once, on the stack */

static const prof_runtime_domain_t *domain_of(const proftrace_domain *domain)
{
	return (const prof_runtime_domain_t *)domain;
}

unsigned proftrace_version(void)
{
	return INTERFACE_VERSION;
}

const proftrace_domain *proftrace_domain_get(const char *name)
{
	return (const proftrace_domain *)prof_domain_get(name);
}

const proftrace_task *proftrace_task_get(const proftrace_domain *domain, const char *name)
{
	return (const proftrace_task *)prof_task_get(domain_of(domain), name);
}

const proftrace_frame *proftrace_frame_get(const proftrace_domain *domain, const char *name)
{
	return (const proftrace_frame *)prof_frame_get(domain_of(domain), name);
}

const proftrace_event *proftrace_event_get(const char *name)
{
	return (const proftrace_event *)prof_event_get(name);
}

const proftrace_counter *proftrace_counter_get(const proftrace_domain *domain, const char *name,
					       int64_t initial)
{
	return (const proftrace_counter *)prof_counter_get(domain_of(domain), name, initial);
}

const proftrace_marker *proftrace_marker_get(const proftrace_domain *domain, const char *name,
					     const char *categories, unsigned instants,
					     unsigned actions)
{
	return (const proftrace_marker *)prof_marker_get_in(domain_of(domain), name, categories,
							    instants, actions);
}

const volatile uint32_t *proftrace_domain_semaphore(const proftrace_domain *domain)
{
	return &(domain ? domain_of(domain) : prof_domain_get(NULL))->domain->on;
}

/* The name of proftrace_domain_semaphore() in version 1, for programs that were linked with it. */
const volatile uint32_t *proftrace_domain_switch(const proftrace_domain *domain)
	__attribute__((alias("proftrace_domain_semaphore"), visibility("default")));

int proftrace_domain_is_enabled(const proftrace_domain *domain)
{
	return *proftrace_domain_semaphore(domain) != 0;
}

#define DEFINE_START_AND_STOP(type, start, stop)                                \
	void proftrace_##type##_##start(const proftrace_##type *object)         \
	{                                                                       \
		if (object)                                                     \
			prof_##type##_##start((const prof_##type##_t *)object); \
	}                                                                       \
	void proftrace_##type##_##stop(const proftrace_##type *object)          \
	{                                                                       \
		if (object)                                                     \
			prof_##type##_##stop((const prof_##type##_t *)object);  \
	}
DEFINE_START_AND_STOP(task, start, stop)
DEFINE_START_AND_STOP(frame, start, stop)
DEFINE_START_AND_STOP(event, start, stop)
DEFINE_START_AND_STOP(marker, start, finish)

void proftrace_marker_mark(const proftrace_marker *marker, int scope)
{
	if (marker)
		prof_marker_mark((const prof_marker_t *)marker, scope);
}

void proftrace_counter_set(const proftrace_counter *counter, int64_t value)
{
	if (counter)
		prof_counter_set((const prof_counter_t *)counter, value);
}

void proftrace_counter_increment(const proftrace_counter *counter, int64_t by)
{
	if (counter)
		prof_counter_increment((const prof_counter_t *)counter, by);
}

void proftrace_counter_decrement(const proftrace_counter *counter, int64_t by)
{
	if (counter)
		prof_counter_decrement((const prof_counter_t *)counter, by);
}

int64_t proftrace_counter_value(const proftrace_counter *counter)
{
	return counter ? prof_counter_value((const prof_counter_t *)counter) : 0;
}

/*
 * Arguments of types that are not known are left out, since tracers refuse the whole mark. There are none in
 * bindings that are right, so arguments are copied only where one is found.
 */
struct checked {
	const prof_arg_t *args;
	size_t n;
	prof_arg_t some[SOME_ARGS];
};

static int is_known(const prof_arg_t *arg)
{
	return arg->type >= PROFTRACE_INT && arg->type <= PROFTRACE_POINTER;
}

static void check_args(struct checked *c, const proftrace_arg *given, size_t n)
{
	size_t i, known = 0;

	c->args = (const prof_arg_t *)given;
	c->n = given ? n : 0;
	while (known < c->n && is_known(&c->args[known]))
		known++;
	if (known == c->n)
		return;
	for (i = 0, known = 0; i < c->n && known < SOME_ARGS; i++) {
		if (is_known(&c->args[i]))
			c->some[known++] = c->args[i];
	}
	c->args = c->some;
	c->n = known;
}

void proftrace_begin(const proftrace_domain *domain, const char *name, const proftrace_arg *args,
		     size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_begin_args(domain_of(domain), name, c.args, c.n);
}

void proftrace_end(const proftrace_domain *domain, const proftrace_arg *args, size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_end_args(domain_of(domain), c.args, c.n);
}

void proftrace_instant(const proftrace_domain *domain, const char *name, int scope,
		       const proftrace_arg *args, size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_instant_args(domain_of(domain), name, scope, c.args, c.n);
}

void proftrace_async_begin(const proftrace_domain *domain, const char *name, uint64_t id,
			   const proftrace_arg *args, size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_async_begin_args(domain_of(domain), name, id, c.args, c.n);
}

void proftrace_async_end(const proftrace_domain *domain, const char *name, uint64_t id,
			 const proftrace_arg *args, size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_async_end_args(domain_of(domain), name, id, c.args, c.n);
}

void proftrace_counters(const proftrace_domain *domain, const char *name, const proftrace_arg *args,
			size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_counter_args(domain_of(domain), name, c.args, c.n);
}

/* Tokens of objects are made of their addresses, which are even; of scopes in C addresses as well, below 2^63. */
#define SCOPE_TOKEN(nth) (UINT64_C(1) << 63 | (nth) << 1 | 1)

uint64_t proftrace_scope_begin(const proftrace_domain *domain, const char *name,
			       const proftrace_arg *args, size_t n)
{
	static uint64_t scopes;
	struct checked c;
	uint64_t token;

	if (!proftrace_domain_is_enabled(domain))
		return 0;
	check_args(&c, args, n);
	token = SCOPE_TOKEN(__atomic_fetch_add(&scopes, UINT64_C(1), __ATOMIC_RELAXED));
	prof_scope_begin_args(domain_of(domain), token, name, c.args, c.n);
	return token;
}

void proftrace_scope_end(const proftrace_domain *domain, uint64_t token, const proftrace_arg *args,
			 size_t n)
{
	struct checked c;

	if (!token)
		return;
	check_args(&c, args, n);
	prof_scope_end_args(domain_of(domain), token, c.args, c.n);
}

/*
 * Arrows go between processes too, so an id begins with that of its process, which on Linux has 22 bits. The system call
 * for that takes longer than a mark in buffered mode, so it is kept.
 */
static uint64_t id_base;

static void id_base_set(void)
{
	id_base = (uint64_t)getpid() << 40;
}

static __attribute__((constructor)) void id_base_keep(void)
{
	id_base_set();
	pthread_atfork(NULL, NULL, id_base_set);
}

uint64_t proftrace_id(void)
{
	static uint64_t ids;
	const uint64_t nth = __atomic_add_fetch(&ids, UINT64_C(1), __ATOMIC_RELAXED);

	return id_base | (nth & ((UINT64_C(1) << 40) - 1));
}

void proftrace_flow_out(uint64_t id)
{
	PROF_FLOW_OUT(id);
}

void proftrace_flow_in(uint64_t id)
{
	PROF_FLOW_IN(id);
}

void proftrace_alloc(const char *pool, const void *address, uint64_t size)
{
	if (proftrace_domain_is_enabled(NULL))
		prof_alloc_in_prof_default(pool ? pool : "", PROF_META_NAME_DYNAMIC,
					   (uintptr_t)address, size, NULL, 0);
}

void proftrace_free(const char *pool, const void *address)
{
	if (proftrace_domain_is_enabled(NULL))
		prof_free_in_prof_default(pool ? pool : "", PROF_META_NAME_DYNAMIC,
					  (uintptr_t)address, 0, NULL, 0);
}

const proftrace_track *proftrace_track_get(const char *name, const proftrace_track *outer)
{
	return (const proftrace_track *)prof_track_get(name, (const prof_track_t *)outer);
}

void proftrace_track_sync(const proftrace_track *track, uint64_t ticks, uint64_t time)
{
	prof_track_sync((const prof_track_t *)track, ticks, time);
}

void proftrace_slice_at(const proftrace_domain *domain, const proftrace_track *track,
			const char *name, uint64_t begin, uint64_t end, const proftrace_arg *args,
			size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_slice_at_args(domain_of(domain), (const prof_track_t *)track, name, begin, end, c.args,
			   c.n);
}

void proftrace_instant_at(const proftrace_domain *domain, const proftrace_track *track,
			  const char *name, uint64_t time, const proftrace_arg *args, size_t n)
{
	struct checked c;

	if (!proftrace_domain_is_enabled(domain))
		return;
	check_args(&c, args, n);
	prof_instant_at_args(domain_of(domain), (const prof_track_t *)track, name, time, c.args,
			     c.n);
}

void proftrace_thread_name(const char *name)
{
	if (name)
		PROF_THREAD_NAME(name);
}

void proftrace_step(int64_t epoch, int64_t batch)
{
	PROF_STEP(epoch, batch);
}

void proftrace_scope_push(const char *name)
{
	prof_scope_push(name ? name : "");
}

void proftrace_scope_pop(void)
{
	prof_scope_pop();
}

void proftrace_pause(void)
{
	prof_pause();
}

void proftrace_resume(void)
{
	prof_resume();
}

void proftrace_dump(void)
{
	prof_dump();
}

void proftrace_stop(void)
{
	prof_stop();
}

void proftrace_include_chrome_json(const char *path)
{
	if (path)
		prof_include_chrome_json(path);
}
