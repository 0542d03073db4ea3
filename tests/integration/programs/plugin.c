/* SPDX-License-Identifier: BSD-2-Clause */
/* A library whose constructor and destructor are marked. */
#include <proftrace.h>

PROF_DOMAIN(plugin, "plugin");
PROF_DEFAULT_DOMAIN(plugin);

__attribute__((constructor)) static void construct(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		PROF_BEGIN("constructor", "i", i);
		PROF_END();
	}
}

__attribute__((destructor)) static void destruct(void)
{
	PROF_INSTANT("destructor");
}

int plugin_work(int x);
int plugin_work(int x)
{
	PROF_SCOPE("plugin work", "x", x);
	return x + 1;
}
