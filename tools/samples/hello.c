// SPDX-License-Identifier: BSD-2-Clause
/* The smallest program with markers: the slice "tick" a hundred times, every 10 ms. */
#include <proftrace.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 100; i++) {
		PROF_SCOPE("tick", "number", i);
		usleep(10000);
	}
}
