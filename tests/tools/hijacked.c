/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hijacked KIND own|all SEED TARGET FILE LIBRARY FOREIGN...
 *
 * What somebody would do who took over a recorder: with its code, its socket to the broker, and what is left of its
 * privileges. TARGET is the process that was asked for, FILE its program, which has markers, LIBRARY one that it and the
 * FOREIGN processes have mapped. KIND says what is sent:
 *
 *	requests	each request of the protocol: damaged, in a wrong order, for processes that were not asked for, for
 *			places inside instructions, with other descriptors than files, and random bytes; meanwhile the
 *			maps that the recorder has are overwritten with random bytes
 *	finds		processes that match, of which TARGET is one and FOREIGN are none: with -n bystander, or, without
 *			root, with -n '*'; then all of `requests` about the FOREIGN processes
 *	adopts		the FOREIGN processes, as if another recorder handed them over: by sockets that it did not make, by one
 *			whose maker hands over another process or its broker, and by one whose maker has closed its end
 *	waits		the last of the FOREIGN processes, when it has executed a program that is waited for (--wait, without root):
 *			it has a capability that its user has not
 *	large		a packet that is larger than any
 *	descriptors	a packet with more descriptors than any may have
 *	lingers		the last descriptor of a TCP socket whose data nobody reads, so that closing it takes half a minute; then
 *			the recorder ends
 *	orphan		the socket is another process's, after the recorder has ended
 *
 * Prints `broker PID`, `sent N`, `found N` processes, `adopted 1` for a process that was handed over, `granted PROGRAM OFFSET` for each place that the broker attached to, `got TEXT` for what
 * nobody should get, `alive` if the broker does what it should afterwards, and `through`. After a line of input it closes
 * the socket and prints `ended STATUS`, how the broker exited. Exit status 2: it cannot be tried here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "privilege/loader/features.h"
#include "privilege/broker/protocol.h"
#include "privilege/privileges.h"
#include "privilege/target_filter.h"
#include "proftrace.skel.h"
#include "tracee/code/prove.h"
#include "tracee/markers.h"

#define MOST_FOREIGN 16
#define LINGERS_S    20
#define RANDOM	     300 /* packets of random bytes, and requests with a random byte */

static struct {
	struct broker *broker;
	struct broker_loaded loaded;
	int socket, elf_fd, library_fd;
	bool own;
	pid_t target, foreign[MOST_FOREIGN];
	unsigned n_foreign;
	struct broker_site sites[MARKERS_MAX_SITES];
	unsigned n_sites;
	unsigned char *shared;
	uint64_t sent;
} h;

static void got(const char *what, long number)
{
	printf("got %s %ld\n", what, number);
}

