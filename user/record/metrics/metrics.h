/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `--metrics`: serves the table of the recording to Prometheus and other scrapers.
 *
 * The process that talks to the network is one of its own. It has no privileges, is another user than root, opens no
 * files, and only asks the recorder for the text: with each request it sends the recorder one end of a new pair of
 * sockets, on which the recorder answers this one request of `proftrace ctl` and no other.
 */
#ifndef PROFTRACE_RECORD_METRICS_METRICS_H
#define PROFTRACE_RECORD_METRICS_METRICS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/failure.h"
#include "reports/table/stats_metrics.h"

enum {
	METRICS_NAMES = 1000, /* of each part of the table: those with the largest totals */
	METRICS_PORT = 9464,  /* Prometheus' list of exporters has it for OpenTelemetry's SDKs */
};

/* How a request begins that a scrape may make. */
#define METRICS_REQUEST_TEXT	 "stats openmetrics "
#define METRICS_REQUEST_PROTOBUF "stats protobuf "

struct metrics_address {
	bool is_set;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} socket;
};

/* "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT", with an address in numbers; 127.0.0.1 if there is none. */
bool metrics_parse_address(const char *text, struct metrics_address *ret_address);

/* The recorder's side. `pid` is 0 if there are no metrics. */
struct metrics {
	pid_t pid;
	int socket; /* -1: the process has ended */
};

/*
 * Listens and starts the process. To be called before anything is open that it must not inherit. Returns 0 or
 * negative errno.
 */
int metrics_start(const struct metrics_address *address, struct metrics *ret_metrics,
		  struct failure *f);
/* After `socket` is readable: returns the connection of a scrape, -EAGAIN, or -EPIPE: the process has ended. */
int metrics_accept(struct metrics *metrics);
void metrics_stop(struct metrics *metrics);

/* metrics_recording.c: writes what the recorder itself did. `recording`: a struct recording. */
void metrics_write_recording(const struct metric_writer *w, void *context, const void *recording);

/*
 * metrics_accept.c: whether a header Accept, or NULL, prefers Prometheus' protobuf format, which has native histograms, to
 * OpenMetrics text.
 */
bool metrics_prefers_protobuf(const char *accept);

/* metrics_serve.c: the process. Returns its exit status. */
int metrics_serve(int listener, int recorder, const struct metrics_address *address);

#endif
