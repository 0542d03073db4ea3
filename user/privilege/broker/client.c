/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of the socket.
 *
 * The broker may block in the kernel, where nobody can interrupt it: it opens and reads files of
 * the recorded program, and the server of their file system may hang. So the recorder waits for
 * each reply with a time limit (await()). When the limit is over, it gives the broker up: it closes
 * its end of the socket, so that a late reply is never taken for another one. When the kernel lets
 * the broker continue, the broker finds the socket closed and exits, as it does when the recorder
 * dies. It is not killed, for the reason given in broker.h.
 */
#include "privilege/broker/protocol.h"
#include "privilege/broker/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICE_MS 100 /* the interval between two calls of `wants_end` */
#define HURRY	 20  /* if the user wants the end, the limit is divided by this, */
/* But is at least this many slices: a busy machine is not a silent file system. */
#define LEAST 30

/* Limits in seconds, which suffice on slow and busy machines too. */
#define QUICK_S	     10 /* identifying a process, opening a file */
#define ATTACH_S     60 /* plus a second for this many sites: */
#define SITES_EACH_S 20
#define PROVE_S	     120 /* more than the broker waits for a prover */
/*
 * Detaching BROKER_MAX_SITES perf events one after the other takes 8 minutes; no file system is
 * involved. Loading takes minutes if the processor is emulated.
 */
#define SLOW_S 1200

struct broker {
	int socket; /* -1: given up */
	pid_t pid;
	int process; /* a pidfd */
	bool given_up;
	bool attaching; /* what it was given up in: attaching, or detaching */
	uint64_t attach_ns;
	unsigned (*wants_end)(void *context);
	void *context;
};

/* The limit in slices, reduced if the user wants the end. */
static unsigned patience(const struct broker *b, unsigned slices)
{
	unsigned hurries = b->wants_end ? b->wants_end(b->context) : 0;

	for (; hurries && slices > LEAST; hurries--)
		slices = slices / HURRY > LEAST ? slices / HURRY : LEAST;
	return slices;
}

/*
 * The only place where the recorder waits for the broker: until `fd` is readable. It counts slices
 * instead of reading a clock, so that a recorder that was stopped meanwhile does not blame the
 * broker.
 */
static bool await(const struct broker *b, int fd, unsigned seconds)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned slices = seconds * (1000 / SLICE_MS), waited;

	for (waited = 0; poll(&p, 1, SLICE_MS) <= 0; waited++) {
		if (waited >= patience(b, slices))
			return false;
	}
	return true;
}

static unsigned limit_of(const struct request *request)
{
	if (request->kind == REQUEST_ATTACH)
		return ATTACH_S + request->n_sites / SITES_EACH_S;
	if (request->kind == REQUEST_FUNCTIONS)
		return PROVE_S;
	return request->kind == REQUEST_DETACH || request->kind == REQUEST_FIND ? SLOW_S : QUICK_S;
}

static int fail_no_reply(const struct broker *b, struct failure *f, int error)
{
	if (b->given_up) {
		failure_set(f, -EPIPE, "no answer from the broker", "",
			    "it waits for a file system, or for a process in the kernel");
		broker_hint(f);
		return -EPIPE;
	}
	/* It has ended, and did not read what was sent. */
	if (error == -ECONNRESET)
		error = -EPIPE;
	return failure_set(f, error, "no answer from the broker", "",
			   error == -EPIPE ? "its process has ended" : NULL);
}

static int give_up(struct broker *b, struct failure *f)
{
	close(b->socket);
	b->socket = -1;
	b->given_up = true;
	return fail_no_reply(b, f, -EPIPE);
}

