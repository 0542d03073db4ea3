/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks of one job find each other by a socket in the directory of `proftrace ctl`, which only their user can enter.
 * Its name has the user, and a hash of what they have in common: the job, the options and the working directory. Who holds the
 * lock of the directory and finds nobody listening is the recorder. (Under sudo the directory is root's for all users.)
 *
 * A process is handed over as one packet: its PID and a socket for the reply. Without a reply, the rank records its
 * process itself. So nothing waits for a recorder that was killed.
 */
#include "record/control/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash_key.h"
#include "base/packet.h"
#include "capture/capture.h"
#include "privilege/invoker.h"
#include "record/control/control.h"
#include "record/record.h"
#include "tracee/rank.h"
#include "tracee/spawn.h"

#define JOB_REPLY_MS   30000	     /* the recorder may still be starting */
#define JOB_AWAITS_NS  2000000000ull /* from the start on, ranks are waited for */
#define JOB_ACCEPTS_NS 50000000ull   /* without anything else: as holds, capture/scans.c */
#define JOB_FILES      3
#define JOB_PREFIX     "job-"

struct job_request {
	int32_t pid;
};

struct job_reply {
	int32_t error; /* 0 or negative errno */
};

/* What makes two ranks ranks of one job. A launcher without any of these starts them all itself. */
static const char *const identities[] = { "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID",
					  "TORCHELASTIC_RUN_ID", "MASTER_PORT" };

static uint64_t add_text(uint64_t hash, const char *text)
{
	const uint64_t secret[2] = { hash, 0 };
	const struct hash_key key = hash_key_of(secret);

	return hash_bytes(&key, text, strlen(text));
}

static void job_set_name(struct job *job, const struct record_options *o)
{
	uint64_t hash = add_text(0, PROFTRACE_VERSION);
	char directory[4096], parent[24];
	bool identified = false;
	unsigned i;

	for (i = 0; i < sizeof(identities) / sizeof(identities[0]); i++) {
		const char *value = getenv(identities[i]);

		hash = add_text(hash, value ? value : "");
		identified |= value != NULL;
	}
	snprintf(parent, sizeof(parent), "%d", identified ? 0 : (int)getppid());
	hash = add_text(hash, parent);
	hash = add_text(hash, getcwd(directory, sizeof(directory)) ? directory : "");
	for (i = 0; i < o->n_arguments; i++)
		hash = add_text(hash, o->arguments[i]);
	/* Everybody can compute the hash, and with some effort make a job of the same one. */
	snprintf(job->name, sizeof(job->name), JOB_PREFIX "%u-%016" PRIx64, (unsigned)invoker_uid(),
		 hash);
}

/* Files of each rank, or steps of each rank, need a recorder for each. */
static bool job_can_share(const struct record_options *o)
{
	unsigned i;

	for (i = 0; i < o->n_outputs; i++) {
		if (strstr(o->outputs[i], "{rank}") || strstr(o->outputs[i], "{pid}") ||
		    !strcmp(o->outputs[i], "-"))
			return false;
	}
	return o->command && !o->per_rank && !o->rank && !o->no_children && !o->schedule.active;
}

static bool job_address(int directory, const char *name, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	return snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", directory,
			name) < (int)sizeof(ret->sun_path);
}

static int job_connect(int socket, int directory, const char *name)
{
	struct sockaddr_un address;

	if (!job_address(directory, name, &address))
		return -ENAMETOOLONG;
	return connect(socket, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
}

/* Removes the sockets of recorders that were killed, as launchers do when a rank fails. The lock is held. */
static void job_remove_stale(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!list && fd >= 0)
		close(fd);
	while (list && (entry = readdir(list))) {
		int trial = strncmp(entry->d_name, JOB_PREFIX, strlen(JOB_PREFIX))
				    ? -1
				    : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (trial < 0)
			continue;
		if (job_connect(trial, directory, entry->d_name) == -ECONNREFUSED)
			unlinkat(directory, entry->d_name, 0);
		close(trial);
	}
	if (list)
		closedir(list);
}

static bool job_listen(const struct job *job)
{
	struct sockaddr_un address;

	return job_address(job->directory, job->name, &address) &&
	       !bind(job->socket, (struct sockaddr *)&address, sizeof(address)) &&
	       !fcntl(job->socket, F_SETFL, O_NONBLOCK);
}

