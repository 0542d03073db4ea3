/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's loop: one request, one answer. */
#include "privilege/broker/server.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "privilege/broker/closing.h"
#include "privilege/broker/container_watch.h"
#include "privilege/broker/first_uprobe.h"
#include "privilege/broker/follow.h"
#include "privilege/broker/kept_copies.h"
#include "privilege/broker/protocol.h"
#include "privilege/confine.h"
#include "bpf/event.h"
#include "privilege/containers.h"
#include "privilege/loader/trial.h"
#include "privilege/privileges.h"
#include "proftrace.skel.h"

struct packet {
	struct request request;
	union {
		struct broker_site sites[BROKER_MAX_SITES];
		uint64_t vaddrs[PROVER_MAX_REQUESTED];
		uint32_t links[BROKER_MAX_SITES];
	};
};

/* The broker's own, and those of one request. */
struct server {
	int socket;
	int recorder;	      /* pidfd */
	pthread_mutex_t busy; /* held while a request is served, and by who ends the broker */
	const struct broker_config *config;
	struct requested requested;
	struct loaded_programs programs;
	struct links *links;
	struct first_uprobe first_uprobe;
	struct follow *follow; /* with broker_links_each() */
	struct container_watch *watch;
	uint64_t bases_ns; /* when counters were sent last */
	struct packet packet;
	int fds[(LINKS_TO_DECODE + 1) * BROKER_MAX_SITES];
	uint32_t found[BROKER_MAX_FOUND];
	char container_name[CONTAINER_NAME];
};

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

/*
 * Only what has flags has been looked at: a process that the user waits for is put into the map by the kernel's side, which does
 * not know of all privileges that a process may have.
 */
static bool is_recorded(const struct loaded_programs *programs, uint32_t pid)
{
	uint32_t flags;

	return !bpf_map_lookup_elem(programs->traced_fd, &pid, &flags) && flags;
}

/*
 * What the process has executed since somebody looked may be nothing for the user to see, and of that
 * nothing is recorded, not for a moment: a thread that has made one mark is not asked again. So the
 * process is put into the map without flags at first, of which the kernel's side takes no notice, but
 * when it executes something: then it goes out of the map if the user may not look into that. Only then
 * one looks once more, and gives flags to what is still in the map.
 */
static int watch_directory(const struct loaded_programs *programs, int directory, uint32_t pid,
			   struct failure *f)
{
	const uint32_t none = 0;
	bool is_new = !bpf_map_update_elem(programs->traced_fd, &pid, &none, BPF_NOEXIST);
	const char *reason;

	if (!is_new && errno != EEXIST)
		return failure_set(f, -errno, "cannot trace the process", "", NULL);
	reason = process_untraceable(directory);
	if (reason && !is_recorded(programs, pid))
		bpf_map_delete_elem(programs->traced_fd, &pid);
	if (reason)
		return failure_set(f, -EPERM, "not permitted to trace the process", "", reason);
	/*
	 * From now on its exit takes it out of the map. If it was gone before, nobody would, and the
	 * next process of that number were traced.
	 */
	if (process_alive(directory))
		return 0;
	/* It may be the directory of a thread that has ended; one that was in the map leaves it by its exit. */
	if (is_new)
		bpf_map_delete_elem(programs->traced_fd, &pid);
	return failure_set(f, -ESRCH, "the process has ended", "", "");
}

static int set_traced_flags(const struct loaded_programs *programs, uint32_t pid, uint32_t flags,
			    struct failure *f)
{
	if (!bpf_map_update_elem(programs->traced_fd, &pid, &flags, BPF_EXIST))
		return 0;
	if (errno == ENOENT)
		return failure_set(f, -EPERM, "not permitted to trace the process", "",
				   "it has executed a program with more rights");
	return failure_set(f, -errno, "cannot trace the process", "", NULL);
}

/*
 * Threads that have a CPU now, and keep it, send nothing by themselves. A kernel that cannot do this leaves their counters
 * unknown until the next tick. Each time every CPU is interrupted, whoever has it: no more often than the timers leave.
 */
