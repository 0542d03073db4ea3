/* SPDX-License-Identifier: BSD-2-Clause */
/* Domains, strings and threads of ITT. */
#include "itt.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const prof_runtime_domain_t *itt_domain_look_up(const struct itt_domain *domain, bool has_begun)
{
	const uint64_t key = map_key_of(MAP_ITT_DOMAIN, domain);
	const prof_runtime_domain_t *known = map_get(key);

	if (!known || !(has_begun || itt_domain_is_named(domain, known))) {
		known = domain_named(domain ? domain->name : NULL, "itt");
		map_put(key, (void *)(uintptr_t)known);
	}
	thread.itt_handle = domain;
	thread.itt_domain = known;
	return known;
}

/*
 * The object of a name: there is one for each, and it stays. It is a copy of `no_memory`, which is returned where there
 * is none, with the name at `at`.
 */
static void *itt_object_named(enum map_kind kind, const char *name, void *no_memory, size_t size,
			      size_t at)
{
	const char *const kept = prof_event_get(name)->object.name;
	const uint64_t key = map_key_of(kind, kept);
	void *there = map_get(key), *made;

	if (there)
		return there;
	made = malloc(size);
	if (!made)
		return no_memory;
	memcpy(made, no_memory, size);
	memcpy((char *)made + at, &kept, sizeof(kept));
	there = map_add(key, made);
	if (there != made)
		free(made);
	return there;
}

struct itt_domain *itt_domain_create(const char *name)
{
	static struct itt_domain no_memory = { .enabled = 1, .name = "itt" };
	struct itt_domain *there = NULL;

	if (itt_chained.domain_create)
		there = itt_chained.domain_create(name);
	return there ? there
		     : itt_object_named(MAP_ITT_NAME, name, &no_memory, sizeof(no_memory),
					offsetof(struct itt_domain, name));
}

struct itt_string *itt_string_handle_create(const char *text)
{
	static struct itt_string no_memory = { .text = "(no memory)" };
	struct itt_string *there = NULL;

	if (itt_chained.string_handle_create)
		there = itt_chained.string_handle_create(text);
	return there ? there
		     : itt_object_named(MAP_ITT_STRING, text, &no_memory, sizeof(no_memory),
					offsetof(struct itt_string, text));
}

void itt_thread_set_name(const char *name)
{
	ITT_CHAIN(thread_set_name, name);
	if (name)
		thread_set_name(name);
}

int itt_thr_name_set(const char *name, int length)
{
	char text[NAME_KEPT];

	ITT_CHAIN(thr_name_set, name, length);
	if (name)
		thread_set_name(text_copy(text, sizeof(text), name,
					  length > 0 ? (size_t)length : sizeof(text)));
	return 0;
}

void itt_pause(void)
{
	if (itt_chained.pause)
		itt_chained.pause();
	prof_pause();
}

void itt_resume(void)
{
	if (itt_chained.resume)
		itt_chained.resume();
	prof_resume();
}

/* The recording is of the host; what is offloaded to a device is paused where it is marked. */
#define ITT_SCOPE_HOST 1

void itt_pause_scoped(int scope)
{
	ITT_CHAIN(pause_scoped, scope);
	if (scope & ITT_SCOPE_HOST)
		prof_pause();
}

void itt_resume_scoped(int scope)
{
	ITT_CHAIN(resume_scoped, scope);
	if (scope & ITT_SCOPE_HOST)
		prof_resume();
}

/* An id is known by the tasks that have it. */
void itt_id_create(itt_domain_t domain, struct itt_id id)
{
	ITT_CHAIN(id_create, domain, id);
}

void itt_id_destroy(itt_domain_t domain, struct itt_id id)
{
	ITT_CHAIN(id_destroy, domain, id);
}

void itt_id_create_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time,
		      struct itt_id id)
{
	ITT_CHAIN(id_create_ex, domain, clock, time, id);
}

void itt_id_destroy_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time,
		       struct itt_id id)
{
	ITT_CHAIN(id_destroy_ex, domain, clock, time, id);
}
