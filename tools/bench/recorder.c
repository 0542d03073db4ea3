/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs proftrace on a target and collects its costs. */
#include "recorder.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void trace_path(const struct recorder *r, const char *end, char *path, size_t size)
{
	snprintf(path, size, "%s/trace%s", r->directory, end);
}

void recorder_json_path(const struct recorder *r, char *path, size_t size)
{
	trace_path(r, ".json", path, size);
}

bool recorder_has_batch(void)
{
	const char *const argv[] = { "build/proftrace", "record", "--help", NULL };
	struct subject help;
	bool found = false;

	if (subject_start(&help, argv, 0, false))
		return false;
	while (!found && !subject_answer(&help))
		found = strstr(help.line, "batch");
	subject_end(&help, NULL);
	return found;
}

int recorder_start(struct recorder *r, const char *directory, pid_t target, enum outputs outputs,
		   const char *buffer)
{
	return recorder_start_counting(r, directory, target, outputs, buffer, NULL);
}

int recorder_start_counting(struct recorder *r, const char *directory, pid_t target,
			    enum outputs outputs, const char *buffer, const char *counters)
{
	return recorder_start_with(r, directory, target, outputs, buffer, counters, NULL);
}

int recorder_start_with(struct recorder *r, const char *directory, pid_t target,
			enum outputs outputs, const char *buffer, const char *counters,
			const char *const *options)
{
	char pid[16], trace[512], output[600] = "--stats-only", summary[512];
	const char *argv[8 + 4 + RECORDER_OPTIONS + 1] = {
		"build/proftrace", "-p", pid, output, "--buffer", buffer, "--summary-json", summary,
	};
	enum outputs files = outputs & OUT_BOTH;
	unsigned n = 8, i;

	if (counters) {
		argv[n++] = "-e";
		argv[n++] = counters;
	}
	/* Whatever the default is. */
	argv[n++] = "--mode";
	argv[n++] = outputs & OUT_BATCH ? "batch-now" : "exact";
	for (i = 0; options && i < RECORDER_OPTIONS && options[i]; i++)
		argv[n++] = options[i];
	memset(r, 0, sizeof(*r));
	r->directory = directory;
	r->outputs = outputs;
	snprintf(pid, sizeof(pid), "%d", (int)target);
	trace_path(r,
		   files == OUT_BOTH   ? ""
		   : files == OUT_JSON ? ".json"
				       : ".pftrace",
		   trace, sizeof(trace));
	if (files)
		snprintf(output, sizeof(output), "--output=%s", trace);
	trace_path(r, ".summary", summary, sizeof(summary));
	return subject_start(&r->process, argv, SUBJECT_STDERR, false);
}

/* Resident kilobytes of a process that do not belong to a BPF map. */
static uint64_t resident_kb(pid_t pid)
{
	char path[64], line[1024];
	bool of_map = false;
	uint64_t sum = 0, kb;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		/* The head of a mapping begins with its addresses, in lower-case digits. */
		if (isxdigit((unsigned char)line[0]) && !isupper((unsigned char)line[0]))
			of_map = strstr(line, "bpf-map") != NULL;
		else if (!of_map && sscanf(line, "Rss: %" SCNu64, &kb) == 1)
			sum += kb;
	}
	if (file)
		fclose(file);
	return sum;
}

/* `proftrace: recording, ...`: everything is attached and recording has begun. */
int recorder_opened(struct recorder *r)
{
	int error;

	do
		error = subject_answer(&r->process);
	while (!error && !strstr(r->process.line, ": recording"));
	return error;
}

int recorder_ready(struct recorder *r, struct subject *target)
{
	int error = recorder_opened(r);
	uint64_t at;

	if (!error)
		error = subject_request(target, "wait 1");
	if (error)
		return error;
	if (sscanf(target->line, "at %" SCNu64, &at) != 1 || !at) {
		subject_late(target, "'%s' did not see within 20 s that it is recorded",
			     target->command);
		return -ETIMEDOUT;
	}
	r->ready_cpu_ns = spent_by(r->process.pid);
	return 0;
}

static uint64_t field(const char *text, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\": ", name);
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static int read_account(const struct recorder *r, struct recorded *ret)
{
	char path[512], text[8192];
	FILE *file;
	size_t n;

	trace_path(r, ".summary", path, sizeof(path));
	file = fopen(path, "re");
	if (!file)
		return -errno;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	unlink(path);
	ret->marked = field(text, "marked");
	ret->written = field(text, "written");
	ret->lost = field(text, "lost_total");
	ret->switches = field(text, "sched_events");
	ret->switches_lost = field(text, "sched_lost") + field(text, "syscalls_lost");
	ret->stacks = field(text, "stacks");
	ret->stacks_lost = field(text, "stacks_lost");
	return ret->marked || ret->switches || ret->stacks || field(text, "syscalls") ? 0
										      : -ENODATA;
}

static uint64_t size_of_traces(const struct recorder *r, bool keep)
{
	static const char *const ends[] = { ".pftrace", ".json" };
	uint64_t sum = 0;
	struct stat st;
	char path[512];
	unsigned i;

	for (i = 0; i < 2; i++) {
		trace_path(r, ends[i], path, sizeof(path));
		if (stat(path, &st))
			continue;
		sum += st.st_size;
		if (!keep)
			unlink(path);
	}
	return sum;
}

int recorder_stop(struct recorder *r, bool keep, struct recorded *ret)
{
	pid_t broker = spent_child(r->process.pid);
	struct rusage usage = { 0 };
	int status, error;

	memset(ret, 0, sizeof(*ret));
	ret->mapped_mb = (resident_kb(r->process.pid) + resident_kb(broker)) / 1024.0;
	kill(r->process.pid, SIGINT);
	status = subject_end(&r->process, &usage);
	/* With its children: it has waited for the broker. */
	ret->cpu_ns = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ull +
		      (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ull;
	ret->cpu_ns -= r->ready_cpu_ns < ret->cpu_ns ? r->ready_cpu_ns : ret->cpu_ns;
	ret->bytes = size_of_traces(r, keep);
	error = read_account(r, ret);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? error : -ECHILD;
}