static void send_bases(struct server *s)
{
	const uint64_t due_ns = s->bases_ns + s->programs.bases_gap_ns;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
	/* In a time namespace the kernel's clock is not the one to sleep by. */
	const struct timespec left = { (time_t)(left_ns / 1000000000),
				       (long)(left_ns % 1000000000) };
	const struct loaded_programs *programs = &s->programs;
	uint64_t no_timer = 0;
	int cpu, n = programs->base_fd < 0 ? 0 : libbpf_num_possible_cpus();

	if (n && left_ns)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &left, NULL);
	for (cpu = 0; cpu < n; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &no_timer,
			    .ctx_size_in = sizeof(no_timer), .flags = BPF_F_TEST_RUN_ON_CPU,
			    .cpu = (unsigned)cpu);

		bpf_prog_test_run_opts(programs->base_fd, &opts);
	}
	s->bases_ns = clock_ns(CLOCK_MONOTONIC);
}

static int trace_once(struct server *s, const struct broker_target *target, uint32_t flags,
		      struct failure *f)
{
	const struct loaded_programs *programs = &s->programs;
	uint32_t pid = (uint32_t)target->pid, before = 0;
	int directory, error;

	directory = process_directory(target, f);
	if (directory < 0)
		return directory;
	if (!is_traced(programs, pid) && !requested_has(&s->requested, directory, target->pid)) {
		error = process_alive(directory) ? -EPERM : -ESRCH;
		close(directory);
		return failure_set(f, error, "refused request", "trace", NULL);
	}
	error = watch_directory(programs, directory, pid, f);
	bpf_map_lookup_elem(programs->traced_fd, &pid, &before);
	/* A child of a process that is watched may have it already. */
	error = error ?: set_traced_flags(programs, pid, flags | (before & TRACED_MARKS), f);
	if (!error && flags & ~before & TRACED_MARKS)
		send_bases(s);
	close(directory);
	return error;
}

/* A thread by which the process was found may end, when its first one has ended. */
static int trace(struct server *s, const struct request *r, struct failure *f)
{
	const struct broker_target target = { r->pid, r->birth };
	int error = -ESRCH;

	if (!r->what || r->what & ~(uint32_t)(TRACED_WATCH | TRACED_MARKS | TRACED_BEGINS))
		return failure_set(f, -EINVAL, "refused request", "trace", NULL);
	for (unsigned i = 0; error == -ESRCH && i < PROCESS_TRIES; i++)
		error = trace_once(s, &target, r->what, f);
	return error;
}

/* Each rank of a job waits for its own, so it is one request. What is traced is the process that was proved. */
static int adopt(struct server *s, const struct request *r, int socket, struct failure *f)
{
	struct request adopted = *r;
	int error = requested_adopt(&s->requested, r->pid, socket, &adopted.birth, f);

	return error || !r->what ? error : trace(s, &adopted, f);
}

/*
 * Pauses or resumes one process, whose other flags stay. If it says something else of itself at this moment, either
 * of the two holds.
 */
static int pause_process(const struct loaded_programs *programs, const struct request *r,
			 struct failure *f)
{
	const uint32_t pid = r->pid, order = ~((1u << TRACED_ORDER_SHIFT) - 1);
	uint32_t flags;

	if (r->what & ~(order | TRACED_PAUSED))
		return failure_set(f, -EINVAL, "refused request", "pause", NULL);
	/* Without flags it is not recorded yet, and it may be that it must not be. */
	if (bpf_map_lookup_elem(programs->traced_fd, &pid, &flags) || !(flags & TRACED_KEPT))
		return failure_set(f, -ESRCH, "no such traced process", "", "");
	return set_traced_flags(programs, pid, (flags & TRACED_KEPT) | r->what, f);
}

static int identify(const struct server *s, const struct request *r, uint64_t *ret_birth,
		    struct failure *f)
{
	const struct broker_target target = { r->pid, 0 };
	int directory = process_directory(&target, f);

