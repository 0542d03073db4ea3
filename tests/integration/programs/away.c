/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * away FILE N: makes N marks each with a run-time name and with a run-time key, both across a page boundary of a file
 * that is mapped, and which the kernel takes away before each mark. Prints `marks <n>`, and the words `name` and `key`.
 */
#include <proftrace.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  65536 /* the largest there is */
#define PAGES 3

/* In the file the pages are in reverse order: so each is a mapping of its own, and comes when it is read itself. */
static char *map_texts(const char *path)
{
	static char bytes[PAGES * PAGE];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), i;
	char *place = mmap(NULL, sizeof(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(bytes + PAGE - 8, "name in two pages", 18);
	memcpy(bytes + 2 * PAGE - 8, "key in two pages", 17);
	if (fd < 0 || place == MAP_FAILED)
		return NULL;
	for (i = 0; i < PAGES; i++) {
		off_t at = (off_t)(PAGES - 1 - i) * PAGE;

		if (pwrite(fd, bytes + i * PAGE, PAGE, at) != PAGE ||
		    mmap(place + i * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, at) ==
			    MAP_FAILED)
			return NULL;
	}
	close(fd);
	return place;
}

int main(int argc, char **argv)
{
	char *texts = argc > 2 ? map_texts(argv[1]) : NULL;
	int i, n = argc > 2 ? atoi(argv[2]) : 0, marks = 0;

	if (!texts)
		return 1;
	for (i = 0; i < n; i++) {
		const prof_arg_t arg = prof_arg_int(texts + 2 * PAGE - 8, i);

		madvise(texts, PAGES * PAGE, MADV_DONTNEED);
		PROF_INSTANT_DYN(texts + PAGE - 8, "i", i);
		madvise(texts, PAGES * PAGE, MADV_DONTNEED);
		prof_instant_args(NULL, texts + PAGE - 8, PROF_SCOPE_THREAD, &arg, 1);
		marks += 2;
	}
	printf("marks %d\n", marks);
	return 0;
}
