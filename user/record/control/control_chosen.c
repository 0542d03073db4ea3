/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace ctl` for some of the processes of a recording: --only PID, --role NAME. These pause and resume the
 * processes whose PID or role it is; the others go on as they were. All processes share the files, so a dump for one
 * process makes those of all complete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "record/control/control.h"
#include "record/record.h"
#include "tracee/rank.h"

/* "pause only PID", "pause role NAME"; the same with resume and dump. */
struct chosen_request {
	char action[8], by[8], value[CONTROL_ROLE + 1];
};

static bool chosen_request_parse(const char *text, struct chosen_request *ret_request)
{
	static const char *const actions[] = { "pause", "resume", "dump" };
	struct chosen_request *q = ret_request;
	unsigned i;
	int n = 0;

	if (sscanf(text, "%7s %7s %64s%n", q->action, q->by, q->value, &n) != 3 || text[n])
		return false;
	for (i = 0; i < 3 && strcmp(q->action, actions[i]); i++)
		;
	return i < 3 && (!strcmp(q->by, "only") || !strcmp(q->by, "role"));
}

bool control_is_chosen(const char *request)
{
	struct chosen_request q;

	return chosen_request_parse(request, &q);
}

/* Leaves the processes that are meant, and returns their number. `ret_unread`: of the others, so many may be meant. */
static unsigned chosen_select(const struct chosen_request *q, pid_t *pids, unsigned n,
			      unsigned *ret_unread)
{
	unsigned i, kept = 0;
	char pid[16];
	int has;

	*ret_unread = 0;
	for (i = 0; i < n; i++) {
		snprintf(pid, sizeof(pid), "%d", (int)pids[i]);
		has = q->by[0] == 'o' ? !strcmp(pid, q->value) : target_has_role(pids[i], q->value);
		if (has > 0)
			pids[kept++] = pids[i];
		*ret_unread += has < 0;
	}
	return kept;
}

/* Said when the others have been served: no process can keep anybody from pausing those. */
static int chosen_not_read(unsigned n, struct failure *f)
{
	char object[16];

	snprintf(object, sizeof(object), "%u", n);
	return failure_set(f, -EAGAIN, "cannot read the role of processes", object,
			   "they hold the lock of their memory, where their environment is");
}

/* A process that exits meanwhile is neither counted nor a failure. */
static int chosen_pause(struct recording *r, const pid_t *pids, unsigned n, bool pause,
			unsigned *ret_done, struct failure *f)
{
	unsigned i;
	int error;

	for (i = 0; i < n; i++) {
		error = recording_pause_process(r, pids[i], pause, f);
		if (error && error != -ESRCH)
			return error;
		*ret_done += !error;
	}
	return 0;
}

int control_chosen(struct recording *r, const char *request, unsigned *ret_done, struct failure *f)
{
	struct chosen_request q;
	unsigned n = capture_processes(r->capture), unread;
	pid_t *pids = calloc(n + 1, sizeof(*pids));
	int error = 0;

	*ret_done = 0;
	if (!pids || !chosen_request_parse(request, &q)) {
		free(pids);
		return failure_set(f, -EINVAL, "malformed request", "", NULL);
	}
	n = capture_pids(r->capture, pids, n);
	n = chosen_select(&q, pids, n, &unread);
	if (q.action[0] != 'd')
		error = chosen_pause(r, pids, n, q.action[0] == 'p', ret_done, f);
	else if (n && r->flight)
		error = failure_set(f, -ENOTSUP, "cannot dump one process", "",
				    "a flight recorder writes what it has of all processes");
	else
		*ret_done = n;
	if (!error && q.action[0] == 'd' && n)
		recording_dump(r);
	free(pids);
	if (!error && unread)
		return chosen_not_read(unread, f);
	if (!error && !*ret_done)
		return failure_set(f, -ESRCH,
				   q.by[0] == 'o' ? "no recorded process"
						  : "no recorded process with role",
				   q.value, "");
	return error;
}
