/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signal handler itself removes them, by calls that it may make (signal-safety(7)): wherever the
 * process is, in a reader that finds no event for long or in a write() to a slow disk, it ends at once.
 * What has its name already has lost this one, so there nothing is removed.
 */
#include "cmd/temporaries.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/rewrite.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* Read by the handler: changed only while these signals wait. */
static struct {
	int directory;
	char name[256];
} temporaries[2 * REWRITE_MAX_OUTPUTS];
static unsigned n_temporaries;

static void remove_all(int signal)
{
	unsigned i;

	for (i = 0; i < n_temporaries; i++)
		unlinkat(temporaries[i].directory, temporaries[i].name, 0);
	raise(signal); /* its default, from here on (SA_RESETHAND), once the handler has returned */
}

static sigset_t all(void)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	return set;
}

void temporaries_begin(void)
{
	struct sigaction removes = { .sa_handler = remove_all,
				     .sa_flags = SA_RESETHAND,
				     .sa_mask = all() };
	struct sigaction old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* Of nohup, and in the background of some shells, it stays ignored. */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &removes, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int temporaries_open(const char *path, enum sink_format format, struct sink **ret_sink)
{
	sigset_t waiting = all(), before;
	const char *name;
	int error, directory;

	sigprocmask(SIG_BLOCK, &waiting, &before);
	error = sink_open(path, format, ret_sink);
	if (!error && n_temporaries < sizeof(temporaries) / sizeof(temporaries[0]) &&
	    sink_temporary(*ret_sink, &directory, &name)) {
		temporaries[n_temporaries].directory = directory;
		snprintf(temporaries[n_temporaries].name, sizeof(temporaries[0].name), "%s", name);
		n_temporaries++;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

void temporaries_end(void)
{
	sigset_t waiting = all(), before;

	sigprocmask(SIG_BLOCK, &waiting, &before);
	n_temporaries = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
}
