/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_dumps make FILE NAMES: writes a jitdump file with so many functions.
 * jit_dumps run|stop FILE...: for each a child that maps the file and generates code, which runs for a fifth of a second; `stop`
 * then sends two signals to its parent.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct __attribute__((packed)) load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, code_size, index;
	char name[2];
};

static int make(const char *path, long n)
{
	const uint32_t header[10] = { 0x4a695444, 1, sizeof(header), 62 };
	FILE *file = fopen(path, "w");
	uint64_t random = 88172645463325252ull;
	long i;

	if (!file)
		return 1;
	fwrite(header, sizeof(header), 1, file);
	for (i = 0; i < n; i++) {
		struct load load = { 0, sizeof(load), 0, 1, 1, 0, 0, 1 << 20, 0, "a" };

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		load.time = random >> 20;
		load.address = random << 16 >> 16;
		fwrite(&load, sizeof(load), 1, file);
	}
	return fclose(file);
}

static int run_child(const char *path)
{
	static const unsigned char loop[] = {
		0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3
	};
	int fd = open(path, O_RDONLY);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec used;

	if (map == MAP_FAILED || code == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	do {
		((void (*)(long))(uintptr_t)code)(1000000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < 200000000);
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 4 && !strcmp(argv[1], "make"))
		return make(argv[2], atol(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "child"))
		return run_child(argv[2]);
	for (i = 2; i < argc; i++) {
		if (!fork()) {
			execl("/proc/self/exe", argv[0], "child", argv[i], (char *)NULL);
			_exit(1);
		}
	}
	while (wait(NULL) > 0)
		;
	if (!strcmp(argv[1], "stop")) {
		kill(getppid(), SIGINT);
		kill(getppid(), SIGTERM);
	}
	return 0;
}
