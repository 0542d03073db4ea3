/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process of a plug-in: reads messages, calls its functions. It ends when the recorder closes the
 * socket, however that came about; and nothing it does can hurt anything but itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "handlers/plugin_wire.h"
#include "proftrace/handler.h"
#include "timeline/hash_key.h"

#define BUFFER (4 * PLUGIN_MESSAGE_MAX)

/* A process or a thread. */
struct owner {
	uint64_t uuid;
	uint64_t process;
	uint32_t id;
	char *name;
	UT_hash_handle hh;
};

struct host {
	int socket;
	const struct proftrace_handler *table;
	void *self;
	struct owner *owners;
	char *buffer;
	bool closed;
};

/* Texts of a message, one after the other. */
struct texts {
	const char *at, *end;
};

static const char *take_text(struct texts *t, uint32_t size)
{
	const char *text = t->at;

	if (!size || size > (size_t)(t->end - t->at) || text[size - 1])
		return "";
	t->at += size;
	return text;
}

static int answer(const struct host *h, int error, const char *what, const char *why)
{
	struct plugin_reply reply = { .error = error };

	snprintf(reply.what, sizeof(reply.what), "%s", what);
	snprintf(reply.why, sizeof(reply.why), "%s", why);
	send(h->socket, &reply, sizeof(reply), MSG_NOSIGNAL);
	return error;
}

/* Functions that a plug-in of an older version does not know of are not there. */
#define HAS(h, function)                                                                        \
	((h)->table->size >=                                                                    \
		 offsetof(struct proftrace_handler, function) + sizeof((h)->table->function) && \
	 (h)->table->function)

/* Calls it, if it is there; an error is the last thing that is heard of it. */
#define CALL(h, function, ...)                                                         \
	do {                                                                           \
		int error_ = HAS(h, function) ? (h)->table->function(__VA_ARGS__) : 0; \
		if (error_)                                                            \
			return answer(h, error_, #function, "");                       \
	} while (0)

static int take_open(struct host *h, const struct plugin_open *m, struct texts *texts)
{
	const struct proftrace_recording about = {
		.version = take_text(texts, m->version),
		.start_ns = m->start_ns,
		.start_realtime_ns = m->start_realtime_ns,
	};
	const char *library = take_text(texts, m->library);
	const char *argument = take_text(texts, m->argument);
	const struct proftrace_handler *(*get)(void);
	void *object = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!object)
		return answer(h, -ENOENT, "open", dlerror());
	/* ISO C knows no way from an object's address to a function's; POSIX does. */
	*(void **)&get = dlsym(object, "proftrace_get_handler");
	if (!get)
		return answer(h, -ENOEXEC, "open", "it has no function proftrace_get_handler");
	h->table = get();
	if (!h->table || h->table->size < offsetof(struct proftrace_handler, duration_event))
		return answer(h, -ENOEXEC, "open", "its table of functions has no size");
	if (HAS(h, open)) {
		h->self = h->table->open(argument, &about);
		if (!h->self)
			return answer(h, -ECANCELED, "open", "it did not want to");
	}
	answer(h, 0, "open", "");
	return 0;
}

static struct owner *owner_of(const struct host *h, uint64_t uuid)
{
	struct owner *owner;

	HASH_FIND(hh, h->owners, &uuid, sizeof(uuid), owner);
	return owner;
}

static int take_owner(struct host *h, const struct plugin_owner *m, struct texts *texts)
{
	struct owner *owner = owner_of(h, m->uuid);

	if (!owner) {
		owner = calloc(1, sizeof(*owner));
		if (!owner)
			return answer(h, -ENOMEM, "open", "");
		owner->uuid = m->uuid;
		HASH_ADD(hh, h->owners, uuid, sizeof(owner->uuid), owner);
	}
	owner->id = m->id;
	owner->process = m->process;
	free(owner->name);
	owner->name = strdup(take_text(texts, m->name));
	return owner->name ? 0 : answer(h, -ENOMEM, "open", "");
}

static int take_gone(struct host *h, const struct plugin_owner *m, struct texts *texts)
{
	struct owner *owner = owner_of(h, m->uuid);

	(void)texts;
	if (!owner)
		return 0;
	HASH_DEL(h->owners, owner);
	free(owner->name);
	free(owner);
	return 0;
}

static void fill_thread(const struct host *h, const struct plugin_event *m,
			struct proftrace_thread *thread)
{
	const struct owner *process = owner_of(h, m->process), *own = owner_of(h, m->thread);

	*thread = (struct proftrace_thread){
		.pid = process ? process->id : 0,
		.tid = own ? own->id : 0,
		.process = process ? process->name : "",
		.name = own ? own->name : "",
	};
}

