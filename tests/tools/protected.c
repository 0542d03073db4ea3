/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorder under sudo (SUDO_UID) that was taken over, whose command line had numbers that it guessed: those that its own
 * broker would get, and its children. It asks its broker for the memory of that broker, of the broker of another recorder
 * that it named, and of one that a recorded process starts. Prints `found N` for each process of which it tried to get
 * something, `got WHAT of WHOSE`, and `target 1` if it may read the process that it has named rightly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker/protocol.h"
#include "privilege/invoker.h"
#include "proftrace.skel.h"

#define GUESSES 64
#define MOST	128

static pid_t pids[MOST];
static unsigned n_pids;

static struct broker *start(void)
{
	const struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.follow_children = true,
		.sample_hz = 99,
		.pids = pids,
		.n_pids = n_pids,
	};
	struct proftrace_bpf__bss *shared;
	struct broker_loaded loaded;
	struct failure f = { 0 };
	struct broker *broker;

	if (broker_start(&config, &broker, &loaded, &f)) {
		failure_print(&f, stdout);
		exit(1);
	}
	shared = mmap(NULL, loaded.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      loaded.shared_fd, 0);
	if (shared == MAP_FAILED)
		exit(1);
	/* Children are followed. */
	shared->recording = 1;
	return broker;
}

/* Another recorder of root's. It starts its broker when it gets a byte, and says the number. */
struct other {
	pid_t pid;
	int order, answer;
};

static struct other other_new(void)
{
	int order[2], answer[2];
	struct other o;
	char byte;

	if (pipe(order) || pipe(answer))
		exit(1);
	o = (struct other){ fork(), order[1], answer[0] };
	if (o.pid) {
		close(order[0]);
		close(answer[1]);
		return o;
	}
	close(order[1]);
	n_pids = 0;
	if (read(order[0], &byte, 1) == 1) {
		struct broker *broker = start();
		const pid_t pid = broker_pid(broker);

		/* Until its order ends. */
		if (write(answer[1], &pid, sizeof(pid)) != sizeof(pid) || read(order[0], &byte, 1))
			exit(1);
		broker_stop(broker, true);
	}
	_exit(0);
}

static pid_t other_start(const struct other *o)
{
	pid_t broker = 0;

	if (write(o->order, "", 1) != 1 ||
	    read(o->answer, &broker, sizeof(broker)) != sizeof(broker))
		exit(1);
	return broker;
}

static bool get(struct broker *broker, pid_t pid, const char *whose)
{
	static const struct {
		enum broker_file what;
		const char *name;
	} files[] = { { BROKER_MAPS, "maps" }, { BROKER_MEMORY, "memory" } };
	const struct broker_target target = { pid, 0 };
	struct failure f = { 0 };
	unsigned n = !broker_trace(broker, &target, TRACED_MARKS, &f);

	if (n)
		printf("got trace of %s\n", whose);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const int fd = broker_open(broker, files[i].what, &target, 0, 0, &f);

		if (fd < 0)
			continue;
		printf("got %s of %s\n", files[i].name, whose);
		close(fd);
		n++;
	}
	return n == 3;
}

/* Of a broker and of the processes that it has forked. */
static void get_all(struct broker *broker, pid_t of, const char *whose)
{
	char path[64];
	FILE *file;
	int child;

	get(broker, of, whose);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)of, (int)of);
	file = fopen(path, "re");
	printf("found %d\n", (int)of);
	while (file && fscanf(file, "%d", &child) == 1) {
		printf("found %d\n", child);
		get(broker, child, whose);
	}
	if (file)
		fclose(file);
}

int main(void)
{
	const struct other named = other_new(), followed = other_new();
	const pid_t of_named = other_start(&named);
	struct broker *broker;
	struct failure f = { 0 };
	pid_t last = fork();

	if (!last)
		_exit(0);
	waitpid(last, NULL, 0);
	pids[n_pids++] = followed.pid;
	/* Its keeper and the others come next. */
	for (int i = 0; i < 8; i++)
		pids[n_pids++] = of_named + i;
	for (int i = 1; i <= GUESSES; i++)
		pids[n_pids++] = last + i;
	broker = start();
	if (invoker_become(&f) || !getuid()) {
		printf("not by sudo\n");
		return 1;
	}
	get_all(broker, broker_pid(broker), "its own broker");
	get_all(broker, of_named, "a broker with a number that was named");
	printf("target %d\n", get(broker, followed.pid, "the process that was named"));
	get_all(broker, other_start(&followed), "a broker that a recorded process has started");
	broker_stop(broker, true);
	close(named.order);
	close(followed.order);
	while (wait(NULL) > 0)
		;
	return 0;
}
