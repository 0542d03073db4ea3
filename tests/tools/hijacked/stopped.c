/* SPDX-License-Identifier: BSD-2-Clause */
/* A prover belongs to the user, who may stop it while the broker waits for it. */
#include "hijacked.h"

#include <dirent.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"

#define ENDS_MS 10000

static pid_t child_named(pid_t parent, const char *name)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (!found && processes && (entry = readdir(processes))) {
		char path[300], comm[32];
		int pid, of;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%d (%31[^)]) %*c %d", &pid, comm, &of) == 3 && of == parent &&
		    !strcmp(comm, name))
			found = pid;
		fclose(file);
	}
	if (processes)
		closedir(processes);
	return found;
}

void stop_prover(void)
{
	const uint64_t vaddr = 0x1000;
	const struct request r = { .kind = REQUEST_FUNCTIONS, .n_sites = 1 };
	pid_t broker = broker_pid(h.broker), prover;
	struct pollfd ends[] = { { .events = POLLIN }, { .events = POLLIN } };
	int status = -1, unread = 1;

	ask(&r, &vaddr, sizeof(vaddr), h.elf_fd);
	prover = child_named(child_named(broker, "proftrace-start"), "proftrace-prove");
	if (!prover || kill(prover, SIGSTOP)) {
		got("no prover of broker", broker);
		return;
	}
	ends[0].fd = (int)syscall(SYS_pidfd_open, broker, 0);
	ends[1].fd = (int)syscall(SYS_pidfd_open, prover, 0);
	if (message_send(h.socket, &r, sizeof(r), &vaddr, sizeof(vaddr), &h.elf_fd, 1))
		exit(1);
	h.sent++;
	while (!ioctl(h.socket, SIOCOUTQ, &unread) && unread)
		usleep(100);
	shutdown(h.socket, SHUT_RDWR);
	if (poll(&ends[0], 1, ENDS_MS) != 1)
		got("a broker that waits for prover", prover);
	else if (poll(&ends[1], 1, ENDS_MS) != 1)
		got("a prover without a broker:", prover);
	kill(prover, SIGCONT);
	if (waitpid(broker, &status, 0) > 0)
		printf("ended %d\n", status);
}
