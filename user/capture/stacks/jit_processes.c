/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes with generated code, and the files in which they write down its names. These are opened while the process lives and
 * read at the end (names.c), so that their number is limited. Beyond the limit a new process replaces one that nobody misses:
 * any user can start thousands of such programs, and a service records for months.
 */
#include "capture/stacks/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_JITS 256 /* each may have two open files */

/*
 * A process that has had generated code. The code of a later one with its number is another mapping, also when the first one
 * has been replaced.
 */
struct jit_number {
	uint32_t pid;
	unsigned before; /* how many processes or programs of this number have ended */
	bool is_running;
	UT_hash_handle hh;
};

void jit_process_open_map(struct stacks *s, struct jit_process *j)
{
	const struct broker_target target = { (pid_t)j->pid, 0 };

	if (j->fd < 0 && !j->has_ended)
		j->fd = broker_open(s->broker, BROKER_JIT_MAP, &target, 0, 0, NULL);
}

static struct jit_number *jit_number_find(const struct stacks *s, uint32_t pid)
{
	struct jit_number *number;

	HASH_FIND(hh, s->jit_numbers, &pid, sizeof(pid), number);
	return number;
}

void stacks_end_jit(struct stacks *s, uint32_t pid)
{
	struct jit_number *number = jit_number_find(s, pid);

	if (!number || !number->is_running)
		return;
	number->is_running = false;
	number->before++;
	hash_each (s->jits, j)
		j->has_ended |= j->pid == pid;
}

unsigned stacks_jits_before(const struct stacks *s, uint32_t pid)
{
	const struct jit_number *number = jit_number_find(s, pid);

	return number ? number->before : 0;
}

struct jit_process *jit_process_find(const struct stacks *s, const struct code_mapping *mapping)
{
	struct jit_process *j;

	HASH_FIND_PTR(s->jits, &mapping, j);
	return j;
}

static void jit_process_free(struct stacks *s, struct jit_process *j)
{
	HASH_DEL(s->jits, j);
	if (j->fd >= 0)
		close(j->fd);
	if (j->dump_fd >= 0)
		close(j->dump_fd);
	free(j);
}

/* --- the limit ----------------------------------------------------------------------------------- */

static unsigned count_jits_of(struct stacks *s, uid_t owner)
{
	unsigned n = 0;

	hash_each (s->jits, j)
		n += j->owner == owner;
	return n;
}

/* How much is lost with it: 0 nothing, since it has ended and is in no call stack; 1 names of the past; 2 also names to come. */
static unsigned jit_process_value(const struct jit_process *j)
{
	return !j->has_ended ? 2 : j->has_frames ? 1 : 0;
}

/*
 * Which one a process of `owner` may replace: the oldest of those that are worth least. Names are lost only by the user who has
 * the most processes here, so that nobody can take them away from others by starting many. NULL: none.
 */
static struct jit_process *find_replaceable_jit(struct stacks *s, uid_t owner)
{
	const unsigned own = count_jits_of(s, owner);
	struct jit_process *best = NULL;
	unsigned most = own;
	uid_t user = owner;

	hash_each (s->jits, j) {
		unsigned n;

		if (!jit_process_value(j))
			return j;
		n = j->owner == user ? 0 : count_jits_of(s, j->owner);
		if (n > most) {
			most = n;
			user = j->owner;
		}
	}
	/* They are in the order in which they were added. */
	hash_each (s->jits, j) {
		if (j->owner == user && (!best || jit_process_value(j) < jit_process_value(best)))
			best = j;
	}
	/* Nor does a running one make place for another of the same user, or of one who would have more then. */
	if (best && !best->has_ended && most <= own + 1)
		return NULL;
	return best;
}

static struct jit_process *jit_process_add(struct stacks *s, const struct code_mapping *mapping,
					   uint32_t pid)
{
	struct jit_process *j, *replaced;
	char path[32];
	struct stat st;
	bool has_ended;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	has_ended = stat(path, &st) != 0;
	if (has_ended)
		st.st_uid = (uid_t)-1; /* no file is believed to be its own */
	if (HASH_COUNT(s->jits) >= MAX_JITS) {
		replaced = find_replaceable_jit(s, st.st_uid);
		if (!replaced)
			return NULL;
		jit_process_free(s, replaced);
	}
	j = hash_add_new(hh, s->jits, mapping, mapping);
	if (!j)
		return NULL;
	j->pid = pid;
	j->owner = st.st_uid;
	j->fd = j->dump_fd = -1;
	j->has_ended = has_ended;
	return j;
}

/* --- what scans find ----------------------------------------------------------------------------- */

/* Opens the map at every scan that finds JIT code: later the process, and its container, may no longer exist. */
void stacks_add_jit(struct stacks *s, const struct code_mapping *mapping, uint32_t pid)
{
	struct jit_process *j = jit_process_find(s, mapping);
	struct jit_number *number = jit_number_find(s, pid);

	if (!number)
		number = hash_add_new(hh, s->jit_numbers, pid, pid);
	if (number)
		number->is_running = true;
	if (!j)
		j = jit_process_add(s, mapping, pid);
	if (j)
		jit_process_open_map(s, j);
}

void jit_set_frames(struct stacks *s, const struct code_mapping *mapping)
{
	struct jit_process *j = jit_process_find(s, mapping);

	if (j)
		j->has_frames = true;
}

/*
 * A process that writes a jitdump file maps its beginning as code, so that tracers find the file, wherever it is.
 */
void stacks_find_jit_dump(struct stacks *s, struct stack_process *p)
{
	struct jit_process *found = NULL;

	hash_each (s->jits, j) {
		if (!found && j->pid == p->pid && j->dump_fd < 0 && !j->has_ended)
			found = j;
	}
	for (unsigned i = 0; found && i < p->n && found->dump_fd < 0; i++) {
		const struct code *code = &p->code[i];
		const char *path = code->mapping ? code->mapping->path->text : "";

		if (!code->file || !strstr(path, "/jit-") || !strstr(path, ".dump"))
			continue;
		found->dump_fd = fcntl(code->file->fd, F_DUPFD_CLOEXEC, 0);
		p->has_jit_dump = true;
	}
}

void jit_processes_free(struct stacks *s)
{
	hash_each (s->jits, j)
		jit_process_free(s, j);
	hash_clear(hh, s->jit_numbers, number);
}