	if (directory < 0)
		return directory;
	*ret_birth = process_birth(directory);
	close(directory);
	if (!*ret_birth)
		return failure_set(f, -ESRCH, "the process has ended", "", "");
	return broker_links_each(s->config) ? process_check_first(r->pid, -EOPNOTSUPP, s->config, f)
					    : 0;
}

/*
 * For all processes only where children are followed, whose numbers nobody knows before, and what takes
 * batches, which may be handed over by a child that has a traced process's memory; for one only if it is
 * recorded, or about to be: then it is put into the map already, or nothing would tell that it executes a
 * program with more rights just before it is attached to.
 */
static int may_attach_for(const struct server *s, uint32_t what, pid_t pid, struct failure *f)
{
	const struct broker_target target = { pid, 0 };
	int directory, error;

	if (pid ? is_recorded(&s->programs, pid)
		: !s->config->own_only && (s->config->follow_children || what == BROKER_FLUSH))
		return 0;
	if (!pid)
		return failure_set(f, -EPERM, "refused request", "attach", NULL);
	directory = process_directory(&target, f);
	if (directory < 0)
		return directory;
	error = requested_has(&s->requested, directory, pid)
			? watch_directory(&s->programs, directory, pid, f)
			: failure_set(f, -EPERM, "refused request", "attach", NULL);
	close(directory);
	return error;
}

static int attach(struct server *s, size_t size, int elf_fd, struct reply *reply, struct failure *f)
{
	const struct packet *p = &s->packet;
	const struct request *r = &p->request;
	struct link_sites of = { 0 };
	unsigned n = 0;
	int error;

	if (!r->n_sites || r->n_sites > BROKER_MAX_SITES || r->what >= BROKER_PROGRAMS ||
	    elf_fd < 0 || r->pid < 0 || size != sizeof(*r) + r->n_sites * sizeof(p->sites[0]))
		return failure_set(f, -EINVAL, "refused request", "attach", NULL);
	error = may_attach_for(s, r->what, r->pid, f);
	if (!error && r->pid)
		error = process_check_first(r->pid, -EINVAL, s->config, f);
	if (error)
		return error;
	s->programs.attach_ns = 0;
	if (r->what == BROKER_FUNCTIONS || r->what == BROKER_RETURNS)
		elf_fd = functions_file(s->programs.provers, elf_fd);
	error = link_sites_init(&of, elf_fd, r->what, p->sites, r->n_sites,
				broker_links_each(s->config));
	if (error)
		return failure_set(f, error, "cannot attach", "", NULL);
	if (links_has(s->links, &of, r->pid, &reply->link)) {
		link_sites_free(&of);
		return 0;
	}
	error = links_may_add(s->links, &of, r->pid, f);
	if (error) {
		link_sites_free(&of);
		return error;
	}
	error = sites_attach(&s->programs, r->what, r->pid, elf_fd, p->sites, r->n_sites, s->fds,
			     &n, f);
	reply->kernel_ns = s->programs.attach_ns;
	if (!error) {
		error = links_add(s->links, &s->programs, &of, r->pid, s->fds, n, &reply->link);
		if (error)
			failure_set(f, error, "cannot attach", "", NULL);
	} else {
		links_give_back(s->links, &of);
		links_drop(s->links->closers, s->fds, n);
	}
	link_sites_free(&of);
	/* What it has executed meanwhile is known from the map here, or to follow.c after this. */
	if (!error && r->pid && !is_traced(&s->programs, r->pid)) {
		links_forget(s->links, r->pid);
		error = failure_set(f, -ESRCH, "no such traced process", "", "");
	}
	return error;
}