/* Connects to the recorder; if there is none, becomes it. */
static bool job_find_recorder(struct job *job)
{
	int lock = openat(job->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;

	job->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (lock < 0 || job->socket < 0 || flock(lock, LOCK_EX)) {
		job_close(job);
	} else {
		found = !job_connect(job->socket, job->directory, job->name);
		if (!found) {
			job_remove_stale(job->directory);
			if (!job_listen(job))
				job_close(job);
		}
	}
	if (lock >= 0)
		close(lock);
	return found;
}

/* This process still has its privileges, so it opens nothing for the recorder. */
static bool job_hand_over(const struct job *job, pid_t command)
{
	const struct timeval timeout = { .tv_sec = JOB_REPLY_MS / 1000 };
	const struct job_request request = { command };
	struct job_reply reply = { -EPIPE };
	struct pollfd ready;
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	setsockopt(job->socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	error = packet_send(job->socket, &request, sizeof(request), ends[1]);
	close(ends[1]);
	ready = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	if (!error && TEMP_FAILURE_RETRY(poll(&ready, 1, JOB_REPLY_MS)) > 0)
		packet_receive(ends[0], &reply, sizeof(reply), NULL);
	close(ends[0]);
	return !reply.error;
}

/*
 * Launchers bind each rank to CPUs of its own. The recorder of all ranks is not for the first one's: it would make this one slower
 * than the others. It takes those that the launcher itself may use.
 */
static void job_leave_cpus_of_rank(void)
{
	cpu_set_t cpus;

	if (!sched_getaffinity(getppid(), sizeof(cpus), &cpus))
		sched_setaffinity(0, sizeof(cpus), &cpus);
}

bool job_join(struct job *job, const struct record_options *o, struct command *command)
{
	struct failure f;
	bool taken;

	job->n_ranks = job_can_share(o) ? target_local_ranks() : 0;
	if (job->n_ranks < 2)
		return false;
	job->directory = control_own_directory();
	if (job->directory < 0)
		return false;
	job_set_name(job, o);
	job->n_came = 1;
	if (!job_find_recorder(job)) {
		if (job->n_ranks)
			job_leave_cpus_of_rank();
		return false;
	}
	/* If this fails, it fails again, and is reported, as this process records. */
	taken = !command_await(command, o->command[0], &f) && job_hand_over(job, command->pid);
	job->name[0] = '\0';
	job_close(job);
	return taken;
}

/* The recorder has the same command as the rank, and opens its files as the user. */
static int job_adopt(struct recording *r, pid_t pid, int socket, struct failure *f)
{
	int fds[JOB_FILES], error;
	unsigned n = command_files(r->options->command[0], fds, JOB_FILES);

	error = capture_adopt(r->capture, pid, socket, fds, n, f);
	while (n)
		close(fds[--n]);
	return error;
}

/* False: no other process is waiting. */
static bool job_accept_next(struct recording *r)
{
	struct job_request request;
	struct job_reply reply;
	struct failure f = { 0 };
	int socket, size;
	char line[128];

	size = packet_receive(r->job.socket, &request, sizeof(request), &socket);
	if (size == -EAGAIN)
		return false;
	reply.error = size == (int)sizeof(request) && socket >= 0
			      ? job_adopt(r, request.pid, socket, &f)
			      : -EPROTO;
	if (!reply.error) {
		r->job.n_came++;
		snprintf(line, sizeof(line), "process %d of the same job is recorded",
			 (int)request.pid);
		recording_log(r, 1, line);
	}
	if (socket < 0)
		return true;
	/* Whoever handed it over may be gone, and must not make the recorder wait. */
	fcntl(socket, F_SETFL, O_NONBLOCK);
	packet_send(socket, &reply, sizeof(reply), -1);
	close(socket);
	return true;
}

/*
 * All that are waiting: they begin at once, and not each behind what those before it are held for. Ranks wait for each other in
 * any case. But with very many, rings are read and signals seen in between.
 */
void job_accept(struct recording *r)
{
	const uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + JOB_ACCEPTS_NS;

	for (unsigned i = 0;
	     i < r->job.n_ranks && job_accept_next(r) && clock_ns(CLOCK_MONOTONIC) < until_ns; i++)
		;
}

bool job_is_awaited(const struct recording *r, uint64_t now_ns)
{
	return r->job.socket >= 0 && r->job.n_came < r->job.n_ranks &&
	       now_ns - r->started_ns < JOB_AWAITS_NS;
}

void job_close(struct job *job)
{
	/* In this order: the name may be another recorder's as soon as nobody listens. */
	if (job->directory >= 0 && job->name[0])
		unlinkat(job->directory, job->name, 0);
	if (job->socket >= 0)
		close(job->socket);
	if (job->directory >= 0)
		close(job->directory);
	job->socket = job->directory = -1;
}
