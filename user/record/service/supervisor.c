/* SPDX-License-Identifier: BSD-2-Clause */
/* The supervisor: starts recorders, one after the other, and handles the signals of a service. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failure.h"
#include "base/text.h"
#include "record/service/service.h"

/* A recorder. */
struct child {
	pid_t pid; /* 0: none */
	int socket;
	int status;  /* of waitpid(), after its end */
	bool silent; /* it has closed its end of the socket */
	bool records;
};

struct supervisor {
	const char *file;
	service_run *run;
	int signals;
	struct service_counts *counts;
	struct child child; /* the one that records */
	char *text;	    /* its configuration */
	bool stop, reload;  /* requested */
};

enum happened {
	HAPPENED_MESSAGE, /* the awaited one */
	HAPPENED_END,
	HAPPENED_SIGNAL, /* one that was stored */
};

/* --- the recorder's side ----------------------------------------------------------------------- */

void service_send(const struct service *s, enum service_message message)
{
	const char byte = (char)message;

	/* Whether anybody listens is seen when the socket ends. */
	(void)!send(s->socket, &byte, 1, MSG_NOSIGNAL);
}

bool service_may_begin(const struct service *s)
{
	char byte;

	return recv(s->socket, &byte, 1, 0) == 1;
}

/* --- recorders --------------------------------------------------------------------------------- */

_Noreturn static void child_run(struct supervisor *s, char *text, int socket)
{
	const struct service service = { .socket = socket, .counts = s->counts };
	sigset_t none;

	/* Only the supervisor holds its ends, so that its death is noticed. */
	close(s->signals);
	if (s->child.pid)
		close(s->child.socket);
	/* The signals of a terminal are for the supervisor. */
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	exit(s->run(s->file, text, &service));
}

static bool child_start(struct supervisor *s, char *text, struct child *ret_child)
{
	struct child child = { 0 };
	struct failure f = { 0 };
	int pair[2], error;

	if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		fflush(stderr);
		child.pid = fork();
		if (!child.pid) {
			close(pair[0]);
			child_run(s, text, pair[1]);
		}
		close(pair[1]);
		child.socket = pair[0];
		if (child.pid > 0) {
			*ret_child = child;
			return true;
		}
		close(pair[0]);
	}
	error = -errno;
	failure_set(&f, error, "cannot start a recorder", "", NULL);
	failure_hint_processes(&f, error);
	failure_print(&f, stderr);
	/* As the recorder itself would have ended: this must not pass for a success. */
	ret_child->status = W_EXITCODE(1, 0);
	return false;
}

static bool child_has_ended(struct child *c)
{
	if (waitpid(c->pid, &c->status, WNOHANG) != c->pid)
		return false;
	close(c->socket);
	c->pid = 0;
	return true;
}

static bool child_has_sent(struct child *c, enum service_message message)
{
	char byte;
	ssize_t n = c->silent ? -1 : recv(c->socket, &byte, 1, MSG_DONTWAIT);

	c->silent |= !n;
	return n == 1 && byte == (char)message;
}

static bool supervisor_read_signal(struct supervisor *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	switch (info.ssi_signo) {
	case SIGCHLD:
		return false;
	case SIGHUP:
		s->reload = true;
		return true;
	case SIGUSR1:
	case SIGUSR2:
		if (s->child.records)
			kill(s->child.pid, (int)info.ssi_signo);
		return false;
	default:
		s->stop = true;
		return true;
	}
}

/* Waits until the recorder sends something, until it ends, or for a signal. */
static enum happened supervisor_wait(struct supervisor *s, struct child *c,
				     enum service_message message)
{
	for (;;) {
		/* The end of its socket would be readable until the end of the process, for which there is a signal. */
		struct pollfd waits[] = { { .fd = s->signals, .events = POLLIN },
					  { .fd = c->silent ? -1 : c->socket, .events = POLLIN } };

		/* A message that came before the end is read first. */
		if (child_has_sent(c, message))
			return HAPPENED_MESSAGE;
		if (child_has_ended(c))
			return HAPPENED_END;
		poll(waits, 2, -1);
		if (waits[0].revents && supervisor_read_signal(s))
			return HAPPENED_SIGNAL;
	}
}

