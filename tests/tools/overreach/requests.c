/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorder requests of the broker. */
#include "overreach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tracee/markers.h"

/* --- files that are opened for the recorder -------------------------------------------------------- */

static char *shared_memory, *group_memory;
static void *const group_place = (void *)0x11000000;

/* Beginnings of programs of root's, in a directory that nobody else may enter, and what is refused of them. */
static const struct hidden {
	const char *refused;
	mode_t mode;
	bool by_list, has_capability, has_group;
} hidden[] = {
	{ NULL, 0755, false, false, false },
	{ "set-user-ID program", 04755, false, false, false },
	{ "set-group-ID program", 02755, false, false, false },
	{ "program with a capability", 0755, false, true, false },
	{ "file that an access control list permits to write", 0664, true, false, false },
	{ "file that a group may write", 0664, false, false, true },
	{ "file that everybody may write", 0666, false, false, false },
};
#define HIDDEN	      (sizeof(hidden) / sizeof(*hidden))
#define HIDDEN_AT(i)  ((char *)0x12000000 + (i)*0x10000)
#define NOT_A_PROGRAM HIDDEN_AT(HIDDEN)

/* The user may write it by a named entry, and the group of the file may not. */
static bool give_list(int fd)
{
	const struct {
		uint32_t version;
		struct {
			uint16_t tag, permissions;
			uint32_t id;
		} entries[5];
	} list = { 2,
		   { { 0x01, 6, UINT32_MAX },
		     { 0x02, 6, h.group },
		     { 0x04, 4, UINT32_MAX },
		     { 0x10, 6, UINT32_MAX },
		     { 0x20, 4, UINT32_MAX } } };

	return !fsetxattr(fd, "system.posix_acl_access", &list, sizeof(list), 0);
}

static bool give_capability(int fd)
{
	const struct vfs_cap_data data = { VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
					   { { CAP_TO_MASK(CAP_NET_RAW), 0 } } };

	return !fsetxattr(fd, "security.capability", &data, sizeof(data), 0);
}

/* Where a file system has no such attribute, everybody may write the file. */
static bool give_rights(int fd, const struct hidden *of)
{
	if ((of->has_group && fchown(fd, 0, h.group)) || fchmod(fd, of->mode))
		return false;
	if ((!of->by_list || give_list(fd)) && (!of->has_capability || give_capability(fd)))
		return true;
	return errno == EOPNOTSUPP && !fchmod(fd, 0666);
}

static void map_hidden(const char *path, const struct hidden *of, char *at)
{
	int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || (of ? sendfile(fd, program, NULL, 4096) : write(fd, secret, 4096)) != 4096 ||
	    (of && !give_rights(fd, of)) ||
	    mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != at)
		exit(1);
	close(fd);
	close(program);
}

static void map_all_hidden(void)
{
	char path[4096];
	unsigned i;

	snprintf(path, sizeof(path), "%s-hidden", secret_program);
	if (mkdir(path, 0700))
		exit(1);
	for (i = 0; i <= HIDDEN; i++) {
		snprintf(path, sizeof(path), "%s-hidden/%u", secret_program, i);
		map_hidden(path, i < HIDDEN ? &hidden[i] : NULL, HIDDEN_AT(i));
	}
}

