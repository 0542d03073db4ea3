/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/task_number.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE "\nNSpid:\t"

long task_number_within(int directory)
{
	int fd = openat(directory, "status", O_RDONLY | O_CLOEXEC);
	/* The groups stand before it, of which some have many. */
	char text[16384];
	const char *at;
	long number = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* The kernel escapes newlines in names: lines are its own. A line that was cut says nothing. */
	at = strstr(text, LINE);
	if (!at || !strchr(at + 1, '\n'))
		return 0;
	for (at += sizeof(LINE) - 2; *at == '\t';)
		number = strtol(at + 1, (char **)&at, 10);
	return number;
}
