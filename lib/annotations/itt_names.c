/* SPDX-License-Identifier: BSD-2-Clause */
/* Domains, strings and threads of ITT. */
#include "itt.h"

#include <stdlib.h>
#include <string.h>

const prof_runtime_domain_t *itt_domain_find(const struct itt_domain *domain)
{
	const uint64_t key = map_key_of(MAP_ITT_DOMAIN, domain);
	const prof_runtime_domain_t *known = map_get(key);
	const char *name = domain ? domain->name : NULL;

	/* Of a library that was unloaded, another one's domain may have got the address. */
	if (LIKELY(known && name && known->name && !strcmp(known->name, name)))
		return known;
	known = domain_named(name, "itt");
	map_put(key, (void *)(uintptr_t)known);
	return known;
}

const char *itt_text(const struct itt_string *string)
{
	return string && string->text ? string->text : "(no name)";
}

/* There is one for each name, and it stays. */
struct itt_domain *itt_domain_create(const char *name)
{
	static struct itt_domain no_memory = { .enabled = 1, .name = "itt" };
	struct itt_domain *made, *there;
	const char *kept;
	uint64_t key;

	if (itt_chained.domain_create) {
		there = itt_chained.domain_create(name);
		if (there)
			return there;
	}
	kept = prof_event_get(name)->object.name;
	key = map_key_of(MAP_ITT_NAME, kept);
	there = map_get(key);
	if (there)
		return there;
	made = calloc(1, sizeof(*made));
	if (!made)
		return &no_memory;
	made->enabled = 1;
	made->name = kept;
	there = map_add(key, made);
	if (there != made)
		free(made);
	return there;
}

struct itt_string *itt_string_handle_create(const char *text)
{
	static struct itt_string no_memory = { .text = "(no memory)" };
	struct itt_string *made, *there;
	const char *kept;
	uint64_t key;

	if (itt_chained.string_handle_create) {
		there = itt_chained.string_handle_create(text);
		if (there)
			return there;
	}
	kept = prof_event_get(text)->object.name;
	key = map_key_of(MAP_ITT_STRING, kept);
	there = map_get(key);
	if (there)
		return there;
	made = calloc(1, sizeof(*made));
	if (!made)
		return &no_memory;
	made->text = kept;
	there = map_add(key, made);
	if (there != made)
		free(made);
	return there;
}

void itt_thread_set_name(const char *name)
{
	ITT_CHAIN(thread_set_name, name);
	if (name)
		thread_set_name(name);
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

/* An id is known by the tasks that have it. */
void itt_id_create(itt_domain_t domain, struct itt_id id)
{
	ITT_CHAIN(id_create, domain, id);
}

void itt_id_destroy(itt_domain_t domain, struct itt_id id)
{
	ITT_CHAIN(id_destroy, domain, id);
}