/* Waits for this message; a request to reload waits, too. False: the recorder has ended, or is not needed any more. */
static bool supervisor_expect(struct supervisor *s, struct child *c, enum service_message message)
{
	enum happened happened;

	do
		happened = supervisor_wait(s, c, message);
	while (happened == HAPPENED_SIGNAL && !s->stop);
	return happened == HAPPENED_MESSAGE;
}

static void child_stop(struct supervisor *s, struct child *c)
{
	bool again = s->stop;

	if (!c->pid)
		return;
	kill(c->pid, SIGTERM);
	/* A second request makes it give up a disk that does not answer. */
	while (supervisor_wait(s, c, SERVICE_NOTHING) != HAPPENED_END) {
		if (s->stop && again)
			kill(c->pid, SIGTERM);
		again = s->stop;
	}
}

/* Starts the recording of a recorder whose configuration was accepted. */
static bool child_begin(struct supervisor *s, struct child *c)
{
	if (send(c->socket, "", 1, MSG_NOSIGNAL) != 1)
		return false;
	c->records = supervisor_expect(s, c, SERVICE_RECORDS);
	return c->records;
}

static bool supervisor_start(struct supervisor *s)
{
	return child_start(s, s->text, &s->child) &&
	       supervisor_expect(s, &s->child, SERVICE_ACCEPTED) && child_begin(s, &s->child);
}

/* --- reloading --------------------------------------------------------------------------------- */

static void supervisor_keep(struct supervisor *s)
{
	s->counts->reloads_failed++;
	if (s->stop)
		return;
	print_visible(stderr, "proftrace: the configuration stays as it was before\n");
	notify_manager("READY=1\nSTATUS=Recording; the new configuration was refused.");
}

static void supervisor_reload(struct supervisor *s)
{
	struct child next = { 0 };
	struct failure f = { 0 };
	char *text;

	s->reload = false;
	notify_manager("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_ns(CLOCK_MONOTONIC) / 1000);
	text = service_read_file(s->file, &f);
	if (!text)
		failure_print(&f, stderr);
	if (!text || !child_start(s, text, &next) ||
	    !supervisor_expect(s, &next, SERVICE_ACCEPTED)) {
		child_stop(s, &next);
		free(text);
		supervisor_keep(s);
		return;
	}
	/* Two recorders could have neither the same address nor the same files. */
	child_stop(s, &s->child);
	s->child = next;
	if (child_begin(s, &s->child)) {
		free(s->text);
		s->text = text;
		s->counts->reloads++;
		print_visible(stderr, "proftrace: recording with the new configuration\n");
		notify_manager("READY=1\nSTATUS=Recording.");
		return;
	}
	free(text);
	child_stop(s, &s->child);
	if (!s->stop && supervisor_start(s))
		supervisor_keep(s);
}

/* --- the whole --------------------------------------------------------------------------------- */

static bool supervisor_open(struct supervisor *s)
{
	static const int handled[] = {
		SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGQUIT
	};
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaddset(&set, handled[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC);
	s->counts = mmap(NULL, sizeof(*s->counts), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return s->signals >= 0 && s->counts != MAP_FAILED;
}

static int supervisor_status(const struct supervisor *s)
{
	int status = s->child.status;

	if (WIFSIGNALED(status))
		print_visible(stderr, "proftrace: the recorder was killed by signal %d\n",
			      WTERMSIG(status));
	/* Its messages have said what could not be written; a service that was asked to end has not failed. */
	if (s->stop && WIFEXITED(status))
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int service_supervise(const char *file, service_run *run)
{
	struct supervisor s = { .file = file, .run = run };
	struct failure f = { 0 };
	bool recording = false;

	s.text = service_read_file(file, &f);
	if (!s.text || !supervisor_open(&s)) {
		if (s.text)
			failure_set(&f, -errno, "cannot start", "", NULL);
		failure_print(&f, stderr);
		free(s.text);
		return 1;
	}
	recording = supervisor_start(&s);
	if (recording) {
		print_visible(stderr, "proftrace: recording, as '%s' says\n", file);
		notify_manager("READY=1\nSTATUS=Recording.");
	}
	while (recording && !s.stop) {
		if (supervisor_wait(&s, &s.child, SERVICE_NOTHING) == HAPPENED_END)
			break;
		if (s.reload && !s.stop)
			supervisor_reload(&s);
		recording = s.child.pid != 0;
	}
	notify_manager("STOPPING=1");
	child_stop(&s, &s.child);
	free(s.text);
	return supervisor_status(&s);
}
