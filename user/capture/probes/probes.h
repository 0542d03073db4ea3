/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Existing USDT probes (-u): selecting the sites of a file, attaching to them, and decoding their
 * records. The records are those of marks (bpf/event.h), but arguments have numbers only, and names
 * and keys are kept here.
 */
#ifndef PROFTRACE_CAPTURE_PROBES_PROBES_H
#define PROFTRACE_CAPTURE_PROBES_PROBES_H

#include "capture/internal.h"
#include "capture/probes/usdt_request.h"

/* What is needed to decode the records of a site. */
struct probe {
	struct marker marker; /* its name, category and keys */
	const struct usdt_request *request;
	const struct name *provider, *name;
	unsigned n_args;  /* number of arguments in a record */
	unsigned n_shown; /* those in the event; the others are only for the template */
	uint8_t fields[USDT_MAX_FIELDS]; /* index in the record of each field of the request */
	uint32_t pair;			 /* number of the pair; 0: none */
	uint32_t spec;			 /* number of the spec */
	bool has_template;
};

struct probes;

/* Parses the requests in options.usdt and options.functions. */
int probes_open(struct capture *c, struct failure *f);
void probes_close(struct capture *c);

/* Selects probes of the file and adds them as its sites. */
int probes_select(struct capture *c, struct file *file, const char *path, struct failure *f);
/* The file counts no more among those whose probes are limited. */
void probes_give_back(struct capture *c, const struct file *file);
/* Attaches to them. A site that cannot be attached to is logged and left out. */
int probes_attach(struct capture *c, struct file *file, pid_t pid, struct links links,
		  struct failure *f);

/* Makes the event of a record whose values have been decoded. False: it is malformed. */
bool decode_probe_event(struct capture *c, const struct record *r, const struct probe *probe,
			struct event *e);

/* The n-th request of -u and -f that matched nothing, and its option; NULL: there are no more. */
const char *probes_not_found(const struct capture *c, unsigned n, char *ret_option);

#endif
