/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that were not requested. */
#include "hijacked.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"

/* --- processes that nobody asked for -------------------------------------------------------------------- */

static void ask_about(pid_t pid)
{
	struct request r = { .pid = pid };
	struct reply reply;
	int fd;
	uint32_t i;

	for (i = 0; i < 8; i++) {
		r.kind = REQUEST_TRACE;
		r.what = i ? 1u << (i - 1) : UINT32_MAX;
		if (!ask(&r, NULL, 0, -1))
			got("the tracing of process", pid);
	}
	for (i = 0; i < BROKER_FILES + 2; i++) {
		r = (struct request){ .kind = REQUEST_OPEN, .what = i, .pid = pid, .end = 1 };
		if (!ask_with(&r, sizeof(r), NULL, 0, NULL, 0, &reply, &fd) || fd >= 0)
			got("a file of process", pid);
		if (fd >= 0)
			close(fd);
	}
	for (i = 0; i < BROKER_PROGRAMS + 2; i++) {
		if (!attach(i, pid, h.elf_fd, &h.sites[0]))
			got("what is attached for process", pid);
	}
}

void ask_about_others(void)
{
	const pid_t more[] = { 1,  getppid(), getpid(), broker_pid(h.broker),
			       -1, INT32_MIN, INT32_MAX };
	unsigned i;

	for (i = 0; i < h.n_foreign; i++)
		ask_about(h.foreign[i]);
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		ask_about(more[i]);
	if (h.own && !attach(BROKER_MARKS, 0, h.elf_fd, &h.sites[0]))
		got("what is attached for all processes", 0);
}

/* --- processes that match ------------------------------------------------------------------------------ */

static bool is_to_be_found(pid_t pid)
{
	char path[64], name[32] = "";
	struct stat st;
	FILE *file;

	if (pid == getpid() || pid == broker_pid(h.broker))
		return false;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (h.own)
		return stat(path, &st) || st.st_uid == getuid();
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	/* It may have ended since. */
	if (!file || !fgets(name, sizeof(name), file))
		strcpy(name, "bystander\n");
	if (file)
		fclose(file);
	return !strcmp(name, "bystander\n");
}

void ask_finds(void)
{
	struct request r = { .kind = REQUEST_FIND };
	unsigned i, n = 0, n_all = 0, round;
	struct failure f = { 0 };
	uint32_t *pids;

	/* Each is found once. */
	for (round = 0; round < 10; round++) {
		if (broker_find(h.broker, &pids, &n, &f)) {
			printf("%s: %s\n", f.what, f.reason);
			return;
		}
		h.sent++;
		n_all += n;
		for (i = 0; i < n; i++) {
			if (!is_to_be_found((pid_t)pids[i]))
				got("process, which does not match:", (long)pids[i]);
		}
		free(pids);
	}
	printf("found %u\n", n_all);
	/* Whatever else the request says, it selects nothing. */
	for (i = 0; i < 16; i++) {
		r.what = (uint32_t)random_number();
		r.pid = h.foreign[i % h.n_foreign];
		r.n_sites = BROKER_MAX_FOUND + 1;
		r.start = random_number();
		if (!ask(&r, &r.pid, sizeof(r.pid), -1))
			got("what is found by another condition", i);
	}
}

/* --- processes of other recorders -------------------------------------------------------------------- */

/* And recorded at once. */
static int adopt(pid_t pid, int socket)
{
	const struct request r = { .kind = REQUEST_ADOPT, .what = TRACED_MARKS, .pid = pid };

	return ask(&r, NULL, 0, socket);
}

/* Another recorder, with a child that it may hand over, unless that is its broker. Its end of the pair is closed when `*ret_stop` is closed. */
static int start_other_recorder(const char *name, pid_t *ret_maker, pid_t *ret_child, int *ret_stop)
{
	int meet[2], stop[2], pair[2], socket = -1;
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, meet) || pipe(stop))
		exit(2);
	*ret_maker = fork();
	if (!*ret_maker) {
		const pid_t parent = getpid();
		pid_t child;

		prctl(PR_SET_NAME, name);
		child = fork();

		close(stop[1]);
		if (!child) {
			/* Until the other one is gone, which may be so by now. */
			while (getppid() == parent)
				usleep(1000);
			_exit(0);
		}
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
			_exit(1);
		message_send(meet[1], &child, sizeof(child), NULL, 0, &pair[1], 1);
		close(pair[1]);
		_exit(read(stop[0], &byte, 1) != 0);
	}
	close(stop[0]);
	if (packet_receive(meet[0], ret_child, sizeof(*ret_child), &socket) != sizeof(*ret_child))
		exit(2);
	close(meet[0]);
	close(meet[1]);
	*ret_stop = stop[1];
	return socket;
}

void ask_adopts(void)
{
	pid_t maker, child, of[MOST_FOREIGN + 2];
	int pair[2], stop, socket = start_other_recorder("proftrace-broker", &maker, &child, &stop);
	unsigned i, n = h.n_foreign;

	memcpy(of, h.foreign, n * sizeof(*of));
	of[n++] = maker;
	of[n++] = getpid();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		exit(2);
	for (i = 0; i < n; i++) {
		const int sockets[] = { -1,	  STDIN_FILENO, STDOUT_FILENO, h.elf_fd,
					h.socket, pair[0],	socket };
		unsigned k;

		for (k = 0; k < sizeof(sockets) / sizeof(sockets[0]); k++) {
			if (!adopt(of[i], sockets[k]))
				got("a process that nobody handed over:", of[i]);
		}
	}
	if (!adopt(child, socket))
		got("the broker of another one:", child);
	close(stop);
	close(socket);
	waitpid(maker, NULL, 0);
	socket = start_other_recorder("proftrace", &maker, &child, &stop);
	if (!adopt(child, pair[0]))
		got("a process that another one has:", child);
	/* Without root, the kernel does not show such a child of a program with capabilities. */
	if (!h.own)
		printf("adopted %d\n", !adopt(child, socket));
	close(stop);
	waitpid(maker, NULL, 0);
	if (!adopt(child, socket))
		got("a process of a recorder that has ended:", child);
	close(socket);
	close(pair[0]);
	close(pair[1]);
}

/* --- a process that is waited for ---------------------------------------------------------------------- */

void ask_waited(void)
{
	const pid_t pid = h.foreign[h.n_foreign - 1];
	char path[32], name[32] = "";
	unsigned i;

	printf("waits\n");
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	while (strcmp(name, "privileged\n") != 0) {
		FILE *file = fopen(path, "re");

		if (!file || !fgets(name, sizeof(name), file))
			exit(2);
		fclose(file);
	}
	/* The kernel's side hears of it a moment later. */
	for (i = 0; i < 10; i++) {
		if (!attach(BROKER_MARKS, pid, h.elf_fd, &h.sites[0]))
			got("what is attached for a process with more privileges", pid);
		usleep(1000);
	}
	ask_about(pid);
}

/* --- a recorder that has ended ----------------------------------------------------------------------- */

/* Its parent, the recorder, has ended: the broker takes no request of whoever has the socket. */
void be_orphan(void)
{
	const struct request r = { .kind = REQUEST_IDENTIFY, .pid = h.target };
	pid_t recorder = getpid();
	char reply[sizeof(struct reply)];

	if (fork() > 0)
		_exit(0);
	while (getppid() == recorder)
		usleep(1000);
	if (!message_send(h.socket, &r, sizeof(r), NULL, 0, NULL, 0) &&
	    recv(h.socket, reply, sizeof(reply), 0) > 0)
		got("an answer for a recorder that has ended", recorder);
	h.sent++;
}
