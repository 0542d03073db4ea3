/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's loop: one request, one answer. */
#include "broker/server.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "broker/protocol.h"
#include "event.h"

struct packet {
	struct request request;
	struct broker_site sites[BROKER_MAX_SITES];
};

static int answer(int socket, int error, uint64_t birth, const struct failure *f, const int *fds,
		  unsigned n_fds)
{
	struct reply reply = { .error = error, .birth = birth };
	unsigned sent = 0;

	if (error)
		reply.failure = *f;
	do {
		unsigned n = n_fds - sent < MESSAGE_MAX_FDS ? n_fds - sent : MESSAGE_MAX_FDS;
		int e;

		reply.more = n_fds - sent - n;
		e = message_send(socket, &reply, sizeof(reply), NULL, 0, fds + sent, n);
		if (e)
			return e;
		sent += n;
	} while (sent < n_fds);
	return 0;
}

/*
 * The recorder reads bytes that nobody vouches for. Whoever takes it over shall reach no further than
 * the processes that the user asked for: those named, the command, and their children, which the
 * kernel's side puts into the map.
 */
static bool is_traced(const struct loaded_programs *programs, uint32_t pid)
{
	uint32_t flags;

	return !bpf_map_lookup_elem(programs->traced_fd, &pid, &flags);
}

static bool was_asked_for(const struct broker_config *config, int directory, pid_t pid)
{
	unsigned i;

	for (i = 0; i < config->n_pids; i++) {
		if (config->pids[i] == pid)
			return true;
	}
	return process_parent(directory) == getppid();
}

static int trace(const struct loaded_programs *programs, const struct broker_config *config,
		 const struct request *r, struct failure *f)
{
	const struct broker_target target = { r->pid, r->birth };
	uint32_t pid = r->pid, flags = r->what;
	int directory, error = 0;

	if (flags & ~(uint32_t)(TRACED_WATCH | TRACED_MARKS))
		return failure_set(f, -EINVAL, "refused request", "trace", NULL);
	directory = process_directory(&target, f);
	if (directory < 0)
		return directory;
	if (!is_traced(programs, pid) && !was_asked_for(config, directory, r->pid)) {
		close(directory);
		return failure_set(f, -EPERM, "refused request", "trace", NULL);
	}
	if (bpf_map_update_elem(programs->traced_fd, &pid, &flags, BPF_ANY))
		error = failure_set(f, -errno, "cannot trace the process", "", NULL);
	/*
	 * From now on its exit takes it out of the map. If it was gone before, nobody would, and the
	 * next process of that number were traced.
	 */
	if (!error && !process_alive(directory)) {
		bpf_map_delete_elem(programs->traced_fd, &pid);
		error = failure_set(f, -ESRCH, "the process has ended", "", "");
	}
	close(directory);
	return error;
}

static int identify(const struct request *r, uint64_t *ret_birth, struct failure *f)
{
	const struct broker_target target = { r->pid, 0 };
	int directory = process_directory(&target, f);

	if (directory < 0)
		return directory;
	*ret_birth = process_birth(directory);
	close(directory);
	return *ret_birth ? 0 : failure_set(f, -ESRCH, "the process has ended", "", "");
}

static int attach(const struct loaded_programs *programs, const struct packet *p, size_t size,
		  int elf_fd, int *links, unsigned *n_links, struct failure *f)
{
	const struct request *r = &p->request;

	if (!r->n_sites || r->n_sites > BROKER_MAX_SITES || r->what >= BROKER_PROGRAMS ||
	    elf_fd < 0 || r->pid < 0 || size != sizeof(*r) + r->n_sites * sizeof(p->sites[0]))
		return failure_set(f, -EINVAL, "refused request", "attach", NULL);
	return sites_attach(programs, r->what, r->pid, elf_fd, p->sites, r->n_sites, links, n_links,
			    f);
}

/* Returns an error only when the recorder cannot be answered any more. */
static int serve_one(int socket, const struct loaded_programs *programs,
		     const struct broker_config *config, struct packet *p, int *links)
{
	unsigned i, n_fds = 1, n_links = 0;
	struct failure f = { 0 };
	uint64_t birth = 0;
	size_t size = 0;
	int fd = -1, error;

	error = message_receive(socket, p, sizeof(*p), &size, &fd, &n_fds);
	if (error)
		return error;
	if (size < sizeof(p->request)) {
		error = failure_set(&f, -EINVAL, "refused request", "", NULL);
	} else if (p->request.kind == REQUEST_IDENTIFY) {
		error = identify(&p->request, &birth, &f);
	} else if (p->request.kind == REQUEST_TRACE) {
		error = trace(programs, config, &p->request, &f);
	} else if (p->request.kind == REQUEST_OPEN) {
		const struct broker_target target = { p->request.pid, p->request.birth };

		if (is_traced(programs, p->request.pid))
			links[0] = process_open(p->request.what, &target, p->request.start,
						p->request.end, &f);
		else
			links[0] = failure_set(&f, -ESRCH, "no such traced process", "", "");
		error = links[0] < 0 ? links[0] : 0;
		n_links = error ? 0 : 1;
	} else if (p->request.kind == REQUEST_ATTACH) {
		error = attach(programs, p, size, n_fds ? fd : -1, links, &n_links, &f);
	} else {
		error = failure_set(&f, -EINVAL, "refused request", "", NULL);
	}
	if (n_fds)
		close(fd);
	error = answer(socket, error, birth, &f, links, n_links);
	for (i = 0; i < n_links; i++)
		close(links[i]);
	return error;
}

void broker_serve(int socket, const struct broker_config *config)
{
	struct loaded_programs programs;
	struct reply reply = { 0 };
	struct packet *packet = malloc(sizeof(*packet));
	int *links = malloc(sizeof(*links) * BROKER_MAX_SITES);
	int fds[16];
	unsigned i, n_fds = 0;

	/* Ctrl-C in the terminal is for the recorder: it says when the end is there. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "proftrace-broker");

	if (!packet || !links)
		reply.error =
			failure_set(&reply.failure, -ENOMEM, "cannot start the broker", "", NULL);
	else
		reply.error = programs_load(config, &programs, &reply.loaded, fds, &n_fds,
					    &reply.failure);
	if (message_send(socket, &reply, sizeof(reply), NULL, 0, fds, n_fds) || reply.error)
		_exit(1);
	for (i = 0; i < n_fds; i++)
		close(fds[i]);
	while (!serve_one(socket, &programs, config, packet, links))
		;
	_exit(0);
}
