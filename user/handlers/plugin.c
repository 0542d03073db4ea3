/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of a plug-in. It runs in a process of its own, so that whatever it does is its
 * own misfortune: facts go there through a socket, many at a time, and nothing comes back but the news
 * that it is ready, is done, or has failed.
 */
#include "handlers/plugin_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Room for a message of at most PLUGIN_MESSAGE_MAX bytes. */
static int room(struct plugin *p)
{
	return p->used > BUFFER - PLUGIN_MESSAGE_MAX ? plugin_send(p) : 0;
}

/* All texts are cut to what room() was asked for. What is too long all the same is not put there. */
static void put(struct plugin *p, const void *bytes, size_t size)
{
	if (p->overrun || size > BUFFER - p->used) {
		p->overrun = true;
		return;
	}
	memcpy(p->buffer + p->used, bytes, size);
	p->used += size;
}

static uint32_t put_text(struct plugin *p, const char *text, size_t length)
{
	put(p, text, length);
	put(p, "", 1);
	return length + 1;
}

static uint32_t put_name(struct plugin *p, const struct name *name, size_t max)
{
	return name ? put_text(p, name->text, text_fit(name->text, name->length, max))
		    : put_text(p, "", 0);
}

/* As in the other outputs, it is seen to be cut. */
static uint32_t put_string(struct plugin *p, const struct arg *arg)
{
	size_t length = text_fit(arg->s, arg->length, LIMIT_STRING);

	if (!arg->cut && length == arg->length)
		return put_text(p, arg->s, length);
	put(p, arg->s, length);
	return length + put_text(p, TEXT_CUT_MARK, sizeof(TEXT_CUT_MARK) - 1);
}

/* The message begins at `start` in the buffer and ends here. One that is too long never was. */
static int finish(struct plugin *p, size_t start, enum plugin_message message)
{
	const struct plugin_head head = { .size = p->used - start, .message = message };

	if (p->overrun || head.size > PLUGIN_MESSAGE_MAX) {
		p->overrun = false;
		p->used = start;
		return -EMSGSIZE;
	}
	memcpy(p->buffer + start, &head, sizeof(head));
	return 0;
}

static int put_owner(struct plugin *p, enum plugin_message message,
		     const struct plugin_owner *owner, const struct name *name)
{
	struct plugin_owner filled = *owner;
	int error = room(p);
	size_t start = p->used;

	if (error)
		return error;
	filled.name = name ? text_fit(name->text, name->length, LIMIT_NAME) + 1 : 1;
	put(p, &filled, sizeof(filled));
	put_name(p, name, LIMIT_NAME);
	return finish(p, start, message);
}

/* The timeline stamps events with the step, as two of their arguments. */
static void find_step(const struct arg *arg, struct plugin_event *e)
{
	if (!arg->key || arg->type != ARG_UINT)
		return;
	if (!strcmp(arg->key->text, "epoch"))
		e->epoch = arg->u;
	else if (!strcmp(arg->key->text, "batch"))
		e->batch = arg->u, e->stepped = 1;
}

static void put_arg_texts(struct plugin *p, const struct arg *arg, struct plugin_arg *wire)
{
	wire->key = put_name(p, arg->key, LIMIT_KEY);
	wire->type = arg->type;
	wire->value = arg->u;
	wire->length = arg->type == ARG_STRING ? put_string(p, arg) : 0;
}

/* What becomes of facts that have no name: one of ours, and the one number that they are about. */
struct number {
	const char *name;
	const char *key;
	uint64_t value;
};

