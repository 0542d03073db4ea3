/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two halves say to each other. One message is one packet; descriptors travel beside it. */
#ifndef PROFTRACE_BROKER_PROTOCOL_H
#define PROFTRACE_BROKER_PROTOCOL_H

#include "broker/broker.h"

enum request_kind {
	REQUEST_IDENTIFY = 1,
	REQUEST_TRACE,
	REQUEST_OPEN,
	REQUEST_ATTACH,
	REQUEST_DETACH,
};

struct request {
	uint32_t kind;
	uint32_t what; /* enum broker_file, enum broker_program, a link, or the flags of TRACE */
	int32_t pid;
	uint32_t n_sites;
	uint64_t birth;
	uint64_t start;
	uint64_t end;
	/* ATTACH: then struct broker_site[n_sites] */
};

struct reply {
	int32_t error;	/* 0 or negative errno */
	uint32_t link;	/* ATTACH */
	uint64_t birth; /* IDENTIFY */
	struct failure failure;
	struct broker_loaded loaded; /* only the first packet ever: descriptors come beside it */
};

#define MESSAGE_MAX_FDS (16 + MAX_BUFFERS) /* that pass at once; the kernel would let 253 */

/* Both return 0 or negative errno; -EPIPE when the other side is gone. */
int message_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
		 const int *fds, unsigned n_fds);
/* *ret_size: bytes received in all, at most size. *n_fds: room before, received after. */
int message_receive(int socket, void *buffer, size_t size, size_t *ret_size, int *fds,
		    unsigned *n_fds);

#endif
