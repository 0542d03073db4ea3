/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attacks of hijacked share: the socket to the broker, and what is known of the processes. */
#ifndef HIJACKED_H
#define HIJACKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "privilege/broker/protocol.h"
#include "tracee/markers.h"

#define MOST_FOREIGN 16

struct hijacked {
	struct broker *broker;
	struct broker_loaded loaded;
	int socket, elf_fd, library_fd;
	bool own;
	pid_t target, foreign[MOST_FOREIGN];
	unsigned n_foreign;
	struct broker_site sites[MARKERS_MAX_SITES];
	unsigned n_sites;
	unsigned char *shared;
	uint64_t sent;
};
extern struct hijacked h;

/* hijacked.c */
/* Says what nobody should get. */
void got(const char *what, long number);
uint64_t random_number(void);
/* Returns the error of the reply. *ret_fd: a descriptor that came with it, or -1. */
int ask_with(const void *head, size_t head_size, const void *body, size_t body_size, const int *fds,
	     unsigned n_fds, struct reply *reply, int *ret_fd);
int ask(const struct request *r, const void *body, size_t body_size, int fd);
int attach(uint32_t program, pid_t pid, int fd, const struct broker_site *site);

/* processes.c */
void ask_about_others(void);
void ask_finds(void);
void ask_adopts(void);
void ask_waited(void);
void be_orphan(void);

/* places.c */
void ask_places(void);
void ask_library(void);

/* descriptors.c */
void ask_with_descriptors(void);
void send_lingering(void);

/* stopped.c */
void stop_prover(void);

/* damaged.c */
void ask_damaged(void);
void ask_random(void);
void send_too_much(const char *kind);

#endif
