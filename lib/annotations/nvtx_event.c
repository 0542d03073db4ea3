/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks and ranges of NVTX. Pushed ranges nest on their thread, in their domain; started ones end by their number. */
#include "nvtx_payload.h"

static struct unsupported bad_attributes = { "NVTX attributes of an unknown version", 0, NULL, 0 };
static struct unsupported bad_message = { "NVTX messages of an unknown type", 0, NULL, 0 };
static struct unsupported bad_string = { "NVTX strings that were not registered", 0, NULL, 0 };
static struct unsupported bad_payload = { "NVTX payloads of an unknown type", 0, NULL, 0 };

#define NO_NAME "(no message)"

static const char *nvtx_message_read(const struct nvtx_attributes *a, struct nvtx_event *e)
{
	const char *name;

	switch (a->message_type) {
	case 0:
		return NO_NAME;
	case NVTX_MESSAGE_ASCII:
		return a->message.ascii ? a->message.ascii : NO_NAME;
	case NVTX_MESSAGE_WIDE:
		return a->message.wide ? text_from_wide(e->wide, sizeof(e->wide), a->message.wide)
				       : NO_NAME;
	case NVTX_MESSAGE_REGISTERED:
		name = a->message.registered ? nvtx_string_find(a->message.registered) : NO_NAME;
		if (name)
			return name;
		unsupported_count(&bad_string);
		return "(unknown string)";
	}
	unsupported_count(&bad_message);
	return "(unknown message)";
}

/* Several payloads, each with a schema. */
#define NVTX_PAYLOADS ((int32_t)0xdfbd0009)

static void nvtx_payload_read(void *domain, const struct nvtx_attributes *a, struct nvtx_event *e)
{
	prof_arg_t *arg = &e->args[e->n_args++];

	switch (a->payload_type) {
	case 1:
		*arg = prof_arg_uint("payload", a->payload.u64);
		return;
	case 2:
		*arg = prof_arg_int("payload", a->payload.i64);
		return;
	case 3:
		*arg = prof_arg_double("payload", a->payload.f64);
		return;
	case 4:
		*arg = prof_arg_uint("payload", a->payload.u32);
		return;
	case 5:
		*arg = prof_arg_int("payload", a->payload.i32);
		return;
	case 6:
		*arg = prof_arg_double("payload", (double)a->payload.f32);
		return;
	}
	e->n_args--;
	if (a->payload_type == NVTX_PAYLOADS)
		nvtx_payloads_read(domain, (const void *)(uintptr_t)a->payload.u64,
				   a->n_payloads > 0 ? (size_t)a->n_payloads : 0, e);
	else if (a->payload_type)
		unsupported_count(&bad_payload);
}

void nvtx_event_read(void *domain, const struct nvtx_attributes *a, struct nvtx_event *e)
{
	e->n_args = 0;
	e->text_used = 0;
	e->category = 0;
	if (UNLIKELY(!a || !a->version || a->size < sizeof(*a))) {
		unsupported_count(&bad_attributes);
		e->name = "(unknown attributes)";
		return;
	}
	e->category = a->category;
	e->name = nvtx_message_read(a, e);
	nvtx_payload_read(domain, a, e);
}

/* The domain, or that with a category; a category without a name becomes an argument. */
static const prof_runtime_domain_t *nvtx_event_place(const struct nvtx_domain *domain,
						     struct nvtx_event *e)
{
	const prof_runtime_domain_t *with;

	if (LIKELY(!e->category))
		return domain->domain;
	with = nvtx_category_find(domain, e->category);
	if (LIKELY(with))
		return with;
	e->args[e->n_args++] = prof_arg_uint("category", e->category);
	return domain->domain;
}

static uint64_t nvtx_token(const struct nvtx_domain *domain)
{
	return (uint64_t)(uintptr_t)domain;
}

static void nvtx_put_mark_of(const struct nvtx_domain *domain, struct nvtx_event *e)
{
	const prof_runtime_domain_t *const place = nvtx_event_place(domain, e);

	prof_instant_args(place, e->name, PROF_SCOPE_THREAD, e->args, e->n_args);
}

static void nvtx_put_push_of(const struct nvtx_domain *domain, struct nvtx_event *e)
{
	const prof_runtime_domain_t *const place = nvtx_event_place(domain, e);

	prof_scope_begin_args(place, nvtx_token(domain), e->name, e->args, e->n_args);
}

static void nvtx_put_start_of(const struct nvtx_domain *domain, struct nvtx_event *e, uint64_t id)
{
	const prof_runtime_domain_t *const place = nvtx_event_place(domain, e);

	if (open_add(id, place, e->name, NULL))
		prof_async_begin_args(place, e->name, id, e->args, e->n_args);
}

