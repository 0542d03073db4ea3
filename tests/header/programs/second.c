/* SPDX-License-Identifier: BSD-2-Clause */
/* A file whose markers belong to another domain, which the first file defines. */
#include <proftrace.h>

PROF_DOMAIN_DECLARE(net);
PROF_DEFAULT_DOMAIN(net);

#ifdef __cplusplus
extern "C" {
#endif
extern int second_evaluated;
int second_work(int x);
#ifdef __cplusplus
}
#endif

int second_evaluated;

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
