/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters and metadata of ITT: numbers of a type that the program says, at an address that it passes. */
#include "itt.h"

#include <stdlib.h>
#include <string.h>

struct unsupported itt_too_many = { "ITT values beyond the 32nd", 0, NULL, 0 };
struct unsupported itt_bad_type = { "ITT values of an unknown type", 0, NULL, 0 };

bool itt_value_read(enum itt_type type, const void *at, const char *key, prof_arg_t *ret_arg)
{
	union {
		uint64_t u64;
		int64_t s64;
		uint32_t u32;
		int32_t s32;
		uint16_t u16;
		int16_t s16;
		float f32;
		double f64;
	} v;
	const uint64_t size = itt_type_size(type);

	if (!at || !size)
		return false;
	memcpy(&v, at, size);
	switch (type) {
	case ITT_U64:
		*ret_arg = prof_arg_uint(key, v.u64);
		break;
	case ITT_S64:
		*ret_arg = prof_arg_int(key, v.s64);
		break;
	case ITT_U32:
		*ret_arg = prof_arg_uint(key, v.u32);
		break;
	case ITT_S32:
		*ret_arg = prof_arg_int(key, v.s32);
		break;
	case ITT_U16:
		*ret_arg = prof_arg_uint(key, v.u16);
		break;
	case ITT_S16:
		*ret_arg = prof_arg_int(key, v.s16);
		break;
	case ITT_FLOAT:
		*ret_arg = prof_arg_double(key, (double)v.f32);
		break;
	case ITT_DOUBLE:
		*ret_arg = prof_arg_double(key, v.f64);
		break;
	}
	return true;
}

uint64_t itt_type_size(enum itt_type type)
{
	static const uint8_t sizes[] = { 0, 8, 8, 4, 4, 2, 2, 4, 8 };

	return (unsigned)type < sizeof(sizes) ? sizes[type] : 0;
}

/* A counter. Its value is kept while nobody records, too, so that what is added later is right. */
struct itt_counter {
	const prof_runtime_domain_t *domain;
	const char *name;
	enum itt_type type;
	uint64_t bits;
};

static struct itt_counter *itt_counter_new(const prof_runtime_domain_t *domain, const char *name,
					   enum itt_type type)
{
	static struct itt_counter no_memory = { .name = "(no memory)", .type = ITT_U64 };
	struct itt_counter *counter = calloc(1, sizeof(*counter));
	prof_arg_t arg;
	uint64_t zero = 0;

	if (!counter) {
		no_memory.domain = domain;
		return &no_memory;
	}
	counter->domain = domain;
	counter->name = prof_event_get(name ? name : "(no name)")->object.name;
	counter->type = itt_value_read(type, &zero, "", &arg) ? type : ITT_U64;
	return counter;
}

/* Made again with the same name it is the same one, as far as a trace goes. */
static void *itt_counter_put(void *handle, struct itt_counter *counter)
{
	if (!handle)
		handle = counter;
	map_put(map_key_of(MAP_ITT_COUNTER, handle), counter);
	return handle;
}

void itt_counter_register(const struct itt_early_counter *early)
{
	itt_counter_put((void *)(uintptr_t)early,
			itt_counter_new(domain_named(early->domain, "itt"), early->name,
					(enum itt_type)early->type));
}

void *itt_counter_create(const char *name, const char *domain)
{
	void *const theirs =
		itt_chained.counter_create ? itt_chained.counter_create(name, domain) : NULL;

	return itt_counter_put(theirs, itt_counter_new(domain_named(domain, "itt"), name, ITT_U64));
}

void *itt_counter_create_typed(const char *name, const char *domain, int type)
{
	void *const theirs = itt_chained.counter_create_typed
				     ? itt_chained.counter_create_typed(name, domain, type)
				     : NULL;

	return itt_counter_put(
		theirs, itt_counter_new(domain_named(domain, "itt"), name, (enum itt_type)type));
}

void *itt_counter_create_v3(itt_domain_t domain, const char *name, int type)
{
	void *const theirs = itt_chained.counter_create_v3
				     ? itt_chained.counter_create_v3(domain, name, type)
				     : NULL;

	return itt_counter_put(theirs,
			       itt_counter_new(itt_domain_find(domain), name, (enum itt_type)type));
}

