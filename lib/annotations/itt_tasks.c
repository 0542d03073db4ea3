/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks, markers and events of ITT. Tasks nest on their thread; overlapped ones, and regions, end by their id and are
 * on tracks of their own.
 */
#include "itt.h"

/* The slice that an end belongs to is the innermost one of its domain on the thread. */
static uint64_t itt_token(const prof_runtime_domain_t *domain)
{
	return (uint64_t)(uintptr_t)domain;
}

static size_t itt_id_args(prof_arg_t args[2], const struct itt_id *id, const struct itt_id *parent)
{
	size_t n = 0;

	if (!itt_id_is_null(id))
		args[n++] = prof_arg_uint("id", id->d1);
	if (!itt_id_is_null(parent))
		args[n++] = prof_arg_uint("parent", parent->d1);
	return n;
}

static SELDOM void itt_put_task_args(const prof_runtime_domain_t *d, const struct itt_id *id,
				     const struct itt_id *parent, const char *name,
				     const void *function)
{
	prof_arg_t args[3];
	size_t n = itt_id_args(args, id, parent);

	if (function)
		args[n++] = prof_arg_pointer("function", function);
	prof_scope_begin_args(d, itt_token(d), name, args, n);
	if (itt_relations_any() && !itt_id_is_null(id))
		itt_relate_begun(d, id);
}

static APART void itt_put_task(itt_domain_t domain, const struct itt_id *id,
			       const struct itt_id *parent, itt_string_t name)
{
	const prof_runtime_domain_t *const d = itt_domain_find(domain);

	if (LIKELY(itt_id_is_null(id) && itt_id_is_null(parent)))
		prof_scope_begin_args(d, itt_token(d), itt_text(name), NULL, 0);
	else
		itt_put_task_args(d, id, parent, itt_text(name), NULL);
}

void itt_task_begin(itt_domain_t domain, struct itt_id id, struct itt_id parent, itt_string_t name)
{
	ITT_CHAIN(task_begin, domain, id, parent, name);
	if (is_recorded())
		itt_put_task(domain, &id, &parent, name);
}

void itt_task_begin_fn(itt_domain_t domain, struct itt_id id, struct itt_id parent, void *function)
{
	ITT_CHAIN(task_begin_fn, domain, id, parent, function);
	if (is_recorded())
		itt_put_task_args(itt_domain_find(domain), &id, &parent, "(function)", function);
}

static APART void itt_put_task_end(itt_domain_t domain)
{
	const prof_runtime_domain_t *const d = itt_domain_begun(domain);

	prof_scope_end_args(d, itt_token(d), NULL, 0);
}

void itt_task_end(itt_domain_t domain)
{
	if (is_recorded())
		itt_put_task_end(domain);
	ITT_CHAIN(task_end, domain);
}

static APART void itt_put_open(itt_domain_t domain, const struct itt_id *id,
			       const struct itt_id *parent, itt_string_t name, uint64_t kind)
{
	const prof_runtime_domain_t *const d = itt_domain_find(domain);
	const uint64_t key = itt_open_key(d, id, kind);
	prof_arg_t args[2];
	const size_t n = itt_id_args(args, id, parent);

	if (open_add(key, d, itt_text(name), NULL))
		prof_async_begin_args(d, itt_text(name), key, args, n);
}

static APART void itt_put_closed(itt_domain_t domain, const struct itt_id *id, uint64_t kind)
{
	const prof_runtime_domain_t *const d = itt_domain_find(domain);
	const uint64_t key = itt_open_key(d, id, kind);
	struct open_slice slice;
	const bool known = open_remove(key, &slice);

	/* The end of one that began while nobody recorded is a mark too: the recorder counts it. */
	if (is_recorded())
		prof_async_end_args(d, known ? slice.name : "(task)", key, NULL, 0);
}

void itt_task_begin_overlapped(itt_domain_t domain, struct itt_id id, struct itt_id parent,
			       itt_string_t name)
{
	ITT_CHAIN(task_begin_overlapped, domain, id, parent, name);
	if (is_recorded())
		itt_put_open(domain, &id, &parent, name, 0);
}

void itt_task_end_overlapped(itt_domain_t domain, struct itt_id id)
{
	if (is_recorded() || open_any())
		itt_put_closed(domain, &id, 0);
	ITT_CHAIN(task_end_overlapped, domain, id);
}