/* The answer comes behind the reply. *fd is -1 when it is kept. */
static int functions(struct server *s, size_t size, int *fd, const void **ret_answer,
		     size_t *ret_size, struct failure *f)
{
	const struct packet *p = &s->packet;
	const struct request *r = &p->request;
	int error;

	if (!s->programs.provers || !r->n_sites || r->n_sites > PROVER_MAX_REQUESTED || *fd < 0 ||
	    size != sizeof(*r) + r->n_sites * sizeof(p->vaddrs[0]))
		return failure_set(f, -EINVAL, "refused request", "functions", NULL);
	/* Nobody can compare all the code that a prover reads with the code that runs. */
	if (file_is_served(*fd))
		return failure_set(f, -EPERM, "cannot analyse functions", "",
				   "its file system (FUSE, 9p) could show other code than runs");
	error = provers_request(s->programs.provers, *fd, p->vaddrs, r->n_sites,
				(s->programs.breaks_nop5 ? PROVER_SKIPS_NOP5 : 0) |
					(s->programs.emulates_calls ? 0 : PROVER_NO_CALLS),
				ret_answer, ret_size, f);
	if (!error)
		*fd = -1;
	return error;
}

static int detach(struct server *s, size_t size, struct failure *f)
{
	const struct packet *p = &s->packet;
	unsigned n = p->request.n_sites;
	int error;

	if (!n || n > BROKER_MAX_SITES || p->request.what > 1 ||
	    size != sizeof(p->request) + n * sizeof(p->links[0]))
		return failure_set(f, -EINVAL, "refused request", "detach", NULL);
	error = links_close(s->links, p->links, n, p->request.what);
	return error ? failure_set(f, error, "cannot detach", "", NULL) : 0;
}

static int open_for(const struct server *s, const struct request *r, struct failure *f)
{
	const struct broker_target target = { r->pid, r->birth };
	int fd = -ESRCH;

	if (is_traced(&s->programs, r->pid))
		fd = process_open(r->what, &target, r->start, r->end, f);
	else /* or is not recorded any more, which is said where it is let go */
		failure_set(f, fd, "the process has ended", "", "");
	/* Or it has been through a program that the user may not look into, and this is of that. */
	if (fd >= 0 && !is_traced(&s->programs, r->pid)) {
		close(fd);
		fd = failure_set(f, -ESRCH, "the process has ended", "", "");
	}
	return fd;
}

static int container_unknown(const struct target_filter *filter, struct failure *f)
{
	failure_set(f, -ENOENT, "no container has the name", filter->containers[0], "");
	if (getuid())
		failure_hint(f, "only root may read what Docker, Podman, containerd and CRI-O call "
				"their containers: give its ID");
	else
		failure_hint(f,
			     "`--wait` waits for it; those of Podman without root are only found "
			     "by their ID");
	return -ENOENT;
}

/* What it forks from now on is followed. Whoever attaches to it hears why it may not be. */
static void watch_found(void *context, pid_t pid)
{
	const struct broker_target target = { pid, 0 };
	struct failure unused;
	int error = -ESRCH;

	for (unsigned i = 0; error == -ESRCH && i < PROCESS_TRIES; i++)
		error = trace_once(context, &target, TRACED_WATCH, &unused);
}

static int find(struct server *s, size_t size, const void **ret_answer, size_t *ret_size,
		struct failure *f)
{
	struct process_search search = {
		.filter = s->config->targets,
		.containers = container_watch_found(s->watch),
		.programs = &s->programs,
		.recorder = s->requested.recorder,
		.watch = watch_found,
		.context = s,
		.pids = s->found,
		.max = BROKER_MAX_FOUND,
	};
	int error;

	if (!s->config->targets || size != sizeof(s->packet.request))
		return failure_set(f, -EINVAL, "refused request", "find", NULL);
	if (s->watch && !s->config->targets->waits && !container_watch_found(s->watch)->n)
		return container_unknown(s->config->targets, f);
	error = processes_find(&search);
	if (error)
		return failure_set(f, error, "cannot read", "/proc", NULL);
	*ret_answer = s->found;
	*ret_size = search.n * sizeof(s->found[0]);
	return 0;
}

