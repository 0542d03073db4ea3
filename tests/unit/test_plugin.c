/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes to the process of a plug-in, whatever the texts of the facts are. That process is this program
 * again: it checks every message, and answers the last one with how many events there were.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "plugin/plugin.h"
#include "plugin/plugin_wire.h"

/* --- the other end ----------------------------------------------------------------------------- */

static bool receive(int socket, void *bytes, size_t size)
{
	return recv(socket, bytes, size, MSG_WAITALL) == (ssize_t)size;
}

/* A text with its NUL, and nothing behind that. */
static bool take(const char **at, const char *end, uint32_t size, size_t most)
{
	const char *text = *at;

	if (!size || size > (size_t)(end - text) || strnlen(text, size) != size - 1 ||
	    size - 1 > most)
		return false;
	*at += size;
	return true;
}

static bool is_event(const char *bytes, size_t size)
{
	const char *at = bytes + sizeof(struct plugin_event), *end = bytes + size;
	struct plugin_arg args[PLUGIN_ARGS];
	struct plugin_event e;
	unsigned i;

	if (size < sizeof(e))
		return false;
	memcpy(&e, bytes, sizeof(e));
	if (e.n_args > PLUGIN_ARGS || (size_t)(end - at) < e.n_args * sizeof(args[0]))
		return false;
	memcpy(args, at, e.n_args * sizeof(args[0]));
	at += e.n_args * sizeof(args[0]);
	if (!take(&at, end, e.name, LIMIT_NAME) || !take(&at, end, e.categories, LIMIT_NAME) ||
	    !take(&at, end, e.unit, LIMIT_NAME))
		return false;
	for (i = 0; i < e.n_args; i++) {
		if (!take(&at, end, args[i].key, LIMIT_KEY))
			return false;
		if (args[i].type == ARG_STRING &&
		    !take(&at, end, args[i].length, LIMIT_STRING + strlen(TEXT_CUT_MARK)))
			return false;
	}
	return at == end;
}

static bool is_owner(const char *bytes, size_t size)
{
	const char *at = bytes + sizeof(struct plugin_owner);
	struct plugin_owner owner;

	if (size < sizeof(owner))
		return false;
	memcpy(&owner, bytes, sizeof(owner));
	return take(&at, bytes + size, owner.name, LIMIT_NAME) && at == bytes + size;
}

/* Only this begins. What `error` says when it ends: the number of events, or -1. */
static int be_the_other_end(int socket)
{
	static char bytes[PLUGIN_MESSAGE_MAX];
	struct plugin_reply reply = { 0 };
	struct plugin_head head;

	while (receive(socket, &head, sizeof(head))) {
		if (head.size < sizeof(head) || head.size > sizeof(bytes))
			break;
		memcpy(bytes, &head, sizeof(head));
		if (!receive(socket, bytes + sizeof(head), head.size - sizeof(head)))
			break;
		if (head.message == PLUGIN_INSTANT || head.message == PLUGIN_DURATION)
			reply.error = reply.error < 0 || !is_event(bytes, head.size)
					      ? -EBADMSG
					      : reply.error + 1;
		else if (head.message == PLUGIN_PROCESS && !is_owner(bytes, head.size))
			reply.error = -EBADMSG;
		else if (head.message == PLUGIN_OPEN || head.message == PLUGIN_CLOSE)
			send(socket, &reply, sizeof(reply), MSG_NOSIGNAL);
	}
	return 0;
}

/* --- this one ---------------------------------------------------------------------------------- */

static struct name *name_of(size_t length)
{
	struct name *name = malloc(sizeof(*name) + length + 1);

	assert_non_null(name);
	*name = (struct name){ .id = 1, .length = (uint32_t)length };
	memset(name->text, 'n', length);
	name->text[length] = '\0';
	return name;
}

static struct consumer *open_plugin(void)
{
	const struct trace_info info = { .version = "1" };
	struct consumer *h = NULL;
	struct failure f = { 0 };

	assert_int_equal(plugin_new("./any.so", &info, &h, &f), 0);
	return h;
}

/* That all of them came, as they should be. */
static void close_plugin(struct consumer *h, int events)
{
	const struct account account = { 0 };
	int error = h->ops->close(h, &account);

	/* What is no errno is answered as -EIO; the number itself stands in the message. */
	if (events) {
		struct failure f = { 0 };
		char wanted[64];

		assert_int_equal(error, -EIO);
		h->error = error;
		plugin_failure(h, &f);
		snprintf(wanted, sizeof(wanted), "returned %d", events);
		assert_non_null(strstr(f.reason, wanted));
	} else {
		assert_int_equal(error, 0);
	}
	h->ops->free(h);
}

static void an_event_of_long_texts_fits(void **state)
{
	static const size_t lengths[] = { 0, 1, 255, 256, 257, 1024, 1025, 3072, 4096 };
	char *text = malloc(4096 + 1);
	struct consumer *h = open_plugin();
	struct arg args[EVENT_MAX_ARGS + 2];
	int events = 0;
	size_t i;

	(void)state;
	assert_non_null(text);
	memset(text, 's', 4096);
	text[4096] = '\0';
	for (i = 0; i < 20 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t length = lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
		struct name *name = name_of(length);
		struct process process = { .uuid = 7, .pid = 7, .name = name };
		struct fact fact = {
			.kind = FACT_INSTANT,
			.process = &process,
			.name = name,
			.category = name,
			.n_args = EVENT_MAX_ARGS + 2 * (i & 1),
			.args = args,
		};
		unsigned k;

		for (k = 0; k < fact.n_args; k++)
			args[k] = (struct arg){ .key = name,
						.type = ARG_STRING,
						.length = (uint32_t)length,
						.s = text + 4096 - length };
		assert_int_equal(h->ops->fact(h, &fact), 0);
		events++;
		fact.kind = FACT_PROCESS;
		assert_int_equal(h->ops->fact(h, &fact), 0);
		free(name);
	}
	close_plugin(h, events);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_of_long_texts_fits),
	};

	if (argc == 2 && !strcmp(argv[0], PLUGIN_HOST_NAME))
		return be_the_other_end(atoi(argv[1]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
