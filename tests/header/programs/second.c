/* SPDX-License-Identifier: BSD-2-Clause */
/* A file whose markers belong to another domain, which the first file defines. */
#include <proftrace.h>

PROF_DOMAIN_DECLARE(net);
PROF_DEFAULT_DOMAIN(net);
PROF_MARKER_DECLARE(request);
PROF_TASK_DECLARE(parse);
PROF_FRAME_DECLARE(tick);
PROF_EVENT_DECLARE(loaded);
PROF_COUNTER_OBJECT_DECLARE(sent);

#ifdef __cplusplus
extern "C" {
#endif
extern int second_evaluated;
int second_work(int x);
int second_object(const prof_marker_t *marker);
#ifdef __cplusplus
}
#endif

int second_evaluated;

/* Whether this file and the other have the same objects. */
int second_object(const prof_marker_t *marker)
{
	prof_marker_start(&request);
	prof_marker_finish(&request);
	prof_marker_counter(&request, "evaluated", second_evaluated++);
	prof_task_start(&parse);
	prof_task_stop(&parse);
	prof_frame_start(&tick);
	prof_frame_stop(&tick);
	prof_event_start(&loaded);
	prof_event_stop(&loaded);
	prof_counter_increment(&sent, 2);
	return marker == &request && prof_marker_get("made", "x") == prof_marker_get("made", "x");
}

int second_work(int x)
{
	int y = 0;

	PROF_FUNCTION("x", (second_evaluated++, x));
	PROF_BEGIN("loop");
	for (int i = 0; i < 2; i++) {
		PROF_SCOPE("pass", "i", i, "name", "second");
		y += x;
	}
	PROF_END("y", (second_evaluated++, y));
	PROF_COUNTER("y", y);
	return y;
}