/* The name of the container that a traced process is in; nothing if it has none. */
static int name_container(struct server *s, const void **ret_answer, size_t *ret_size,
			  struct failure *f)
{
	const struct request *r = &s->packet.request;
	const struct broker_target target = { r->pid, r->birth };
	struct process_place place;
	int directory;

	if (!is_traced(&s->programs, r->pid))
		return failure_set(f, -ESRCH, "no such traced process", "", "");
	directory = process_directory(&target, f);
	if (directory < 0)
		return directory;
	process_place(directory, &place);
	close(directory);
	if (!place.container[0] || !container_find_name(place.container, s->container_name))
		return 0;
	*ret_answer = s->container_name;
	*ret_size = strlen(s->container_name);
	return 0;
}

/* The recorder has the memory of this mapped, too, and may write anything. It is for it. */
static void count_protected(const struct server *s)
{
	if (s->programs.shared)
		__atomic_store_n(&s->programs.shared->account[0][ACCOUNT_PROTECTED],
				 processes_protected(), __ATOMIC_RELAXED);
}

/* Returns an error only when the recorder cannot be answered any more. */
static int serve_one(struct server *s)
{
	const struct request *r = &s->packet.request;
	struct reply reply = { 0 };
	struct failure *f = &reply.failure;
	unsigned n_fds = 1;
	int fd = -1, opened = -1, error;
	size_t size = 0, answer_size = 0;
	const void *answer = NULL;

	error = message_receive(s->socket, &s->packet, sizeof(s->packet), &size, &fd, &n_fds);
	if (error)
		return error;
	if (!n_fds)
		fd = -1;
	/* Its end of the socket may have come to another process. Nor do endless requests keep away who ends the broker. */
	if (getppid() != s->requested.recorder || links_ended(s->links)) {
		if (fd >= 0)
			close(fd);
		return -EPIPE;
	}
	pthread_mutex_lock(&s->busy);
	if (size < sizeof(*r) || (r->kind <= REQUEST_OPEN && size != sizeof(*r))) {
		reply.error = failure_set(f, -EINVAL, "refused request", "", NULL);
	} else if (r->kind == REQUEST_IDENTIFY) {
		reply.error = identify(s, r, &reply.birth, f);
	} else if (r->kind == REQUEST_TRACE) {
		reply.error = trace(s, r, f);
	} else if (r->kind == REQUEST_PAUSE) {
		reply.error = pause_process(&s->programs, r, f);
	} else if (r->kind == REQUEST_BASES) {
		send_bases(s);
	} else if (r->kind == REQUEST_OPEN) {
		opened = open_for(s, r, f);
		reply.error = opened < 0 ? opened : 0;
	} else if (r->kind == REQUEST_ATTACH) {
		reply.error = attach(s, size, fd, &reply, f);
	} else if (r->kind == REQUEST_FUNCTIONS) {
		reply.error = functions(s, size, &fd, &answer, &answer_size, f);
	} else if (r->kind == REQUEST_FIND) {
		reply.error = find(s, size, &answer, &answer_size, f);
	} else if (r->kind == REQUEST_DETACH) {
		reply.error = detach(s, size, f);
	} else if (r->kind == REQUEST_ADOPT) {
		reply.error = adopt(s, r, fd, f);
	} else if (r->kind == REQUEST_CONTAINER) {
		reply.error = name_container(s, &answer, &answer_size, f);
	} else {
		reply.error = failure_set(f, -EINVAL, "refused request", "", NULL);
	}
	count_protected(s);
	pthread_mutex_unlock(&s->busy);
	if (fd >= 0)
		close(fd);
	error = message_send(s->socket, &reply, sizeof(reply), answer, answer_size, &opened,
			     opened >= 0);
	if (opened >= 0)
		close(opened);
	return error;
}

