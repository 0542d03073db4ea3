// SPDX-License-Identifier: BSD-2-Clause
#include <proftrace.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 100; i++) {
		PROF_SCOPE("tick", "number", i);
		usleep(10000);
	}
}
