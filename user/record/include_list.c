/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of the files to be included, and who may have them read. A path that a recorded program names is resolved in
 * that program's view of the file system, and read only if the program itself could reach and read the file: the
 * recorder may have more privileges than the program.
 */
#include "record/include_list.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "privilege/living_thread.h"
#include "record/include.h"
#include "tracee/file_access.h"
#include "tracee/maps.h"

struct includes *includes_get(struct recording *r)
{
	if (!r->includes)
		r->includes = calloc(1, sizeof(*r->includes));
	return r->includes;
}

void includes_free(struct includes *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < in->n; i++) {
		free(in->list[i].path);
		if (in->list[i].base >= 0)
			close(in->list[i].base);
	}
	free(in);
}

struct include *include_add(struct includes *in, const char *path)
{
	struct include *include = &in->list[in->n];

	*include = (struct include){ .path = strdup(path), .base = -1 };
	if (!include->path)
		return NULL;
	in->n++;
	return include;
}

/* What another process names is a further trace: it speaks for another process, and another user may be allowed to read it. */
static bool include_is_listed(const struct includes *in, const char *path, uint32_t pid, uid_t user)
{
	for (unsigned i = 0; i < in->n; i++) {
		const struct include *other = &in->list[i];

		if (other->from_program && other->pid == pid && other->requester == user &&
		    !strcmp(other->path, path))
			return true;
	}
	return false;
}

/* A process in a time namespace writes times of that. 0 if it has exited, or the kernel has no such namespaces. */
static int64_t process_clock_shift(int process)
{
	char text[256] = "";
	int fd = openat(process, "timens_offsets", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return clock_offset(text, CLOCK_MONOTONIC);
}

/* By its effective user: the files of a process that is not dumpable are root's. */
static bool process_is_of(int process, uid_t user)
{
	char text[2048] = "", *line;
	unsigned effective;
	int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %*u %u", &effective) == 1 && effective == user;
}

/*
 * Called when the program names the file, because the process may have exited when the recording ends. If it has
 * exited already, or has other privileges than when it named the file, the path is resolved in the recorder's view, unless
 * the process may have had another root.
 * The same number may be that of another process by now: it counts for its own user only. From then on everything is
 * looked up in one directory of /proc, where nothing is found any more when that process has exited, too.
 */
static void include_find_base(struct recording *r, struct include *include)
{
	int process = open_living_thread((pid_t)include->pid);
	struct requester requester;

	include->clock_shift_ns = process_clock_shift(process);
	include->beneath = !include->absolute && !process_has_our_root(process);
	include->base = openat(process, include->absolute ? "root" : "cwd",
			       O_PATH | O_DIRECTORY | O_CLOEXEC);
	include->base_is_theirs = include->base >= 0 && process_is_of(process, include->requester);
	/* Also of one that has ended, and that nobody has waited for yet. */
	include->overrides = process_is_of(process, include->requester) &&
			     !requester_of_process(&requester, process) && requester.overrides;
	if (process >= 0)
		close(process);
	if (include->base_is_theirs)
		return;
	if (include->base >= 0)
		close(include->base);
	include->base = -1;
	if (!capture_has_our_root(r->capture, (pid_t)include->pid)) {
		include->error = -ESRCH;
		return;
	}
	include->base = open(include->absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (include->base < 0)
		include->error = -errno;
}

void include_add_named(struct recording *r, const struct event *event)
{
	const struct arg *path = event->n_args ? &event->args[0] : NULL;
	struct includes *in = includes_get(r);
	struct include *include;

	if (!in || !path || path->type != ARG_STRING || path->cut || !path->length)
		return;
	if (path->s[0] == '/' && include_is_listed(in, path->s, event->pid, (uid_t)event->id))
		return;
	/* Files of the command line are added at the end and have their own places. */
	if (in->n >= MAX_FROM_PROGRAMS) {
		in->refused++;
		return;
	}
	include = include_add(in, path->s);
	if (!include)
		return;
	include->from_program = true;
	include->absolute = path->s[0] == '/';
	include->pid = event->pid;
	include->requester = (uid_t)event->id;
	include_find_base(r, include);
}

static struct requester include_requester(const struct include *in)
{
	return (struct requester){ .uid = in->requester,
				   .overrides = in->overrides,
				   .n_groups = -1 };
}

/* Accepts files with contents: a program must not make the recorder drain a kernel log that others read. */
static int include_check_file(struct include *in, int fd)
{
	const struct requester requester = include_requester(in);
	struct stat st;

	if (fstat(fd, &st))
		return -EIO;
	in->device = st.st_dev;
	in->inode = st.st_ino;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (in->from_program && !requester_may(&requester, fd, &st, S_IROTH))
		return -EACCES;
	return in->from_program && !file_is_stored(fd) ? -ENODATA : 0;
}

/*
 * A program's path is resolved in its own root and without magic links of /proc. The file is examined with O_PATH
 * before it is opened, because opening a device can have effects; and it is opened with O_NONBLOCK, because of leases.
 */
int include_open(struct include *in)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, place, fd, error;
	char path[48];

	if (in->from_program) {
		how.resolve = RESOLVE_NO_MAGICLINKS | (in->absolute  ? RESOLVE_IN_ROOT
						       : in->beneath ? RESOLVE_BENEATH
								     : 0);
		place = (int)syscall(SYS_openat2, in->base, in->path, &how, sizeof(how));
	} else {
		place = open(in->path, O_PATH | O_CLOEXEC);
	}
	if (place < 0)
		return -errno;
	error = include_check_file(in, place);
	if (!error && in->from_program) {
		const struct requester requester = include_requester(in);

		error = requester_may_open(&requester, in->base_is_theirs ? in->base : -1, place);
		in->unreachable = error != 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = error ? error : open(path, flags);
	if (!error && fd < 0)
		fd = -errno;
	close(place);
	return fd;
}
