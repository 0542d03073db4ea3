/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as what the process sends that downloads debug files: packets, each behind its size in the lower five bits of
 * a byte and one that says which descriptors come along. Only files of a permitted size are accepted, nothing else stays
 * open, and a process that has sent anything else is not asked again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "symbols/debuginfod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MAX_SIZE = 31,
	MAX_PACKETS = 8,
	FILE_KIND = 3,
	FILE_SIZE = 4096,
};

/* Kept for all inputs: to make and close them takes longer than most inputs do. */
static int sockets[2] = { -1, -1 };
static int kinds[8];

static void must(bool good)
{
	if (!good)
		abort();
}

static int file_of(off_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && !ftruncate(fd, size));
	return fd;
}

static void open_descriptors(void)
{
	int pipes[2];

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) && !pipe(pipes));
	kinds[0] = kinds[1] = kinds[2] = -1; /* none */
	kinds[FILE_KIND] = file_of(FILE_SIZE);
	kinds[4] = file_of((2ll << 30) + 1);
	kinds[5] = pipes[0];
	kinds[6] = open("/", O_RDONLY | O_CLOEXEC);
	kinds[7] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* Returns whether the process may be asked again. */
static bool fetch_one(struct debuginfod *d, const uint8_t *bytes, size_t size, int first,
		      int second)
{
	static const uint8_t build_id[20];
	const int fds[2] = { first, second };
	const unsigned n_fds = first < 0 ? 0 : second < 0 ? 1 : 2;
	int32_t error = 1;
	struct stat st;
	int fd;

	must(!message_send(sockets[1], bytes, size, NULL, 0, fds, n_fds));
	fd = debuginfod_fetch(d, build_id, sizeof(build_id));
	if (size == sizeof(error))
		memcpy(&error, bytes, sizeof(error));
	if (error < 0) {
		must(fd == error);
		return true;
	}
	if (!error && first == kinds[FILE_KIND]) {
		must(fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == FILE_SIZE);
		close(fd);
		return true;
	}
	must(fd < 0 && debuginfod_fetch(d, build_id, sizeof(build_id)) == -EPIPE);
	return false;
}

static void drain(int socket)
{
	char left[64];

	while (recv(socket, left, sizeof(left), MSG_DONTWAIT) >= 0)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debuginfod *d;
	int lowest, i;

	if (sockets[0] < 0)
		open_descriptors();
	lowest = dup(sockets[0]);
	d = debuginfod_on(lowest);
	must(d != NULL);
	/* Nobody reads the requests, and the socket has space for so many. */
	for (i = 0; i < MAX_PACKETS && size >= 2; i++) {
		size_t n = data[0] & MAX_SIZE;

		if (n > size - 2)
			n = size - 2;
		if (!fetch_one(d, data + 2, n, kinds[data[1] & 7], kinds[data[1] >> 3 & 7]))
			break;
		data += 2 + n;
		size -= 2 + n;
	}
	debuginfod_free(d);
	drain(sockets[0]);
	drain(sockets[1]);
	must(dup(sockets[0]) == lowest); /* nothing stays open */
	close(lowest);
	return 0;
}
