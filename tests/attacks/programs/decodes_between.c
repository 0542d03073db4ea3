/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decodes_between BROKER FILE OFFSET OTHER
 *
 * Prints `ready`, and waits until the broker (its PID) has looked for the first time at which instructions of the file the
 * kernel has. Before the broker goes on, it attaches a uprobe to the offset for the 32-bit program OTHER alone, which maps the file and
 * prints `ready`; then it prints that, too. Both stay until the standard input ends.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../bpf/find_uprobe.h"

static bool read_memory(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Whether this system call asks for what the kernel has of this file. */
static bool asks_for_file(pid_t pid, const struct __ptrace_syscall_info *call,
			  const struct stat *file)
{
	const size_t needed = offsetof(union bpf_attr, test.ctx_in) + sizeof(uint64_t);
	union bpf_attr attr;
	struct uprobe_query query;
	struct stat st;
	char path[64];

	memset(&attr, 0, sizeof(attr));
	if (call->op != PTRACE_SYSCALL_INFO_ENTRY || call->entry.nr != SYS_bpf ||
	    call->entry.args[0] != BPF_PROG_TEST_RUN ||
	    !read_memory(pid, call->entry.args[1], &attr, needed) ||
	    attr.test.ctx_size_in != sizeof(query) ||
	    !read_memory(pid, attr.test.ctx_in, &query, sizeof(query)))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, query.file);
	/* A file of an overlay is another one to the broker. */
	return query.file < 0 ||
	       (!stat(path, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino);
}

/* Until the kernel has answered. */
static bool await_look(pid_t pid, const struct stat *file)
{
	struct __ptrace_syscall_info call;
	bool asked = false;
	int status;

	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call) <= 0)
			return false;
		if (asked && call.op == PTRACE_SYSCALL_INFO_EXIT)
			return true;
		asked = asked || asks_for_file(pid, &call, file);
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0))
			return false;
	}
	return false;
}

static bool attach_for(pid_t pid, const char *path, uint64_t offset)
{
	struct perf_event_attr attr;
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (!file || fscanf(file, "%d", &type) != 1)
		return false;
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = (uint32_t)type;
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = offset;
	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
}

/* It has the same input. Returns when it has mapped the file. */
static bool start_other(const char *other, const char *path, uint64_t offset)
{
	int begin[2], said[2];
	char byte;
	pid_t pid;

	if (pipe(begin) || pipe(said))
		return false;
	pid = fork();
	if (!pid) {
		dup2(said[1], STDOUT_FILENO);
		close(said[0]);
		close(said[1]);
		close(begin[1]);
		if (read(begin[0], &byte, 1) == 1)
			execl(other, other, path, NULL);
		_exit(127);
	}
	close(said[1]);
	return pid > 0 && attach_for(pid, path, offset) && write(begin[1], "", 1) == 1 &&
	       read(said[0], &byte, 1) == 1;
}

int main(int argc, char **argv)
{
	pid_t broker = argc == 5 ? atoi(argv[1]) : 0;
	uint64_t offset = argc == 5 ? strtoull(argv[3], NULL, 0) : 0;
	struct stat file;
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	if (broker <= 0 || stat(argv[2], &file) ||
	    ptrace(PTRACE_SEIZE, broker, 0, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, broker, 0, 0)) {
		perror("decodes_between");
		return 2;
	}
	puts("ready");
	if (!await_look(broker, &file) || !start_other(argv[4], argv[2], offset)) {
		perror("decodes_between: failed");
		return 1;
	}
	ptrace(PTRACE_DETACH, broker, 0, 0);
	puts("mapped");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