static int put_event(struct plugin *p, enum plugin_message message, const struct fact *fact,
		     const struct number *number)
{
	struct plugin_arg wire[PLUGIN_ARGS] = { 0 };
	unsigned i, n = number ? 1 : fact->n_args;
	const struct arg *args = fact->args;
	struct plugin_event e = {
		.ts_ns = fact->ts_ns,
		.process = fact->process ? fact->process->uuid : 0,
		.thread = fact->thread ? fact->thread->uuid : 0,
		.id = fact->id,
		.is_start = fact->kind == FACT_BEGIN || fact->kind == FACT_ASYNC_BEGIN,
		.is_async = fact->kind == FACT_ASYNC_BEGIN || fact->kind == FACT_ASYNC_END,
		.is_complete = fact->end_reason == END_NORMAL,
		.scope = fact->scope,
	};
	size_t start, args_at;
	int error = room(p);

	if (error)
		return error;
	if (fact->kind == FACT_END || fact->kind == FACT_ASYNC_END) {
		e.begin_ns = fact->begin_ns;
		e.self_ns = fact->self_ns;
	}
	if (n > PLUGIN_ARGS)
		n = PLUGIN_ARGS;
	e.n_args = n;
	/* Their places: what they say comes when the texts are known. */
	start = p->used;
	put(p, &e, sizeof(e));
	args_at = p->used;
	put(p, wire, n * sizeof(wire[0]));
	e.name = number ? put_text(p, number->name, strlen(number->name))
			: put_name(p, fact->name, LIMIT_NAME);
	e.categories = put_name(p, fact->category, LIMIT_NAME);
	e.unit = put_name(p, fact->kind == FACT_COUNTER ? fact->tracks[0]->unit : NULL, LIMIT_NAME);
	for (i = 0; i < n && !number; i++) {
		put_arg_texts(p, &args[i], &wire[i]);
		find_step(&args[i], &e);
	}
	if (number) {
		wire[0] = (struct plugin_arg){ .type = ARG_UINT, .value = number->value };
		wire[0].key = put_text(p, number->key, strlen(number->key));
	}
	if (!p->overrun) {
		memcpy(p->buffer + start, &e, sizeof(e));
		memcpy(p->buffer + args_at, wire, n * sizeof(wire[0]));
		p->events++;
	}
	return finish(p, start, message);
}

static int put_number(struct plugin *p, const struct fact *fact, const char *name, const char *key,
		      uint64_t value)
{
	const struct number number = { name, key, value };

	return put_event(p, PLUGIN_INSTANT, fact, &number);
}

static int plugin_fact(struct handler *handler, const struct fact *fact)
{
	struct plugin *p = plugin_of(handler);
	struct plugin_owner owner = { 0 };

	switch (fact->kind) {
	case FACT_PROCESS:
		owner.uuid = fact->process->uuid;
		owner.id = fact->process->pid;
		return put_owner(p, PLUGIN_PROCESS, &owner, fact->process->name);
	case FACT_THREAD:
		owner.uuid = fact->thread->uuid;
		owner.process = fact->thread->process->uuid;
		owner.id = fact->thread->tid;
		return put_owner(p, PLUGIN_THREAD, &owner, fact->thread->name);
	case FACT_GONE:
		owner.uuid = fact->thread ? fact->thread->uuid : fact->process->uuid;
		return put_owner(p, PLUGIN_GONE, &owner, NULL);
	case FACT_BEGIN:
	case FACT_END:
	case FACT_ASYNC_BEGIN:
	case FACT_ASYNC_END:
		return put_event(p, PLUGIN_DURATION, fact, NULL);
	case FACT_INSTANT:
		return put_event(p, PLUGIN_INSTANT, fact, NULL);
	case FACT_COUNTER:
	case FACT_READING:
		return put_event(p, PLUGIN_COUNTER, fact, NULL);
	case FACT_FLOW_OUT:
		return put_number(p, fact, "flow out", "id", fact->id);
	case FACT_FLOW_IN:
		return put_number(p, fact, "flow in", "id", fact->id);
	case FACT_LOST:
		return put_number(p, fact, "events lost", "count", fact->count);
	case FACT_TRACK: /* each counter says its name and unit */
	case FACT_LEFT:
	case FACT_CLOCK:
	case FACT_SWITCH: /* what slices did stands among their arguments */
	case FACT_WAKING:
	case FACT_SCHED_GAP:
	case FACT_SAMPLE:
		return 0;
	}
	return 0;
}

static int put_plain(struct plugin *p, enum plugin_message message)
{
	const struct plugin_head head = { .size = sizeof(head), .message = message };
	int error = room(p);

	if (!error)
		put(p, &head, sizeof(head));
	return error;
}

static int plugin_flush(struct handler *handler)
{
	struct plugin *p = plugin_of(handler);
	int error = put_plain(p, PLUGIN_FLUSH);

	return error ? error : plugin_send(p);
}

