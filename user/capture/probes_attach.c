/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaching to probes of others and to functions: what the kernel refuses is named, the rest goes on. */
#include "capture/probes_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define MOST_TOLD 32 /* what more there is to say is said at -v */
/* Requests of one file: a dozen for each site that the kernel refuses, unless it refuses many. */
#define MOST_FAILED 4096
/* Where the file does not say what it said to us, as many are enough as of these make all. */
#define NOT_PROVED 64

int probes_told_at(struct probes *p, int verbosity)
{
	return verbosity || p->told++ >= MOST_TOLD;
}

static void tell_refused(struct capture *c, const struct site *s, const struct failure *f)
{
	c->refused_sites++;
	capture_log(c, probes_told_at(c->probes, 0),
		    "%s:%s at 0x%" PRIx64 " cannot be attached to: %s", s->probe->provider->text,
		    s->probe->name->text, s->offset, f->reason);
}

/* What is attached to in one request of the broker. */
struct batch_of_sites {
	struct capture *c;
	struct file *file;
	pid_t pid;
	struct links links;
	enum broker_program program;
	unsigned failed;
	bool given_up;
};

/*
 * Those that the kernel refuses are found by halves: it refuses all for the sake of one. A file of which
 * very many are refused is made so, and is left with what it has.
 */
static int attach_range(struct batch_of_sites *b, const struct broker_site *sites, unsigned n,
			struct failure *f)
{
	int error;

	if (b->given_up) {
		b->c->refused_sites += n;
		return 0;
	}
	error = files_attach_sites(b->c, b->file, b->links, b->program, b->pid, sites, n, f);
	if (!error || error == -EPIPE || error == -ENOMEM || error == -ESRCH)
		return error;
	b->failed += error == -EBADMSG ? NOT_PROVED : 1;
	if (b->failed >= MOST_FAILED) {
		if (!b->given_up)
			capture_log(b->c, 0,
				    "so many probes cannot be attached to that the rest is left "
				    "out: %s",
				    f->reason);
		b->given_up = true;
		b->c->refused_sites += n;
		return 0;
	}
	if (n == 1) {
		tell_refused(b->c, &b->c->sites[(uint32_t)sites->cookie], f);
		return 0;
	}
	error = attach_range(b, sites, n / 2, f);
	return error ? error : attach_range(b, sites + n / 2, n - n / 2, f);
}

static int attach_sites(struct batch_of_sites *b, unsigned first, unsigned end, struct failure *f)
{
	struct broker_site *sites;
	unsigned i, n;
	int error = 0;

	if (first == end)
		return 0;
	sites = calloc(BROKER_MAX_SITES, sizeof(*sites));
	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	for (i = first; i < end && !error; i += n) {
		for (n = 0; n < BROKER_MAX_SITES && i + n < end; n++) {
			const struct site *s = &b->c->sites[i + n];

			sites[n].offset = s->offset;
			sites[n].switch_offset = s->switch_offset;
			sites[n].cookie = (uint64_t)s->probe->spec << USDT_SPEC_SHIFT | (i + n);
		}
		error = attach_range(b, sites, n, f);
	}
	free(sites);
	return error;
}

int probes_attach(struct capture *c, struct file *file, pid_t pid, struct links links,
		  struct failure *f)
{
	struct batch_of_sites b = { c, file, pid, links, BROKER_USDT, 0, false };
	int error;

	if (!file->n_probes)
		return 0;
	error = attach_sites(&b, file->first_probe, file->first_call, f);
	b.program = BROKER_FUNCTIONS;
	return error ? error
		     : attach_sites(&b, file->first_call, file->first_probe + file->n_probes, f);
}
