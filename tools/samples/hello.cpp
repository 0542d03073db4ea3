// SPDX-License-Identifier: BSD-2-Clause
/* The smallest program with markers in C++: the slice "tick" a hundred times, in a domain of its own. */
#include <proftrace.h>
#include <chrono>
#include <thread>

PROF_DOMAIN(hello, "hello");
PROF_DEFAULT_DOMAIN(hello);

int main()
{
	for (int i = 0; i < 100; i++) {
		PROF_SCOPE("tick", "number", i, "half", i / 2.0);
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
}