/* What anybody may write by its mode, and what a group may. */
void share_memory(void)
{
	int fd = memfd_create("of a group", MFD_CLOEXEC);

	shared_memory =
		mmap(secret, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!h.own && fchown(fd, 0, h.group))
		exit(1);
	if (fd < 0 || ftruncate(fd, 4096) || fchmod(fd, 0660))
		exit(1);
	group_memory = mmap(group_place, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	strcpy(shared_memory, "as before");
	strcpy(group_memory, "as before");
	if (!h.own)
		map_all_hidden();
}

void look_at_memory(void)
{
	if (strcmp(shared_memory, "as before") != 0)
		printf("got to write to the memory of another user's process\n");
	if (!h.own && strcmp(group_memory, "as before") != 0)
		printf("got to write to memory that only a group may write\n");
	fflush(stdout);
}

static int ask_file(enum broker_file what, pid_t pid, const void *from, uint64_t size)
{
	const struct broker_target target = { pid, 0 };
	uint64_t at = (uintptr_t)from;

	return broker_open(h.broker, what, &target, at, at + size, NULL);
}

static void write_to_mapping(pid_t target, const void *at)
{
	int fd = ask_file(BROKER_MAPPED, target, at, 4096), again;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = fd < 0 ? -1 : open(path, O_RDWR);
	if (again >= 0 && pwrite(again, "hijacked", 9, 0) != 9)
		perror("overreach");
}

static void ask_hidden(pid_t target)
{
	unsigned i;

	if (ask_file(BROKER_MAPPED, target, HIDDEN_AT(0), 4096) >= 0)
		printf("permitted a program that its path does not permit to read\n");
	for (i = 1; i < HIDDEN; i++) {
		if (ask_file(BROKER_MAPPED, target, HIDDEN_AT(i), 4096) >= 0)
			printf("got a %s\n", hidden[i].refused);
	}
	if (ask_file(BROKER_MAPPED, target, NOT_A_PROGRAM, 4096) >= 0)
		printf("got a file that is no program\n");
}

void write_to_memory(pid_t target, int target_end)
{
	/* The user's processes map what the user may open. */
	if (!h.own)
		ask_hidden(target);
	write_to_mapping(target, secret);
	write_to_mapping(target, group_place);
	end(target, target_end);
}

static void map_path(char path[32], pid_t pid)
{
	snprintf(path, 32, "/tmp/perf-%d.map", (int)pid);
}

/* What the process has generated is named in the file of the first one; the second one's has another name; the third is a FIFO. */
void make_maps(const pid_t pids[3])
{
	char path[32], other[40];
	unsigned i;

	for (i = 0; i < 3; i++) {
		map_path(path, pids[i]);
		if (mknod(path, (i == 2 ? S_IFIFO : S_IFREG) | 0600, 0))
			exit(1);
	}
	if (chmod(path, 0666))
		exit(1);
	map_path(path, pids[1]);
	snprintf(other, sizeof(other), "%s.other", path);
	if (link(path, other))
		exit(1);
}

/* A process that ends when somebody opens the FIFO. A device would be opened, too. */
void open_maps(const pid_t pids[3])
{
	pid_t writer = fork();
	char path[32];

	if (!writer) {
		map_path(path, pids[2]);
		_exit(open(path, O_WRONLY) < 0);
	}
	usleep(50000);
	if (ask_file(BROKER_JIT_MAP, pids[0], NULL, 0) >= 0)
		printf("permitted the names of generated code\n");
	if (ask_file(BROKER_JIT_MAP, pids[1], NULL, 0) >= 0)
		printf("got a file by another name than its own\n");
	if (ask_file(BROKER_JIT_MAP, pids[2], NULL, 0) >= 0)
		printf("got a FIFO\n");
	usleep(50000);
	if (waitpid(writer, NULL, WNOHANG) == writer) {
		printf("got a FIFO opened\n");
		return;
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
}

/* --- probes that nobody is left to detach ----------------------------------------------------------- */

/* The keeper is a child of the broker's with this name. */
static pid_t find_keeper(void)
{
	char path[64], name[32];
	FILE *children, *file;
	int pid, keeper = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)broker_pid(h.broker),
		 (int)broker_pid(h.broker));
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file) && !strcmp(name, "proftrace-close\n"))
			keeper = pid;
		if (file)
			fclose(file);
	}
	if (!keeper)
		exit(1);
	fclose(children);
	return keeper;
}

/* How often the broker has begun to wait. */
static long broker_waits(void)
{
	char path[32], line[256];
	long waits = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)broker_pid(h.broker));
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "voluntary_ctxt_switches: %ld", &waits);
	if (waits < 0)
		exit(1);
	fclose(file);
	return waits;
}

/* The markers of the program that it will execute, for this process. */
static unsigned attach_secret(pid_t target)
{
	int fd = open(secret_program, O_RDONLY | O_CLOEXEC);
	struct marker_sites found = { 0 };
	struct failure f = { 0 };
	struct elf_file *elf;
	unsigned i, link;

	if (elf_file_open(fd, &elf, &f) || markers_find(elf, &found, &f))
		exit(1);
	for (i = 0; i < found.n && found.sites[i].kind != RECORD_INSTANT; i++)
		;
	if (i == found.n ||
	    broker_attach(h.broker, BROKER_MARKS, target, fd,
			  &(struct broker_site){ found.sites[i].offset,
						 found.sites[i].semaphore_offset,
						 (uint64_t)RECORD_INSTANT << COOKIE_KIND_SHIFT },
			  1, &link, &f)) {
		printf("got nowhere: %s: %s\n", f.what, f.reason);
		exit(1);
	}
	marker_sites_free(&found);
	elf_file_free(elf);
	close(fd);
	return link;
}

/* The links are to be detached by a process that does not run when the broker is killed. */
void stop_keeper(pid_t target, int target_end)
{
	const struct request r = { .kind = REQUEST_DETACH, .n_sites = 1 };
	const pid_t keeper = find_keeper();
	uint32_t link = attach_secret(target);
	long waits = broker_waits();

	if (kill(keeper, SIGSTOP) ||
	    message_send(broker_fd(h.broker), &r, sizeof(r), &link, sizeof(link), NULL, 0))
		exit(1);
	while (broker_waits() == waits)
		usleep(1000);
	if (kill(broker_pid(h.broker), SIGKILL) || waitpid(broker_pid(h.broker), NULL, 0) < 0)
		exit(1);
	h.watched = target;
	if (write(target_end, "", 1) != 1 || read_number() != target || write(goes[1], "", 1) != 1)
		exit(1);
	usleep(EXECUTES_US);
	kill(target, SIGTERM);
	waitpid(target, NULL, 0);
	secret_comes();
	if (h.marks)
		printf("got the marks of a set-user-ID program, whose probes are being detached\n");
	kill(keeper, SIGCONT);
}
