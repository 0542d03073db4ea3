/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts programs and exchanges lines with them (subject.h). */
#include "subject.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Tracers are slow on a busy machine; beyond these they hang. What peers.sh waits for is within them. */
#define ANSWER_MS 120000
#define END_MS	  90000

uint64_t bench_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void bench_sleep(unsigned ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

static void pin(void)
{
	cpu_set_t all, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (cpu = CPU_SETSIZE - 1; cpu > 0 && !CPU_ISSET(cpu, &all); cpu--)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void subject_late(struct subject *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->late, sizeof(s->late), format, args);
	va_end(args);
	fprintf(stderr, "\nbench: %s\n", s->late);
}

static void keep_command(struct subject *s, const char *const argv[])
{
	size_t n = 0;

	for (; *argv && n + 2 < sizeof(s->command); argv++)
		n += snprintf(s->command + n, sizeof(s->command) - n, n ? " %s" : "%s", *argv);
}

_Noreturn static void become(const char *const argv[], unsigned flags, int in, int out)
{
	int null;

	setpgid(0, 0); /* what it starts is found by that */
	if (!(flags & SUBJECT_TIDIES))
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	if (flags & SUBJECT_PINNED)
		pin();
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	if (flags & SUBJECT_STDERR)
		dup2(out, STDERR_FILENO);
	null = flags & SUBJECT_MUTE ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

int subject_start(struct subject *s, const char *const argv[], unsigned flags, bool greets)
{
	int in[2], out[2], pid, error;

	memset(s, 0, sizeof(*s));
	keep_command(s, argv);
	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		error = -errno;
		close(in[0]);
		close(in[1]);
		return error;
	}
	s->pid = fork();
	error = s->pid < 0 ? -errno : 0;
	if (!s->pid)
		become(argv, flags, in[0], out[1]);
	if (!error)
		setpgid(s->pid, s->pid); /* whoever of us comes first */
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = out[0];
	if (!error && greets)
		error = subject_answer(s);
	if (!error && greets) {
		if (sscanf(s->line, "ready %d", &pid) == 1)
			s->said_pid = pid;
		else
			error = -EPROTO;
	}
	if (error)
		subject_end(s, NULL);
	return error;
}

/* Byte by byte: lines are few, and nothing is read ahead. */
int subject_answer(struct subject *s)
{
	struct pollfd p = { s->out, POLLIN, 0 };
	size_t n = 0;

	for (;;) {
		ssize_t got;
		char c;

		if (poll(&p, 1, ANSWER_MS) <= 0) {
			subject_late(s, "'%s' gave no answer within %d s", s->command,
				     ANSWER_MS / 1000);
			return -ETIMEDOUT;
		}
		got = read(s->out, &c, 1);
		if (got <= 0)
			return -EPIPE;
		if (c == '\n')
			break;
		if (n + 1 < sizeof(s->line))
			s->line[n++] = c;
	}
	s->line[n] = '\0';
	return 0;
}

static int subject_write(struct subject *s, const char *format, va_list args)
{
	char line[256];
	int n = vsnprintf(line, sizeof(line) - 1, format, args);

	if (n < 0 || (size_t)n >= sizeof(line) - 1)
		return -EMSGSIZE;
	line[n++] = '\n';
	return write(s->in, line, n) == n ? 0 : -EPIPE;
}

int subject_send(struct subject *s, const char *format, ...)
{
	va_list args;
	int error;

	va_start(args, format);
	error = subject_write(s, format, args);
	va_end(args);
	return error;
}

int subject_request(struct subject *s, const char *format, ...)
{
	va_list args;
	int error;

	va_start(args, format);
	error = subject_write(s, format, args);
	va_end(args);
	return error ? error : subject_answer(s);
}

int subject_run_threads(struct subject *s, const char *loop, uint64_t rounds, unsigned threads,
			double *ret_ns, uint64_t *ret_events)
{
	uint64_t ns, events, all;
	int error = subject_request(s, "run %s %" PRIu64 " %u", loop, rounds, threads);

	if (error)
		return error;
	if (sscanf(s->line, "ns %" SCNu64 " %" SCNu64 " %" SCNu64, &ns, &events, &all) != 3 ||
	    !events)
		return -EPROTO;
	*ret_ns = (double)ns / events;
	if (ret_events)
		*ret_events = all;
	return 0;
}

int subject_run(struct subject *s, const char *loop, uint64_t rounds, double *ret_ns,
		uint64_t *ret_events)
{
	return subject_run_threads(s, loop, rounds, 0, ret_ns, ret_events);
}

void subject_close_input(struct subject *s)
{
	if (s->in >= 0)
		close(s->in);
	s->in = -1;
}

/* Takes what it still says, too: it may wait for somebody to read that. */
static bool ends_within(struct subject *s, unsigned ms)
{
	uint64_t until = bench_clock() + ms * 1000000ull, now;
	struct pollfd p[2] = { { syscall(SYS_pidfd_open, s->pid, 0), POLLIN, 0 },
			       { s->out, POLLIN, 0 } };
	bool ended = p[0].fd < 0; /* nothing to wait by: then as long as it takes */
	char unread[512];

	while (!ended && (now = bench_clock()) < until) {
		if (poll(p, 2, (until - now) / 1000000 + 1) <= 0)
			continue;
		ended = p[0].revents;
		if (p[1].revents && read(s->out, unread, sizeof(unread)) <= 0)
			p[1].fd = -1;
	}
	if (p[0].fd >= 0)
		close(p[0].fd);
	return ended;
}

int subject_end(struct subject *s, struct rusage *ret_usage)
{
	int status = -1;

	subject_close_input(s);
	if (s->pid > 0) {
		if (!ends_within(s, END_MS)) {
			subject_late(s, "'%s' did not end within %d s and was killed", s->command,
				     END_MS / 1000);
			kill(-s->pid, SIGKILL);
		}
		while (wait4(s->pid, &status, 0, ret_usage) < 0 && errno == EINTR)
			;
	}
	close(s->out);
	s->pid = 0;
	return status;
}
