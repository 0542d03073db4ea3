/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between recorder and broker. A message is one packet; descriptors are passed with
 * it.
 */
#ifndef PROFTRACE_PRIVILEGE_BROKER_PROTOCOL_H
#define PROFTRACE_PRIVILEGE_BROKER_PROTOCOL_H

#include "base/message.h"
#include "privilege/broker/broker.h"

enum request_kind {
	REQUEST_IDENTIFY = 1,
	REQUEST_TRACE,
	REQUEST_PAUSE,
	REQUEST_BASES,
	REQUEST_OPEN,
	REQUEST_ATTACH,
	REQUEST_DETACH,
	REQUEST_FUNCTIONS, /* with the descriptor of the file */
	REQUEST_FIND,	   /* the reply is followed by the PIDs: uint32_t[] */
	REQUEST_ADOPT,	   /* with the socket by which the process is handed over */
	REQUEST_CONTAINER, /* the reply is followed by its name */
};

struct request {
	uint32_t kind;
	/* enum broker_file, enum broker_program, the flags of TRACE, PAUSE and ADOPT; 1: DETACH later, FIND what is not recorded */
	uint32_t what;
	int32_t pid;
	uint32_t n_sites; /* or links */
	uint64_t birth;
	uint64_t start;
	uint64_t end;
	/*
	 * Followed by, for ATTACH: struct broker_site[n_sites]; for FUNCTIONS: uint64_t[n_sites],
	 * addresses; for DETACH: uint32_t[n_sites], links.
	 */
};

struct reply {
	int32_t error;	    /* 0 or negative errno */
	uint32_t link;	    /* ATTACH */
	uint64_t birth;	    /* IDENTIFY */
	uint64_t kernel_ns; /* ATTACH: how long the kernel took */
	struct failure failure;
	struct broker_loaded loaded; /* only in the first packet, which also has the descriptors */
				     /*
	 * FUNCTIONS: followed by struct proved_function with its exits or its refusal
	 * (privilege/prover/).
	 */
};

#define MESSAGE_MAX_FDS (24 + MAX_BUFFERS) /* in one packet of the broker */

#endif