void itt_counter_destroy(void *handle)
{
	ITT_CHAIN(counter_destroy, handle);
}

static struct itt_counter *itt_counter_find(const void *handle)
{
	static struct unsupported unknown = { "ITT counters that were not created", 0, NULL, 0 };
	struct itt_counter *const counter = map_get(map_key_of(MAP_ITT_COUNTER, handle));

	if (UNLIKELY(!counter))
		unsupported_count(&unknown);
	return counter;
}

/* NULL: there is no such counter, or no value. */
static const struct itt_counter *itt_counter_set(void *handle, const void *value)
{
	struct itt_counter *const counter = itt_counter_find(handle);
	prof_arg_t arg;

	if (!counter || !itt_value_read(counter->type, value, "", &arg))
		return NULL;
	__atomic_store_n(&counter->bits, arg.bits, __ATOMIC_RELAXED);
	if (is_recorded())
		prof_counter_arg(counter->domain, counter->name, arg);
	return counter;
}

/* Adds to a counter of integers, by whose type the sum is cut. */
static void itt_counter_add(struct itt_counter *counter, uint64_t by)
{
	prof_arg_t arg;
	uint64_t value;

	if (!counter)
		return;
	if (counter->type == ITT_FLOAT || counter->type == ITT_DOUBLE) {
		unsupported_count(&itt_bad_type);
		return;
	}
	value = __atomic_add_fetch(&counter->bits, by, __ATOMIC_RELAXED);
	/* The low bytes come first. */
	if (is_recorded() && itt_value_read(counter->type, &value, "", &arg))
		prof_counter_arg(counter->domain, counter->name, arg);
}

void itt_counter_set_value(void *counter, void *value)
{
	ITT_CHAIN(counter_set_value, counter, value);
	itt_counter_set(counter, value);
}

void itt_counter_set_value_v3(void *counter, void *value)
{
	ITT_CHAIN(counter_set_value_v3, counter, value);
	itt_counter_set(counter, value);
}

/* The counter has the value from now on, for what is added later; an instant says when it was. */
void itt_counter_set_value_ex(void *handle, struct itt_clock *clock, unsigned long long time,
			      void *value)
{
	const struct itt_counter *counter;
	uint64_t at = time;
	prof_arg_t arg;

	ITT_CHAIN(counter_set_value_ex, handle, clock, time, value);
	counter = itt_counter_set(handle, value);
	if (counter && is_recorded() && itt_value_read(counter->type, value, "value", &arg) &&
	    itt_clock_convert(clock, &at) && itt_times_are_possible(at, at))
		prof_instant_at_args(counter->domain, itt_track_of(counter->domain), counter->name,
				     at, &arg, 1);
}

void itt_counter_inc(void *counter)
{
	ITT_CHAIN(counter_inc, counter);
	itt_counter_add(itt_counter_find(counter), 1);
}

void itt_counter_inc_delta(void *counter, unsigned long long by)
{
	ITT_CHAIN(counter_inc_delta, counter, by);
	itt_counter_add(itt_counter_find(counter), by);
}

void itt_counter_dec(void *counter)
{
	ITT_CHAIN(counter_dec, counter);
	itt_counter_add(itt_counter_find(counter), UINT64_MAX);
}

void itt_counter_dec_delta(void *counter, unsigned long long by)
{
	ITT_CHAIN(counter_dec_delta, counter, by);
	itt_counter_add(itt_counter_find(counter), 0 - (uint64_t)by);
}

/* Counters that are known by a domain and a string. Most strings are the name of one only. */
static struct itt_counter *itt_counter_named(itt_domain_t domain, itt_string_t name)
{
	const prof_runtime_domain_t *const d = itt_domain_find(domain);
	uint64_t key = map_key_of(MAP_ITT_NAMED_COUNTER, name) ^ (uint64_t)(uintptr_t)d << 8;
	struct itt_counter *counter, *there;

