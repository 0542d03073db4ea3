/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of the readers: bytes in, events out as lines of text. */
#ifndef PROFTRACE_TESTS_READERS_TEST_H
#define PROFTRACE_TESTS_READERS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "formats/reader.h"

struct heard {
	struct names *names;
	struct account account;
	struct trace_origin origin;
	struct reader_error why;
	int status;
	int stop_with; /* what the sink returns */
	unsigned n;    /* events */
	size_t length;
	char text[1 << 17]; /* a line per event, as far as they fit */
};

__attribute__((format(printf, 2, 3))) static inline void heard_say(struct heard *h,
								   const char *format, ...)
{
	size_t capacity = sizeof(h->text) - h->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(h->text + h->length, capacity, format, args);
	va_end(args);
	h->length += (size_t)n < capacity ? (size_t)n : capacity - 1;
}

static inline void heard_arg(struct heard *h, const struct arg *arg)
{
	heard_say(h, " %s=", arg->key ? arg->key->text : "");
	switch (arg->type) {
	case ARG_INT:
		heard_say(h, "i%lld", (long long)arg->i);
		break;
	case ARG_UINT:
		heard_say(h, "u%llu", (unsigned long long)arg->u);
		break;
	case ARG_DOUBLE:
		heard_say(h, "d%.17g", arg->d);
		break;
	case ARG_STRING:
		assert_int_equal(strlen(arg->s), arg->length);
		heard_say(h, "'%s'%s", arg->s, arg->cut ? "~" : "");
		break;
	case ARG_BOOL:
		heard_say(h, arg->u ? "true" : "false");
		break;
	case ARG_POINTER:
		heard_say(h, "p%llx", (unsigned long long)arg->u);
		break;
	case ARG_NULL:
		heard_say(h, "null");
		break;
	}
}

/* "B 1/2 1000 name [category] #id *size key=value"; Ct: a counter of a thread, Cn: what was counted of it */
static inline int heard_event(void *context, const struct event *e)
{
	static const char *const kinds[] = {
		[EVENT_BEGIN] = "B",
		[EVENT_END] = "E",
		[EVENT_INSTANT] = "i",
		[EVENT_COUNTER] = "C",
		[EVENT_ASYNC_BEGIN] = "b",
		[EVENT_ASYNC_END] = "e",
		[EVENT_FLOW_OUT] = "s",
		[EVENT_FLOW_IN] = "f",
		[EVENT_ALLOC] = "alloc",
		[EVENT_PROCESS_NAME] = "process",
		[EVENT_PROCESS_LABELS] = "labels",
		[EVENT_THREAD_NAME] = "thread",
		[EVENT_LOST] = "lost",
		[EVENT_CLOCK] = "clock",
	};
	struct heard *h = context;
	unsigned i;

	h->n++;
	assert_in_range(e->kind, EVENT_BEGIN, EVENT_CLOCK);
	assert_in_range(e->n_args, 0, EVENT_MAX_ARGS);
	assert_int_equal(e->level, -1);
	assert_false(e->of_thread && e->on_thread);
	heard_say(h, "%s%s %u/%u %llu", kinds[e->kind],
		  e->on_thread		      ? "t"
		  : e->of_thread	      ? "n"
		  : e->kind != EVENT_INSTANT  ? ""
		  : e->scope == SCOPE_GLOBAL  ? "g"
		  : e->scope == SCOPE_PROCESS ? "p"
					      : "",
		  e->pid, e->tid, (unsigned long long)e->ts_ns);
	if (e->name)
		heard_say(h, " %s", e->name->text);
	if (e->category)
		heard_say(h, " [%s]", e->category->text);
	if (e->unit)
		heard_say(h, " in %s", e->unit->text);
	if (e->kind >= EVENT_ASYNC_BEGIN && e->kind <= EVENT_FLOW_IN)
		heard_say(h, " #%llx", (unsigned long long)e->id);
	if (e->kind == EVENT_LOST)
		heard_say(h, " *%llu", (unsigned long long)e->size);
	if (e->kind == EVENT_CLOCK)
		heard_say(h, " %llu %llu %llu", (unsigned long long)e->clock.monotonic,
			  (unsigned long long)e->clock.boottime,
			  (unsigned long long)e->clock.realtime);
	for (i = 0; i < e->n_args; i++)
		heard_arg(h, &e->args[i]);
	for (i = 0; e->has_deltas && i < e->n_deltas; i++)
		heard_say(h, " +%s:%lld", e->delta_names[i]->text, (long long)e->deltas[i]);
	heard_say(h, "\n");
	return h->stop_with;
}

static inline int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Reads what the bytes are found to be. To be freed with heard_free(). */
static inline struct heard *hear_until(const void *bytes, size_t size, int stop_with)
{
	struct heard *h = calloc(1, sizeof(*h));
	struct reader_sink sink;
	int fd = memory_file(bytes, size);

	assert_non_null(h);
	h->names = names_new(0);
	h->stop_with = stop_with;
	sink = (struct reader_sink){ heard_event, h, h->names, &h->account, &h->origin, NULL };
	h->status = trace_read(fd, &sink, &h->why);
	close(fd);
	return h;
}

static inline struct heard *hear(const void *bytes, size_t size)
{
	return hear_until(bytes, size, 0);
}

static inline void heard_free(struct heard *h)
{
	names_free(h->names);
	free(h);
}

/* Checks that all of it is read, as these events, and that so many made no sense. */
static inline void expect_events(const void *bytes, size_t size, const char *events,
				 uint64_t malformed)
{
	struct heard *h = hear(bytes, size);

	assert_string_equal(h->why.message, "");
	assert_int_equal(h->status, 0);
	assert_false(h->why.truncated);
	assert_string_equal(h->text, events);
	assert_int_equal(account_lost(&h->account), malformed);
	heard_free(h);
}

/* Checks that reading fails at this byte, for a reason that contains `message`. */
static inline void expect_error(const void *bytes, size_t size, uint64_t offset,
				const char *message)
{
	struct heard *h = hear(bytes, size);

	assert_true(h->status < 0);
	if (!strstr(h->why.message, message))
		assert_string_equal(h->why.message, message);
	assert_int_equal(h->why.offset, offset);
	heard_free(h);
}

/* `window` 31: gzip, 15: zlib. To be freed. */
static inline void *packed(const void *bytes, size_t size, int window, size_t *ret_size)
{
	size_t capacity = size + 1024;
	unsigned char *out = malloc(capacity);
	z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (unsigned)size };

	assert_non_null(out);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = out;
	z.avail_out = (unsigned)capacity;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_size = capacity - z.avail_out;
	deflateEnd(&z);
	return out;
}

#endif
