/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signal handler itself removes the files, by functions that are async-signal-safe (signal-safety(7)). So the
 * process ends at once even in a reader that finds no event for a long time or in a write() to a slow disk. A file
 * that is in place no longer has its temporary name, so that unlinkat() does not remove it.
 */
#include "formats/sink.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* The handler reads this, so it is changed only while the signals are blocked. */
static struct {
	int directory;
	char name[256];
} temporaries[TEMPORARIES_MAX];
static unsigned n_temporaries;

static void temporaries_remove(int signal)
{
	for (unsigned i = 0; i < n_temporaries; i++)
		unlinkat(temporaries[i].directory, temporaries[i].name, 0);
	raise(signal); /* ends the process once the handler has returned, because of SA_RESETHAND */
}

static sigset_t temporary_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	return set;
}

void temporaries_begin(void)
{
	struct sigaction removes = { .sa_handler = temporaries_remove,
				     .sa_flags = SA_RESETHAND,
				     .sa_mask = temporary_signals() };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* nohup, and some shells for background jobs, ignore signals: these stay ignored. */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &removes, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int temporaries_open(const char *path, enum sink_format format, struct sink **ret_sink)
{
	sigset_t blocked = temporary_signals(), before;
	const char *name;
	int error, directory;

	sigprocmask(SIG_BLOCK, &blocked, &before);
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
	sigset_t blocked = temporary_signals(), before;

	sigprocmask(SIG_BLOCK, &blocked, &before);
	n_temporaries = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
}
