/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side of the socket. */
#include "broker/protocol.h"
#include "broker/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct broker {
	int socket;
	pid_t pid;
};

static int gone(struct failure *f, int error)
{
	return failure_set(f, error == -EPIPE ? -EPIPE : error, "cannot ask the broker", "",
			   error == -EPIPE ? "its process has ended" : NULL);
}

static int receive_reply(struct broker *b, struct reply *reply, int *fds, unsigned *n_fds,
			 struct failure *f)
{
	size_t size = 0;
	int error = message_receive(b->socket, reply, sizeof(*reply), &size, fds, n_fds);

	if (!error && (size != sizeof(*reply) || reply->error > 0))
		error = -EPROTO;
	if (error)
		return gone(f, error);
	if (reply->error && f) {
		*f = reply->failure;
		f->what[sizeof(f->what) - 1] = f->object[sizeof(f->object) - 1] = '\0';
		f->reason[sizeof(f->reason) - 1] = f->hint[sizeof(f->hint) - 1] = '\0';
	}
	return reply->error;
}

/* What does not belong to the answer it came with. */
static void close_all(const int *fds, unsigned n)
{
	while (n)
		close(fds[--n]);
}

/* The first packet: what the broker has loaded. */
static int take_loaded(struct broker *b, struct broker_loaded *ret_loaded, struct failure *f)
{
	unsigned i, n_fds = MESSAGE_MAX_FDS, n_maps = 2;
	int fds[MESSAGE_MAX_FDS], error;
	struct reply reply;

	error = receive_reply(b, &reply, fds, &n_fds, f);
	if (!error && reply.loaded.has_tables)
		n_maps += BROKER_TABLES;
	if (!error && reply.loaded.has_usdt)
		n_maps++;
	if (!error && (reply.loaded.n_links > BROKER_MAX_LINKS || !reply.loaded.n_buffers ||
		       reply.loaded.n_buffers > MAX_BUFFERS ||
		       n_fds != n_maps + reply.loaded.n_links + reply.loaded.n_buffers))
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
	ret_loaded->usdt_specs_fd = reply.loaded.has_usdt ? fds[n_maps - 1] : -1;
	for (i = 0; i < reply.loaded.n_links; i++)
		ret_loaded->links[i] = fds[n_maps + i];
	for (i = 0; i < reply.loaded.n_buffers; i++)
		ret_loaded->buffers[i] = fds[n_maps + reply.loaded.n_links + i];
	return 0;
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
	b->pid = fork();
	if (b->pid == 0) {
		close(sockets[0]);
		broker_serve(sockets[1], config);
	}
	error = b->pid < 0 ? -errno : 0;
	close(sockets[1]);
	b->socket = sockets[0];
	if (error) {
		b->pid = 0;
		broker_stop(b);
		return failure_set(f, error, "cannot start the broker", "", NULL);
	}
	error = take_loaded(b, ret_loaded, f);
	if (error) {
		broker_stop(b);
		return error;
	}
	*ret_broker = b;
	return 0;
}

void broker_stop(struct broker *b)
{
	if (!b)
		return;
	close(b->socket);
	if (b->pid > 0)
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(b);
}

int broker_fd(const struct broker *b)
{
	return b->socket;
}

pid_t broker_pid(const struct broker *b)
{
	return b->pid;
}

static int ask(struct broker *b, const struct request *request, const void *body, size_t body_size,
	       int fd, int *fds, unsigned *n_fds, struct reply *reply, struct failure *f)
{
	int error = message_send(b->socket, request, sizeof(*request), body, body_size, &fd,
				 fd >= 0 ? 1 : 0);

	if (error) {
		*n_fds = 0;
		return gone(f, error);
	}
	return receive_reply(b, reply, fds, n_fds, f);
}

int broker_identify(struct broker *b, pid_t pid, struct broker_target *ret_target,
		    struct failure *f)
{
	struct request request = { .kind = REQUEST_IDENTIFY, .pid = pid };
	struct reply reply;
	unsigned n_fds = 0;
	int error = ask(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, f);

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

	return ask(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, f);
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

	error = ask(b, &request, NULL, 0, -1, &fd, &n_fds, &reply, f);
	if (error) {
		close_all(&fd, n_fds);
		return error;
	}
	return n_fds == 1 ? fd : gone(f, -EPROTO);
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
	int error =
		ask(b, &request, sites, n_sites * sizeof(*sites), elf_fd, NULL, &n_fds, &reply, f);

	if (!error)
		*ret_link = reply.link;
	return error;
}

int broker_detach(struct broker *b, unsigned link)
{
	struct request request = { .kind = REQUEST_DETACH, .what = link };
	struct reply reply;
	unsigned n_fds = 0;

	return ask(b, &request, NULL, 0, -1, NULL, &n_fds, &reply, NULL);
}