	key = map_key(MAP_ITT_NAMED_COUNTER, key);
	counter = map_get(key);
	if (counter)
		return counter;
	counter = itt_counter_new(d, itt_text(name), ITT_S64);
	there = map_add(key, counter);
	if (there != counter)
		free(counter);
	return there;
}

void itt_counter_inc_v3(itt_domain_t domain, itt_string_t name)
{
	ITT_CHAIN(counter_inc_v3, domain, name);
	itt_counter_add(itt_counter_named(domain, name), 1);
}

void itt_counter_inc_delta_v3(itt_domain_t domain, itt_string_t name, unsigned long long by)
{
	ITT_CHAIN(counter_inc_delta_v3, domain, name, by);
	itt_counter_add(itt_counter_named(domain, name), by);
}

void itt_counter_dec_v3(itt_domain_t domain, itt_string_t name)
{
	ITT_CHAIN(counter_dec_v3, domain, name);
	itt_counter_add(itt_counter_named(domain, name), UINT64_MAX);
}

void itt_counter_dec_delta_v3(itt_domain_t domain, itt_string_t name, unsigned long long by)
{
	ITT_CHAIN(counter_dec_delta_v3, domain, name, by);
	itt_counter_add(itt_counter_named(domain, name), 0 - (uint64_t)by);
}

/* An event keeps 32 arguments. */
#define MAX_VALUES 32

/* Metadata is a moment with the name of its key, and the values as arguments. */
static void itt_put_values(itt_domain_t domain, itt_string_t key, int type, size_t count,
			   const void *data)
{
	static const char *const keys[MAX_VALUES] = { "value", "1",  "2",  "3",	 "4",  "5",  "6",
						      "7",     "8",  "9",  "10", "11", "12", "13",
						      "14",    "15", "16", "17", "18", "19", "20",
						      "21",    "22", "23", "24", "25", "26", "27",
						      "28",    "29", "30", "31" };
	const uint64_t size = itt_type_size((enum itt_type)type);
	prof_arg_t args[MAX_VALUES];
	size_t i;

	if (!size)
		unsupported_count(&itt_bad_type);
	if (!size || !data)
		count = 0;
	if (count > MAX_VALUES) {
		unsupported_count(&itt_too_many);
		count = MAX_VALUES;
	}
	for (i = 0; i < count; i++)
		itt_value_read((enum itt_type)type, (const char *)data + i * size, keys[i],
			       &args[i]);
	prof_instant_args(itt_domain_find(domain), itt_text(key), PROF_SCOPE_THREAD, args, count);
}

/* A length of 0 says that the text ends with a NUL. */
static void itt_put_text(itt_domain_t domain, itt_string_t key, const char *data, size_t length)
{
	char text[TEXT_KEPT];
	prof_arg_t arg;

	text_copy(text, sizeof(text), data ? data : "", length ? length : sizeof(text));
	arg = prof_arg_string("value", text);
	prof_instant_args(itt_domain_find(domain), itt_text(key), PROF_SCOPE_THREAD, &arg, 1);
}

void itt_metadata_add(itt_domain_t domain, struct itt_id id, itt_string_t key, int type,
		      size_t count, void *data)
{
	ITT_CHAIN(metadata_add, domain, id, key, type, count, data);
	if (is_recorded())
		itt_put_values(domain, key, type, count, data);
}

void itt_metadata_add_with_scope(itt_domain_t domain, int scope, itt_string_t key, int type,
				 size_t count, void *data)
{
	ITT_CHAIN(metadata_add_with_scope, domain, scope, key, type, count, data);
	if (is_recorded())
		itt_put_values(domain, key, type, count, data);
}

void itt_metadata_str_add(itt_domain_t domain, struct itt_id id, itt_string_t key, const char *data,
			  size_t length)
{
	ITT_CHAIN(metadata_str_add, domain, id, key, data, length);
	if (is_recorded())
		itt_put_text(domain, key, data, length);
}

void itt_metadata_str_add_with_scope(itt_domain_t domain, int scope, itt_string_t key,
				     const char *data, size_t length)
{
	ITT_CHAIN(metadata_str_add_with_scope, domain, scope, key, data, length);
	if (is_recorded())
		itt_put_text(domain, key, data, length);
}
