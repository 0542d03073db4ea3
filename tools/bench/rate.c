/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the highest rate that the recorder sustains, and its cost. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"
#include "sections.h"

#define FIXED_RATE  100000.0
#define FIRST_RATE  150000.0
#define TOO_FAST    20e6
#define STEADY_RATE 1e6
#define STEADY	    "CPU ns/event at 1 M/s"

static const struct {
	enum outputs outputs;
	const char *row;
} ways[] = {
	{ OUT_PERFETTO, "Perfetto" },
	{ OUT_JSON, "Chrome JSON" },
	{ OUT_BOTH, "both outputs" },
	{ OUT_PERFETTO | OUT_BATCH, "Perfetto, --mode batch" },
	{ OUT_JSON | OUT_BATCH, "Chrome JSON, --mode batch" },
	{ OUT_BOTH | OUT_BATCH, "both outputs, --mode batch" },
};

struct attempt {
	double rate; /* that was reached */
	struct recorded got;
};

static int try_rate(struct bench *b, enum outputs outputs, double rate, unsigned ms,
		    struct attempt *ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t marks, ns;
	struct subject target;
	struct recorder r;
	char path[512];
	const char *const argv[] = { path, NULL };
	int error, stopped;

	snprintf(path, sizeof(path), "%s/marks", b->directory);
	error = subject_start(&target, argv, 0, true);
	if (error)
		return error;
	/*
	 * The buffer is small, so that a rate that is only sustained for a short time does not
	 * count.
	 */
	error = recorder_start(&r, b->directory, target.said_pid, outputs, "4M");
	if (error) {
		subject_end(&target, NULL);
		return error;
	}
	error = recorder_ready(&r, &target);
	if (!error)
		error = subject_request(&target, "pace %ld %.0f %u", cpus > 1 ? cpus : 2, rate, ms);
	if (!error && sscanf(target.line, "marks %" SCNu64 " %" SCNu64, &marks, &ns) != 2)
		error = -EPROTO;
	bench_sleep(150); /* the rest of the buffer */
	stopped = recorder_stop(&r, false, &ret->got);
	subject_end(&target, NULL);
	if (error || stopped)
		return error ? error : stopped;
	ret->rate = marks * 1e9 / ns;
	return 0;
}

static int fixed(struct bench *b, unsigned way)
{
	struct results *r = &b->results;
	const char *row = ways[way].row;
	struct attempt a;
	int error = try_rate(b, ways[way].outputs, FIXED_RATE, b->quick ? 600 : 1500, &a);

	if (error)
		return error;
	if (a.got.lost)
		results_note(r, SECTION_RATE,
			     "%s lost %" PRIu64 " of %" PRIu64 " at 100,000 a second", row,
			     a.got.lost, a.got.marked);
	results_add(r, SECTION_RATE, row, "CPU ns/event", "ns",
		    (double)a.got.cpu_ns / a.got.marked);
	results_add(r, SECTION_RATE, row, "bytes/event", "bytes",
		    (double)a.got.bytes / a.got.marked);
	results_add(r, SECTION_RATE, row, "resident MB", "MiB", a.got.mapped_mb);
	return 0;
}

static int pace(struct subject *target, unsigned ms, uint64_t *ret_marks, uint64_t *ret_ns)
{
	int error = subject_request(target, "pace %ld %.0f %u", sysconf(_SC_NPROCESSORS_ONLN),
				    STEADY_RATE, ms);

	if (!error && sscanf(target->line, "marks %" SCNu64 " %" SCNu64, ret_marks, ret_ns) != 2)
		error = -EPROTO;
	return error;
}

/* Measures the CPU time of the recorder after it has used its whole ring buffer once. */
static int pace_steadily(struct subject *target, const struct recorder *r, unsigned ms,
			 double *ret_ns, double *ret_rate)
{
	uint64_t marks, ns, cpu_ns;
	int error = pace(target, ms / 2, &marks, &ns);

	bench_sleep(150); /* the rest of the buffer */
	cpu_ns = spent_by(r->process.pid);
	if (!error)
		error = pace(target, ms, &marks, &ns);
	bench_sleep(150);
	if (error)
		return error;
	*ret_ns = (double)(spent_by(r->process.pid) - cpu_ns) / marks;
	*ret_rate = marks * 1e9 / ns;
	return 0;
}

static int steady(struct bench *b, unsigned way)
{
	struct recorded got;
	struct subject target;
	struct recorder r;
	char path[512];
	const char *const argv[] = { path, NULL };
	double event_ns, rate;
	int error, stopped;

	snprintf(path, sizeof(path), "%s/marks", b->directory);
	error = subject_start(&target, argv, 0, true);
	if (error)
		return error;
	error = recorder_start(&r, b->directory, target.said_pid, ways[way].outputs, "16M");
	if (error) {
		subject_end(&target, NULL);
		return error;
	}
	error = recorder_ready(&r, &target);
	if (!error)
		error = pace_steadily(&target, &r, b->quick ? 2000 : 6000, &event_ns, &rate);
	stopped = recorder_stop(&r, false, &got);
	subject_end(&target, NULL);
	if (error || stopped)
		return error ? error : stopped;
	if (got.lost || rate < 0.95 * STEADY_RATE)
		results_note(&b->results, SECTION_RATE,
			     "%s at 1 M/s: %" PRIu64 " of %" PRIu64 " lost, %.0f a second reached",
			     ways[way].row, got.lost, got.marked, rate);
	results_add(&b->results, SECTION_RATE, ways[way].row, STEADY, "ns", event_ns);
	return 0;
}

/*
 * Raises the rate by half until something is lost or the threads cannot mark any faster, then
 * halves the interval twice. Later repetitions begin near the previous result.
 */
static int search(struct bench *b, unsigned way)
{
	struct results *r = &b->results;
	const char *row = ways[way].row, *column = "lossless events/s";
	double last = results_last(r, SECTION_RATE, row, column);
	double rate = isnan(last) ? FIRST_RATE : last * 0.7, good = 0, bad = 0;
	unsigned ms = b->quick ? 500 : 1000, halvings = 0;

	while (!bad || halvings < (b->quick ? 1 : 2)) {
		struct attempt a;
		int error = try_rate(b, ways[way].outputs, rate, ms, &a);

		if (error)
			return error;
		if (bad)
			halvings++;
		if (a.got.lost) {
			bad = rate;
		} else {
			good = a.rate > good ? a.rate : good;
			if (a.rate < 0.95 * rate || rate > TOO_FAST) {
				results_note(
					r, SECTION_RATE,
					"%s: nothing lost at the highest rate that the threads "
					"reached beside it",
					row);
				break;
			}
		}
		if (!bad)
			rate *= 1.5;
		else if (!good)
			rate = bad / 2;
		else
			rate = (good + bad) / 2;
		if (rate < 1000)
			break;
	}
	results_add(r, SECTION_RATE, row, column, "1/s", good);
	return 0;
}

int measure_rate(struct bench *b)
{
	unsigned i;
	int error = 0;

	for (i = 0; !error && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].outputs & OUT_BATCH && !recorder_has_batch())
			continue;
		error = search(b, i);
		if (!error)
			error = fixed(b, i);
		if (!error && ways[i].outputs & OUT_BATCH)
			error = steady(b, i);
	}
	return error;
}
