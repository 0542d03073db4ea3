/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swap_held DIRECTORY LIBRARY
 *
 * Mounts a file system of its own (FUSE) at DIRECTORY, in a mount namespace of its own, whose one file shows the dynamic
 * linker and which never answers when a page is read where the linker reports libraries: that of the function which debuggers
 * know (r_brk), or one that calls it. Prints `ready PID`, and after a line on its input opens LIBRARY. While the thread is held
 * there, another one maps these pages in their place: `swapped`. Whoever reads one after that waits: `asked after MS`. Ends when the file system is killed: `server PID`.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROOT = FUSE_ROOT_ID,
	LINKER
};

#define MOST_PAGES 16

static struct {
	int device, file;
	char *image; /* of the dynamic linker */
	size_t size;
	uintptr_t mapped; /* where its code is, less where it is in the file */
	size_t offsets[MOST_PAGES];
	unsigned n;
	struct r_debug *debug;
	volatile double *swapped; /* shared with the file system */
	volatile int is_armed;
} s;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void require(int works, const char *what)
{
	if (!works) {
		printf("failed %s: %s\n", what, strerror(errno));
		exit(2);
	}
}

/* --- the file system -------------------------------------------------------------------------------- */

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t size)
{
	struct fuse_out_header out = { (unsigned)(sizeof(out) + size), error, in->unique };
	struct iovec parts[] = { { &out, sizeof(out) }, { (void *)data, size } };

	require(writev(s.device, parts, 2) > 0 || errno == ENOENT, "reply");
}

static struct fuse_attr attributes(unsigned long node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == LINKER ? S_IFREG | 0755 : S_IFDIR | 0755;
	a.size = node == LINKER ? s.size : 0;
	return a;
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	size_t rest = read->offset < s.size ? s.size - read->offset : 0;

	for (unsigned i = 0; i < s.n; i++) {
		if (s.offsets[i] < read->offset || s.offsets[i] >= read->offset + read->size)
			continue;
		printf("asked after %.0f\n", (now() - *s.swapped) * 1e3);
		fflush(stdout);
		return;
	}
	reply(in, 0, s.image + read->offset, rest < read->size ? rest : read->size);
}

static void answer(const struct fuse_in_header *in)
{
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
	struct fuse_entry_out entry = { .nodeid = LINKER, .entry_valid = 60, .attr_valid = 60 };
	struct fuse_attr_out attr = { .attr_valid = 60 };
	const struct fuse_open_out open = { 0 };

	entry.attr = attributes(LINKER);
	attr.attr = attributes(in->nodeid);
	if (in->opcode == FUSE_INIT)
		reply(in, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_LOOKUP)
		reply(in, 0, &entry, sizeof(entry));
	else if (in->opcode == FUSE_GETATTR)
		reply(in, 0, &attr, sizeof(attr));
	else if (in->opcode == FUSE_OPEN)
		reply(in, 0, &open, sizeof(open));
	else if (in->opcode == FUSE_READ)
		answer_read(in, (const void *)(in + 1));
	else if (in->opcode == FUSE_FLUSH || in->opcode == FUSE_RELEASE)
		reply(in, 0, NULL, 0);
	else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET)
		reply(in, -ENOSYS, NULL, 0);
}

static void serve(void)
{
	static _Alignas(8) char request[1 << 18];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(s.device, request, sizeof(request)) > 0)
			answer((const void *)request);
		else if (errno != EINTR && errno != ENOENT)
			_exit(0);
	}
}

static void mount_own(const char *directory)
{
	char options[64], path[256];
	pid_t server;

	require(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL),
		"unshare");
	s.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	require(s.device >= 0, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", s.device);
	require(!mount("held", directory, "fuse", MS_NOSUID | MS_NODEV, options), "mount");
	server = fork();
	if (!server)
		serve();
	/* Its connection ends with the last descriptor. */
	close(s.device);
	printf("server %d\n", (int)server);
	snprintf(path, sizeof(path), "%s/linker", directory);
	s.file = open(path, O_RDONLY);
	require(s.file >= 0, path);
}

/* --- the program ------------------------------------------------------------------------------------ */

static void add_page(size_t offset)
{
	offset &= ~(size_t)4095;
	for (unsigned i = 0; i < s.n; i++) {
		if (s.offsets[i] == offset)
			return;
	}
	if (s.n < MOST_PAGES)
		s.offsets[s.n++] = offset;
}

/* Wherever bytes are as if they called the function. */
static void add_calls(size_t function, size_t begin, size_t end)
{
	int32_t distance;

	for (size_t i = begin; i + 5 <= end && i + 5 <= s.size; i++) {
		memcpy(&distance, s.image + i + 1, sizeof(distance));
		if ((uint8_t)s.image[i] == 0xe8 && i + 5 + (size_t)(ssize_t)distance == function)
			add_page(i);
	}
}

static void find_pages(void)
{
	unsigned long start, end, offset;
	char line[512], path[256] = "";
	struct stat stat;
	FILE *maps = fopen("/proc/self/maps", "r");
	int file;

	for (ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_DEBUG)
			s.debug = (void *)d->d_un.d_ptr;
	}
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &start, &end, &offset, path) ==
			    4 &&
		    start <= s.debug->r_brk && s.debug->r_brk < end)
			break;
	}
	s.mapped = start - offset;
	file = open(path, O_RDONLY);
	require(file >= 0 && !fstat(file, &stat), path);
	s.size = ((size_t)stat.st_size + 4095) & ~4095ul;
	s.image = calloc(1, s.size);
	require(read(file, s.image, s.size) == stat.st_size, path);
	close(file);
	add_page(s.debug->r_brk - s.mapped);
	add_calls(s.debug->r_brk - s.mapped, offset, offset + (end - start));
}

/* The linker adds the library to its list, and says that it has, just before it calls the function where threads are held. */
static void *swap(void *unused)
{
	const volatile int *state = (const volatile int *)&s.debug->r_state;
	struct link_map *volatile const *next = &s.debug->r_map->l_next;
	int failed = 0;

	(void)unused;
	while (*next)
		next = &(*next)->l_next;
	s.is_armed = 1;
	while (!*next || *state != RT_CONSISTENT)
		;
	for (double began = now(); now() - began < 0.005;)
		;
	*s.swapped = now();
	for (unsigned i = 0; i < s.n; i++)
		failed |= syscall(SYS_mmap, s.mapped + s.offsets[i], 4096, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_FIXED, s.file,
				  s.offsets[i]) != (long)(s.mapped + s.offsets[i]);
	dprintf(STDOUT_FILENO, failed ? "failed to swap\n" : "swapped\n");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[16];

	if (argc < 3)
		return 2;
	s.swapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(s.swapped != MAP_FAILED, "mmap");
	find_pages();
	mount_own(argv[1]);
	dprintf(STDOUT_FILENO, "\n");
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	PROF_INSTANT("begins");
	pthread_create(&thread, NULL, swap, NULL);
	while (!s.is_armed)
		;
	dlopen(argv[2], RTLD_NOW);
	return 0;
}
