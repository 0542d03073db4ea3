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
 *	stopped		a request for functions, whose prover is stopped; then the recorder ends
 *	orphan		the socket is another process's, after the recorder has ended
 *
 * Prints `broker PID`, `sent N`, `found N` processes, `adopted 1` for a process that was handed over, `granted PROGRAM
 * OFFSET` for each place that the broker attached to, `got TEXT` for what nobody should get, `alive` if the broker does
 * what it should afterwards, and `through`. After a line of input it closes the socket and prints `ended STATUS`, how the
 * broker exited. Exit status 2: it cannot be tried here.
 */
#include "hijacked.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "privilege/loader/features.h"
#include "privilege/privileges.h"
#include "privilege/target_filter.h"
#include "proftrace.skel.h"
#include "tracee/code/prove.h"

struct hijacked h;

void got(const char *what, long number)
{
	printf("got %s %ld\n", what, number);
}

uint64_t random_number(void)
{
	return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

/* --- the socket --------------------------------------------------------------------------------------- */

int ask_with(const void *head, size_t head_size, const void *body, size_t body_size, const int *fds,
	     unsigned n_fds, struct reply *reply, int *ret_fd)
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

int ask(const struct request *r, const void *body, size_t body_size, int fd)
{
	struct reply reply;
	int received, error;

	error = ask_with(r, sizeof(*r), body, body_size, &fd, fd >= 0, &reply, &received);
	if (received >= 0)
		close(received);
	return error;
}

int attach(uint32_t program, pid_t pid, int fd, const struct broker_site *site)
{
	const struct request r = {
		.kind = REQUEST_ATTACH, .what = program, .pid = pid, .n_sites = 1
	};

	return ask(&r, site, sizeof(*site), fd);
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
	    !broker_detach(h.broker, &link, 1, false))
		printf("alive\n");
	else
		printf("%s: %s\n", f.what, f.reason);
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
	} else if (!strcmp(kind, "stopped")) {
		stop_prover();
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
