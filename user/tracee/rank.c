/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of a process is untrusted text of any size, so it is bounded and the value is checked. */
#include "tracee/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/living_thread.h"
#include "tracee/memory/target_memory.h"

enum {
	MAX_ENVIRONMENT = 4 << 20,
	MAX_LOCAL_RANKS = 65536,
};

/* The first one that is set to a number is used. */
static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID" };

/* Returns 0 if the value is not a number. */
static int rank_copy(const char *value, char *out, size_t size)
{
	size_t length = strspn(value, "0123456789");

	if (!length || value[length] || length >= size || length > 9)
		return 0;
	memcpy(out, value, length + 1);
	return 1;
}

static const char *environment_find(const char *environment, size_t size, const char *variable)
{
	size_t length = strlen(variable), at;

	for (at = 0; at < size; at += strlen(environment + at) + 1) {
		if (!strncmp(environment + at, variable, length) && environment[at + length] == '=')
			return environment + at + length + 1;
	}
	return NULL;
}

/* Reads the whole environment and adds a NUL. NULL: it may not be read; *ret_error is -EAGAIN if it cannot be for now. */
static char *environment_read(pid_t pid, size_t *ret_size, int *ret_error)
{
	size_t size = 0, capacity = 0;
	struct target_memory *memory;
	char path[64], *bytes = NULL;
	ssize_t n = 1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/environ", (int)pid, (int)living_number(pid));
	memory = target_memory_at(path);
	while (memory && n > 0 && size < MAX_ENVIRONMENT) {
		size_t more = capacity ? capacity : 16384;
		char *grown = realloc(bytes, capacity + more);

		if (!grown)
			break;
		bytes = grown;
		capacity += more;
		n = target_memory_read_text(memory, size, bytes + size, capacity - size - 1);
		if (n > 0)
			size += (size_t)n;
		if (size < capacity - 1)
			break;
	}
	target_memory_free(memory);
	if (bytes)
		bytes[size] = '\0';
	*ret_size = size;
	*ret_error = n == -EAGAIN ? -EAGAIN : 0;
	return bytes;
}

int target_has_role(pid_t pid, const char *role)
{
	size_t length = 0;
	int error;
	char *environment = environment_read(pid, &length, &error);
	const char *value = NULL;
	bool has;

	if (environment)
		value = environment_find(environment, length, "PROFTRACE_ROLE")
				?: environment_find(environment, length, "DMLC_ROLE");
	has = value && !strcmp(value, role);
	free(environment);
	return error ? error : has;
}

int target_rank(pid_t pid, char *out, size_t size)
{
	size_t i, length = 0;
	int error = 0;
	char *environment = pid ? environment_read(pid, &length, &error) : NULL;

	out[0] = '\0';
	for (i = 0; !error && i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = !pid ? getenv(variables[i])
				    : environment
					    ? environment_find(environment, length, variables[i])
					    : NULL;

		if (value && rank_copy(value, out, size))
			break;
	}
	free(environment);
	return error;
}

static unsigned local_number(const char *value)
{
	unsigned long n =
		value && value[0] >= '0' && value[0] <= '9' ? strtoul(value, NULL, 10) : 0;

	return n <= MAX_LOCAL_RANKS ? (unsigned)n : 0;
}

/* Slurm's list of a number for each node: 4(x2),3 is 4, 4 and 3. */
static unsigned local_of_list(const char *list, unsigned long node)
{
	while (list && *list) {
		char *end;
		unsigned long times = 1, n = strtoul(list, &end, 10);

		if (end == list)
			return 0;
		if (end[0] == '(' && end[1] == 'x') {
			times = strtoul(end + 2, &end, 10);
			if (*end != ')' || !times)
				return 0;
			end++;
		}
		if (node < times)
			return n <= MAX_LOCAL_RANKS ? (unsigned)n : 0;
		node -= times;
		list = *end == ',' ? end + 1 : NULL;
	}
	return 0;
}

unsigned target_local_ranks(void)
{
	const char *node = getenv("SLURM_NODEID");
	char rank[12];
	unsigned n;

	target_rank(0, rank, sizeof(rank));
	if (!rank[0])
		return 0;
	n = local_number(getenv("OMPI_COMM_WORLD_LOCAL_SIZE"));
	n = n ?: local_number(getenv("LOCAL_WORLD_SIZE"));
	if (!n && node && node[0] >= '0' && node[0] <= '9')
		n = local_of_list(getenv("SLURM_STEP_TASKS_PER_NODE"), strtoul(node, NULL, 10));
	return n;
}
