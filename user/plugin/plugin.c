/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of a plug-in: it encodes facts as messages and starts the host process.
 * Whatever the plug-in does happens in that process; the only replies are that it is ready, is
 * done, or has failed.
 */
#include "plugin/plugin_internal.h"

#include "privilege/bare.h"

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

/* Makes space for one message of at most PLUGIN_MESSAGE_MAX bytes. */
static int plugin_reserve(struct plugin *p)
{
	return p->used > BUFFER - PLUGIN_MESSAGE_MAX ? plugin_send(p) : 0;
}

/*
 * Texts are cut so that the space from plugin_reserve() suffices. If it does not all the same, the
 * message is dropped.
 */
static void plugin_put(struct plugin *p, const void *bytes, size_t size)
{
	if (p->overrun || size > BUFFER - p->used) {
		p->overrun = true;
		return;
	}
	memcpy(p->buffer + p->used, bytes, size);
	p->used += size;
}

static uint32_t plugin_put_text(struct plugin *p, const char *text, size_t length)
{
	plugin_put(p, text, length);
	plugin_put(p, "", 1);
	return length + 1;
}

static uint32_t plugin_put_name(struct plugin *p, const struct name *name, size_t max)
{
	return name ? plugin_put_text(p, name->text, text_fit(name->text, name->length, max))
		    : plugin_put_text(p, "", 0);
}

/* A string that was cut ends with a mark, as in the other outputs. */
static uint32_t plugin_put_string(struct plugin *p, const struct arg *arg)
{
	size_t length = text_fit(arg->s, arg->length, LIMIT_STRING);

	if (!arg->cut && length == arg->length)
		return plugin_put_text(p, arg->s, length);
	plugin_put(p, arg->s, length);
	return length + plugin_put_text(p, TEXT_CUT_MARK, sizeof(TEXT_CUT_MARK) - 1);
}

/* Completes the message that begins at `start` in the buffer; one that is too long is removed. */
static int plugin_finish_message(struct plugin *p, size_t start, enum plugin_message message)
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

static int plugin_put_owner(struct plugin *p, enum plugin_message message,
			    const struct plugin_owner *owner, const struct name *name)
{
	struct plugin_owner filled = *owner;
	int error = plugin_reserve(p);
	size_t start = p->used;

	if (error)
		return error;
	filled.name = name ? text_fit(name->text, name->length, LIMIT_NAME) + 1 : 1;
	plugin_put(p, &filled, sizeof(filled));
	plugin_put_name(p, name, LIMIT_NAME);
	return plugin_finish_message(p, start, message);
}

/* The timeline adds the training step to events as two arguments. */
static void copy_step_arg(const struct arg *arg, struct plugin_event *e)
{
	if (!arg->key || arg->type != ARG_UINT)
		return;
	if (!strcmp(arg->key->text, "epoch"))
		e->epoch = arg->u;
	else if (!strcmp(arg->key->text, "batch"))
		e->batch = arg->u, e->stepped = 1;
}

static void plugin_put_arg_texts(struct plugin *p, const struct arg *arg, struct plugin_arg *wire)
{
	wire->key = plugin_put_name(p, arg->key, LIMIT_KEY);
	wire->type = arg->type;
	wire->value = arg->u;
	wire->length = arg->type == ARG_STRING ? plugin_put_string(p, arg) : 0;
}

/* Facts without a name are passed on as instants with a name of ours and one number. */
struct number {
	const char *name;
	const char *key;
	uint64_t value;
};