/* What its requests need: BPF, probes, and opening what a traced process has mapped. */
static int give_up_the_rest(bool uprobe_multi, struct failure *f)
{
	int keep[6] = { CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE };
	unsigned n = 3;
	int error;

	if (!uprobe_multi)
		keep[n++] = CAP_SYS_ADMIN;
	/* Not without root: there, the kernel's own look at who may trace whom shall count. */
	if (getuid() == 0) {
		keep[n++] = CAP_SYS_PTRACE;
		keep[n++] = CAP_DAC_READ_SEARCH;
	}
	error = privileges_keep(keep, n, true);
	return error ? failure_set(f, error, "cannot give up privileges", "", NULL) : 0;
}

/*
 * Of what the recorder has open it keeps the socket alone. Where the caller's limit, which may change at any moment, leaves no
 * place for the watchers, something else would get their descriptors, and be replaced by them later.
 */
static int keep_only(int *socket)
{
	int error = descriptors_keep(socket, STDERR_FILENO + 1);

	for (int i = 0; !error && i < WATCHERS; i++)
		error = descriptors_put(STDERR_FILENO, WATCHERS_FIRST + i);
	return error;
}

/* Of the caller's limits, those by which the kernel would kill this process or refuse it something while it attaches. */
static void lift_limits(void)
{
	static const int limits[] = { RLIMIT_CPU,   RLIMIT_RTTIME, RLIMIT_AS,	RLIMIT_DATA,
				      RLIMIT_NPROC, RLIMIT_FSIZE,  RLIMIT_STACK };

	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };

		if (!setrlimit(limits[i], &r) || getrlimit(limits[i], &r))
			continue;
		r.rlim_cur = r.rlim_max;
		setrlimit(limits[i], &r);
	}
}

static void ignore_signals(void)
{
	/* Ctrl-C in the terminal is for the recorder: it says when the end is there. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	/* What is loaded is written into a memfd. */
	signal(SIGXFSZ, SIG_IGN);
}

/* At the same time as all others. */
static void close_copies(struct server *s)
{
	struct member *m = s->programs.copies ? member_new(0, 1) : NULL;

	if (!m)
		return;
	m->fds[m->n++] = kept_copies_link(s->programs.copies);
	members_close_later(s->links->closers, m);
}

_Noreturn static void server_end(struct server *s)
{
	pthread_mutex_lock(&s->busy);
	follow_stop(s->follow);
	close_copies(s);
	/* At its end the kernel would close them one after the other. */
	links_close_all(s->links);
	closers_end(s->links->closers);
	_exit(0);
}

/*
 * Ends the broker when the recorder has ended. What the recorder has sent may hold the thread that serves requests: to close
 * the last descriptor of a TCP socket with SO_LINGER takes as long as the recorder wants. It ends as well when the keeper has
 * ended, without which it could not detach when it must.
 */
static void *server_watch(void *context)
{
	struct server *s = context;
	struct pollfd polled[] = { { .fd = s->socket },
				   { .fd = s->recorder, .events = POLLIN },
				   { .fd = closers_fd(s->links->closers), .events = POLLIN } };

	while (poll(polled, 3, -1) < 0 && errno == EINTR)
		;
	/* Neither those who attach nor who waits for a prover goes on, for whom server_end() waits. */
	links_end(s->links);
	provers_cancel(s->programs.provers);
	server_end(s);
}

static int server_cannot_start(struct failure *f, int error)
{
	failure_set(f, error, "cannot start the broker", "", NULL);
	failure_hint_processes(f, error);
	if (error == -ENOMEM)
		failure_hint_memory(f);
	return error;
}

