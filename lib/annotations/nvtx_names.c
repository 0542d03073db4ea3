/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of NVTX: domains, categories, registered strings, threads. Where another tool makes the handles, the program
 * gets those, and ours are found by them.
 */
#include "nvtx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct unsupported bad_domain = { "NVTX domains that were not created", 0, NULL, 0 };
static struct unsupported other_thread = { "NVTX names of other threads", 0, NULL, 0 };
static struct unsupported no_resources = { "NVTX resources", 0, NULL, 0 };

static SELDOM struct nvtx_domain *nvtx_domain_named(const char *name)
{
	static struct nvtx_domain no_memory;
	static uint32_t numbers;
	const prof_runtime_domain_t *domain = domain_named(name, "nvtx");
	const uint64_t key = map_key_of(MAP_NVTX_NAME, domain);
	struct nvtx_domain *made = map_get(key), *there;

	if (made)
		return made;
	made = malloc(sizeof(*made));
	if (!made) {
		no_memory.domain = prof_domain_get(NULL);
		return &no_memory;
	}
	*made = (struct nvtx_domain){ domain, __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED) };
	there = map_add(key, made);
	if (there != made)
		free(made);
	return there;
}

struct nvtx_domain *nvtx_default_domain(void)
{
	static struct nvtx_domain *domain;
	struct nvtx_domain *known = __atomic_load_n(&domain, __ATOMIC_ACQUIRE);

	if (UNLIKELY(!known)) {
		known = nvtx_domain_named(NULL);
		__atomic_store_n(&domain, known, __ATOMIC_RELEASE);
	}
	return known;
}

struct nvtx_domain *nvtx_domain_find(const void *handle)
{
	struct nvtx_domain *domain;

	if (!handle)
		return nvtx_default_domain();
	domain = map_get(map_key_of(MAP_NVTX_DOMAIN, handle));
	if (LIKELY(domain))
		return domain;
	unsupported_count(&bad_domain);
	return nvtx_default_domain();
}

void *nvtx_domain_create(const char *name)
{
	struct nvtx_domain *domain = nvtx_domain_named(name);
	void *handle = nvtx_chained.domain_create ? nvtx_chained.domain_create(name) : NULL;

	if (!handle)
		handle = domain;
	map_put(map_key_of(MAP_NVTX_DOMAIN, handle), domain);
	return handle;
}

void *nvtx_domain_create_wide(const wchar_t *name)
{
	char text[NAME_KEPT + 3] = "";
	struct nvtx_domain *domain =
		nvtx_domain_named(name ? text_from_wide(text, sizeof(text), name) : NULL);
	void *handle =
		nvtx_chained.domain_create_wide ? nvtx_chained.domain_create_wide(name) : NULL;

	if (!handle)
		handle = domain;
	map_put(map_key_of(MAP_NVTX_DOMAIN, handle), domain);
	return handle;
}

/* A domain that is created again is the same one, and a mark in one that was destroyed does no harm. */
void nvtx_domain_destroy(void *domain)
{
	if (nvtx_chained.domain_destroy)
		nvtx_chained.domain_destroy(domain);
}

static uint64_t nvtx_category_key(const struct nvtx_domain *domain, uint32_t category)
{
	return map_key(MAP_NVTX_CATEGORY, (uint64_t)domain->number << 32 | category);
}

const prof_runtime_domain_t *nvtx_category_find(const struct nvtx_domain *domain, uint32_t category)
{
	return map_get(nvtx_category_key(domain, category));
}

/* A category is what stands after the domain, as the categories of a mark do. */
static void nvtx_category_set(void *handle, uint32_t category, const char *name)
{
	const struct nvtx_domain *domain = nvtx_domain_find(handle);
	const char *const of = domain->domain->name;
	char text[2 * NAME_KEPT], *comma;
	size_t n = of ? strlen(of) : 0;

	if (!n || !name || !*name)
		return;
	memcpy(text, of, n);
	text[n++] = ',';
	text_copy(text + n, sizeof(text) - n, name, NAME_KEPT);
	while ((comma = strchr(text + n, ',')))
		*comma = ';';
	map_put(nvtx_category_key(domain, category), (void *)prof_domain_get(text));
}

