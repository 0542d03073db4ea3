/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files of another process. The kernel checks the permissions of the broker, which may be
 * those of root. Whether the *invoking user* may trace the process is checked here, because the
 * kernel does not check it for uprobes.
 */
#include "privilege/broker/server.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "privilege/broker/closing.h"
#include "privilege/containers.h"
#include "privilege/invoker.h"
#include "privilege/living_thread.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#ifndef V9FS_MAGIC
#define V9FS_MAGIC 0x01021997
#endif

/* A broker forks the starter, which forks the provers. */
#define FORKED_BY_BROKERS 2

static int no_process(struct failure *f, int error, pid_t pid)
{
	char object[16];

	snprintf(object, sizeof(object), "%d", (int)pid);
	if (error == -ENOENT || error == -ESRCH) {
		failure_set(f, -ESRCH, "no such process", object, "");
		failure_hint(f, "`ps -e` shows the PIDs of this PID namespace; -n NAME selects by "
				"name");
		return -ESRCH;
	}
	return failure_set(f, error, "cannot read process", object, NULL);
}

/* Reads a small file of /proc/PID; `text` is empty if that fails. Returns 0 or negative errno. */
static int read_whole(int directory, const char *name, char *text, size_t size)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
	int error = n < 0 ? -errno : 0;

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return error;
}

static uint64_t thread_birth(int directory, const char *name)
{
	unsigned long long birth = 0;
	char text[1024];
	const char *at;

	read_whole(directory, name, text, sizeof(text));
	/*
	 * The name, field 2, may contain anything, including parentheses. Only numbers follow the
	 * last one.
	 */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d"
			  " %*d %llu",
			  &birth) != 1)
		return 0;
	return birth;
}

/* A set of capabilities in /proc/PID/status; all of them if it cannot be read. */
static uint64_t read_capabilities(int directory, const char *file, const char *line)
{
	/* The line follows the list of groups, which may be long. */
	char text[16384];
	const char *at;

	read_whole(directory, file, text, sizeof(text));
	at = strstr(text, line);
	return at && strchr(at + 1, '\n') ? strtoull(at + strlen(line), NULL, 16) : UINT64_MAX;
}

/*
 * Whether the process has capabilities that its user has not: those that a service manager gave it. The broker's ambient
 * ones are the user's, its others come from the program file. In a user namespace of its own, all are worth nothing to the
 * user outside, who has made the namespace.
 */
static bool has_more_capabilities(int directory)
{
	uint64_t of_user = read_capabilities(AT_FDCWD, "/proc/self/status", "\nCapAmb:\t");
	struct stat its, own;

	if (!fstatat(directory, "ns/user", &its, 0) && !stat("/proc/self/ns/user", &own) &&
	    its.st_ino != own.st_ino)
		return false;
	if (of_user == UINT64_MAX)
		of_user = 0;
	return read_capabilities(directory, "status", "\nCapPrm:\t") & ~of_user;
}

/*
 * The directory belongs to the effective user of the process. Whether that user may trace the
 * process is another question: not after it executed a set-group-ID program or one with
 * capabilities, or if it is not dumpable for another reason. The kernel checks this when the link
 * `root` is resolved. But it also permits who has all capabilities of the process, and the broker has some that its user
 * has not: these do not count (has_more_capabilities()). None permits more otherwise. (CAP_PERFMON only permits reading
 * the mappings.)
 */
