/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments become attributes of the same type. OTLP has no unsigned integers: those beyond INT64_MAX, and pointers, are
 * text. The resource has the names of OpenTelemetry's conventions (service.name, process.pid, ...).
 */
#include "otlp/otlp_attributes.h"

#include <inttypes.h>
#include <string.h>

void otlp_attributes_clear(struct otlp_attributes *a)
{
	a->n = a->dropped = 0;
	a->cut_used = false;
}

/* NULL: there are too many. */
static Otlp__AnyValue *attributes_next(struct otlp_attributes *a, const char *key)
{
	Otlp__KeyValue *pair = &a->pairs[a->n];
	Otlp__AnyValue *value = &a->values[a->n];

	if (a->n == EVENT_MAX_ARGS) {
		a->dropped++;
		return NULL;
	}
	otlp__key_value__init(pair);
	otlp__any_value__init(value);
	pair->key = (char *)key;
	pair->value = value;
	a->list[a->n++] = pair;
	return value;
}

static void value_set_text(Otlp__AnyValue *value, const char *text)
{
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = (char *)text;
}

void otlp_attributes_add_text(struct otlp_attributes *a, const char *key, const char *text)
{
	Otlp__AnyValue *value = attributes_next(a, key);

	if (value)
		value_set_text(value, text);
}

void otlp_attributes_add_number(struct otlp_attributes *a, const char *key, uint32_t number)
{
	Otlp__AnyValue *value = attributes_next(a, key);

	if (!value)
		return;
	value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value->int_value = number;
}

static void value_set_string(struct otlp_attributes *a, Otlp__AnyValue *value,
			     const struct arg *arg)
{
	value_set_text(value, arg->s);
	if (!arg->cut || a->cut_used || arg->length > EVENT_MAX_STRING)
		return;
	a->cut_used = true;
	snprintf(a->cut, sizeof(a->cut), "%s" TEXT_CUT_MARK, arg->s);
	value->string_value = a->cut;
}

static void value_set(struct otlp_attributes *a, Otlp__AnyValue *value, const struct arg *arg)
{
	char *text = a->texts[a->n - 1];

	switch (arg->type) {
	case ARG_STRING:
		value_set_string(a, value, arg);
		return;
	case ARG_DOUBLE:
		value->value_case = OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE;
		value->double_value = arg->d;
		return;
	case ARG_BOOL:
		value->value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
		value->bool_value = arg->u != 0;
		return;
	case ARG_NULL:
		/* No value at all is OTLP's null. */
		return;
	case ARG_POINTER:
		snprintf(text, sizeof(a->texts[0]), "0x%" PRIx64, arg->u);
		value_set_text(value, text);
		return;
	case ARG_UINT:
		if (arg->u > INT64_MAX) {
			snprintf(text, sizeof(a->texts[0]), "%" PRIu64, arg->u);
			value_set_text(value, text);
			return;
		}
		/* fallthrough */
	case ARG_INT:
		value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		value->int_value = arg->i;
	}
}

void otlp_attributes_add(struct otlp_attributes *a, const struct arg *args, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		Otlp__AnyValue *value =
			attributes_next(a, args[i].key ? args[i].key->text : "value");

		if (value)
			value_set(a, value, &args[i]);
	}
}

/* --- the resource ------------------------------------------------------------------------------ */

/* The labels of a process are "container web, unit a.service" (capture/places.c). */
static void add_place(struct otlp_attributes *a, char *labels)
{
	static const struct {
		const char *label, *key;
	} places[] = {
		{ "container ", "container.name" },
		{ "unit ", "systemd.unit" },
	};
	char *label, *next = labels;
	unsigned i;

	while ((label = strsep(&next, ","))) {
		label += *label == ' ';
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			size_t n = strlen(places[i].label);

			if (!strncmp(label, places[i].label, n))
				otlp_attributes_add_text(a, places[i].key, label + n);
		}
	}
}

size_t otlp_pack_resource(const struct process *process, const char *host, uint8_t *out)
{
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	struct otlp_attributes a;
	const char *name = process && process->name ? process->name->text : NULL;
	char labels[LIMIT_NAME + 1] = "";

	otlp_attributes_clear(&a);
	otlp_attributes_add_text(&a, "service.name",
				 !process ? "proftrace"
				 : name	  ? name
					  : "unknown_service");
	if (host && *host)
		otlp_attributes_add_text(&a, "host.name", host);
	if (process)
		otlp_attributes_add_number(&a, "process.pid", process->pid);
	if (process && process->labels)
		snprintf(labels, sizeof(labels), "%s", process->labels->text);
	add_place(&a, labels);
	resource.n_attributes = a.n;
	resource.attributes = a.list;
	if (otlp__resource__get_packed_size(&resource) > OTLP_RESOURCE)
		resource.n_attributes = 1;
	return otlp__resource__pack(&resource, out);
}
