/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that are not requests. */
#include "hijacked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"

#define RANDOM 300 /* packets of random bytes, and requests with a random byte */

void ask_damaged(void)
{
	static unsigned char packet[sizeof(struct request) + 64 * sizeof(struct broker_site)];
	const uint32_t counts[] = { 0, 2, BROKER_MAX_SITES, BROKER_MAX_SITES + 1, UINT32_MAX };
	struct request r = { .pid = h.target };
	struct reply reply;
	unsigned i, j;
	int fd;

	for (i = 0; i < sizeof(r) + sizeof(struct broker_site); i++) {
		r.kind = 1 + i % 8;
		memcpy(packet, &r, sizeof(r));
		ask_with(packet, i ? i : 1, NULL, 0, NULL, 0, &reply, &fd);
		if (fd >= 0)
			got("a file by a packet of bytes", i);
	}
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (j = REQUEST_ATTACH; j <= REQUEST_FUNCTIONS; j++) {
			r.kind = j;
			r.n_sites = counts[i];
			if (!ask(&r, &h.sites[0], sizeof(h.sites[0]), h.elf_fd))
				got("a request with a wrong number", counts[i]);
		}
	}
	/* There are not that many links. */
	for (i = 0; i < 16; i++) {
		const uint32_t links[2] = { 1000 + i, (uint32_t)random_number() };

		r = (struct request){ .kind = REQUEST_DETACH, .n_sites = 2 };
		if (!ask(&r, links, sizeof(links), -1))
			got("a detached link", links[0]);
	}
}

static void scribble(void)
{
	unsigned i;

	for (i = 0; h.shared && i < h.loaded.shared_size; i++)
		h.shared[i] = (unsigned char)rand();
}

void ask_random(void)
{
	static unsigned char packet[sizeof(struct request) + 8 * sizeof(struct broker_site)];
	const struct request honest[] = {
		{ .kind = REQUEST_IDENTIFY, .pid = h.target },
		{ .kind = REQUEST_TRACE, .what = TRACED_MARKS, .pid = h.target },
		{ .kind = REQUEST_BASES },
		{ .kind = REQUEST_OPEN, .what = BROKER_MAPS, .pid = h.target },
		{ .kind = REQUEST_ATTACH, .what = BROKER_MARKS, .pid = h.target, .n_sites = 8 },
		{ .kind = REQUEST_DETACH, .n_sites = 1 },
		{ .kind = REQUEST_FUNCTIONS, .n_sites = 1 },
	};
	unsigned i, j;

	for (i = 0; i < RANDOM; i++) {
		size_t size = 1 + random_number() % sizeof(packet);
		int fd = i & 1 ? h.elf_fd : h.library_fd, received;
		struct reply reply;

		for (j = 0; j < sizeof(packet); j++)
			packet[j] = (unsigned char)rand();
		/* Every second one is a request of which one byte is another one. */
		if (i & 2) {
			const struct request *r = &honest[random_number() % 7];

			memcpy(packet, r, sizeof(*r));
			size = sizeof(*r) + (r->kind == REQUEST_ATTACH	    ? 8 * sizeof(h.sites[0])
					     : r->kind == REQUEST_DETACH    ? 4
					     : r->kind == REQUEST_FUNCTIONS ? 8
									    : 0);
			packet[random_number() % sizeof(*r)] = (unsigned char)rand();
		}
		ask_with(packet, size, NULL, 0, &fd, i & 4 ? 1 : 0, &reply, &received);
		if (received >= 0)
			close(received);
		if (i % 16 == 0)
			scribble();
	}
}

void send_too_much(const char *kind)
{
	static char large[1 << 20];
	int fds[2 * MESSAGE_MAX_FDS], size = sizeof(large);
	struct iovec iov = { large, 200000 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { 0 };
	struct cmsghdr *c;
	unsigned i;

	setsockopt(h.socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (!strcmp(kind, "descriptors")) {
		for (i = 0; i < 2 * MESSAGE_MAX_FDS; i++)
			fds[i] = h.elf_fd;
		iov.iov_len = sizeof(struct request);
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){ CMSG_LEN(sizeof(fds)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(c), fds, sizeof(fds));
	}
	if (sendmsg(h.socket, &msg, MSG_NOSIGNAL) < 0)
		printf("got nowhere: %s\n", strerror(errno));
	h.sent++;
}
