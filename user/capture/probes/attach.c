/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaching to existing USDT probes and to functions. Sites that the kernel refuses are logged and
 * left out; the others are attached to.
 */
#include "capture/probes/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_LOGGED 32 /* more messages need -v */
/* Refusals for one file. A single refused site takes about a dozen requests to find. */
#define MAX_FAILED 4096
/* A file that no longer contains what was proved of it (-EBADMSG) counts as this many refusals. */
#define NOT_PROVED 64

int probes_log_level(struct probes *p, int verbosity)
{
	return verbosity || p->n_logged++ >= MAX_LOGGED;
}

static void log_refused_site(struct capture *c, const struct site *s, const struct failure *f)
{
	c->refused_sites++;
	capture_log(c, probes_log_level(c->probes, 0),
		    "%s:%s at 0x%" PRIx64 " cannot be attached to: %s", s->probe->provider->text,
		    s->probe->name->text, s->offset, f->reason);
}

/* The sites of one request to the broker. */
struct attach_job {
	struct capture *c;
	struct file *file;
	pid_t pid;
	struct links links;
	enum broker_program program;
	unsigned failed;
	bool given_up;
	unsigned left_out;   /* sites not attached to since given_up; logged if `full` is set */
	struct failure full; /* a descriptor limit is reached; no reason: it is not */
};

/*
 * Finds the refused sites by bisection, because the kernel refuses all sites of a request for the
 * sake of one. A file with very many refused sites was made to be so: the rest of it is left out.
 */
static int attach_site_range(struct attach_job *b, const struct broker_site *sites, unsigned n,
			     struct failure *f)
{
	int error;

	if (b->given_up) {
		b->c->refused_sites += n;
		b->left_out += n;
		return 0;
	}
	error = files_attach_sites(b->c, b->file, b->links, b->program, b->pid, sites, n, f);
	if (!error || error == -EPIPE || error == -ENOMEM || error == -ESRCH)
		return error;
	/* As many probes as fit. A part of the sites of functions would be exits without entries, of which nothing comes. */
	if (error == -EMFILE && (n == 1 || b->program != BROKER_USDT)) {
		b->full = *f;
		b->given_up = true;
		b->left_out = n;
		b->c->refused_sites += n;
		return 0;
	}
	if (error != -EMFILE)
		b->failed += error == -EBADMSG ? NOT_PROVED : 1;
	if (b->failed >= MAX_FAILED) {
		if (!b->given_up)
			capture_log(b->c, 0,
				    "too many probes of a file cannot be attached; its other "
				    "probes are left out: %s",
				    f->reason);
		b->given_up = true;
		b->c->refused_sites += n;
		return 0;
	}
	if (n == 1) {
		log_refused_site(b->c, &b->c->sites[(uint32_t)sites->cookie], f);
		return 0;
	}
	error = attach_site_range(b, sites, n / 2, f);
	return error ? error : attach_site_range(b, sites + n / 2, n - n / 2, f);
}

static bool site_is_of(const struct site *s, enum broker_program program)
{
	return !s->in_session && s->returns == (program == BROKER_RETURNS);
}

static int attach_probe_sites(struct attach_job *b, enum broker_program program, unsigned first,
			      unsigned end, struct failure *f)
{
	struct broker_site *sites;
	unsigned n, i = first;
	int error = 0;

	b->program = program;

	if (first == end)
		return 0;
	sites = calloc(BROKER_MAX_SITES, sizeof(*sites));
	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	while (i < end && !error) {
		for (n = 0; n < BROKER_MAX_SITES && i < end; i++) {
			const struct site *s = &b->c->sites[i];

			if (!site_is_of(s, program))
				continue;
			sites[n].offset = s->offset;
			sites[n].semaphore_offset = s->semaphore_offset;
			sites[n++].cookie = (uint64_t)s->probe->spec << USDT_SPEC_SHIFT | i |
					    files_cookie_of_pid(b->pid);
		}
		if (n)
			error = attach_site_range(b, sites, n, f);
	}
	free(sites);
	return error;
}

/* Once for all processes that map such files. */
static void log_left_out(const struct attach_job *b)
{
	struct probes *p = b->c->probes;
	char link[32], path[256];
	ssize_t n;

	if (!b->full.reason[0])
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", b->file->fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	capture_log(b->c, p->logged_descriptors, "%u of %u sites in '%s' are left out: %s%s%s",
		    b->left_out, b->file->n_probes, path, b->full.reason,
		    b->full.hint[0] ? "; " : "", b->full.hint);
	p->logged_descriptors = true;
}

int probes_attach(struct capture *c, struct file *file, pid_t pid, struct links links,
		  struct failure *f)
{
	struct attach_job b = {
		.c = c, .file = file, .pid = pid, .links = links, .program = BROKER_USDT
	};
	/* Entries come last, and sessions are entries. */
	const enum broker_program returns = c->options.return_probes ? BROKER_RETURNS
								     : BROKER_FUNCTIONS,
				  first = c->loaded.return_sessions ? BROKER_FUNCTIONS : returns,
				  last = c->loaded.return_sessions ? returns : BROKER_FUNCTIONS;
	const unsigned end = file->first_probe + file->n_probes;
	struct failure unused;
	int error;

	if (!file->n_probes)
		return 0;
	/* What was refused is logged, also where the caller does not want to know. */
	f = f ?: &unused;
	error = attach_probe_sites(&b, BROKER_USDT, file->first_probe, file->first_call, f);
	if (!error && first != last)
		error = attach_probe_sites(&b, first, file->first_call, end, f);
	error = error ?: attach_probe_sites(&b, last, file->first_call, end, f);
	log_left_out(&b);
	return error;
}