static void nvtx_category_set_wide(void *handle, uint32_t category, const wchar_t *name)
{
	char text[NAME_KEPT + 3];

	if (name)
		nvtx_category_set(handle, category, text_from_wide(text, sizeof(text), name));
}

void nvtx_domain_name_category(void *domain, uint32_t category, const char *name)
{
	if (nvtx_chained.domain_name_category)
		nvtx_chained.domain_name_category(domain, category, name);
	nvtx_category_set(domain, category, name);
}

void nvtx_domain_name_category_wide(void *domain, uint32_t category, const wchar_t *name)
{
	if (nvtx_chained.domain_name_category_wide)
		nvtx_chained.domain_name_category_wide(domain, category, name);
	nvtx_category_set_wide(domain, category, name);
}

void nvtx_name_category(uint32_t category, const char *name)
{
	if (nvtx_chained.name_category)
		nvtx_chained.name_category(category, name);
	nvtx_category_set(NULL, category, name);
}

void nvtx_name_category_wide(uint32_t category, const wchar_t *name)
{
	if (nvtx_chained.name_category_wide)
		nvtx_chained.name_category_wide(category, name);
	nvtx_category_set_wide(NULL, category, name);
}

const char *nvtx_string_find(const void *handle)
{
	return map_get(map_key_of(MAP_NVTX_STRING, handle));
}

/* Equal strings are one, for good. Its address is the handle. */
static void *nvtx_string_put(void *handle, const char *string)
{
	char text[NAME_KEPT];
	const char *kept =
		prof_event_get(text_copy(text, sizeof(text), string ? string : "", NAME_KEPT))
			->object.name;

	if (!handle)
		handle = (void *)(uintptr_t)kept;
	map_put(map_key_of(MAP_NVTX_STRING, handle), (void *)(uintptr_t)kept);
	return handle;
}

void *nvtx_string_register(void *domain, const char *string)
{
	void *handle =
		nvtx_chained.string_register ? nvtx_chained.string_register(domain, string) : NULL;

	return nvtx_string_put(handle, string);
}

void *nvtx_string_register_wide(void *domain, const wchar_t *string)
{
	void *handle = nvtx_chained.string_register_wide
			       ? nvtx_chained.string_register_wide(domain, string)
			       : NULL;
	char text[NAME_KEPT + 3];

	return nvtx_string_put(handle, string ? text_from_wide(text, sizeof(text), string) : NULL);
}

/* Only a thread itself can make a mark on its track. */
static void nvtx_thread_set(uint32_t id, const char *name)
{
	if (!name)
		return;
	if (id == (uint32_t)syscall(SYS_gettid))
		thread_set_name(name);
	else
		unsupported_count(&other_thread);
}

void nvtx_name_thread(uint32_t thread_id, const char *name)
{
	if (nvtx_chained.name_thread)
		nvtx_chained.name_thread(thread_id, name);
	nvtx_thread_set(thread_id, name);
}

void nvtx_name_thread_wide(uint32_t thread_id, const wchar_t *name)
{
	char text[NAME_KEPT + 3];

	if (nvtx_chained.name_thread_wide)
		nvtx_chained.name_thread_wide(thread_id, name);
	if (name)
		nvtx_thread_set(thread_id, text_from_wide(text, sizeof(text), name));
}

void *nvtx_resource_create(void *domain, void *attributes)
{
	static char resource;
	void *handle = nvtx_chained.resource_create
			       ? nvtx_chained.resource_create(domain, attributes)
			       : NULL;

	unsupported_count(&no_resources);
	return handle ? handle : &resource;
}

void nvtx_resource_destroy(void *resource)
{
	if (nvtx_chained.resource_destroy)
		nvtx_chained.resource_destroy(resource);
}

void nvtx_initialize(const void *reserved)
{
	if (nvtx_chained.initialize)
		nvtx_chained.initialize(reserved);
}
