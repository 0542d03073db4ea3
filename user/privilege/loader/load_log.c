/* SPDX-License-Identifier: BSD-2-Clause */
/* What libbpf and the verifier say while the programs are loaded, and the message for the user if that fails. */
#include "privilege/loader/internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "privilege/privileges.h"

/* Messages of libbpf are not printed. The last one becomes part of the failure. */
static char last_line[200];
static char verdict[200]; /* the verifier's reason, if it refused a program */
static bool memory_refused;
static const char *events_refused; /* what needs the perf events that the system does not permit */

static bool log_ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), length = strlen(end);

	return n >= length && !strcmp(text + n - length, end);
}

/*
 * The whole log of the verifier comes in one message. Its reason is the last line above the
 * statistics.
 */
static void log_keep_verdict(const char *format, va_list args)
{
	char *text, *end, *line;

	if (vasprintf(&text, format, args) < 0)
		return;
	end = strstr(text, "\nprocessed ");
	if (end) {
		*end = '\0';
		line = strrchr(text, '\n');
		snprintf(verdict, sizeof(verdict), "%s", line ? line + 1 : text);
	}
	free(text);
}

/*
 * If there is not enough memory for the types of the kernel, libbpf only mentions -ENOMEM in a
 * message below the level of a warning. In the end it reports and returns that there are no types.
 */
static int log_keep_lines(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[sizeof(last_line)], no_memory[16];

	if (strstr(format, "BEGIN PROG LOAD LOG")) {
		log_keep_verdict(format, args);
		return 0;
	}
	if (level != LIBBPF_WARN && !log_ends_in(format, ": %d\n"))
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	snprintf(no_memory, sizeof(no_memory), ": %d", -ENOMEM);
	memory_refused |= log_ends_in(line, no_memory);
	if (level == LIBBPF_WARN && line[0])
		memcpy(last_line, line, sizeof(line));
	return 0;
}

void load_log_begin(void)
{
	libbpf_set_print(log_keep_lines);
}

void load_log_set(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_line, sizeof(last_line), format, args);
	va_end(args);
}

/*
 * Under this lockdown, programs may not read the memory of the kernel: the verifier says that the helpers for it do not
 * exist.
 */
static bool kernel_is_confidential(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char text[64] = "";

	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strstr(text, "[confidentiality]") != NULL;
}

void load_log_refuse_events(const char *what)
{
	events_refused = what;
}

int load_log_refuse(struct failure *f, int error)
{
	char missing[64], reason[96];
	struct utsname u;

	uname(&u);
	if (kernel_is_confidential()) {
		failure_set(f, error, "cannot load the BPF programs into kernel", u.release,
			    "it is locked down (confidentiality)");
		failure_hint(f, "lockdown=integrity on the kernel's command line permits "
				"programs that read its memory, see kernel_lockdown(7)");
		return error;
	}
	/* The verifier gives up on any signal, also one that stops its process, and libbpf after five of these. */
	if (error == -EAGAIN) {
		failure_set(f, error, "cannot load the BPF programs into kernel", u.release,
			    "it was interrupted by signals again and again");
		failure_hint(f, "start it again");
		return error;
	}
	/* With its own hint: the kernel lacks nothing. */
	if (error == -EMFILE)
		return failure_set(f, error, "cannot load the BPF programs into kernel", u.release,
				   NULL);
	/* Debian's kernels permit them to root alone above 2, whatever the capabilities. */
	if (events_refused) {
		failure_set(f, error, "not permitted to open perf events", events_refused,
			    "kernel.perf_event_paranoid is above 2");
		failure_hint(f, "sudo sysctl kernel.perf_event_paranoid=2, or run with sudo");
		return error;
	}
	privileges_missing(true, missing, sizeof(missing));
	/*
	 * The verifier also returns -EPERM for programs that it refuses. If no capability is
	 * missing, it was the verifier.
	 */
	if (verdict[0] && !missing[0]) {
		failure_set(f, error, "the BPF programs are refused by kernel", u.release, verdict);
		failure_hint(f, "this is a bug of proftrace: please report it with this message");
		return error;
	}
	if (error == -EPERM || error == -EACCES) {
		if (!missing[0] && privileges_of_namespace(f))
			return error;
		snprintf(reason, sizeof(reason), "without %s", missing);
		failure_set(f, error, "not permitted to load BPF programs", "",
			    missing[0] ? reason : NULL);
		privileges_hint(true, f);
		return error;
	}
	if (error == -ENOMEM || memory_refused) {
		failure_set(f, -ENOMEM, "cannot load the BPF programs into kernel", u.release,
			    NULL);
		failure_hint_memory(f);
		return -ENOMEM;
	}
	failure_set(f, error, "cannot load the BPF programs into kernel", u.release,
		    last_line[0] ? last_line : NULL);
	failure_hint(f, "`proftrace check` says what this kernel lacks");
	return error;
}
