/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flood_broker KIND PID FILE [own [HZ]]
 *
 * What a recorder would do that was taken over: it has the broker attach to the markers of FILE for a process, prints
 * `attached N`, waits for a line of input, and sends requests as fast as they are taken. KIND is what it sends:
 *
 *	identify, open, attach, functions	these requests
 *	descriptors				with as many descriptors as a packet can have
 *	short					packets that are no request
 *	large					the largest packets, which are none either
 *
 * It reads no reply. Once the broker has ended it prints `requests N` and `ended MS`, the time since the first request
 * that was not taken at once; after 20 s it prints `hangs` instead. With KIND `read` it does read the replies, prints
 * `flooding` after the first 1000, and goes on until it is killed. With `own`, each process has its own links, as
 * without root. With KIND `bases` it has, for a quarter of a second and one reply after the other, the counters of the threads
 * that have a CPU sent, while samples are taken HZ times a second. It prints `sent N` and `ms N`. Exit status 2: it cannot be tried here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "counters/counters.h"
#include "privilege/broker/protocol.h"
#include "tracee/code/prove.h"
#include "tracee/markers.h"

#define PATIENCE_NS 20000000000ull

struct flood {
	struct broker *broker;
	int socket, process, elf_fd;
	struct broker_target target;
	struct broker_site sites[MARKERS_MAX_SITES];
	unsigned n_sites;
	uint64_t requests, replies;
};

static void stop_with(const struct failure *f)
{
	failure_print(f, stdout);
	exit(2);
}

static void start_broker(struct flood *flood, pid_t pid, bool own, bool counts, uint32_t hz)
{
	struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.own_only = own,
		.follow_children = !own,
		.functions = true,
		.prove = prove_functions,
		.sample_hz = hz,
		.pids = &pid,
		.n_pids = 1,
	};
	struct broker_loaded loaded;
	struct failure f = { 0 };

	config.batching = counts;
	if ((counts && counters_parse("task-clock", &config.counters, &f)) ||
	    broker_start(&config, &flood->broker, &loaded, &f) ||
	    broker_identify(flood->broker, pid, &flood->target, &f) ||
	    broker_trace(flood->broker, &flood->target, TRACED_MARKS, &f))
		stop_with(&f);
	flood->socket = broker_fd(flood->broker);
	flood->process = (int)syscall(SYS_pidfd_open, broker_pid(flood->broker), 0);
}

static void attach_markers(struct flood *flood, const char *path)
{
	struct marker_sites found = { 0 };
	struct failure f = { 0 };
	struct elf_file *elf;
	unsigned i, link;

	flood->elf_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (elf_file_open(flood->elf_fd, &elf, &f) || markers_find(elf, &found, &f))
		stop_with(&f);
	for (i = 0; i < found.n; i++) {
		if (found.sites[i].kind < RECORD_FLUSH)
			flood->sites[flood->n_sites++] =
				(struct broker_site){ found.sites[i].offset,
						      found.sites[i].semaphore_offset, i };
	}
	if (broker_attach(flood->broker, BROKER_MARKS, flood->target.pid, flood->elf_fd,
			  flood->sites, flood->n_sites, &link, &f))
		stop_with(&f);
	printf("attached %u\n", flood->n_sites);
	fflush(stdout);
	marker_sites_free(&found);
	elf_file_free(elf);
}

