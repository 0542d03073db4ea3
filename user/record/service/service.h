/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace serve`: a recording that is always on.
 *
 * The supervisor is the process that systemd knows. It reads the configuration and starts a recorder, the same as that
 * of `proftrace record`, in a process of its own, because a recorder gives up the privileges that the next one needs.
 * On SIGHUP, a second recorder checks the new configuration before the first one is stopped, so that a wrong
 * configuration changes nothing.
 */
#ifndef PROFTRACE_RECORD_SERVICE_SERVICE_H
#define PROFTRACE_RECORD_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In memory that the supervisor and its recorders share. */
struct service_counts {
	uint64_t reloads, reloads_failed;
};

/* The recorder's side. */
struct service {
	int socket; /* to the supervisor; it ends when the supervisor does */
	const struct service_counts *counts;
};

/* What the recorder sends. */
enum service_message {
	SERVICE_NOTHING = 0,	/* never sent: what is waited for is its end */
	SERVICE_ACCEPTED = 'a', /* the configuration is right */
	SERVICE_RECORDS = 'r',
};

void service_send(const struct service *service, enum service_message message);
/* Waits until the recorder before this one has ended. False: this one is not needed. */
bool service_may_begin(const struct service *service);

/*
 * supervisor.c: runs until a signal or the end of the recorder. `run` is called in the recorder's process with the
 * text of the file; it sends SERVICE_ACCEPTED, calls service_may_begin() and records. Returns the exit status.
 */
typedef int service_run(const char *file, char *text, const struct service *service);
int service_supervise(const char *file, service_run *run);

/* service_file.c: the text of a configuration, allocated; NULL with a reason. */
struct failure;
char *service_read_file(const char *file, struct failure *f);

/* notify.c: the protocol of sd_notify(3). Does nothing if no manager asked for it. */
void notify_manager(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* journal.c: if standard error is the journal, its lines get priorities from now on. */
void journal_begin(void);

#endif