const char *process_untraceable(int directory)
{
	struct stat st;
	bool has_more;
	int fd;

	if (getuid() == 0)
		return NULL;
	if (fstat(directory, &st) || st.st_uid != getuid())
		return "it belongs to another user";
	has_more = has_more_capabilities(directory);
	fd = openat(directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	/* A process that has ended has none, which others find. */
	if (fd >= 0 ? !has_more : errno == ENOENT || errno == ESRCH)
		return NULL;
	if (fd >= 0 || errno == EACCES || errno == EPERM)
		return "it has more privileges than its user, or is not dumpable";
	/* The user may set the broker's limits at any moment (prlimit(2)): without a descriptor nothing is known. */
	return "it cannot be found out whether its user may look into it";
}

bool process_alive(int directory)
{
	return !thread_has_ended(directory);
}

/*
 * A number in /proc/PID/status, or negative errno. The kernel escapes newlines in names, so `line` is
 * the beginning of a line.
 */
static long status_number(int directory, const char *line)
{
	char text[1024];
	int error = read_whole(directory, "status", text, sizeof(text));
	const char *at = strstr(text, line);

	return at ? strtol(at + strlen(line), NULL, 10) : error ? error : -ENODATA;
}

/* That of its first thread, whichever thread's directory it is. */
uint64_t process_birth(int directory)
{
	const long pid = status_number(directory, "\nPid:\t");
	const pid_t process = thread_process(directory);
	char name[32] = "stat";

	if (process != pid)
		snprintf(name, sizeof(name), "task/%d/stat", (int)process);
	return thread_birth(directory, name);
}

pid_t process_parent(int directory)
{
	long parent = status_number(directory, "\nPPid:\t");

	return parent > 0 && parent <= INT_MAX ? (pid_t)parent : 0;
}

/*
 * What is not known counts as protected: the recorder can use up the broker's descriptors, or its user lower its limits. But
 * a process may have ended, or be one that nobody may look into (hidepid=noaccess).
 */
static bool error_protects(long error)
{
	return error < 0 && error != -ENOENT && error != -ESRCH && error != -EPERM &&
	       error != -EACCES;
}

/* The numbers of a file, which the kernel has, without a request to its file system, which may never answer. */
static int file_numbers(int directory, const char *path, struct statx *ret)
{
	return statx(directory, path, AT_STATX_DONT_SYNC, STATX_INO, ret) ? -errno : 0;
}

int runs_this_program(int directory)
{
	struct statx program, own;
	int error = file_numbers(directory, "exe", &program);

	if (!error)
		error = file_numbers(AT_FDCWD, "/proc/self/exe", &own);
	if (error)
		return error;
	return program.stx_dev_major == own.stx_dev_major &&
	       program.stx_dev_minor == own.stx_dev_minor && program.stx_ino == own.stx_ino;
}

/*
 * What is protected is not recorded, so it must be what only a broker can be: a process that runs proftrace itself, not a program
 * that it has executed; and that is not dumpable, so that the files in its /proc/PID belong to root and its user cannot make it execute
 * anything. Root of a container can run any program of any name, but not in the namespace of this process. Another proftrace, as
 * of a package and of a build, is told by its file's name alone: that matters where who takes over the recorder is not root
 * already, and nowhere else.
 */
static bool runs_proftrace(int directory)
{
	struct stat st, own;
	char path[PATH_MAX];
	const char *base;
	ssize_t n;
	int same;

	/* Without root nobody records other users' processes. */
	if (getuid() != 0)
		return true;
	/* The directory itself always belongs to the process's user, and so do files that everybody may search. */
	if (fstatat(directory, "status", &st, 0) || stat("/proc/self/ns/pid", &own))
		return error_protects(-errno);
	if (st.st_uid != 0)
		return false;
	if (fstatat(directory, "ns/pid", &st, 0))
		return error_protects(-errno);
	if (st.st_dev != own.st_dev || st.st_ino != own.st_ino)
		return false;
	same = runs_this_program(directory);
	if (same)
		return same > 0 || error_protects(same);
	if (invoker_uid() == 0)
		return false;
	n = readlinkat(directory, "exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	base = strrchr(path, '/');
	return !base || !strncmp(base, "/proftrace", 10);
}

/*
 * Any program may take a name. A broker also has capabilities, or is root's like its keeper, and runs proftrace: a set-user-ID
 * program can be executed by a link of any name.
 */
static bool has_protected_name(int directory)
{
	char name[sizeof(BROKER_NAME) + 1];
	int error = read_whole(directory, "comm", name, sizeof(name));

	if (strcmp(name, BROKER_NAME "\n") != 0 && strcmp(name, CLOSING_NAME "\n") != 0)
		return error_protects(error);
	return getuid() != 0 ||
	       ((has_more_capabilities(directory) || status_number(directory, "\nUid:\t") <= 0) &&
		runs_proftrace(directory));
}

/* Itself, or one of this many processes above it. `*ret_own`: among these is the broker that asks. */
static bool is_protected_within(int directory, unsigned generations, bool *ret_own)
{
	long parent;
	char path[32];
	bool found;
	int of_parent;

	*ret_own = thread_process(directory) == getpid();
	if (*ret_own || has_protected_name(directory))
		return true;
	if (!generations)
		return false;
	parent = status_number(directory, "\nPPid:\t");
	if (parent <= 0)
		return error_protects(parent);
	snprintf(path, sizeof(path), "/proc/%ld", parent);
	of_parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (of_parent < 0)
		return error_protects(-errno);
	found = is_protected_within(of_parent, generations - 1, ret_own);
	close(of_parent);
	return found;
}

/* Those that were counted last. One of more than these may be counted again. */
static struct broker_target counted[64];
static uint64_t n_counted;

static void count_protected(int directory)
{
	const struct broker_target p = { thread_process(directory), process_birth(directory) };
	const unsigned most = sizeof(counted) / sizeof(counted[0]);

	for (unsigned i = 0; i < most && i < n_counted; i++) {
		if (counted[i].pid == p.pid && counted[i].birth == p.birth)
			return;
	}
	counted[n_counted++ % most] = p;
}

uint64_t processes_protected(void)
{
	return n_counted;
}

/*
 * Root's broker may look into all processes, also into itself and into brokers of others. These know where the kernel is, and
 * whoever took over a recorder would learn it. They have their names from their first instruction on (protected_fork()), and
 * only they can change them. Others than its own are counted: no process leaves a recording without a word.
 */
bool process_protected(int directory)
{
	bool own = false;

	if (!runs_proftrace(directory) || !is_protected_within(directory, FORKED_BY_BROKERS, &own))
		return false;
	if (!own)
		count_protected(directory);
	return true;
}

int process_check_first(pid_t pid, int error, const struct broker_config *config, struct failure *f)
{
	char path[32];
	int process, thread;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* As a process ends, or another thread executes a program, the first one is not the last to end. */
	thread = process >= 0 && process_lacks_first(process) ? living_thread(process, pid) : -1;
	if (process >= 0)
		close(process);
	if (thread < 0)
		return 0;
	close(thread);
	snprintf(path, sizeof(path), "%d", (int)pid);
	failure_set(f, error, "cannot record process", path,
		    "its first thread has ended before others");
	if (getuid())
		failure_hint(f, "run proftrace with sudo");
	else if (!config->follow_children)
		failure_hint(f, "without --no-children, it can be recorded");
	return error;
}

/* Of a process whose first thread has ended, it is the directory of another one (living_thread.h). */
static int open_process(const struct broker_target *target, struct failure *f)
{
	char path[32], object[16];
	int fd, thread;

	snprintf(path, sizeof(path), "/proc/%d", (int)target->pid);
	snprintf(object, sizeof(object), "%d", (int)target->pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return no_process(f, -errno, target->pid);
	if (target->birth && thread_birth(fd, "stat") != target->birth) {
		close(fd);
		return no_process(f, -ESRCH, target->pid);
	}
	thread = thread_process(fd) != target->pid ? -ESRCH : fd;
	if (thread == fd && thread_has_ended(fd))
		thread = living_thread(fd, target->pid);
	if (thread != fd)
		close(fd);
	if (thread == -ESRCH)
		return failure_set(f, -ESRCH, "no such process", object,
				   "it has exited, or is a thread of another process");
	return thread < 0 ? failure_set(f, thread, "cannot look into process", object,
					"its threads end as fast as they are found")
			  : thread;
}

int process_directory(const struct broker_target *target, struct failure *f)
{
	char object[16];
	const char *reason;
	int fd;

	if (target->pid <= 0)
		return failure_set(f, -EINVAL, "refused request", "", NULL);
	fd = open_process(target, f);
	if (fd < 0)
		return fd;
	snprintf(object, sizeof(object), "%d", (int)target->pid);
	reason = process_untraceable(fd);
	if (reason) {
		close(fd);
		failure_set(f, -EPERM, "not permitted to trace process", object, reason);
		failure_hint(f, "run proftrace with sudo");
		return -EPERM;
	}
	if (process_protected(fd)) {
		close(fd);
		return failure_set(f, -EPERM, "not permitted to trace process", object,
				   "it is or may be a broker of proftrace, or forked by one "
				   "(names: " BROKER_NAME ", " CLOSING_NAME ")");
	}
	return fd;
}

/*
 * Opens a regular file, without opening anything else first: to open a device may start it, and a container may have made
 * the device.
 */
static int open_regular(int directory, const char *name, int flags, struct stat *ret_st)
{
	int place = openat(directory, name, O_PATH | O_CLOEXEC | flags), fd;
	char path[32];

	if (place < 0)
		return -errno;
	if (fstat(place, ret_st) || !S_ISREG(ret_st->st_mode)) {
		close(place);
		return -ENOENT;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	/* O_NONBLOCK: its owner may have a lease on it. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	close(place);
	return fd;
}

/* The groups that the recorder has now, when it has become the user. If there are more than fit, it may have any. */
static bool recorder_has_group(gid_t group)
{
	char path[32], text[16384], *at, *end;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)getppid());
	read_whole(AT_FDCWD, path, text, sizeof(text));
	at = strstr(text, "\nGid:\t");
	if (!at || strtoul(at + 6, NULL, 10) == group)
		return true;
	at = strstr(text, "\nGroups:\t");
	end = at ? strchr(at + 1, '\n') : NULL;
	if (!end)
		return true;
	*end = '\0';
	for (at += 9; *at; at += strspn(at, " ")) {
		if (strtoul(at, &at, 10) == group)
			return true;
	}
	return false;
}

/* What cannot be found out counts as a yes. */
static bool file_has(int fd, const char *attribute)
{
	return fgetxattr(fd, attribute, NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
}

/*
 * The recorder can open what it has a descriptor of once more, for writing, if the mode of the file permits it: whatever
 * directories the file lies in, or in none. Memory that processes share and memfds, which anybody may write by their mode,
 * are memory of the process. What the recorder's own user may write, it may write in any case. In the mode of a file with an
 * access control list, the bits of the group are the most that any entry permits.
 */
static bool recorder_could_write(int fd, const struct stat *st)
{
	uid_t user = invoker_uid();

	if (!user || st->st_uid == user)
		return false;
	return st->st_mode & S_IWOTH ||
	       (st->st_mode & S_IWGRP &&
		(recorder_has_group(st->st_gid) || file_has(fd, "system.posix_acl_access")));
}

/*
 * The recorder opens what is refused with -EACCES itself, if its user may (capture/processes.c). A descriptor would let that
 * user write to it, or execute with its rights a program that lies where the user may not go. Of others' files, only those
 * that may have markers are needed: -ENOENT.
 */
static int mapping_refused(int fd, const struct stat *st)
{
	uid_t user = invoker_uid();
	char magic[SELFMAG];

	if (!user)
		return 0;
	if (st->st_uid != user &&
	    (pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG) != 0))
		return -ENOENT;
	return st->st_mode & (S_ISUID | S_ISGID) || file_has(fd, "security.capability") ||
			       recorder_could_write(fd, st)
		       ? -EACCES
		       : 0;
}

static int open_mapping(int process, uint64_t start, uint64_t end)
{
	char name[64];
	struct stat st;
	int fd, error;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	fd = open_regular(process, name, 0, &st);
	error = fd < 0 ? 0 : mapping_refused(fd, &st);
	if (!error)
		return fd;
	close(fd);
	return error;
}

/*
 * /tmp of a process in a container may be anything, so no link on the path is followed. The file
 * must belong to the user of the process and have no other name, which others may have given to it, so that
 * the recorder gets nothing that this user could not read.
 */
static int open_jit_map(int process)
{
	long number = process_inner_pid(process);
	struct stat owner, st;
	int root, tmp, fd = -1;
	char name[40];

	if (number <= 0 || fstat(process, &owner))
		return -ENOENT;
	snprintf(name, sizeof(name), "perf-%ld.map", number);
	root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	tmp = openat(root, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(root);
	if (tmp < 0)
		return -errno;
	fd = open_regular(tmp, name, O_NOFOLLOW, &st);
	close(tmp);
	if (fd >= 0 &&
	    (st.st_uid != owner.st_uid || st.st_nlink != 1 || recorder_could_write(fd, &st))) {
		close(fd);
		fd = -EPERM;
	}
	return fd;
}

static int open_in(enum broker_file what, int process, uint64_t start, uint64_t end)
{
	static const char *const names[] = {
		[BROKER_MAPS] = "maps",
		[BROKER_TASKS] = "task",
		[BROKER_MEMORY] = "mem",
	};
	int fd;

	if (what == BROKER_JIT_MAP)
		return open_jit_map(process);
	if (what == BROKER_MAPPED)
		return open_mapping(process, start, end);
	fd = openat(process, names[what], O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * If the file system does not answer, the recorder would block in read() and nothing could
 * interrupt it; but it waits for the broker with a limit. So the broker reads first: the end of the
 * file, which ELF files need for section headers but do not map, so that it is rarely in memory.
 */
static void read_end(int fd)
{
	struct stat st;
	char byte;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	n = pread(fd, &byte, 1, st.st_size - 1);
	(void)n;
}

bool file_is_served(int fd)
{
	struct statfs fs;

	/* Only a server answers this question with an error. */
	return fstatfs(fd, &fs) || fs.f_type == FUSE_SUPER_MAGIC || fs.f_type == V9FS_MAGIC;
}

bool file_has_layers(int fd)
{
	struct statfs fs;

	/* An overlay hands the question on, to a layer that may answer with an error. */
	return fstatfs(fd, &fs) || fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* -EAGAIN: the thread whose directory it is has ended meanwhile, and others of its process may live. */
static int open_once(enum broker_file what, int process, uint64_t start, uint64_t end)
{
	/* A thread that ends lets go of the memory first: then its list of mappings is empty. */
	const bool is_memory = what == BROKER_MAPS || what == BROKER_MEMORY;
	int fd = open_in(what, process, start, end), error = fd < 0 ? fd : 0;

	if ((is_memory || error) && thread_has_ended(process))
		error = -EAGAIN;
	/* It may have executed a set-user-ID program meanwhile. */
	if (!error && process_untraceable(process))
		error = -EPERM;
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

int process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
		 uint64_t end, struct failure *f)
{
	int process, fd = -EAGAIN;

	if (what >= BROKER_FILES || (what == BROKER_MAPPED && start >= end))
		return failure_set(f, -EINVAL, "refused request", "open", NULL);
	for (unsigned i = 0; fd == -EAGAIN && i < PROCESS_TRIES; i++) {
		process = process_directory(target, f);
		if (process < 0)
			return process;
		fd = open_once(what, process, start, end);
		close(process);
	}
	if (fd >= 0 && (what == BROKER_MAPPED || what == BROKER_JIT_MAP))
		read_end(fd);
	return fd < 0 ? no_process(f, fd, target->pid) : fd;
}
