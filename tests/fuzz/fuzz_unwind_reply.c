/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as what the process sends that reads unwind tables: packets, each behind two bytes with its size, and a bit
 * that says that rows follow, so that short inputs are large packets, too. Whatever comes, only complete and sorted tables
 * with rules that exist are handed over, and each request ends once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbols/unwind_rows.h"
#include "symbols/unwind_tables.h"
#include "base/packet.h"
#include "symbols/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MAX_ROWS = SYMBOL_MAX_ROWS + 1, /* in a packet: too many */
	MAX_PACKETS = 64,		/* more than parsers may die */
};

/* Kept for all inputs: to make and close them takes longer than most inputs do. */
static int sockets[2], file = -1;

static struct {
	struct symbol_head head;
	struct unwind_row rows[MAX_ROWS];
} packet;

struct seen {
	uint32_t n_rules, n_rows, rules, rows, next;
	unsigned requests, ended;
	bool is_begun;
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
	must(s->ended < s->requests && !s->is_begun);
	s->is_begun = true;
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
	must(s->is_begun && s->rules <= s->n_rules);
	for (i = 0; i < n; i++)
		must(rules[i].cfa < UNWIND_CFAS && rules[i].reg < UNWIND_REGISTERS &&
		     rules[i].saved[UNWIND_FP] < UNWIND_SAVEDS &&
		     rules[i].saved[UNWIND_RBX] < UNWIND_SAVEDS);
	return true;
}

static bool see_rows(void *context, const struct unwind_row *rows, uint32_t n)
{
	struct seen *s = context;
	uint32_t i;

	s->rows += n;
	must(s->is_begun && s->rules == s->n_rules && s->rows <= s->n_rows);
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
	must(error || (s->is_begun && s->rows == s->n_rows));
	s->is_begun = false;
}

/* Bytes as a packet. To fill it up, as many rows follow as its head says. */
static size_t make_packet(const struct seen *s, const uint8_t *bytes, size_t size, bool fill)
{
	struct unwind_row *rows = packet.rows;
	uint32_t n, i;

	memcpy(&packet, bytes, size);
	if (!fill || size < sizeof(packet.head) || packet.head.kind != SYMBOL_ROWS ||
	    packet.head.n_lines > MAX_ROWS)
		return size;
	n = (uint32_t)((size - sizeof(packet.head)) / sizeof(*rows));
	for (i = n; i < packet.head.n_lines; i++) {
		rows[i].distance = i ? rows[i - 1].distance + 1 : s->next;
		rows[i].rule = 0;
	}
	return sizeof(packet.head) + packet.head.n_lines * sizeof(*rows);
}

/* Each packet is received at once, hence nothing is ever left in the sockets. */
static void send_packet(struct unwind_tables *tables, const void *bytes, size_t size)
{
	must(send(sockets[1], bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size);
	unwind_tables_receive(tables, 0);
}

static void request_table(struct unwind_tables *tables)
{
	struct symbol_request request;

	must(!unwind_tables_request(tables, file));
	must(recv(sockets[1], &request, sizeof(request), MSG_DONTWAIT) == sizeof(request));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { 0 };
	const struct unwind_table_sink sink = { see_begin, see_rules, see_rows, see_end, &seen };
	struct unwind_tables *tables;
	unsigned i;

	if (file < 0) {
		file = memfd_create("fuzz", MFD_CLOEXEC);
		must(file >= 0 && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	}
	tables = unwind_tables_on(dup(sockets[0]), &sink);
	must(tables != NULL);
	for (i = 0; i < MAX_PACKETS && size > 2 && unwind_tables_fd(tables) >= 0; i++) {
		size_t n = data[0] | (data[1] & 0x0f) << 8;
		bool fill = data[1] & 0x80;

		if (seen.ended == seen.requests) {
			request_table(tables);
			seen.requests++;
		}
		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		if (n)
			send_packet(tables, &packet, make_packet(&seen, data, n, fill));
		data += n;
		size -= n;
	}
	/* Too short for a packet, as the end of the process is. */
	if (unwind_tables_fd(tables) >= 0)
		send_packet(tables, "", 1);
	must(unwind_tables_fd(tables) < 0 && seen.ended == seen.requests);
	unwind_tables_free(tables);
	return 0;
}