/* `functions` receives the data that follows the reply; NULL: none may follow. */
static int receive_reply(struct broker *b, unsigned seconds, struct reply *reply, int *fds,
			 unsigned *n_fds, struct broker_functions *functions, struct failure *f)
{
	size_t size = 0, more = functions ? sizeof(functions->bytes) : 0;
	int error;

	if (!await(b, b->socket, seconds)) {
		*n_fds = 0;
		return give_up(b, f);
	}
	error = message_receive_parts(b->socket, reply, sizeof(*reply),
				      functions ? functions->bytes : NULL, more, &size, fds, n_fds);
	if (!error &&
	    (size < sizeof(*reply) || (size > sizeof(*reply) && !functions) || reply->error > 0))
		error = -EPROTO;
	if (!error && functions)
		functions->size = size - sizeof(*reply);
	if (error)
		return fail_no_reply(b, f, error);
	if (reply->error && f) {
		*f = reply->failure;
		f->what[sizeof(f->what) - 1] = f->object[sizeof(f->object) - 1] = '\0';
		f->reason[sizeof(f->reason) - 1] = f->hint[sizeof(f->hint) - 1] = '\0';
	}
	return reply->error;
}

/* Closes descriptors that came with an unexpected reply. */
static void close_all(const int *fds, unsigned n)
{
	while (n)
		close(fds[--n]);
}

/* Receives the first packet, which describes what the broker has loaded. */
static int receive_loaded(struct broker *b, struct broker_loaded *ret_loaded, struct failure *f)
{
	unsigned i, n_fds = MESSAGE_MAX_FDS, n_maps = 2, n_before;
	int fds[MESSAGE_MAX_FDS], error;
	struct reply reply;

	error = receive_reply(b, SLOW_S, &reply, fds, &n_fds, NULL, f);
	if (!error && reply.loaded.has_tables)
		n_maps += BROKER_TABLES;
	if (!error && reply.loaded.has_usdt)
		n_maps++;
	n_before = n_maps;
	if (!error && reply.loaded.has_unwind)
		n_maps += BROKER_UNWIND_MAPS;
	if (!error && (!reply.loaded.n_buffers || reply.loaded.n_buffers > MAX_BUFFERS ||
		       n_fds != n_maps + reply.loaded.n_buffers))
		error = failure_set(f, -EPROTO, "cannot start the broker", "", NULL);
	if (error) {
		close_all(fds, n_fds);
		return error;
	}
	*ret_loaded = reply.loaded;
	ret_loaded->shared_fd = fds[0];
	ret_loaded->holds_fd = fds[1];
	for (i = 0; i < BROKER_TABLES; i++)
		ret_loaded->tables[i] = reply.loaded.has_tables ? fds[2 + i] : -1;
	ret_loaded->usdt_specs_fd = reply.loaded.has_usdt ? fds[n_before - 1] : -1;
	for (i = 0; i < BROKER_UNWIND_MAPS; i++)
		ret_loaded->unwind[i] = reply.loaded.has_unwind ? fds[n_before + i] : -1;
	for (i = 0; i < reply.loaded.n_buffers; i++)
		ret_loaded->buffers[i] = fds[n_maps + i];
	return 0;
}

pid_t protected_fork(void)
{
	char name[16] = "";
	pid_t pid;

	/* Without root, the kernel lets nobody look into what is not dumpable, and processes of this name are counted (count.c). */
	if (getuid())
		return fork();
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, BROKER_NAME);
	pid = fork();
	if (pid)
		prctl(PR_SET_NAME, name);
	return pid;
}

int broker_start(const struct broker_config *config, struct broker **ret_broker,
		 struct broker_loaded *ret_loaded, struct failure *f)
{
	int sockets[2], error;
	struct broker *b = calloc(1, sizeof(*b));