static int take_event(struct host *h, const struct plugin_event *m, struct texts *texts)
{
	struct proftrace_arg args[PLUGIN_ARGS];
	struct plugin_arg wire[PLUGIN_ARGS];
	const struct proftrace_step step = { m->epoch, m->batch };
	struct proftrace_thread thread;
	struct proftrace_event e = {
		.timestamp_ns = m->ts_ns,
		.thread = &thread,
		.step = m->stepped ? &step : NULL,
		.n_args = m->n_args,
		.args = args,
		.is_start = m->is_start,
		.is_async = m->is_async,
		.id = m->id,
		.begin_ns = m->begin_ns,
		.self_ns = m->self_ns,
		.is_complete = m->is_complete,
		.scope = m->scope < PROFTRACE_SCOPE_GLOBAL ? m->scope : PROFTRACE_SCOPE_GLOBAL,
	};
	unsigned i;

	if (m->n_args > PLUGIN_ARGS ||
	    (size_t)(texts->end - texts->at) < m->n_args * sizeof(wire[0]))
		return answer(h, -EPROTO, "open", "");
	memcpy(wire, texts->at, m->n_args * sizeof(wire[0]));
	texts->at += m->n_args * sizeof(wire[0]);
	fill_thread(h, m, &thread);
	e.name = take_text(texts, m->name);
	e.categories = take_text(texts, m->categories);
	e.unit = take_text(texts, m->unit);
	for (i = 0; i < m->n_args; i++) {
		if (wire[i].type < PROFTRACE_INT || wire[i].type > PROFTRACE_NULL)
			return answer(h, -EPROTO, "open", "");
		args[i].key = take_text(texts, wire[i].key);
		args[i].type = (enum proftrace_type)wire[i].type;
		args[i].value.u = wire[i].value;
		if (wire[i].type == PROFTRACE_STRING)
			args[i].value.s = take_text(texts, wire[i].length);
	}
	if (m->head.message == PLUGIN_DURATION)
		CALL(h, duration_event, h->self, &e);
	else if (m->head.message == PLUGIN_INSTANT)
		CALL(h, instant_event, h->self, &e);
	else
		CALL(h, counter_event, h->self, &e);
	return 0;
}

static int take_close(struct host *h, const struct plugin_close *m, struct texts *texts)
{
	const struct proftrace_account account = {
		.marked = m->marked,
		.written = m->written,
		.lost = m->lost,
		.orderly = m->orderly,
	};

	(void)texts;
	h->closed = true;
	CALL(h, close, h->self, &account);
	answer(h, 0, "close", "");
	return 0;
}

/* The fixed part of each message, copied to where it is aligned; what follows it are texts. */
#define TAKE(type, function)                                               \
	do {                                                               \
		type m_;                                                   \
		if (head.size < sizeof(m_))                                \
			return answer(h, -EPROTO, "open", "");             \
		memcpy(&m_, at, sizeof(m_));                               \
		struct texts texts_ = { at + sizeof(m_), at + head.size }; \
		return function(h, &m_, &texts_);                          \
	} while (0)

static int take_message(struct host *h, const char *at, struct plugin_head head)
{
	switch ((enum plugin_message)head.message) {
	case PLUGIN_OPEN:
		TAKE(struct plugin_open, take_open);
	case PLUGIN_PROCESS:
	case PLUGIN_THREAD:
		TAKE(struct plugin_owner, take_owner);
	case PLUGIN_DURATION:
	case PLUGIN_INSTANT:
	case PLUGIN_COUNTER:
		TAKE(struct plugin_event, take_event);
	case PLUGIN_GONE:
		TAKE(struct plugin_owner, take_gone);
	case PLUGIN_JSON_FILE: {
		struct texts texts = { at + sizeof(head), at + head.size };

		CALL(h, chrome_json_trace_file, h->self,
		     take_text(&texts, head.size - sizeof(head)));
		return 0;
	}
	case PLUGIN_FLUSH:
		CALL(h, flush, h->self);
		return 0;
	case PLUGIN_CLOSE:
		TAKE(struct plugin_close, take_close);
	}
	return answer(h, -EPROTO, "open", "");
}

/* All whole messages among `size` bytes. Returns how many bytes these were, or an error. */
static ssize_t take_messages(struct host *h, size_t size)
{
	struct plugin_head head;
	size_t done = 0;

	while (size - done >= sizeof(head)) {
		int error;

		memcpy(&head, h->buffer + done, sizeof(head));
		if (head.size < sizeof(head) || head.size > PLUGIN_MESSAGE_MAX)
			return -EPROTO;
		if (size - done < head.size)
			break;
		/*
		 * A library is named first, and once. That is before the recorder reads anything foreign;
		 * later it may have been taken over, and want code of its choice to be run here, where
		 * no filter of system calls is.
		 */
		if (h->closed || (head.message == PLUGIN_OPEN) == (h->table != NULL))
			return -EPROTO;
		error = take_message(h, h->buffer + done, head);
		if (error)
			return error < 0 ? error : -EIO;
		done += head.size;
	}
	return done;
}

int plugin_host(int socket)
{
	struct host h = { .socket = socket, .buffer = malloc(BUFFER) };
	struct owner *owner, *next;
	ssize_t n, done = 0;
	size_t used = 0;

	if (!h.buffer)
		return 1;
	for (;;) {
		n = recv(socket, h.buffer + used, BUFFER - used, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += n;
		done = take_messages(&h, used);
		if (done < 0)
			break;
		memmove(h.buffer, h.buffer + done, used - done);
		used -= done;
	}
	HASH_ITER (hh, h.owners, owner, next) {
		HASH_DEL(h.owners, owner);
		free(owner->name);
		free(owner);
	}
	free(h.buffer);
	/* Nobody is left to hear it: let its destructors run, so that its files are complete. */
	return done < 0;
}