static int plugin_put_event(struct plugin *p, enum plugin_message message, const struct fact *fact,
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
	int error = plugin_reserve(p);

	if (error)
		return error;
	if (fact->kind == FACT_END || fact->kind == FACT_ASYNC_END) {
		e.begin_ns = fact->begin_ns;
		e.self_ns = fact->self_ns;
	}
	if (n > PLUGIN_ARGS)
		n = PLUGIN_ARGS;
	e.n_args = n;
	/*
	 * Reserves the places of the event and its arguments, which are filled in when the lengths
	 * of the texts are known.
	 */
	start = p->used;
	plugin_put(p, &e, sizeof(e));
	args_at = p->used;
	plugin_put(p, wire, n * sizeof(wire[0]));
	e.name = number ? plugin_put_text(p, number->name, strlen(number->name))
			: plugin_put_name(p, fact->name, LIMIT_NAME);
	e.categories = plugin_put_name(p, fact->category, LIMIT_NAME);
	e.unit = plugin_put_name(p, fact->kind == FACT_COUNTER ? fact->tracks[0]->unit : NULL,
				 LIMIT_NAME);
	for (i = 0; i < n && !number; i++) {
		plugin_put_arg_texts(p, &args[i], &wire[i]);
		copy_step_arg(&args[i], &e);
	}
	if (number) {
		wire[0] = (struct plugin_arg){ .type = ARG_UINT, .value = number->value };
		wire[0].key = plugin_put_text(p, number->key, strlen(number->key));
	}
	if (!p->overrun) {
		memcpy(p->buffer + start, &e, sizeof(e));
		memcpy(p->buffer + args_at, wire, n * sizeof(wire[0]));
		p->events++;
	}
	return plugin_finish_message(p, start, message);
}

static int plugin_put_number(struct plugin *p, const struct fact *fact, const char *name,
			     const char *key, uint64_t value)
{
	const struct number number = { name, key, value };

	return plugin_put_event(p, PLUGIN_INSTANT, fact, &number);
}

static int plugin_fact(struct consumer *consumer, const struct fact *fact)
{
	struct plugin *p = plugin_of(consumer);
	struct plugin_owner owner = { 0 };

	switch (fact->kind) {
	case FACT_PROCESS:
		owner.uuid = fact->process->uuid;
		owner.id = fact->process->pid;
		return plugin_put_owner(p, PLUGIN_PROCESS, &owner, fact->process->name);
	case FACT_THREAD:
		owner.uuid = fact->thread->uuid;
		owner.process = fact->thread->process->uuid;
		owner.id = fact->thread->tid;
		return plugin_put_owner(p, PLUGIN_THREAD, &owner, fact->thread->name);
	case FACT_EXIT:
		owner.uuid = fact->thread ? fact->thread->uuid : fact->process->uuid;
		return plugin_put_owner(p, PLUGIN_EXIT, &owner, NULL);
	case FACT_BEGIN:
	case FACT_END:
	case FACT_ASYNC_BEGIN:
	case FACT_ASYNC_END:
		return plugin_put_event(p, PLUGIN_DURATION, fact, NULL);
	case FACT_INSTANT:
		return plugin_put_event(p, PLUGIN_INSTANT, fact, NULL);
	case FACT_COUNTER:
	case FACT_READING:
		return plugin_put_event(p, PLUGIN_COUNTER, fact, NULL);
	case FACT_FLOW_OUT:
		return plugin_put_number(p, fact, "flow out", "id", fact->id);
	case FACT_FLOW_IN:
		return plugin_put_number(p, fact, "flow in", "id", fact->id);
	case FACT_LOST:
		return plugin_put_number(p, fact, "events lost", "count", fact->count);
	case FACT_TRACK: /* every sample of a counter has its name and unit */
	case FACT_LEAK:
	case FACT_CLOCK:
	case FACT_SWITCH: /* how long threads ran is among the arguments of slices */
	case FACT_WAKING:
	case FACT_SCHED_GAP:
	case FACT_SAMPLE:
	case FACT_WAIT:
	case FACT_LABELS:
		return 0;
	}
	return 0;
}

static int plugin_put_head(struct plugin *p, enum plugin_message message)
{
	const struct plugin_head head = { .size = sizeof(head), .message = message };
	int error = plugin_reserve(p);

	if (!error)
		plugin_put(p, &head, sizeof(head));
	return error;
}

