/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rewrites FIRST SECOND THIRD OTHER: opens two libraries, writes the bytes of the other one into the third, and opens that.
 * Prints `marked <n>`: what the constructor of library.so has counted.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned marked;

/* Called by the constructors of libraries. */
void count_marks(unsigned n);
void count_marks(unsigned n)
{
	marked += n;
}

static void open_library(const char *path)
{
	if (dlopen(path, RTLD_NOW))
		return;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

static void write_library(const char *path, const char *other)
{
	FILE *to = fopen(path, "w"), *from = fopen(other, "r");
	char bytes[4096];
	size_t n;

	if (!to || !from)
		exit(1);
	while ((n = fread(bytes, 1, sizeof(bytes), from)))
		fwrite(bytes, 1, n, to);
	fclose(from);
	if (fclose(to))
		exit(1);
}

int main(int argc, char **argv)
{
	/* A recorder has read the third one by then, which it does not tell. */
	const struct timespec while_read = { .tv_nsec = 300000000 };

	if (argc != 5)
		return 2;
	open_library(argv[1]);
	open_library(argv[2]);
	nanosleep(&while_read, NULL);
	write_library(argv[3], argv[4]);
	open_library(argv[3]);
	printf("marked %u\n", marked);
	return 0;
}