static int plugin_close(struct handler *handler, const struct account *account)
{
	struct plugin *p = plugin_of(handler);
	const struct plugin_close end = {
		.head = { .size = sizeof(end), .message = PLUGIN_CLOSE },
		.marked = account->marked,
		.written = account->written,
		.lost = account_lost(account),
		.orderly = account->orderly,
	};
	int error = room(p);

	if (!error) {
		put(p, &end, sizeof(end));
		error = plugin_send(p);
	}
	if (error)
		return error;
	error = plugin_wait_for_reply(p);
	if (error)
		return error;
	plugin_bury(p, false);
	return p->stayed && !p->reply.error ? -ETIMEDOUT : plugin_reply_error(p);
}

static void plugin_free(struct handler *handler)
{
	struct plugin *p = plugin_of(handler);

	plugin_bury(p, true);
	free(p->library);
	free(p);
}

static const struct handler_ops plugin_ops = {
	.name = "plugin",
	.fact = plugin_fact,
	.flush = plugin_flush,
	.close = plugin_close,
	.free = plugin_free,
};

/* Only what is async-signal-safe, up to exec: that leaves nothing of ours in the new process. */
static _Noreturn void become_host(int socket)
{
	char fd[12], name[] = PLUGIN_HOST_NAME, *argv[] = { name, fd, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN); /* it ends when the recorder does, not before */
	setpriority(PRIO_PROCESS, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fcntl(socket, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", socket);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int start(struct plugin *p, const char *argument, const struct trace_info *info)
{
	struct plugin_open open = {
		.start_ns = info->start_ns,
		.start_realtime_ns = info->clock.realtime,
		.version = strlen(info->version) + 1,
		.library = strlen(p->library) + 1,
		.argument = strlen(argument) + 1,
	};
	int sockets[2], error;

	if (open.library + open.argument + open.version + sizeof(open) > PLUGIN_MESSAGE_MAX)
		return -ENAMETOOLONG;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	p->socket = sockets[0];
	p->pid = fork();
	if (!p->pid)
		become_host(sockets[1]);
	close(sockets[1]);
	if (p->pid < 0)
		return -errno;
	p->process = syscall(SYS_pidfd_open, p->pid, 0);
	put(p, &open, sizeof(open));
	put_text(p, info->version, open.version - 1);
	put_text(p, p->library, open.library - 1);
	put_text(p, argument, open.argument - 1);
	error = finish(p, 0, PLUGIN_OPEN);
	if (!error)
		error = plugin_send(p);
	if (!error)
		error = plugin_wait_for_reply(p);
	if (error)
		return error;
	error = plugin_reply_error(p);
	p->replied = error != 0;
	if (error)
		plugin_bury(p, false);
	return error;
}

int plugin_handler_new(const char *text, const struct trace_info *info,
		       struct handler **ret_handler, struct failure *f)
{
	struct plugin *p = calloc(1, sizeof(*p));
	const char *equals = strchr(text, '=');
	int error;

	if (!p)
		return failure_set(f, -ENOMEM, "cannot load", text, NULL);
	p->handler.ops = &plugin_ops;
	p->socket = p->process = -1;
	p->library = equals ? strndup(text, equals - text) : strdup(text);
	error = p->library ? start(p, equals ? equals + 1 : "", info) : -ENOMEM;
	if (error) {
		p->handler.error = error;
		plugin_failure(&p->handler, f);
		snprintf(f->what, sizeof(f->what), "cannot load");
		plugin_free(&p->handler);
		return error;
	}
	*ret_handler = &p->handler;
	return 0;
}

void plugin_json_file(struct handler *handler, const char *path)
{
	const struct plugin_head head = { 0 };
	struct plugin *p = plugin_of(handler);
	size_t length = strlen(path), start;

	if (handler->error || length > PLUGIN_MESSAGE_MAX / 2)
		return;
	handler->error = room(p);
	if (handler->error)
		return;
	start = p->used;
	put(p, &head, sizeof(head));
	put_text(p, path, length);
	handler->error = finish(p, start, PLUGIN_JSON_FILE);
}
