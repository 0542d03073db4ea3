/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as what the process sends that reads unwind tables: packets, each behind its size in two
 * bytes. Whatever comes, only complete and sorted tables with rules that exist are handed over, and
 * each request ends once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbols/unwind_rows.h"
#include "symbols/unwind_tables.h"
#include "base/packet.h"
#include "symbols/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint32_t n_rules, n_rows, rules, rows, next;
	unsigned requests, begun, ended;
};

static void must(bool good)
{
	if (!good)
		abort();
}

static bool see_begin(void *context, uint64_t base, uint32_t n_rules, uint32_t n_rows)
{
	struct seen *s = context;

	must(n_rules && n_rules <= UNWIND_RULES && n_rows && n_rows <= UNWIND_MAX_ROWS);
	must(s->begun++ < s->requests);
	s->n_rules = n_rules;
	s->n_rows = n_rows;
	s->rules = s->rows = s->next = 0;
	return base != 1;
}

static bool see_rules(void *context, const struct unwind_rule *rules, uint32_t n)
{
	struct seen *s = context;
	uint32_t i;

	s->rules += n;
	must(s->rules <= s->n_rules);
	for (i = 0; i < n; i++)
		must(rules[i].cfa < UNWIND_CFAS && rules[i].reg < UNWIND_REGISTERS);
	return true;
}

static bool see_rows(void *context, const struct unwind_row *rows, uint32_t n)
{
	struct seen *s = context;
	uint32_t i;

	s->rows += n;
	must(s->rules == s->n_rules && s->rows <= s->n_rows);
	for (i = 0; i < n; i++) {
		must(rows[i].rule < s->n_rules && rows[i].distance >= s->next);
		s->next = rows[i].distance + 1;
	}
	return s->rows != 3;
}

static void see_end(void *context, int error)
{
	struct seen *s = context;

	must(s->ended++ < s->requests && error <= 0);
	must(error || s->rows == s->n_rows);
}

/* Requests that a parser would have seen, or packets that nobody received. */
static void drop_packets(int socket)
{
	char bytes[64];

	while (recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { 0 };
	const struct unwind_table_sink sink = { see_begin, see_rules, see_rows, see_end, &seen };
	/* Kept for all inputs: to make and close them takes longer than most inputs do. */
	static int sockets[2] = { -1, -1 };
	struct unwind_tables *tables;

	must(sockets[0] >= 0 || !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	tables = unwind_tables_on(dup(sockets[0]), &sink);
	must(tables != NULL);
	while (size > 2) {
		size_t n = data[0] | data[1] << 8;

		if (seen.ended == seen.requests && !unwind_tables_request(tables, sockets[1])) {
			seen.requests++;
			drop_packets(sockets[1]);
		}
		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		if (n && send(sockets[1], data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		unwind_tables_receive(tables, UINT64_MAX);
		data += n;
		size -= n;
	}
	/* Too short for a packet, as the end of the process is. */
	must(send(sockets[1], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1);
	unwind_tables_receive(tables, UINT64_MAX);
	must(seen.ended == seen.requests);
	unwind_tables_free(tables);
	drop_packets(sockets[0]);
	return 0;
}