static uint64_t random_number(void)
{
	return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

/* --- the socket --------------------------------------------------------------------------------------- */

/* Returns the error of the reply. *ret_fd: a descriptor that came with it, or -1. */
static int ask_with(const void *head, size_t head_size, const void *body, size_t body_size,
		    const int *fds, unsigned n_fds, struct reply *reply, int *ret_fd)
{
	static char rest[PROVER_MAX_REPLY];
	unsigned n = 1;
	size_t size;
	int error;

	*ret_fd = -1;
	error = message_send(h.socket, head, head_size, body, body_size, fds, n_fds);
	error = error
			?: message_receive_parts(h.socket, reply, sizeof(*reply), rest,
						 sizeof(rest), &size, ret_fd, &n);
	if (error) {
		printf("got no answer after %" PRIu64 " packets: %s\n", h.sent, strerror(-error));
		exit(1);
	}
	h.sent++;
	return reply->error;
}

static int ask(const struct request *r, const void *body, size_t body_size, int fd)
{
	struct reply reply;
	int received, error;

	error = ask_with(r, sizeof(*r), body, body_size, &fd, fd >= 0, &reply, &received);
	if (received >= 0)
		close(received);
	return error;
}

static int attach(uint32_t program, pid_t pid, int fd, const struct broker_site *site)
{
	const struct request r = {
		.kind = REQUEST_ATTACH, .what = program, .pid = pid, .n_sites = 1
	};

	return ask(&r, site, sizeof(*site), fd);
}

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

static void ask_about_others(void)
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

/* --- places that are none -------------------------------------------------------------------------------- */

static bool is_true_site(const struct broker_site *site)
{
	unsigned i;

	for (i = 0; i < h.n_sites; i++) {
		if (h.sites[i].offset == site->offset &&
		    h.sites[i].semaphore_offset == site->semaphore_offset)
			return true;
	}
	return false;
}

static void ask_places(void)
{
	unsigned i, step;
	int by;

	step = h.n_sites / 8 + 1;
	for (i = 0; i < h.n_sites; i += step) {
		for (by = -12; by <= 24; by++) {
			struct broker_site site = h.sites[i], other = h.sites[i];

			site.offset += (uint64_t)by;
			other.semaphore_offset += (uint64_t)by;
			if (!is_true_site(&site) &&
			    !attach(BROKER_MARKS, h.target, h.elf_fd, &site))
				got("a marker where there is none, moved by", by);
			if (!is_true_site(&other) &&
			    !attach(BROKER_MARKS, h.target, h.elf_fd, &other))
				got("a semaphore that is none, moved by", by);
			if (!attach(BROKER_FUNCTIONS, h.target, h.elf_fd, &site))
				got("a function that is not proved, moved by", by);
			if (!attach(BROKER_RETURNS, h.target, h.elf_fd, &site))
				got("a return probe where no function begins, moved by", by);
		}
	}
}

/* Bytes of the library that are those of a nop, most of them inside an instruction. */
static void ask_library(void)
{
	static unsigned char code[1 << 20];
	ssize_t n = pread(h.library_fd, code, sizeof(code), 0x28000);
	unsigned i, tries;

	for (tries = 0; n > 0 && tries < 200; tries++) {
		uint64_t from = random_number() % (uint64_t)n;
		const unsigned char *nop = memchr(code + from, 0x90, (size_t)n - from);
		struct broker_site site = { 0 };

		if (!nop)
			continue;
		site.offset = 0x28000 + (uint64_t)(nop - code);
		for (i = 0; i < BROKER_PROGRAMS; i++) {
			if (!attach(i, h.target, h.library_fd, &site))
				printf("granted %u 0x%016" PRIx64 "\n", i, site.offset);
		}
	}
}

/* --- other descriptors --------------------------------------------------------------------------------- */

static void ask_with_descriptors(void)
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

/* --- damaged requests ----------------------------------------------------------------------------------- */

static void ask_damaged(void)
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

static void ask_random(void)
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

static void ask_finds(void)
{
	struct request r = { .kind = REQUEST_FIND };
	unsigned i, n = 0, round;
	struct failure f = { 0 };
	uint32_t *pids;

	for (round = 0; round < 10; round++) {
		if (broker_find(h.broker, &pids, &n, &f)) {
			printf("%s: %s\n", f.what, f.reason);
			return;
		}
		h.sent++;
		for (i = 0; i < n; i++) {
			if (!is_to_be_found((pid_t)pids[i]))
				got("process, which does not match:", (long)pids[i]);
		}
		free(pids);
	}
	printf("found %u\n", n);
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

static int adopt(pid_t pid, int socket)
{
	const struct request r = { .kind = REQUEST_ADOPT, .pid = pid };

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
		pid_t child;

		prctl(PR_SET_NAME, name);
		child = fork();

		close(stop[1]);
		if (!child) {
			/* Until the other one is gone. */
			for (pid_t parent = getppid(); getppid() == parent;)
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

static void ask_adopts(void)
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

static void ask_waited(void)
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
static void send_lingering(void)
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

/* --- start and end -------------------------------------------------------------------------------------- */

static void find_markers(const char *path)
{
	struct marker_sites found = { 0 };
	struct failure f = { 0 };
	struct elf_file *elf;
	unsigned i;

	h.elf_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (elf_file_open(h.elf_fd, &elf, &f) || markers_find(elf, &found, &f)) {
		failure_print(&f, stdout);
		exit(1);
	}
	for (i = 0; i < found.n; i++) {
		if (found.sites[i].kind < RECORD_FLUSH)
			h.sites[h.n_sites++] =
				(struct broker_site){ found.sites[i].offset,
						      found.sites[i].semaphore_offset, i };
	}
	marker_sites_free(&found);
	elf_file_free(elf);
}

static void start(bool finds, bool adopts, bool waits)
{
	static struct target_filter filter;
	const struct broker_config config = {
		.targets = finds || waits ? &filter : NULL,
		.adopts = adopts,
		.buffer_bytes = 1 << 20,
		.own_only = h.own,
		.follow_children = !h.own,
		.usdt = true,
		.functions = true,
		.return_probes = h.own || kernel_has_return_sessions(),
		.prove = prove_functions,
		.pids = &h.target,
		.n_pids = 1,
	};
	struct failure f = { 0 };

	filter.waits = waits;
	if (target_filter_add_name(&filter, h.own ? "*" : "bystander"))
		exit(2);
	if (broker_start(&config, &h.broker, &h.loaded, &f)) {
		failure_print(&f, stdout);
		exit(2);
	}
	/* A recorder has none of its privileges any more when it reads the first byte. */
	if (h.own && privileges_keep(NULL, 0, false))
		exit(2);
	h.socket = broker_fd(h.broker);
	h.shared = mmap(NULL, h.loaded.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			h.loaded.shared_fd, 0);
	if (h.shared == MAP_FAILED)
		h.shared = NULL;
	if (waits && h.shared)
		((struct proftrace_bpf__bss *)h.shared)->recording = 1;
	printf("broker %d\n", (int)broker_pid(h.broker));
}

/* The broker still does what it is there for. */
static void be_honest(void)
{
	const struct broker_target target = { h.target, 0 };
	struct failure f = { 0 };
	unsigned link;

	if (!broker_trace(h.broker, &target, TRACED_MARKS, &f) &&
	    !broker_attach(h.broker, BROKER_MARKS, h.target, h.elf_fd, h.sites, 1, &link, &f) &&
	    !broker_detach(h.broker, &link, 1))
		printf("alive\n");
	else
		printf("%s: %s\n", f.what, f.reason);
}

static void send_too_much(const char *kind)
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

/* Its parent, the recorder, has ended: the broker takes no request of whoever has the socket. */
static void be_orphan(void)
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

int main(int argc, char **argv)
{
	struct pollfd p = { .events = POLLIN };
	const char *kind;
	int i, status = -1;
	char line[16];

	if (argc < 7 || argc > 7 + MOST_FOREIGN)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	kind = argv[1];
	h.own = !strcmp(argv[2], "own");
	srand((unsigned)atoi(argv[3]));
	h.target = (pid_t)atoi(argv[4]);
	find_markers(argv[5]);
	h.library_fd = open(argv[6], O_RDONLY | O_CLOEXEC);
	for (i = 7; i < argc; i++)
		h.foreign[h.n_foreign++] = (pid_t)atoi(argv[i]);
	start(!strcmp(kind, "finds"), !strcmp(kind, "adopts"), !strcmp(kind, "waits"));
	if (!strcmp(kind, "finds")) {
		ask_finds();
		ask_about_others();
		be_honest();
	} else if (!strcmp(kind, "requests")) {
		ask_about_others();
		ask_places();
		ask_library();
		ask_with_descriptors();
		ask_damaged();
		ask_random();
		ask_about_others();
		be_honest();
	} else if (!strcmp(kind, "adopts")) {
		ask_adopts();
		be_honest();
	} else if (!strcmp(kind, "waits")) {
		ask_waited();
		be_honest();
	} else if (!strcmp(kind, "lingers")) {
		send_lingering();
	} else if (!strcmp(kind, "orphan")) {
		be_orphan();
	} else {
		send_too_much(kind);
	}
	printf("sent %" PRIu64 "\nthrough\n", h.sent);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	shutdown(h.socket, SHUT_RDWR);
	p.fd = h.socket;
	poll(&p, 1, 1000);
	close(h.socket);
	if (strcmp(kind, "orphan") != 0 && waitpid(broker_pid(h.broker), &status, 0) > 0)
		printf("ended %d\n", status);
	return 0;
}
