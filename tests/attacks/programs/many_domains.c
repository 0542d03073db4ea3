/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_domains: has 130 domains with a mark each, and marks in the last four until the very last is switched off.
 */
#include <proftrace.h>

/* clang-format off */
#define TEN(what, n) \
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define ALL(what) \
	TEN(what, 10) TEN(what, 11) TEN(what, 12) TEN(what, 13) TEN(what, 14) TEN(what, 15) TEN(what, 16) TEN(what, 17) \
	TEN(what, 18) TEN(what, 19) TEN(what, 20) TEN(what, 21) TEN(what, 22)
#define DOMAIN(n) PROF_DOMAIN(d##n, "d" #n);
#define MARK(n) PROF_INSTANT_IN(d##n, "mark");
/* clang-format on */

ALL(DOMAIN)

int main(void)
{
	ALL(MARK);
	while (prof_is_enabled(&d229)) {
		MARK(226) MARK(227) MARK(228) MARK(229)
	}
	return 0;
}