/* All that takes more privileges than requests, and the threads, which get what is left. */
static int server_prepare(struct server *s, struct reply *reply, int *fds, unsigned *n_fds)
{
	const struct broker_config *config = s->config;
	struct failure *f = &reply->failure;
	bool each = broker_links_each(config);
	struct closers *closers;
	pthread_t watching;
	pid_t zombie;
	int error;

	error = broker_count(f);
	if (error)
		return error;
	/* Before there is anything that these processes should not have. */
	closers = closers_new();
	if (!closers)
		return server_cannot_start(f, -errno);
	s->links = links_new(closers);
	if (!s->links)
		return server_cannot_start(f, -ENOMEM);
	s->programs.ended = &s->links->ends;
	if (config->own_only) {
		s->links->most_foreign = OWN_MOST_FOREIGN;
		s->links->most_foreign_holds = OWN_MOST_FOREIGN_HOLDS;
	}
	if (config->functions) {
		s->programs.provers = provers_new(config->prove);
		if (!s->programs.provers)
			return server_cannot_start(f, -errno);
	}
	error = trial_new(&s->programs.trial);
	if (error)
		return server_cannot_start(f, error);
	first_uprobe_begin(&s->first_uprobe);
	/* A recorder that reads no answers must not keep the broker from ending. */
	setsockopt(s->socket, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_usec = 20000 },
		   sizeof(struct timeval));
	pthread_mutex_init(&s->busy, NULL);
	error = programs_load(config, &s->programs, &reply->loaded, fds, n_fds, f);
	if (error)
		return error;
	error = closers_await(closers);
	if (error)
		return server_cannot_start(f, error);
	zombie = trial_end(s->programs.trial);
	if (zombie < 0)
		return server_cannot_start(f, zombie);
	error = kept_copies_new(&s->programs, s->programs.find_uprobe_fd, &s->programs.copies);
	if (error)
		return server_cannot_start(f, error);
	reply->loaded.compares_copies = s->programs.copies != NULL;
	if (!s->programs.uprobe_multi)
		links_limit_sites(s->links);
	/* Not while loading, which takes the most descriptors; confined, it cannot be had any more. */
	s->recorder = (int)syscall(SYS_pidfd_open, getppid(), 0);
	error = s->recorder < 0 ? -errno : 0;
	if (!error && each)
		error = follow_new(s->links, &s->programs, config->own_only, zombie, &s->follow);
	/* The thread would keep what is given up. */
	first_uprobe_end(&s->first_uprobe);
	/* Threads are held until their requests are served (capture/hurry.c). */
	privileges_use_priority(true);
	error = error ?: give_up_the_rest(s->programs.uprobe_multi, f);
	/* Without seccomp it goes on: the requests are checked in any case. */
	if (!error)
		error = container_watch_new(config->targets, s->programs.containers_fd, &s->watch);
	reply->loaded.confined = !confine_broker(!s->programs.uprobe_multi);
	error = error ?: requested_init(&s->requested, config, s->watch);
	if (!error && each)
		error = follow_start(s->follow, s->socket);
	error = error ?: -pthread_create(&watching, NULL, server_watch, s);
	return error && !f->what[0] ? server_cannot_start(f, error) : error;
}

void broker_serve(int socket, const struct broker_config *config)
{
	struct server *s = calloc(1, sizeof(*s));
	struct reply reply = { 0 };
	int fds[MESSAGE_MAX_FDS];
	unsigned n_fds = 0;

	ignore_signals();
	/* If the caller ignored it, the number of a child that ended could be another's before the broker looks at it. */
	signal(SIGCHLD, SIG_DFL);
	lift_limits();
	reply.error = keep_only(&socket);
	if (reply.error) {
		server_cannot_start(&reply.failure, reply.error);
	} else if (s) {
		s->config = config;
		s->socket = socket;
		descriptors_reserve(socket);
		reply.error = server_prepare(s, &reply, fds, &n_fds);
	} else {
		reply.error = server_cannot_start(&reply.failure, -ENOMEM);
	}
	/* Of a failure the recorder gets nothing but the reason: a descriptor may be missing, and nothing would arrive. */
	if (message_send(socket, &reply, sizeof(reply), NULL, 0, fds, reply.error ? 0 : n_fds) ||
	    reply.error)
		_exit(1);
	while (n_fds)
		close(fds[--n_fds]);
	programs_free_skeleton(&s->programs);
	do {
		container_watch_wait(s->watch, socket);
	} while (!serve_one(s));
	server_end(s);
}
