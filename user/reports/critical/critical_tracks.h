/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `convert --critical`: the paths as slices in the trace that is written. This is a header to include from
 * outside; it also calls merge/.
 */
#ifndef PROFTRACE_REPORTS_CRITICAL_CRITICAL_TRACKS_H
#define PROFTRACE_REPORTS_CRITICAL_CRITICAL_TRACKS_H

#include "merge/rewrite.h"
#include "timeline/consumer.h"

/*
 * Adds the paths to the outputs once the source has been read to its end. `critical`: of critical_new(), and
 * a consumer of the timeline of `rewrite`. Returns 0 or negative errno with `f` filled.
 */
int critical_write_tracks(struct consumer *critical, struct rewrite *rewrite, struct failure *f);
/* Prints on standard error how many there were. */
void critical_tracks_summary(const struct consumer *critical);

#endif