void itt_region_begin(itt_domain_t domain, struct itt_id id, struct itt_id parent,
		      itt_string_t name)
{
	ITT_CHAIN(region_begin, domain, id, parent, name);
	if (is_recorded())
		itt_put_open(domain, &id, &parent, name, 1);
}

void itt_region_end(itt_domain_t domain, struct itt_id id)
{
	if (is_recorded() || open_any())
		itt_put_closed(domain, &id, 1);
	ITT_CHAIN(region_end, domain, id);
}

static const struct itt_id no_parent = { 0, 0, 0 };

/* A group of tasks has no duration: it is a moment that tells its name and ids. */
void itt_task_group(itt_domain_t domain, struct itt_id id, struct itt_id parent, itt_string_t name)
{
	ITT_CHAIN(task_group, domain, id, parent, name);
	if (is_recorded()) {
		prof_arg_t args[2];
		const size_t n = itt_id_args(args, &id, &parent);

		prof_instant_args(itt_domain_find(domain), itt_text(name), PROF_SCOPE_THREAD, args,
				  n);
	}
}

void itt_marker(itt_domain_t domain, struct itt_id id, itt_string_t name, int scope)
{
	static const int scopes[] = { PROF_SCOPE_THREAD, PROF_SCOPE_GLOBAL, PROF_SCOPE_PROCESS,
				      PROF_SCOPE_THREAD, PROF_SCOPE_TASK,   PROF_SCOPE_MARKER };

	ITT_CHAIN(marker, domain, id, name, scope);
	if (is_recorded()) {
		prof_arg_t args[2];
		const size_t n = itt_id_args(args, &id, &no_parent);

		if (scope < 0 || (size_t)scope >= sizeof(scopes) / sizeof(*scopes))
			scope = 0;
		prof_instant_args(itt_domain_find(domain), itt_text(name), scopes[scope], args, n);
	}
}

/* Events, and marks of older programs, are numbers: the other tool's, where there is one. */
static int itt_number_of(const char *name, size_t length, int theirs)
{
	static uint32_t numbers;
	char text[NAME_KEPT];
	const char *const kept =
		prof_event_get(text_copy(text, sizeof(text), name ? name : "(no name)",
					 length ? length : sizeof(text)))
			->object.name;
	const uint64_t key = map_key_of(MAP_ITT_NUMBER, kept);
	uintptr_t number = (uintptr_t)theirs;

	if (!number)
		number = (uintptr_t)map_get(key);
	if (!number) {
		number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
		number = (uintptr_t)map_add(key, (void *)number);
	}
	map_put(map_key(MAP_ITT_NUMBERED, (uint32_t)number), (void *)(uintptr_t)kept);
	return (int)number;
}

static const char *itt_number_name(int number)
{
	static struct unsupported unknown = { "ITT events that were not created", 0, NULL, 0 };
	const char *const name = map_get(map_key(MAP_ITT_NUMBERED, (uint32_t)number));

	if (name)
		return name;
	unsupported_count(&unknown);
	return "(unknown event)";
}

int itt_event_create(const char *name, int length)
{
	return itt_number_of(name, length > 0 ? (size_t)length : 0,
			     itt_chained.event_create ? itt_chained.event_create(name, length) : 0);
}

/* An event ends by its number, and closes no other. */
static uint64_t itt_event_token(int event)
{
	return map_key(MAP_ITT_NUMBERED, (uint32_t)event);
}

int itt_event_start(int event)
{
	ITT_CHAIN(event_start, event);
	if (is_recorded())
		prof_scope_begin_args(itt_domain_find(NULL), itt_event_token(event),
				      itt_number_name(event), NULL, 0);
	return 0;
}

int itt_event_end(int event)
{
	if (is_recorded())
		prof_scope_end_args(itt_domain_find(NULL), itt_event_token(event), NULL, 0);
	ITT_CHAIN(event_end, event);
	return 0;
}

int itt_mark_create(const char *name)
{
	return itt_number_of(name, 0, itt_chained.mark_create ? itt_chained.mark_create(name) : 0);
}

int itt_mark(int mark, const char *parameter)
{
	ITT_CHAIN(mark, mark, parameter);
	if (is_recorded()) {
		const prof_arg_t arg = prof_arg_string("parameter", parameter);

		prof_instant_args(itt_domain_find(NULL), itt_number_name(mark), PROF_SCOPE_THREAD,
				  &arg, parameter ? 1 : 0);
	}
	return 0;
}
