/* SPDX-License-Identifier: BSD-2-Clause */
/* Other descriptors than those of the files of programs. */
#include "hijacked.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"

#define LINGERS_S 20

/* --- other descriptors --------------------------------------------------------------------------------- */

void ask_with_descriptors(void)
{
	const uint64_t vaddr = 0x1000;
	const struct request prove = { .kind = REQUEST_FUNCTIONS, .n_sites = 1 };
	int pipes[2], sockets[2], fds[16], many[MESSAGE_MAX_FDS];
	struct request r = { .kind = REQUEST_ATTACH, .pid = h.target, .n_sites = 1 };
	unsigned i, n = 0, j;
	struct reply reply;
	int received;

	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(1);
	fds[n++] = -1;
	fds[n++] = pipes[0];
	fds[n++] = pipes[1];
	fds[n++] = sockets[0];
	fds[n++] = h.socket;
	fds[n++] = h.loaded.shared_fd;
	fds[n++] = h.loaded.buffers[0];
	fds[n++] = open("/dev/zero", O_RDONLY);
	fds[n++] = open("/dev/null", O_WRONLY);
	fds[n++] = open("/", O_RDONLY | O_DIRECTORY);
	fds[n++] = open("/proc/self/mem", O_RDONLY);
	fds[n++] = open("/proc/self/exe", O_PATH);
	fds[n++] = memfd_create("empty", 0);
	for (i = 0; i < n; i++) {
		for (j = 0; j < BROKER_PROGRAMS; j++) {
			if (!attach(j, h.target, fds[i], &h.sites[0]))
				got("what is attached to descriptor", i);
		}
		if (!ask(&prove, &vaddr, sizeof(vaddr), fds[i]))
			got("the functions of descriptor", i);
	}
	/* As many as a packet may have: all but the first are closed. */
	for (i = 0; i < MESSAGE_MAX_FDS; i++)
		many[i] = h.elf_fd;
	r.what = BROKER_PROGRAMS;
	for (i = 0; i < 20; i++)
		ask_with(&r, sizeof(r), &h.sites[0], sizeof(h.sites[0]), many, MESSAGE_MAX_FDS,
			 &reply, &received);
}

/* --- what takes long to close --------------------------------------------------------------------------- */

/* Of a connection whose other end reads nothing. */
static int full_socket(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct linger linger = { 1, LINGERS_S };
	socklen_t size = sizeof(address);
	static char data[1 << 16];
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(fd, (struct sockaddr *)&address, size) ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		exit(2);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* The broker's descriptor is the last one. */
void send_lingering(void)
{
	const struct broker_target target = { h.target, 0 };
	const struct request r = { .kind = REQUEST_IDENTIFY, .pid = h.target };
	struct pollfd broker = { (int)syscall(SYS_pidfd_open, broker_pid(h.broker), 0), POLLIN, 0 };
	int fd = full_socket(), status = -1;
	unsigned link;

	if (broker_trace(h.broker, &target, TRACED_MARKS, NULL) ||
	    broker_attach(h.broker, BROKER_MARKS, h.target, h.elf_fd, h.sites, 1, &link, NULL))
		got("nothing to detach for process", h.target);
	kill(broker_pid(h.broker), SIGSTOP);
	if (message_send(h.socket, &r, sizeof(r), NULL, 0, &fd, 1))
		exit(1);
	close(fd);
	kill(broker_pid(h.broker), SIGCONT);
	h.sent++;
	shutdown(h.socket, SHUT_RDWR);
	if (!poll(&broker, 1, LINGERS_S * 1000 / 2))
		got("a broker that waits for a socket", fd);
	if (waitpid(broker_pid(h.broker), &status, 0) > 0)
		printf("ended %d\n", status);
}
