/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side of tables for walking stacks: checks everything that the parser sends. */
#include "symbols/unwind_tables.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/bare.h"
#include "symbols/unwind_rows.h"
#include "base/packet.h"
#include "symbols/wire.h"

enum {
	MAX_DIED = 32
}; /* parsers; then nothing is read any more */

struct unwind_tables {
	struct unwind_table_sink sink;
	pid_t supervisor;
	int socket; /* -1: no more */
	uint64_t request_id;
	unsigned died;
	bool is_busy;  /* a reply has not come yet, or not completely */
	bool is_begun; /* it has begun; before that even no rows at all would be a complete table */
	bool is_refused;
	uint32_t n_rules, rules_left, rows_left;
	uint32_t next_distance; /* of a row, at least */
};

union table_packet {
	struct symbol_head head;
	struct symbol_table_reply table;
	char bytes[sizeof(struct symbol_head) + SYMBOL_MAX_ROWS * sizeof(struct unwind_row)];
};

struct unwind_tables *unwind_tables_on(int socket, const struct unwind_table_sink *sink)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sink = *sink;
	t->socket = socket;
	return t;
}

int unwind_tables_new(const struct unwind_table_sink *sink, struct unwind_tables **ret)
{
	struct unwind_tables *t;
	int sockets[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	t = unwind_tables_on(sockets[0], sink);
	if (!t) {
		close(sockets[0]);
		close(sockets[1]);
		return -ENOMEM;
	}
	t->supervisor = bare_fork(sockets[1], symbols_supervisor, &sockets[1]);
	error = t->supervisor < 0 ? t->supervisor : 0;
	close(sockets[1]);
	if (error) {
		close(t->socket);
		free(t);
		return error;
	}
	*ret = t;
	return 0;
}

static void table_end(struct unwind_tables *t, int error)
{
	bool was_refused = t->is_refused;

	if (!t->is_busy)
		return;
	t->is_busy = t->is_begun = t->is_refused = false;
	t->rules_left = t->rows_left = 0;
	t->sink.end(t->sink.context, was_refused && !error ? -E2BIG : error);
}

static void tables_close(struct unwind_tables *t, int error)
{
	if (t->socket >= 0)
		close(t->socket);
	t->socket = -1;
	table_end(t, error);
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	if (t->socket >= 0)
		close(t->socket);
	while (t->supervisor && waitpid(t->supervisor, NULL, 0) < 0 && errno == EINTR)
		;
	free(t);
}

int unwind_tables_fd(const struct unwind_tables *t)
{
	return t->socket;
}

int unwind_tables_request(struct unwind_tables *t, int fd)
{
	struct symbol_request request = {
		.question = SYMBOL_ASK_ROWS,
		.request_id = t->request_id + 1,
	};
	int error;

	if (t->is_busy)
		return -EBUSY;
	if (t->socket < 0)
		return -EPIPE;
	error = packet_send(t->socket, &request, sizeof(request), fd);
	if (error)
		return error;
	t->request_id++;
	t->is_busy = true;
	return 0;
}

/* --- what comes ---------------------------------------------------------------------------------- */

/* Each returns 0 or -EPROTO. A table that the sink refuses is read to its end all the same. */
static int receive_table(struct unwind_tables *t, const union table_packet *packet, size_t size)
{
	const struct symbol_table_reply *r = &packet->table;

	if (size != sizeof(*r) || t->is_begun || r->error > 0)
		return -EPROTO;
	if (r->error) {
		table_end(t, r->error);
		return 0;
	}
	if (!r->n_rules || r->n_rules > UNWIND_RULES || !r->n_rows || r->n_rows > UNWIND_MAX_ROWS)
		return -EPROTO;
	t->is_begun = true;
	t->n_rules = t->rules_left = r->n_rules;
	t->rows_left = r->n_rows;
	t->next_distance = 0;
	t->is_refused = !t->sink.begin(t->sink.context, r->base, r->n_rules, r->n_rows);
	return 0;
}

static bool rule_is_valid(const struct unwind_rule *rule)
{
	return rule->cfa < UNWIND_CFAS && rule->reg < UNWIND_REGISTERS &&
	       rule->saved[UNWIND_FP] < UNWIND_SAVEDS && rule->saved[UNWIND_RBX] < UNWIND_SAVEDS;
}

static int receive_rules(struct unwind_tables *t, const union table_packet *packet, size_t size)
{
	struct unwind_rule rules[SYMBOL_MAX_RULES];
	uint32_t n = packet->head.n_lines, i;

	if (!t->is_begun || n > SYMBOL_MAX_RULES || n > t->rules_left ||
	    size != sizeof(packet->head) + n * sizeof(*rules))
		return -EPROTO;
	memcpy(rules, packet->bytes + sizeof(packet->head), n * sizeof(*rules));
	for (i = 0; i < n; i++) {
		if (!rule_is_valid(&rules[i]))
			return -EPROTO;
	}
	t->rules_left -= n;
	if (!t->is_refused)
		t->is_refused = !t->sink.rules(t->sink.context, rules, n);
	return 0;
}

static int receive_rows(struct unwind_tables *t, const union table_packet *packet, size_t size)
{
	struct unwind_row rows[SYMBOL_MAX_ROWS];
	uint32_t n = packet->head.n_lines, i;

	if (!t->is_begun || n > SYMBOL_MAX_ROWS || n > t->rows_left || t->rules_left ||
	    size != sizeof(packet->head) + n * sizeof(*rows))
		return -EPROTO;
	memcpy(rows, packet->bytes + sizeof(packet->head), n * sizeof(*rows));
	for (i = 0; i < n; i++) {
		if (rows[i].distance < t->next_distance || rows[i].distance == UINT32_MAX ||
		    rows[i].rule >= t->n_rules)
			return -EPROTO;
		t->next_distance = rows[i].distance + 1;
	}
	t->rows_left -= n;
	if (!t->is_refused)
		t->is_refused = !t->sink.rows(t->sink.context, rows, n);
	if (!t->rows_left)
		table_end(t, 0);
	return 0;
}

static int receive_packet(struct unwind_tables *t, const union table_packet *packet, size_t size)
{
	if (packet->head.kind == SYMBOL_DIED) {
		table_end(t, -EINVAL);
		return ++t->died < MAX_DIED ? 0 : -EPIPE;
	}
	if (!t->is_busy || packet->head.request_id != t->request_id)
		return 0; /* of a parser that died */
	switch (packet->head.kind) {
	case SYMBOL_TABLE:
		return receive_table(t, packet, size);
	case SYMBOL_RULES:
		return receive_rules(t, packet, size);
	case SYMBOL_ROWS:
		return receive_rows(t, packet, size);
	default:
		return -EPROTO;
	}
}

void unwind_tables_receive(struct unwind_tables *t, uint64_t until_ns)
{
	struct pollfd fd = { .fd = t->socket, .events = POLLIN };
	union table_packet packet;
	int n;

	while (t->socket >= 0 && poll(&fd, 1, 0) > 0) {
		n = packet_receive(t->socket, &packet, sizeof(packet), NULL);
		if (n < (int)sizeof(packet.head)) {
			tables_close(t, -EPIPE);
			return;
		}
		n = receive_packet(t, &packet, (size_t)n);
		if (n)
			tables_close(t, n);
		if (clock_ns(CLOCK_MONOTONIC) >= until_ns)
			return;
	}
}
