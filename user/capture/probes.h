/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes of others (-u): which sites of a file are asked for, attaching to them, and what their
 * records mean. The records are those of marks (bpf/event.h), with arguments by number and no names:
 * these are here.
 */
#ifndef PROFTRACE_CAPTURE_PROBES_H
#define PROFTRACE_CAPTURE_PROBES_H

#include "capture/internal.h"
#include "capture/usdt_request.h"

/* What is known of a site, for its records. */
struct probe {
	struct marker marker; /* its name, category and keys */
	const struct usdt_request *request;
	const struct name *provider, *name;
	unsigned n_args;  /* in a record */
	unsigned n_shown; /* of these, the first ones; the others are for the template */
	uint8_t fields[USDT_MAX_PARTS]; /* where in a record the fields of the template are */
	uint32_t pair;			/* 0: none */
	uint32_t spec;			/* its number */
	bool has_template;
};

struct probes;

/* From options.usdt, which has been parsed before. */
int probes_open(struct capture *c, struct failure *f);
void probes_close(struct capture *c);

/* Finds those of the file that are asked for: as sites of it. */
int probes_select(struct capture *c, struct file *file, const char *path, struct failure *f);
/* Attaches to them. What cannot be attached to is named and left out. */
int probes_attach(struct capture *c, struct file *file, pid_t pid, struct links links,
		  struct failure *f);

/* The event of a record whose values have been taken. False: it makes no sense. */
bool probe_event(struct capture *c, const struct record *r, const struct probe *probe,
		 struct event *e);

/* Of -u and -f, the n-th that nothing was found for, and which of the two; NULL: no more. */
const char *probes_not_found(const struct capture *c, unsigned n, char *ret_option);

#endif