	if (!b)
		return failure_set(f, -ENOMEM, "cannot start the broker", "", NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		error = -errno;
		free(b);
		return failure_set(f, error, "cannot start the broker", "", NULL);
	}
	b->pid = protected_fork();
	if (b->pid == 0) {
		close(sockets[0]);
		broker_serve(sockets[1], config);
	}
	error = b->pid < 0 ? -errno : 0;
	close(sockets[1]);
	b->socket = sockets[0];
	/* The filter of the recorder does not permit this later. */
	b->process = error ? -1 : (int)syscall(SYS_pidfd_open, b->pid, 0);
	if (!error && b->process < 0)
		error = -errno;
	if (error) {
		broker_stop(b, true);
		failure_set(f, error, "cannot start the broker", "", NULL);
		failure_hint_processes(f, error);
		return error;
	}
	error = receive_loaded(b, ret_loaded, f);
	if (error) {
		broker_stop(b, true);
		return error;
	}
	*ret_broker = b;
	return 0;
}

void broker_stop(struct broker *b, bool awaits)
{
	if (!b)
		return;
	if (!b->given_up)
		close(b->socket);
	/*
	 * If the broker has not exited yet, init reaps it, because the recorder is about to exit.
	 */
	if (b->pid > 0 && b->process >= 0 && !b->given_up && awaits)
		await(b, b->process, SLOW_S);
	if (b->pid > 0)
		waitpid(b->pid, NULL, b->process >= 0 ? WNOHANG : 0);
	if (b->process >= 0)
		close(b->process);
	free(b);
}

void broker_set_patience(struct broker *b, unsigned (*wants_end)(void *context), void *context)
{
	b->wants_end = wants_end;
	b->context = context;
}

uint64_t broker_attach_ns(const struct broker *b)
{
	return b->attach_ns;
}

bool broker_given_up(const struct broker *b)
{
	return b->given_up;
}

bool broker_given_up_attaching(const struct broker *b)
{
	return b->given_up && b->attaching;
}

void broker_hint(struct failure *f)
{
	failure_hint(
		f, "the broker exits and its probes are removed when the file system answers or is "
		   "unmounted by force (umount -f), or when the process that the kernel "
		   "waits for continues or ends");
}

int broker_fd(const struct broker *b)
{
	return b->socket;
}

pid_t broker_pid(const struct broker *b)
{
	return b->pid;
}

static int broker_request_data(struct broker *b, const struct request *request, const void *body,
			       size_t body_size, int fd, int *fds, unsigned *n_fds,
			       struct reply *reply, struct broker_functions *functions,
			       struct failure *f)
{
	int error = b->given_up ? -EPIPE : 0;

	if (!error)
		b->attaching = request->kind == REQUEST_ATTACH || request->kind == REQUEST_DETACH;
	if (!error)
		error = message_send(b->socket, request, sizeof(*request), body, body_size, &fd,
				     fd >= 0 ? 1 : 0);
	if (error) {
		*n_fds = 0;
		return fail_no_reply(b, f, error);
	}
	return receive_reply(b, limit_of(request), reply, fds, n_fds, functions, f);
}

static int broker_request(struct broker *b, const struct request *request, const void *body,
			  size_t body_size, int fd, int *fds, unsigned *n_fds, struct reply *reply,
			  struct failure *f)
{
	return broker_request_data(b, request, body, body_size, fd, fds, n_fds, reply, NULL, f);
}

int broker_identify(struct broker *b, pid_t pid, struct broker_target *ret_target,
		    struct failure *f)
{
	struct request request = { .kind = REQUEST_IDENTIFY, .pid = pid };
	struct reply reply;
	unsigned n_fds = 0;
	int error = broker_request(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, f);

	if (!error)
		*ret_target = (struct broker_target){ pid, reply.birth };
	return error;
}

int broker_trace(struct broker *b, const struct broker_target *target, uint32_t flags,
		 struct failure *f)
{
	struct request request = {
		.kind = REQUEST_TRACE, .what = flags, .pid = target->pid, .birth = target->birth
	};
	struct reply reply;
	unsigned n_fds = 0;

	return broker_request(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, f);
}

int broker_pause(struct broker *b, pid_t pid, uint32_t flags, struct failure *f)
{
	struct request request = { .kind = REQUEST_PAUSE, .what = flags, .pid = pid };
	struct reply reply;
	unsigned n_fds = 0;

	return broker_request(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, f);
}

