/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes the recorder may name. It may be hijacked, so only those count that the user asked for: those of the
 * command line, the command, those that match, and those that another proftrace hands over.
 *
 * The ranks of one job share a recorder (record/control/job.c). To hand a process over, the other proftrace makes a pair of
 * sockets and gives one end to the recorder, which shows it here. The kernel remembers who made a pair, and nobody can
 * make one in another's name; what is handed over is a child of that process, which waits for the answer.
 */
#include "privilege/broker/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privilege/broker/container_watch.h"

#define MAX_REQUESTED 65536

/* Another user could be made to look like one who hands over. 0: not a socket of ours. */
static pid_t socket_maker(int socket)
{
	struct ucred maker;
	socklen_t size = sizeof(maker);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) || size != sizeof(maker) ||
	    maker.uid != geteuid())
		return 0;
	return maker.pid;
}

/*
 * Any process may have made the sockets that root's recorder holds: who called it, or what reads its output. Without
 * root, the kernel shows nobody the program of a proftrace, and the user may look into what is handed over in any case.
 */
static bool is_proftrace(int directory)
{
	return geteuid() != 0 || runs_this_program(directory) > 0;
}

static bool is_open(int socket)
{
	struct pollfd other = { .fd = socket };

	return !poll(&other, 1, 0);
}

/* Returns the start of the process, or 0. */
static uint64_t find_handed_over(pid_t recorder, pid_t pid, int socket, struct failure *f)
{
	const struct broker_target maker = { socket_maker(socket), 0 }, target = { pid, 0 };
	int directory = -1, of_maker = -1;
	uint64_t birth = 0;

	if (maker.pid && maker.pid != recorder && maker.pid != getpid()) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/%d", (int)maker.pid);
		of_maker = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (of_maker >= 0 && is_proftrace(of_maker))
		directory = process_directory(&target, f);
	/* As long as its end is open, the number is not another's. */
	if (directory >= 0 && process_parent(directory) == maker.pid && is_open(socket))
		birth = process_birth(directory);
	if (directory >= 0)
		close(directory);
	if (of_maker >= 0)
		close(of_maker);
	return birth;
}

/* A number may be another's later, so each process has its start with it. */
int requested_init(struct requested *r, const struct broker_config *config,
		   const struct container_watch *watch)
{
	struct failure unused;
	unsigned i;

	*r = (struct requested){ .config = config, .watch = watch, .recorder = getppid() };
	r->list = calloc(config->n_pids + 1, sizeof(*r->list));
	if (!r->list)
		return -ENOMEM;
	for (i = 0; i < config->n_pids; i++) {
		const struct broker_target target = { config->pids[i], 0 };
		int directory = process_directory(&target, &unused);

		if (directory < 0)
			continue;
		r->list[r->n++] = (struct broker_target){ target.pid, process_birth(directory) };
		close(directory);
	}
	return 0;
}

int requested_adopt(struct requested *r, pid_t pid, int socket, uint64_t *ret_birth,
		    struct failure *f)
{
	struct broker_target *grown;
	uint64_t birth = 0;

	if (r->config->adopts && socket >= 0 && r->n < MAX_REQUESTED)
		birth = find_handed_over(r->recorder, pid, socket, f);
	if (!birth)
		return failure_set(f, -EPERM, "refused request", "adopt", NULL);
	grown = realloc(r->list, (r->n + 1) * sizeof(*grown));
	if (!grown)
		return failure_set(f, -ENOMEM, "refused request", "adopt", NULL);
	r->list = grown;
	r->list[r->n++] = (struct broker_target){ pid, birth };
	*ret_birth = birth;
	return 0;
}

/*
 * The broker is a child of the recorder, too, and its number may be on the command line: numbers are given out in order, so
 * that they can be guessed. (process_directory() refuses the brokers of all recorders.) The parent is asked for last: as long
 * as that is the recorder, the recorder's number was no other's.
 */
bool requested_has(const struct requested *r, int directory, pid_t pid)
{
	unsigned i;

	if (pid == getpid() || pid == r->recorder)
		return false;
	for (i = 0; i < r->n; i++) {
		if (r->list[i].pid == pid && r->list[i].birth &&
		    r->list[i].birth == process_birth(directory))
			return true;
	}
	if (r->config->targets &&
	    process_matches(r->config->targets, container_watch_found(r->watch), directory, pid))
		return true;
	return process_parent(directory) == r->recorder && getppid() == r->recorder;
}
