/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OTLP over HTTP (--otlp): spans of chosen slices, the table as metrics, and samples as profiles, to an OpenTelemetry
 * collector.
 *
 * The process that talks to the network is one of its own (sender.c). It has no privileges, is another user than root,
 * and writes no files. The recorder encodes what is to be sent (spans.c) and gives it to that process over a socket,
 * never waiting for it (otlp.c). What the collector does with it comes back as counts. If the process ends, or is too
 * slow, the recording goes on, and what was not delivered is counted.
 *
 * This is the header to include from outside; the folder calls timeline/, privilege/ and base/.
 */
#ifndef PROFTRACE_OTLP_OTLP_H
#define PROFTRACE_OTLP_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/failure.h"
#include "timeline/consumer.h"
#include "timeline/origin.h"

enum otlp_signal {
	OTLP_SPANS,
	OTLP_METRICS, /* data points */
	OTLP_PROFILES,
	OTLP_SIGNALS,
};

enum {
	OTLP_ITEMS = 64 << 10,	  /* bytes that otlp_give() accepts at once */
	OTLP_RESOURCE = 16 << 10, /* of the resource, beside them */
	OTLP_URL = 1024,
};

struct otlp_options {
	const char *url; /* of the collector, without /v1/traces; NULL: nothing is sent */
	const char *const *spans;
	unsigned n_spans;     /* globs of names of slices */
	uint64_t queue_bytes; /* what waits for the collector */
	bool gzip;
};

/* What became of what was given. All members of a signal but `waiting` only grow. */
struct otlp_counts {
	struct otlp_count {
		uint64_t delivered;
		uint64_t rejected; /* by the collector: the request, or a part of it */
		uint64_t full;	   /* the queue was */
		uint64_t replaced; /* metrics: newer ones came before they could be sent */
		uint64_t waiting;
		char error[160]; /* the latest one; "" since a later request was accepted */
	} signals[OTLP_SIGNALS];
	uint64_t requests, retries;
	uint64_t replies_unreadable; /* that nevertheless said that all is well */
};

struct otlp;

/* "https://host:4318/base": http or https, with a host and without a password. */
bool otlp_url_is_valid(const char *url);

/* Starts the process. To be called before anything is open that it must not inherit. Returns 0 or negative errno. */
int otlp_start(const struct otlp_options *options, struct otlp **ret_otlp, struct failure *f);

/*
 * Gives items of one resource to the process: `resource` is a packed Resource, `items` are fields 2 of ScopeSpans or
 * ScopeMetrics with their tags. `n` is how many spans or data points these are. Never waits.
 */
void otlp_give(struct otlp *otlp, enum otlp_signal signal, const void *resource,
	       size_t resource_size, const void *items, size_t size, uint64_t n);
/* One profile: field 2 of ScopeProfiles with its tag, and the fields of its dictionary. Together at most OTLP_ITEMS. */
void otlp_give_profile(struct otlp *otlp, const void *resource, size_t resource_size,
		       const void *profile, size_t size, const void *dictionary,
		       size_t dictionary_size);
/* What is given from now on replaces what was given before and still waits. */
void otlp_replace(struct otlp *otlp, enum otlp_signal signal);
/* Call regularly. Returns -EPIPE once: the process has ended before its time. */
int otlp_poll(struct otlp *otlp);
/* The recording is over: waits a few seconds until all is delivered, or `give_up` says so. */
void otlp_finish(struct otlp *otlp, bool (*give_up)(void *context), void *context);
const struct otlp_counts *otlp_count(const struct otlp *otlp);
uint64_t otlp_given(const struct otlp *otlp, enum otlp_signal signal);
/* Given, and neither delivered nor waiting. */
uint64_t otlp_lost(const struct otlp *otlp, enum otlp_signal signal);
pid_t otlp_pid(const struct otlp *otlp); /* 0: it has ended */
void otlp_free(struct otlp *otlp);

/*
 * metrics.c: one snapshot of metrics, all of it since `start_ns`; both times are since 1970. It replaces an earlier one that
 * has not been sent yet. NULL: out of memory. The labels of a point come before its value. otlp_metrics_end() frees it.
 */
struct otlp_metrics;
enum otlp_metric_kind {
	OTLP_GAUGE,
	OTLP_SUM, /* never falls */
	OTLP_HISTOGRAM,
};
struct otlp_metrics *otlp_metrics_begin(struct otlp *otlp, const char *host, uint64_t start_ns,
					uint64_t now_ns);
void otlp_metric(struct otlp_metrics *m, enum otlp_metric_kind kind, const char *name,
		 const char *unit, const char *description);
void otlp_point_label(struct otlp_metrics *m, const char *key, const char *value);
void otlp_point_integer(struct otlp_metrics *m, int64_t value);
void otlp_point_double(struct otlp_metrics *m, double value);
/* `counts` has one more than `bounds`, which are included in the buckets below them. */
void otlp_point_histogram(struct otlp_metrics *m, uint64_t count, double sum, double *bounds,
			  uint64_t *counts, unsigned n_bounds);
void otlp_metrics_end(struct otlp_metrics *m);

/* spans.c: a consumer that gives the chosen slices as spans. `info` is borrowed for the call. NULL: out of memory. */
struct consumer *otlp_spans_new(struct otlp *otlp, const struct otlp_options *options,
				const struct trace_info *info);
struct otlp_context;
/* The innermost span, or trace context of the service, in which the thread is. False: there is none, or it is not sampled. */
bool otlp_spans_context(const struct consumer *spans, const struct thread *thread,
			struct otlp_context *ret_context);
/* Chosen slices that are not sent because the service's own tracer does not sample their trace. */
uint64_t otlp_spans_unsampled(const struct consumer *spans);
/* Chosen slices for which there was no memory, or too many were open. */
uint64_t otlp_spans_refused(const struct consumer *spans);

/*
 * profiles.c: a consumer that gives samples as profiles when it is flushed, or has many. `spans` may be NULL.
 * `name_frames` names the functions of all stacks that have come. NULL: out of memory.
 */
struct consumer *otlp_profiles_new(struct otlp *otlp, const struct consumer *spans,
				   const struct trace_info *info,
				   void (*name_frames)(void *context), void *context);
void otlp_profiles_flush(struct consumer *profiles);
/* Samples for which there was no memory, or whose stack is too large. */
uint64_t otlp_profiles_refused(const struct consumer *profiles);

#endif
