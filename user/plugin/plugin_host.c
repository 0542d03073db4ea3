/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host process of a plug-in: it loads the shared object, reads messages and calls the functions
 * of the plug-in. It ends when the recorder closes the socket, for whatever reason; and nothing the
 * plug-in does can affect another process.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/plugin.h"
#include "plugin/plugin_wire.h"
#include "proftrace/handler.h"
#include "base/hash_key.h"

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

/* The texts of a message that are still to be read. */
struct texts {
	const char *at, *end;
};

static const char *next_text(struct texts *t, uint32_t size)
{
	const char *text = t->at;

	if (!size || size > (size_t)(t->end - t->at) || text[size - 1])
		return "";
	t->at += size;
	return text;
}

static int host_reply(const struct host *h, int error, const char *what, const char *why)
{
	struct plugin_reply reply = { .error = error };

	snprintf(reply.what, sizeof(reply.what), "%s", what);
	snprintf(reply.why, sizeof(reply.why), "%s", why);
	send(h->socket, &reply, sizeof(reply), MSG_NOSIGNAL);
	return error;
}

/*
 * A plug-in that was built with an older header has a smaller table: later functions do not exist
 * in it.
 */
#define HAS(h, function)                                                                        \
	((h)->table->size >=                                                                    \
		 offsetof(struct proftrace_handler, function) + sizeof((h)->table->function) && \
	 (h)->table->function)

/* Calls a function of the plug-in if it exists; after an error the plug-in is not called again. */
#define CALL(h, function, ...)                                                         \
	do {                                                                           \
		int error_ = HAS(h, function) ? (h)->table->function(__VA_ARGS__) : 0; \
		if (error_)                                                            \
			return host_reply(h, error_, #function, "");                   \
	} while (0)

static int host_open(struct host *h, const struct plugin_open *m, struct texts *texts)
{
	const struct proftrace_recording about = {
		.version = next_text(texts, m->version),
		.start_ns = m->start_ns,
		.start_realtime_ns = m->start_realtime_ns,
	};
	const char *library = next_text(texts, m->library);
	const char *argument = next_text(texts, m->argument);
	const struct proftrace_handler *(*get)(void);
	void *object = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!object)
		return host_reply(h, -ENOENT, "open", dlerror());
	/* ISO C does not convert an object pointer to a function pointer; POSIX does. */
	*(void **)&get = dlsym(object, "proftrace_get_handler");
	if (!get)
		return host_reply(h, -ENOEXEC, "open", "it does not define proftrace_get_handler");
	h->table = get();
	if (!h->table || h->table->size < offsetof(struct proftrace_handler, duration_event))
		return host_reply(h, -ENOEXEC, "open",
				  "the size of its table of functions is invalid");
	if (HAS(h, open)) {
		h->self = h->table->open(argument, &about);
		if (!h->self)
			return host_reply(h, -ECANCELED, "open", "its open() returned NULL");
	}
	host_reply(h, 0, "open", "");
	return 0;
}

static struct owner *host_find_owner(const struct host *h, uint64_t uuid)
{
	struct owner *owner;

	HASH_FIND(hh, h->owners, &uuid, sizeof(uuid), owner);
	return owner;
}

static int host_owner(struct host *h, const struct plugin_owner *m, struct texts *texts)
{
	struct owner *owner = host_find_owner(h, m->uuid);

	if (!owner) {
		owner = hash_add_new(hh, h->owners, uuid, m->uuid);
		if (!owner)
			return host_reply(h, -ENOMEM, "open", "");
	}
	owner->id = m->id;
	owner->process = m->process;
	free(owner->name);
	owner->name = strdup(next_text(texts, m->name));
	return owner->name ? 0 : host_reply(h, -ENOMEM, "open", "");
}

static int host_exit(struct host *h, const struct plugin_owner *m, struct texts *texts)
{
	struct owner *owner = host_find_owner(h, m->uuid);

	(void)texts;
	if (!owner)
		return 0;
	HASH_DEL(h->owners, owner);
	free(owner->name);
	free(owner);
	return 0;
}

static void host_fill_thread(const struct host *h, const struct plugin_event *m,
			     struct proftrace_thread *thread)
{
	const struct owner *process = host_find_owner(h, m->process),
			   *own = host_find_owner(h, m->thread);

	*thread = (struct proftrace_thread){
		.pid = process ? process->id : 0,
		.tid = own ? own->id : 0,
		.process = process ? process->name : "",
		.name = own ? own->name : "",
	};
}

