/* SPDX-License-Identifier: BSD-2-Clause */
/* What probes of others (probes.c) and functions (functions.c) share. */
#ifndef PROFTRACE_CAPTURE_PROBES_INTERNAL_H
#define PROFTRACE_CAPTURE_PROBES_INTERNAL_H

#include "capture/function_request.h"
#include "capture/probes.h"

/* Slices of one request: those with other text behind its stars are other pairs. */
struct pair {
	char *key; /* number of the request, provider of the begin, captures */
	uint32_t number;
	UT_hash_handle hh;
};

struct spec {
	struct usdt_spec spec;
	uint32_t number;
	UT_hash_handle hh;
};

struct probes {
	unsigned n_requests;
	struct usdt_request *requests;
	unsigned n_functions; /* requests of -f */
	struct function_request *functions;
	struct usdt_spec *mapped;
	size_t mapped_size;
	struct spec *specs;
	struct pair *pairs;
	unsigned n_sites;
	unsigned n_calls; /* functions that are recorded */
	bool told_of_limit, told_of_calls;
	unsigned told;
};

/* At which verbosity something is said of a site: a file can have any number that is wrong. */
int probes_told_at(struct probes *p, int verbosity);

/* One site more, at `vaddr`: 0, -ENOMEM, or -ENOSPC when there are too many kinds of them. */
int probes_add_site(struct capture *c, struct file *file, const struct probe *probe,
		    const struct usdt_spec *spec, uint64_t vaddr, uint64_t offset);

/* functions.c: those of the file, as sites behind its probes. */
int functions_open(struct capture *c, struct failure *f);
void functions_close(struct probes *p);
int functions_select(struct capture *c, struct file *file, const char *path, struct failure *f);

#endif
