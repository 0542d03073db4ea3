/* SPDX-License-Identifier: BSD-2-Clause */
/* sites: has three hundred domains, and so about three thousand sites of markers. At the end `marks <n>`. */
#include <proftrace.h>

#include <stdio.h>

#define TEN(what, n)                                                                            \
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7) \
		what(n##8) what(n##9)
#define HUNDRED(what, n) \
	TEN(what, n##0)  \
	TEN(what, n##1)  \
	TEN(what, n##2)  \
	TEN(what, n##3)  \
	TEN(what, n##4)  \
	TEN(what, n##5) TEN(what, n##6) TEN(what, n##7) TEN(what, n##8) TEN(what, n##9)
#define DOMAIN(n) PROF_DOMAIN(n, #n);

HUNDRED(DOMAIN, a)
HUNDRED(DOMAIN, b)
HUNDRED(DOMAIN, c)

int main(void)
{
	PROF_INSTANT_IN(a00, "first");
	PROF_INSTANT_IN(c99, "last");
	printf("marks 2\n");
	return 0;
}