void broker_send_bases(struct broker *b)
{
	struct request request = { .kind = REQUEST_BASES };
	struct reply reply;
	unsigned n_fds = 0;

	broker_request(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, NULL);
}

int broker_open(struct broker *b, enum broker_file what, const struct broker_target *target,
		uint64_t start, uint64_t end, struct failure *f)
{
	struct request request = {
		.kind = REQUEST_OPEN,
		.what = what,
		.pid = target->pid,
		.birth = target->birth,
		.start = start,
		.end = end,
	};
	struct reply reply;
	unsigned n_fds = 1;
	int fd, error;

	error = broker_request(b, &request, NULL, 0, -1, &fd, &n_fds, &reply, f);
	if (error) {
		close_all(&fd, n_fds);
		return error;
	}
	return n_fds == 1 ? fd : fail_no_reply(b, f, -EPROTO);
}

int broker_attach(struct broker *b, enum broker_program program, pid_t pid, int elf_fd,
		  const struct broker_site *sites, unsigned n_sites, unsigned *ret_link,
		  struct failure *f)
{
	struct request request = {
		.kind = REQUEST_ATTACH, .what = program, .pid = pid, .n_sites = n_sites
	};
	struct reply reply;
	unsigned n_fds = 0;
	int error = broker_request(b, &request, sites, n_sites * sizeof(*sites), elf_fd, NULL,
				   &n_fds, &reply, f);

	if (!error) {
		*ret_link = reply.link;
		b->attach_ns += reply.kernel_ns;
	}
	return error;
}

int broker_functions(struct broker *b, int elf_fd, const uint64_t *vaddrs, unsigned n,
		     struct broker_functions *ret, struct failure *f)
{
	struct request request = { .kind = REQUEST_FUNCTIONS, .n_sites = n };
	struct reply reply;
	unsigned n_fds = 0;

	return broker_request_data(b, &request, vaddrs, n * sizeof(*vaddrs), elf_fd, NULL, &n_fds,
				   &reply, ret, f);
}

int broker_find(struct broker *b, uint32_t **ret_pids, unsigned *ret_n, struct failure *f)
{
	struct request request = { .kind = REQUEST_FIND };
	struct broker_functions *data = calloc(1, sizeof(*data));
	struct reply reply;
	unsigned n_fds = 0;
	int error;

	*ret_pids = NULL;
	*ret_n = 0;
	if (!data)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	error = broker_request_data(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, data, f);
	if (error) {
		free(data);
		return error;
	}
	*ret_n = data->size / sizeof(**ret_pids);
	*ret_pids = (uint32_t *)data;
	return 0;
}

int broker_adopt(struct broker *b, pid_t pid, int socket, uint32_t flags, struct failure *f)
{
	struct request request = { .kind = REQUEST_ADOPT, .what = flags, .pid = pid };
	struct reply reply;
	unsigned n_fds = 0;

	return broker_request(b, &request, NULL, 0, socket, NULL, &n_fds, &reply, f);
}

void broker_container(struct broker *b, pid_t pid, char *name, size_t size)
{
	struct request request = { .kind = REQUEST_CONTAINER, .pid = pid };
	struct broker_functions *data = calloc(1, sizeof(*data));
	struct reply reply;
	unsigned n_fds = 0;

	name[0] = '\0';
	if (data &&
	    !broker_request_data(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, data, NULL) &&
	    data->size < size)
		snprintf(name, size, "%.*s", (int)data->size, (const char *)data->bytes);
	free(data);
}

int broker_detach(struct broker *b, const unsigned *links, unsigned n, bool later)
{
	struct request request = { .kind = REQUEST_DETACH, .what = later, .n_sites = n };
	struct reply reply;
	unsigned n_fds = 0;

	return broker_request(b, &request, links, n * sizeof(*links), -1, NULL, &n_fds, &reply,
			      NULL);
}