static int host_event(struct host *h, const struct plugin_event *m, struct texts *texts)
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

	if (m->n_args > PLUGIN_ARGS ||
	    (size_t)(texts->end - texts->at) < m->n_args * sizeof(wire[0]))
		return host_reply(h, -EPROTO, "open", "");
	memcpy(wire, texts->at, m->n_args * sizeof(wire[0]));
	texts->at += m->n_args * sizeof(wire[0]);
	host_fill_thread(h, m, &thread);
	e.name = next_text(texts, m->name);
	e.categories = next_text(texts, m->categories);
	e.unit = next_text(texts, m->unit);
	for (unsigned i = 0; i < m->n_args; i++) {
		if (wire[i].type < PROFTRACE_INT || wire[i].type > PROFTRACE_NULL)
			return host_reply(h, -EPROTO, "open", "");
		args[i].key = next_text(texts, wire[i].key);
		args[i].type = (enum proftrace_type)wire[i].type;
		args[i].value.u = wire[i].value;
		if (wire[i].type == PROFTRACE_STRING)
			args[i].value.s = next_text(texts, wire[i].length);
	}
	if (m->head.message == PLUGIN_DURATION)
		CALL(h, duration_event, h->self, &e);
	else if (m->head.message == PLUGIN_INSTANT)
		CALL(h, instant_event, h->self, &e);
	else
		CALL(h, counter_event, h->self, &e);
	return 0;
}

static int host_close(struct host *h, const struct plugin_close *m, struct texts *texts)
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
	host_reply(h, 0, "close", "");
	return 0;
}

/* Copies the fixed part of a message to aligned memory; texts follow it. */
#define DECODE(type, function)                                             \
	do {                                                               \
		type m_;                                                   \
		if (head.size < sizeof(m_))                                \
			return host_reply(h, -EPROTO, "open", "");         \
		memcpy(&m_, at, sizeof(m_));                               \
		struct texts texts_ = { at + sizeof(m_), at + head.size }; \
		return function(h, &m_, &texts_);                          \
	} while (0)

static int host_message(struct host *h, const char *at, struct plugin_head head)
{
	switch ((enum plugin_message)head.message) {
	case PLUGIN_OPEN:
		DECODE(struct plugin_open, host_open);
	case PLUGIN_PROCESS:
	case PLUGIN_THREAD:
		DECODE(struct plugin_owner, host_owner);
	case PLUGIN_DURATION:
	case PLUGIN_INSTANT:
	case PLUGIN_COUNTER:
		DECODE(struct plugin_event, host_event);
	case PLUGIN_EXIT:
		DECODE(struct plugin_owner, host_exit);
	case PLUGIN_JSON_FILE: {
		struct texts texts = { at + sizeof(head), at + head.size };

		CALL(h, chrome_json_trace_file, h->self,
		     next_text(&texts, head.size - sizeof(head)));
		return 0;
	}
	case PLUGIN_FLUSH:
		CALL(h, flush, h->self);
		return 0;
	case PLUGIN_CLOSE:
		DECODE(struct plugin_close, host_close);
	}
	return host_reply(h, -EPROTO, "open", "");
}

/*
 * Processes all complete messages among `size` bytes. Returns how many bytes they had, or a
 * negative errno.
 */
static ssize_t host_messages(struct host *h, size_t size)
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
		 * OPEN comes first, and only once: before the recorder reads anything foreign. A
		 * recorder that was taken over later must not be able to have code of its choice
		 * loaded here, where system calls are not filtered.
		 */
		if (h->closed || (head.message == PLUGIN_OPEN) == (h->table != NULL))
			return -EPROTO;
		error = host_message(h, h->buffer + done, head);
		if (error)
			return error < 0 ? error : -EIO;
		done += head.size;
	}
	return done;
}

int plugin_host(int socket)
{
	struct host h = { .socket = socket, .buffer = malloc(BUFFER) };
	ssize_t n, done = 0;
	size_t used = 0;

	if (!h.buffer)
		return 1;
	for (;;) {
		n = TEMP_FAILURE_RETRY(recv(socket, h.buffer + used, BUFFER - used, 0));
		if (n <= 0)
			break;
		used += n;
		done = host_messages(&h, used);
		if (done < 0)
			break;
		memmove(h.buffer, h.buffer + done, used - done);
		used -= done;
	}
	hash_clear(hh, h.owners, owner, free(owner->name));
	free(h.buffer);
	/* Returning runs the destructors of the plug-in, so that its files are complete. */
	return done < 0;
}
