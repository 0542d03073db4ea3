/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Analyses the functions of one file in a process that has access to nothing but that file. The requested addresses
 * come from a recorder that may be compromised, so each is looked up among the symbols of the file.
 */
#include "tracee/code/prove.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "privilege/broker/protocol.h"
#include "privilege/prover/prover.h"
#include "tracee/code/file_functions.h"

#define PROVE_REPLY_NS \
	1000000000 /* a reply is sent after this time, with the functions analysed so far */

struct prove {
	int socket;
	struct file_functions file;
	struct {
		struct prover_request head;
		uint64_t vaddrs[PROVER_MAX_REQUESTED];
	} request;
	uint64_t reply[PROVER_MAX_REPLY / sizeof(uint64_t)];
	size_t used;
};

static void prove_put(struct prove *p, const void *bytes, size_t n)
{
	memcpy((uint8_t *)p->reply + p->used, bytes, n);
	p->used += n;
}

static void prove_put_refusal(struct prove *p, uint64_t vaddr, const char *why)
{
	const struct proved_function function = { .vaddr = vaddr, .refused = 1 };
	char text[PROVER_MAX_REFUSAL] = "";

	_Static_assert((int)PROVER_MAX_EXITS >= (int)FUNCTION_MAX_EXITS, "");
	snprintf(text, sizeof(text), "%s", why);
	prove_put(p, &function, sizeof(function));
	prove_put(p, text, sizeof(text));
}

static void prove_put_exits(struct prove *p)
{
	const struct file_functions *f = &p->file;
	const struct proved_function function = {
		.vaddr = f->parts[0].vaddr,
		.size = f->parts[0].size,
		.cold_vaddr = f->n_parts > 1 ? f->parts[1].vaddr : 0,
		.cold_size = f->n_parts > 1 ? f->parts[1].size : 0,
		.entry = f->exits.entry,
		.n_exits = f->exits.n,
	};

	prove_put(p, &function, sizeof(function));
	for (unsigned i = 0; i < f->exits.n; i++) {
		const struct function_exit *e = &f->exits.exits[i];
		const struct proved_exit said = {
			.vaddr = e->vaddr,
			.to = e->to,
			.target = e->target,
			.exit = e->exit,
			.condition = e->condition,
		};

		prove_put(p, &said, sizeof(said));
	}
}

/* False: the reply is full. */
static bool prove_function(struct prove *p, uint64_t vaddr)
{
	const struct elf_function *names;
	const char *why = NULL;
	unsigned i = 0, n;

	names = file_functions_at(&p->file, vaddr, &n);
	while (i < n && names[i].resolver)
		i++;
	if (i == n)
		why = "no function symbol has this address";
	if (!why)
		why = file_functions_exits(&p->file, names, n, p->request.head.rules);
	if (sizeof(p->reply) - p->used <
	    sizeof(struct proved_function) + PROVER_MAX_REFUSAL +
		    (why ? 0 : p->file.exits.n * sizeof(struct proved_exit)))
		return false;
	if (why)
		prove_put_refusal(p, vaddr, why);
	else
		prove_put_exits(p);
	return true;
}

static int prove_reply(struct prove *p)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	p->used = 0;
	for (unsigned i = 0; i < p->request.head.n; i++) {
		if (!prove_function(p, p->request.vaddrs[i]) ||
		    clock_ns(CLOCK_MONOTONIC) - begin > PROVE_REPLY_NS)
			break;
	}
	return message_send(p->socket, p->reply, p->used, NULL, 0, NULL, 0);
}

/* Asks the broker for the debug file, by the build id, and reads all symbols. */
static int prove_open_symbols(struct prove *p, const struct elf_file *elf)
{
	struct prover_hello hello = { .build_id_size = elf->build_id_size };
	unsigned n = 1;
	int debug = -1, error;
	size_t size;
	char byte;

	_Static_assert(sizeof(hello.build_id) == sizeof(elf->build_id), "");
	memcpy(hello.build_id, elf->build_id, elf->build_id_size);
	error = message_send(p->socket, &hello, sizeof(hello), NULL, 0, NULL, 0);
	error = error ?: message_receive(p->socket, &byte, sizeof(byte), &size, &debug, &n);
	return error ? error : file_functions_open(&p->file, elf, n ? debug : -1);
}

void prove_functions(int socket, int elf_fd)
{
	struct prove *p = calloc(1, sizeof(*p));
	struct elf_file *elf = NULL;
	size_t size;
	unsigned n;

	if (!p || elf_file_open(elf_fd, &elf, NULL))
		return;
	p->socket = socket;
	if (prove_open_symbols(p, elf))
		return;
	do {
		n = 0;
		if (message_receive(socket, &p->request, sizeof(p->request), &size, NULL, &n) ||
		    size < sizeof(p->request.head) || p->request.head.n > PROVER_MAX_REQUESTED ||
		    size != offsetof(__typeof__(p->request), vaddrs[p->request.head.n]))
			return;
	} while (!prove_reply(p));
}