/* Sends one request of a kind. Returns 0 or negative errno. */
static int send_request(const struct flood *flood, const char *kind)
{
	static const char filler[BROKER_MAX_SITES * sizeof(struct broker_site)];
	struct request r = { .kind = REQUEST_IDENTIFY, .pid = flood->target.pid };
	const uint64_t vaddr = flood->sites[0].offset;
	int fds[MESSAGE_MAX_FDS];
	unsigned i;

	if (!strcmp(kind, "short"))
		return message_send(flood->socket, "x", 1, NULL, 0, NULL, 0);
	if (!strcmp(kind, "large"))
		return message_send(flood->socket, &r, sizeof(r), filler, sizeof(filler), NULL, 0);
	if (!strcmp(kind, "descriptors")) {
		for (i = 0; i < MESSAGE_MAX_FDS; i++)
			fds[i] = flood->elf_fd;
		return message_send(flood->socket, &r, sizeof(r), NULL, 0, fds, MESSAGE_MAX_FDS);
	}
	if (!strcmp(kind, "open")) {
		r.kind = REQUEST_OPEN;
		r.what = BROKER_MEMORY;
		r.birth = flood->target.birth;
	} else if (!strcmp(kind, "attach")) {
		r.kind = REQUEST_ATTACH;
		r.what = BROKER_MARKS;
		r.n_sites = flood->n_sites;
		return message_send(flood->socket, &r, sizeof(r), flood->sites,
				    flood->n_sites * sizeof(flood->sites[0]), &flood->elf_fd, 1);
	} else if (!strcmp(kind, "functions")) {
		r.kind = REQUEST_FUNCTIONS;
		r.n_sites = 1;
		return message_send(flood->socket, &r, sizeof(r), &vaddr, sizeof(vaddr),
				    &flood->elf_fd, 1);
	}
	return message_send(flood->socket, &r, sizeof(r), NULL, 0, NULL, 0);
}

static void read_replies(struct flood *flood)
{
	char reply[sizeof(struct reply)];

	while (recv(flood->socket, reply, sizeof(reply), MSG_DONTWAIT) > 0) {
		if (++flood->replies == 1000) {
			printf("flooding\n");
			fflush(stdout);
		}
	}
}

static bool broker_ended(const struct flood *flood, int wait_ms)
{
	struct pollfd p = { .fd = flood->process, .events = POLLIN };

	return poll(&p, 1, wait_ms) > 0;
}

static void run_flood(struct flood *flood, const char *kind)
{
	bool reads = !strcmp(kind, "read");
	uint64_t full_ns = 0;
	int error;

	fcntl(flood->socket, F_SETFL, O_NONBLOCK);
	for (;;) {
		error = send_request(flood, kind);
		flood->requests += !error;
		if (reads)
			read_replies(flood);
		if (!error)
			continue;
		if (error != -EAGAIN || broker_ended(flood, reads ? 0 : 1))
			break;
		full_ns = full_ns ? full_ns : clock_ns(CLOCK_MONOTONIC);
		if (!reads && clock_ns(CLOCK_MONOTONIC) - full_ns > PATIENCE_NS)
			break;
	}
	printf("requests %llu\n", (unsigned long long)flood->requests);
	if (broker_ended(flood, 5000))
		printf("ended %llu\n",
		       full_ns ? (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - full_ns) / 1000000
			       : 0);
	else
		printf("hangs\n");
	waitpid(broker_pid(flood->broker), NULL, WNOHANG);
	fflush(stdout);
}

static void send_bases(struct flood *flood)
{
	const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t now_ns = begin_ns;
	unsigned n = 0;

	while (now_ns - begin_ns < 250000000) {
		broker_send_bases(flood->broker);
		/* The second one would send them, too, if the process were not recorded already. */
		if (broker_trace(flood->broker, &flood->target, TRACED_WATCH, NULL) ||
		    broker_trace(flood->broker, &flood->target, TRACED_MARKS, NULL))
			exit(1);
		n++;
		now_ns = clock_ns(CLOCK_MONOTONIC);
	}
	printf("sent %u\nms %llu\n", n, (unsigned long long)(now_ns - begin_ns) / 1000000);
}

int main(int argc, char **argv)
{
	static struct flood flood;
	bool bases = argc > 1 && !strcmp(argv[1], "bases");
	char line[16];

	if (argc < 4)
		return 1;
	start_broker(&flood, (pid_t)atoi(argv[2]), argc > 4 && !strcmp(argv[4], "own"), bases,
		     argc > 5 ? (uint32_t)atoi(argv[5]) : 0);
	if (bases) {
		send_bases(&flood);
		return 0;
	}
	attach_markers(&flood, argv[3]);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	run_flood(&flood, argv[1]);
	return 0;
}