static APART void nvtx_put_mark(void *handle, const struct nvtx_attributes *a)
{
	struct nvtx_event e;

	nvtx_event_read(handle, a, &e);
	nvtx_put_mark_of(nvtx_domain_find(handle), &e);
}

static APART void nvtx_put_push(void *handle, const struct nvtx_attributes *a)
{
	struct nvtx_event e;

	nvtx_event_read(handle, a, &e);
	nvtx_put_push_of(nvtx_domain_find(handle), &e);
}

static APART void nvtx_put_start(void *handle, const struct nvtx_attributes *a, uint64_t id)
{
	struct nvtx_event e;

	nvtx_event_read(handle, a, &e);
	nvtx_put_start_of(nvtx_domain_find(handle), &e, id);
}

static APART void nvtx_put_pop(void *handle)
{
	const struct nvtx_domain *domain = nvtx_domain_find(handle);

	prof_scope_end_args(domain->domain, nvtx_token(domain), NULL, 0);
}

/* The end of a range that began while nobody recorded is a mark too: the recorder counts it. */
static APART void nvtx_put_end(void *handle, uint64_t id, const prof_arg_t *args, size_t n)
{
	struct open_slice slice;
	const bool known = open_remove(id, &slice);

	if (!is_recorded())
		return;
	if (known)
		prof_async_end_args(slice.domain, slice.name, id, args, n);
	else
		prof_async_end_args(nvtx_domain_find(handle)->domain, "(range)", id, args, n);
}

/* An event with a message only. */
static void nvtx_event_plain(const char *message, struct nvtx_event *e)
{
	e->name = message ? message : NO_NAME;
	e->category = 0;
	e->n_args = 0;
}
static void nvtx_event_wide(const wchar_t *message, struct nvtx_event *e)
{
	nvtx_event_plain(message ? text_from_wide(e->wide, sizeof(e->wide), message) : NULL, e);
}

void nvtx_domain_mark_ex(void *domain, const struct nvtx_attributes *a)
{
	CHAIN(domain_mark_ex, domain, a);
	if (is_recorded())
		nvtx_put_mark(domain, a);
}

void nvtx_mark_ex(const struct nvtx_attributes *a)
{
	CHAIN(mark_ex, a);
	if (is_recorded())
		nvtx_put_mark(NULL, a);
}

int nvtx_domain_range_push_ex(void *domain, const struct nvtx_attributes *a)
{
	const int depth = CHAINED(domain_range_push_ex, NVTX_NO_TRACKING, domain, a);

	if (is_recorded())
		nvtx_put_push(domain, a);
	return depth;
}

int nvtx_range_push_ex(const struct nvtx_attributes *a)
{
	const int depth = CHAINED(range_push_ex, NVTX_NO_TRACKING, a);

	if (is_recorded())
		nvtx_put_push(NULL, a);
	return depth;
}

int nvtx_domain_range_pop(void *domain)
{
	if (is_recorded())
		nvtx_put_pop(domain);
	return CHAINED(domain_range_pop, NVTX_NO_TRACKING, domain);
}

int nvtx_range_pop(void)
{
	if (is_recorded())
		nvtx_put_pop(NULL);
	return CHAINED(range_pop, NVTX_NO_TRACKING);
}

uint64_t nvtx_domain_range_start_ex(void *domain, const struct nvtx_attributes *a)
{
	const uint64_t id = CHAINED(domain_range_start_ex, thread_new_id(), domain, a);

	if (is_recorded())
		nvtx_put_start(domain, a, id);
	return id;
}

uint64_t nvtx_range_start_ex(const struct nvtx_attributes *a)
{
	const uint64_t id = CHAINED(range_start_ex, thread_new_id(), a);

	if (is_recorded())
		nvtx_put_start(NULL, a, id);
	return id;
}

void nvtx_domain_range_end(void *domain, uint64_t id)
{
	if (is_recorded() || open_any())
		nvtx_put_end(domain, id, NULL, 0);
	CHAIN(domain_range_end, domain, id);
}

void nvtx_range_end(uint64_t id)
{
	if (is_recorded() || open_any())
		nvtx_put_end(NULL, id, NULL, 0);
	CHAIN(range_end, id);
}

