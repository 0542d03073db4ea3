/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any packets as the broker's answers. The input: packets, each behind a byte that says what was asked
 * for and how many descriptors come along, and two of its length, with the higher bits of that number.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "privilege/broker/client.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition)
{
	if (!condition)
		abort();
}

static void check_failure(const struct failure *f)
{
	must(memchr(f->what, '\0', sizeof(f->what)) && memchr(f->object, '\0', sizeof(f->object)));
	must(memchr(f->reason, '\0', sizeof(f->reason)) && memchr(f->hint, '\0', sizeof(f->hint)));
}

static int start(struct broker *b, struct failure *f)
{
	struct broker_loaded loaded;
	unsigned i;
	int error = receive_loaded(b, &loaded, f);

	if (error)
		return error;
	must(loaded.n_buffers && loaded.n_buffers <= MAX_BUFFERS);
	for (i = 0; i < loaded.n_buffers; i++)
		close(loaded.buffers[i]);
	close(loaded.shared_fd);
	close(loaded.holds_fd);
	for (i = 0; i < BROKER_TABLES; i++) {
		must((loaded.tables[i] >= 0) == loaded.has_tables);
		if (loaded.has_tables)
			close(loaded.tables[i]);
	}
	must((loaded.usdt_specs_fd >= 0) == loaded.has_usdt);
	if (loaded.has_usdt)
		close(loaded.usdt_specs_fd);
	for (i = 0; i < BROKER_UNWIND_MAPS; i++) {
		must((loaded.unwind[i] >= 0) == loaded.has_unwind);
		if (loaded.has_unwind)
			close(loaded.unwind[i]);
	}
	return 0;
}

static int ask_for(struct broker *b, unsigned what, struct failure *f)
{
	const struct broker_site site = { 1, 2, 3 };
	struct broker_target target = { 10, 20 };
	const unsigned one = 1;
	unsigned link;
	int fd;

	switch (what % 6) {
	case 0:
		return broker_identify(b, 10, &target, f);
	case 1:
		return broker_trace(b, &target, 1, f);
	case 2:
		fd = broker_open(b, BROKER_MAPS, &target, 0, 0, f);
		if (fd >= 0)
			must(!close(fd)); /* it is one, and ours */
		return fd < 0 ? fd : 0;
	case 3:
		return broker_attach(b, BROKER_MARKS, 0, b->socket, &site, 1, &link, f);
	case 4:
		memset(f, 0, sizeof(*f));
		return broker_detach(b, &one, 1, false);
	}
	return start(b, f);
}

static void drain(int socket)
{
	char packet[256];

	while (recv(socket, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		;
}

/* Both are the same program: a bool is one, whatever else is said. */
static void make_bools(uint8_t *reply)
{
	static const size_t offsets[] = {
		offsetof(struct reply, loaded.has_tables),
		offsetof(struct reply, loaded.has_unwind),
		offsetof(struct reply, loaded.uprobe_multi),
		offsetof(struct reply, loaded.can_loop),
		offsetof(struct reply, loaded.can_hold),
		offsetof(struct reply, loaded.confined),
		offsetof(struct reply, loaded.sample_cycles),
		offsetof(struct reply, loaded.optimised_nop),
		offsetof(struct reply, loaded.has_usdt),
		offsetof(struct reply, loaded.breaks_nop5),
		offsetof(struct reply, loaded.emulates_calls),
		offsetof(struct reply, loaded.return_sessions),
		offsetof(struct reply, loaded.holds_in_calls),
	};
	unsigned i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		reply[offsets[i]] &= 1;
}

static void answer_one(struct broker *b, int socket, unsigned how, unsigned n_fds,
		       const uint8_t *bytes, size_t size)
{
	static int fds[MESSAGE_MAX_FDS];
	uint8_t packet[sizeof(struct reply) + 8] = { 0 };
	struct failure f;
	unsigned i;
	int error;

	for (i = 0; i < MESSAGE_MAX_FDS; i++)
		fds[i] = socket;
	memset(&f, 0xff, sizeof(f));
	/* What is short is filled up, mostly: else nearly all of them were too short. */
	if (size > sizeof(packet))
		size = sizeof(packet);
	memcpy(packet, bytes, size);
	make_bools(packet);
	if (how & 0x80)
		size = sizeof(struct reply);
	if (!size)
		return;
	must(!message_send(socket, packet, size, NULL, 0, fds, n_fds % (MESSAGE_MAX_FDS + 1)));
	error = ask_for(b, how & 7, &f);
	must(error <= 0);
	if (error)
		check_failure(&f);
	drain(socket);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct broker b = { .socket = -1 };
	static int sockets[2];
	int lowest;

	if (b.socket < 0) {
		must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
		b.socket = sockets[1];
	}
	lowest = dup(sockets[0]);
	close(lowest);
	while (size > 3) {
		size_t n = data[1] | (data[2] & 7) << 8;
		unsigned n_fds = (data[0] >> 3 & 15) | data[2] >> 3 << 4;

		if (n > size - 3)
			n = size - 3;
		answer_one(&b, sockets[0], data[0], n_fds, data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
	must(dup(sockets[0]) == lowest); /* nothing stays open */
	close(lowest);
	return 0;
}
