/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms of ITT. What is submitted is a counter with a series for each number in x, or for each place in y where there
 * are none: its values are the numbers in y.
 */
#include "itt.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SERIES 32

struct itt_histogram {
	struct itt_early_histogram handle; /* where there is no other tool */
	const prof_runtime_domain_t *domain;
	const char *name;
	enum itt_type x_type, y_type;
};

static void *itt_histogram_put(void *handle, const struct itt_domain *domain, const char *name,
			       int x_type, int y_type)
{
	static struct itt_early_histogram no_memory;
	struct itt_histogram *h = calloc(1, sizeof(*h));

	if (!h)
		return handle ? handle : &no_memory;
	h->domain = itt_domain_find(domain);
	h->name = prof_event_get(name ? name : "(no name)")->object.name;
	h->x_type = (enum itt_type)x_type;
	h->y_type = (enum itt_type)y_type;
	h->handle = (struct itt_early_histogram){
		.domain = domain, .name = h->name, .x_type = x_type, .y_type = y_type
	};
	if (!handle)
		handle = &h->handle;
	map_put(map_key_of(MAP_ITT_HISTOGRAM, handle), h);
	return handle;
}

void itt_histogram_register(const struct itt_early_histogram *early)
{
	itt_histogram_put((void *)(uintptr_t)early, early->domain, early->name, early->x_type,
			  early->y_type);
}

void *itt_histogram_create(itt_domain_t domain, const char *name, int x_type, int y_type)
{
	return itt_histogram_put(
		itt_chained.histogram_create
			? itt_chained.histogram_create(domain, name, x_type, y_type)
			: NULL,
		domain, name, x_type, y_type);
}

/* The name of a series: the number in x, or the place. */
static void itt_series_name(char *to, size_t size, enum itt_type type, const char *x, size_t i)
{
	prof_arg_t arg;

	if (!x || !itt_value_read(type, x + i * itt_type_size(type), "", &arg))
		snprintf(to, size, "%zu", i);
	else if (arg.type == PROF_VALUE_DOUBLE) {
		double value;

		__builtin_memcpy(&value, &arg.bits, sizeof(value));
		snprintf(to, size, "%g", value);
	} else if (arg.type == PROF_VALUE_UINT)
		snprintf(to, size, "%llu", (unsigned long long)arg.bits);
	else
		snprintf(to, size, "%lld", (long long)arg.bits);
}

static SELDOM void itt_put_histogram(const struct itt_histogram *h, size_t length, const char *x,
				     const char *y)
{
	char names[MAX_SERIES][32];
	prof_arg_t args[MAX_SERIES];

	if (!y || !itt_type_size(h->y_type)) {
		unsupported_count(&itt_bad_type);
		return;
	}
	if (length > MAX_SERIES) {
		unsupported_count(&itt_too_many);
		length = MAX_SERIES;
	}
	for (size_t i = 0; i < length; i++) {
		itt_series_name(names[i], sizeof(names[i]), h->x_type, x, i);
		itt_value_read(h->y_type, y + i * itt_type_size(h->y_type), names[i], &args[i]);
	}
	prof_counter_args(h->domain, h->name, args, length);
}

void itt_histogram_submit(void *handle, size_t length, void *x, void *y)
{
	static struct unsupported unknown = { "ITT histograms that were not created", 0, NULL, 0 };

	ITT_CHAIN(histogram_submit, handle, length, x, y);
	if (is_recorded()) {
		const struct itt_histogram *const h =
			map_get(map_key_of(MAP_ITT_HISTOGRAM, handle));

		if (h)
			itt_put_histogram(h, length, x, y);
		else
			unsupported_count(&unknown);
	}
}