/* With a message in place of attributes, in both kinds of characters. */
#define DEFINE_WITH_MESSAGE(suffix, type, read)                                             \
	static APART void nvtx_put_mark_message##suffix(const type *message)                \
	{                                                                                   \
		struct nvtx_event e;                                                        \
                                                                                            \
		read(message, &e);                                                          \
		nvtx_put_mark_of(nvtx_default_domain(), &e);                                \
	}                                                                                   \
	static APART void nvtx_put_push_message##suffix(const type *message)                \
	{                                                                                   \
		struct nvtx_event e;                                                        \
                                                                                            \
		read(message, &e);                                                          \
		nvtx_put_push_of(nvtx_default_domain(), &e);                                \
	}                                                                                   \
	static APART void nvtx_put_start_message##suffix(const type *message, uint64_t id)  \
	{                                                                                   \
		struct nvtx_event e;                                                        \
                                                                                            \
		read(message, &e);                                                          \
		nvtx_put_start_of(nvtx_default_domain(), &e, id);                           \
	}                                                                                   \
	void nvtx_mark##suffix(const type *message)                                         \
	{                                                                                   \
		CHAIN(mark##suffix, message);                                               \
		if (is_recorded())                                                          \
			nvtx_put_mark_message##suffix(message);                             \
	}                                                                                   \
	int nvtx_range_push##suffix(const type *message)                                    \
	{                                                                                   \
		const int depth = CHAINED(range_push##suffix, NVTX_NO_TRACKING, message);   \
                                                                                            \
		if (is_recorded())                                                          \
			nvtx_put_push_message##suffix(message);                             \
		return depth;                                                               \
	}                                                                                   \
	uint64_t nvtx_range_start##suffix(const type *message)                              \
	{                                                                                   \
		const uint64_t id = CHAINED(range_start##suffix, thread_new_id(), message); \
                                                                                            \
		if (is_recorded())                                                          \
			nvtx_put_start_message##suffix(message, id);                        \
		return id;                                                                  \
	}
DEFINE_WITH_MESSAGE(, char, nvtx_event_plain)
DEFINE_WITH_MESSAGE(_wide, wchar_t, nvtx_event_wide)

/* Events that have nothing but payloads. */
static void nvtx_event_of_payloads(void *domain, const struct nvtx_payload *p, size_t n,
				   struct nvtx_event *e)
{
	e->n_args = 0;
	e->text_used = 0;
	e->category = 0;
	e->name = nvtx_payloads_read(domain, p, n, e);
	if (!e->name)
		e->name = NO_NAME;
}

void nvtx_mark_payload(void *domain, const struct nvtx_payload *p, size_t n)
{
	struct nvtx_event e;

	CHAIN(mark_payload, domain, p, n);
	if (is_recorded()) {
		nvtx_event_of_payloads(domain, p, n, &e);
		nvtx_put_mark_of(nvtx_domain_find(domain), &e);
	}
}

int nvtx_push_payload(void *domain, const struct nvtx_payload *p, size_t n)
{
	const int depth = CHAINED(push_payload, NVTX_NO_TRACKING, domain, p, n);
	struct nvtx_event e;

	if (is_recorded()) {
		nvtx_event_of_payloads(domain, p, n, &e);
		nvtx_put_push_of(nvtx_domain_find(domain), &e);
	}
	return depth;
}

int nvtx_pop_payload(void *domain, const struct nvtx_payload *p, size_t n)
{
	struct nvtx_event e;

	if (is_recorded()) {
		const struct nvtx_domain *const d = nvtx_domain_find(domain);

		nvtx_event_of_payloads(domain, p, n, &e);
		prof_scope_end_args(d->domain, nvtx_token(d), e.args, e.n_args);
	}
	return CHAINED(pop_payload, NVTX_NO_TRACKING, domain, p, n);
}

uint64_t nvtx_start_payload(void *domain, const struct nvtx_payload *p, size_t n)
{
	const uint64_t id = CHAINED(start_payload, thread_new_id(), domain, p, n);
	struct nvtx_event e;

	if (is_recorded()) {
		nvtx_event_of_payloads(domain, p, n, &e);
		nvtx_put_start_of(nvtx_domain_find(domain), &e, id);
	}
	return id;
}

void nvtx_end_payload(void *domain, uint64_t id, const struct nvtx_payload *p, size_t n)
{
	struct nvtx_event e;

	if (is_recorded() || open_any()) {
		nvtx_event_of_payloads(domain, p, n, &e);
		nvtx_put_end(domain, id, e.args, e.n_args);
	}
	CHAIN(end_payload, domain, id, p, n);
}

/* What another tool gives is the id of the program. */
uint64_t nvtx_schema_register(void *domain, const struct nvtx_schema_attributes *a)
{
	return nvtx_schema_add(domain, a, CHAINED(schema_register, 0, domain, a));
}

uint64_t nvtx_enum_register(void *domain, const struct nvtx_enum_attributes *a)
{
	return nvtx_enum_add(domain, a, CHAINED(enum_register, 0, domain, a));
}

uint8_t nvtx_is_enabled(void *domain)
{
	return is_recorded() || CHAINED(is_enabled, 0, domain);
}
