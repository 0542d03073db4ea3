/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_jits N NAME MS: so many children, sixteen at the same time, each of which generates code with this name in its perf map and
 * runs it for so much CPU time, so that it is sampled and scanned. The maps are left for whoever calls it to remove.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 16

static int run(const char *name, long ms)
{
#ifdef __x86_64__
	static const unsigned char loop[] = {
		0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3
	};
#else
	static const uint32_t loop[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#endif
	char path[64];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec used;
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (code == MAP_FAILED || !map)
		return 1;
	fprintf(map, "%llx 1000 %s\n", (unsigned long long)(uintptr_t)code, name);
	fclose(map);
	memcpy(code, loop, sizeof(loop));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(loop));
	do {
		((void (*)(long))code)(1000000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0, failed = 0, status;

	for (int i = 0; i < n + AT_ONCE; i++) {
		if (i >= AT_ONCE && wait(&status) > 0)
			failed |= status;
		if (i < n && !fork())
			_exit(run(argv[2], atol(argv[3])));
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
