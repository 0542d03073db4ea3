/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * with_states COMMAND...
 *
 * Runs the command with a socket, whose descriptor is in STATES. As root it keeps the state that the eBPF programs have of
 * a thread and puts it back later: what happens to whoever loses a race between two processes, at a chosen moment. Each
 * request is the number of a process; 0: what was kept is put back; with UNTRACE: the process is removed from the map of those that
 * are traced, as the broker does when it ends the tracing of one. The reply is whether that was done.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS	4096 /* THREAD_SLOTS of bpf/threads.h, or a multiple of what is used of them */
#define LARGEST 8192
#define UNTRACE 0x80000000u

static int map = -1;
static uint32_t slot;
static uint64_t kept[LARGEST / 8];

static int call(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof(*a));
}

static int read_slot(int fd, uint64_t *value)
{
	union bpf_attr a = { .map_fd = fd, .key = (uintptr_t)&slot, .value = (uintptr_t)value };

	return call(BPF_MAP_LOOKUP_ELEM, &a);
}

static int is_map(int fd, const char *name)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr a = { 0 };

	a.info.bpf_fd = fd;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	return !call(BPF_OBJ_GET_INFO_BY_FD, &a) && !strcmp(info.name, name) &&
	       info.value_size <= LARGEST;
}

static char has_state(int fd, uint32_t pid)
{
	slot = pid % SLOTS;
	return is_map(fd, "thread_slots") && !read_slot(fd, kept) &&
	       kept[0] == ((uint64_t)pid << 32 | pid);
}

static char untraces(int fd, uint32_t pid)
{
	union bpf_attr a = { .map_fd = fd, .key = (uintptr_t)&pid };

	return is_map(fd, "traced") && !call(BPF_MAP_DELETE_ELEM, &a);
}

/* Other recorders may run: it is the map in which the thread has a state, or the process an entry. Its descriptor, or -1. */
static int find_map(char (*is_wanted)(int fd, uint32_t pid), uint32_t pid)
{
	union bpf_attr next = { 0 };

	while (!call(BPF_MAP_GET_NEXT_ID, &next)) {
		union bpf_attr id = { .map_id = next.next_id };
		int fd = call(BPF_MAP_GET_FD_BY_ID, &id);

		if (fd >= 0 && is_wanted(fd, pid))
			return fd;
		if (fd >= 0)
			close(fd);
		next.start_id = next.next_id;
	}
	return -1;
}

static char keep(uint32_t pid)
{
	map = find_map(has_state, pid);
	return map >= 0;
}

static char untrace(uint32_t pid)
{
	int fd = find_map(untraces, pid);

	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

/* If it is still there, nothing is shown by putting it back. */
static char put_back(void)
{
	uint64_t now[LARGEST / 8];
	union bpf_attr a = { .map_fd = map, .key = (uintptr_t)&slot, .value = (uintptr_t)kept };

	return !read_slot(map, now) && now[0] != kept[0] && !call(BPF_MAP_UPDATE_ELEM, &a);
}

int main(int argc, char **argv)
{
	int ends[2], status;
	char number[12];
	uint32_t pid;
	pid_t child;

	if (argc < 2 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 2;
	child = fork();
	if (!child) {
		close(ends[0]);
		snprintf(number, sizeof(number), "%d", ends[1]);
		setenv("STATES", number, 1);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	close(ends[1]);
	while (child > 0 && recv(ends[0], &pid, sizeof(pid), 0) == sizeof(pid)) {
		char done = !pid ? put_back() : pid & UNTRACE ? untrace(pid & ~UNTRACE) : keep(pid);

		send(ends[0], &done, 1, MSG_NOSIGNAL);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : 1;
}