static int plugin_flush(struct consumer *consumer)
{
	struct plugin *p = plugin_of(consumer);
	int error = plugin_put_head(p, PLUGIN_FLUSH);

	return error ? error : plugin_send(p);
}

static int plugin_close(struct consumer *consumer, const struct account *account)
{
	struct plugin *p = plugin_of(consumer);
	const struct plugin_close end = {
		.head = { .size = sizeof(end), .message = PLUGIN_CLOSE },
		.marked = account->marked,
		.written = account->written,
		.lost = account_lost(account),
		.orderly = account->orderly,
	};
	int error = plugin_reserve(p);

	if (!error) {
		plugin_put(p, &end, sizeof(end));
		error = plugin_send(p);
	}
	if (error)
		return error;
	error = plugin_wait_for_reply(p);
	if (error)
		return error;
	plugin_stop(p, false);
	return p->stayed && !p->reply.error ? -ETIMEDOUT : plugin_reply_error(p);
}

static void plugin_free(struct consumer *consumer)
{
	struct plugin *p = plugin_of(consumer);

	plugin_stop(p, true);
	free(p->library);
	free(p);
}

static const struct consumer_ops plugin_ops = {
	.fact = plugin_fact,
	.flush = plugin_flush,
	.close = plugin_close,
	.free = plugin_free,
};

/* After fork() only async-signal-safe functions are called. */
static void exec_plugin_host(void *context)
{
	const int socket = *(const int *)context;
	char fd[12], name[] = PLUGIN_HOST_NAME, *argv[] = { name, fd, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN); /* it ends with the recorder, not before */
	setpriority(PRIO_PROCESS, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fcntl(socket, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", socket);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int plugin_start(struct plugin *p, const char *argument, const struct trace_info *info)
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
	p->pid = bare_fork(sockets[1], exec_plugin_host, &sockets[1]);
	close(sockets[1]);
	if (p->pid < 0)
		return p->pid;
	p->process = syscall(SYS_pidfd_open, p->pid, 0);
	plugin_put(p, &open, sizeof(open));
	plugin_put_text(p, info->version, open.version - 1);
	plugin_put_text(p, p->library, open.library - 1);
	plugin_put_text(p, argument, open.argument - 1);
	error = plugin_finish_message(p, 0, PLUGIN_OPEN);
	error = error ?: plugin_send(p);
	error = error ?: plugin_wait_for_reply(p);
	if (error)
		return error;
	error = plugin_reply_error(p);
	p->replied = error != 0;
	if (error)
		plugin_stop(p, false);
	return error;
}

int plugin_new(const char *text, const struct trace_info *info, struct consumer **ret_consumer,
	       struct failure *f)
{
	struct plugin *p = calloc(1, sizeof(*p));
	const char *equals = strchr(text, '=');
	int error;

	if (!p)
		return failure_set(f, -ENOMEM, "cannot load", text, NULL);
	p->consumer.ops = &plugin_ops;
	p->socket = p->process = -1;
	p->library = equals ? strndup(text, equals - text) : strdup(text);
	error = p->library ? plugin_start(p, equals ? equals + 1 : "", info) : -ENOMEM;
	if (error) {
		p->consumer.error = error;
		plugin_failure(&p->consumer, f);
		snprintf(f->what, sizeof(f->what), "cannot load");
		plugin_free(&p->consumer);
		return error;
	}
	*ret_consumer = &p->consumer;
	return 0;
}

void plugin_json_file(struct consumer *consumer, const char *path)
{
	const struct plugin_head head = { 0 };
	struct plugin *p = plugin_of(consumer);
	size_t length = strlen(path), start;

	if (consumer->error || length > PLUGIN_MESSAGE_MAX / 2)
		return;
	consumer->error = plugin_reserve(p);
	if (consumer->error)
		return;
	start = p->used;
	plugin_put(p, &head, sizeof(head));
	plugin_put_text(p, path, length);
	consumer->error = plugin_finish_message(p, start, PLUGIN_JSON_FILE);
}
