/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by existing USDT probes (probes.c) and functions (functions.c). */
#ifndef PROFTRACE_CAPTURE_PROBES_INTERNAL_H
#define PROFTRACE_CAPTURE_PROBES_INTERNAL_H

#include "capture/probes/function_request.h"
#include "capture/probes/probes.h"

/*
 * The slices of a request that belong together. Different text for the stars of the request makes a
 * different pair.
 */
struct pair {
	char *key; /* number of the request, then what its stars stand for */
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
	unsigned n_calls; /* selected functions */
	bool logged_limit, logged_call_limit, logged_descriptors;
	unsigned n_logged;
};

/*
 * The log level for a message about a site. A file can have any number of faulty sites, so only the
 * first messages are always shown.
 */
int probes_log_level(struct probes *p, int verbosity);

/* Adds a site at `vaddr`. Returns 0, -ENOMEM, or -ENOSPC if there are too many different specs. */
int probes_add_site(struct capture *c, struct file *file, const struct probe *probe,
		    const struct usdt_spec *spec, uint64_t vaddr, uint64_t offset);

/* functions.c: adds the selected functions of a file as sites, behind its probes. */
int functions_open(struct capture *c, struct failure *f);
void functions_close(struct probes *p);
int functions_select(struct capture *c, struct file *file, const char *path, struct failure *f);

/*
 * leaving.c: adds the places of a file where exceptions and longjmp() leave calls, before its
 * functions.
 */
int leaving_select(struct capture *c, struct file *file, const char *path, struct failure *f);

#endif
