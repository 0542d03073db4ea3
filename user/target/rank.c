/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/rank.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_ENVIRONMENT (1 << 20)

static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID" };

#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

bool rank_is_valid(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && !text[n] && n < RANK_SIZE;
}

bool rank_in_environment(const char *block, size_t size, char ret_rank[RANK_SIZE])
{
	const char *end = block + size, *at, *stop;
	unsigned i;

	for (i = 0; i < N_VARIABLES; i++) {
		size_t n = strlen(variables[i]);

		for (at = block; at < end; at = stop + 1) {
			size_t length;

			stop = memchr(at, '\0', end - at);
			if (!stop)
				break;
			length = stop - at;
			if (length > n && length - n - 1 < RANK_SIZE && at[n] == '=' &&
			    !memcmp(at, variables[i], n) && rank_is_valid(at + n + 1)) {
				memcpy(ret_rank, at + n + 1, length - n);
				return true;
			}
		}
	}
	return false;
}

static bool own_rank(char ret_rank[RANK_SIZE])
{
	unsigned i;

	for (i = 0; i < N_VARIABLES; i++) {
		const char *value = getenv(variables[i]);

		if (value && rank_is_valid(value)) {
			strcpy(ret_rank, value);
			return true;
		}
	}
	return false;
}

bool rank_of_process(pid_t pid, char ret_rank[RANK_SIZE])
{
	char path[32], *block;
	size_t size = 0;
	bool found;
	ssize_t n;
	int fd;

	if (!pid)
		return own_rank(ret_rank);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	block = fd < 0 ? NULL : malloc(LIMIT_ENVIRONMENT);
	if (!block) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	do {
		n = read(fd, block + size, LIMIT_ENVIRONMENT - size);
		size += n > 0 ? n : 0;
	} while (n > 0 && size < LIMIT_ENVIRONMENT);
	close(fd);
	found = rank_in_environment(block, size, ret_rank);
	free(block);
	return found;
}
