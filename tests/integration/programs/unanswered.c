/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unanswered OPEN|READ|END|ATTR|LOOKUP|FILE=OTHER|TURNS=OTHER FILE DIRECTORY COMMAND [ARG...]
 *
 * A file system with one file, a copy of FILE with a megabyte of zeros behind it, is mounted at DIRECTORY,
 * where no other process but the COMMAND sees it, and is served until that ends. Some requests are not
 * answered, until SIGUSR1, then all are: the broker's to open the file; the broker's to read its beginning;
 * anybody's to read its end; the recorder's for its size and times, which are valid for no time then; the recorder's for a name. Or all are answered, but what the broker opens has the contents of OTHER: always (FILE=), or
 * at every second read (TURNS=). `swapped` is printed when that was read for the first time. Prints `target <pid>` when the command is about to run, `left` when something
 * was left unanswered; or `cannot <why>` where nothing can be mounted. Ends with the command's status.
 * Whatever happens it is gone after a minute, and so is the file system.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FILE_NODE = 2, /* the directory is FUSE_ROOT_ID, 1 */
	MOST_LEFT = 64,
	AT_MOST_S = 60,
	BEHIND = 1 << 20,
	VALID_S = 3600,
};

static int device;
static enum {
	NOTHING,
	OPEN,
	READ,
	END,
	ATTR,
	LOOKUP,
	FILE_OF_OTHER,
	TURNS
} left_out;
static char *contents, *other, name[256];
static uint64_t size;
static union request {
	struct fuse_in_header in;
	char bytes[FUSE_MIN_READ_BUFFER + 65536];
} request, left[MOST_LEFT];
static unsigned n_left;
static volatile sig_atomic_t answers_all;

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t n)
{
	struct fuse_out_header out = { (uint32_t)(sizeof(out) + n), error, in->unique };
	struct iovec iov[2] = { { &out, sizeof(out) }, { (void *)(uintptr_t)data, n } };

	/* It may have been interrupted meanwhile: then nobody waits for it. */
	if (writev(device, iov, n ? 2 : 1) < 0 && errno != ENOENT)
		perror("unanswered: reply");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
	a.size = node == FILE_NODE ? size : 0;
	a.blocks = a.size / 512;
	return a;
}

static void answer_init(const struct fuse_in_header *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 65536,
		.max_write = 4096,
	};

	reply(in, 0, &out, sizeof(out));
}

static void answer_lookup(const struct fuse_in_header *in, const char *wanted)
{
	struct fuse_entry_out out = {
		.nodeid = FILE_NODE,
		.entry_valid = VALID_S,
		.attr_valid = left_out == ATTR ? 0 : VALID_S,
	};

	out.attr = attributes(FILE_NODE);
	if (strcmp(wanted, name))
		reply(in, -ENOENT, NULL, 0);
	else
		reply(in, 0, &out, sizeof(out));
}

static void answer_getattr(const struct fuse_in_header *in)
{
	struct fuse_attr_out out = { .attr_valid = left_out == ATTR ? 0 : VALID_S };

	out.attr = attributes(in->nodeid);
	reply(in, 0, &out, sizeof(out));
}

static int is_of(const struct fuse_in_header *in, const char *program)
{
	char path[32], comm[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", in->pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	/* The kernel keeps 15 bytes, and the line ends. */
	comm[strcspn(comm, "\n")] = '\0';
	return !strncmp(comm, program, 15);
}

static int is_brokers(const struct fuse_in_header *in)
{
	return is_of(in, "proftrace-broker");
}

/* What the broker opens is read past the page cache, where all may be that there is to read. */
static void answer_open(const struct fuse_in_header *in)
{
	struct fuse_open_out out = { .open_flags = FOPEN_KEEP_CACHE };

	if ((left_out == READ || other) && is_brokers(in)) {
		out.open_flags = FOPEN_DIRECT_IO;
		out.fh = 1;
	}
	reply(in, 0, &out, sizeof(out));
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	static unsigned reads;
	uint64_t n = read->offset < size ? size - read->offset : 0;
	const char *from = contents;

	/* Neither of the two has another size, so nobody could know by that. */
	if (other && read->fh && (left_out == FILE_OF_OTHER || reads++ % 2)) {
		from = other;
		printf("swapped\n");
		fflush(stdout);
	}
	if (n > read->size)
		n = read->size;
	reply(in, 0, from + (n ? read->offset : 0), (size_t)n);
}

static void answer(const union request *r)
{
	const struct fuse_in_header *in = &r->in;
	const void *body = r->bytes + sizeof(*in);
	struct fuse_statfs_out statfs = { .st = { .bsize = 4096, .namelen = 255 } };

	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(in);
		break;
	case FUSE_LOOKUP:
		answer_lookup(in, body);
		break;
	case FUSE_GETATTR:
		answer_getattr(in);
		break;
	case FUSE_OPEN:
		answer_open(in);
		break;
	case FUSE_READ:
		answer_read(in, body);
		break;
	case FUSE_STATFS:
		/* Whoever asks for the type of the file system does not get it then. */
		if (getenv("NO_STATFS"))
			reply(in, -EIO, NULL, 0);
		else
			reply(in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

static int is_left_out(const union request *r)
{
	const struct fuse_read_in *read = (const void *)(r->bytes + sizeof(r->in));

	if (n_left == MOST_LEFT)
		return 0;
	if (left_out == OPEN)
		return r->in.opcode == FUSE_OPEN && is_brokers(&r->in);
	if (left_out == ATTR)
		return r->in.opcode == FUSE_GETATTR && is_of(&r->in, "proftrace");
	if (left_out == LOOKUP)
		return r->in.opcode == FUSE_LOOKUP && is_of(&r->in, "proftrace");
	if (r->in.opcode != FUSE_READ)
		return 0;
	if (left_out == READ)
		return !read->offset && is_brokers(&r->in);
	return left_out == END && read->offset + read->size >= size;
}

/* Returns 0 when there will be nothing any more. */
static int serve_one(void)
{
	ssize_t n = read(device, &request, sizeof(request) - 1);

	if (n < (ssize_t)sizeof(request.in))
		return n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT);
	request.bytes[n] = '\0';
	if (is_left_out(&request)) {
		memcpy(&left[n_left++], &request, (size_t)n);
		printf("left\n");
		fflush(stdout);
	} else {
		answer(&request);
	}
	return 1;
}

static void answer_left(void)
{
	left_out = NOTHING;
	while (n_left)
		answer(&left[--n_left]);
}

static int mount_at(const char *directory)
{
	char options[128];

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (device < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	return mount("unanswered", directory, "fuse.unanswered", 0, options);
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	struct stat st;
	char *bytes;

	if (!file || fstat(fileno(file), &st))
		exit(1);
	size = (uint64_t)st.st_size + BEHIND;
	bytes = calloc(1, (size_t)size);
	if (!bytes || fread(bytes, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
		exit(1);
	fclose(file);
	return bytes;
}

static void read_files(const char *kind, const char *path)
{
	const char *equals = strchr(kind, '='), *slash = strrchr(path, '/');

	if (equals)
		other = read_file(equals + 1);
	contents = read_file(path);
	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	left_out = !strcmp(kind, "OPEN")	? OPEN
		   : !strcmp(kind, "READ")	? READ
		   : !strcmp(kind, "END")	? END
		   : !strcmp(kind, "ATTR")	? ATTR
		   : !strcmp(kind, "LOOKUP")	? LOOKUP
		   : !strncmp(kind, "FILE=", 5) ? FILE_OF_OTHER
						: TURNS;
}

/* Also where the server is stopped and can do nothing itself. */
static void start_watchdog(void)
{
	pid_t server = getpid();

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(device);
	close(0);
	close(1);
	sleep(AT_MOST_S);
	kill(server, SIGKILL);
	_exit(0);
}

static void told(int number)
{
	answers_all |= number == SIGUSR1;
}

int main(int argc, char **argv)
{
	struct pollfd p = { .events = POLLIN };
	sigset_t blocked, none;
	int status = 0;
	pid_t target;

	if (argc < 5)
		return 2;
	read_files(argv[1], argv[2]);
	if (mount_at(argv[3])) {
		printf("cannot mount: %s\n", strerror(errno));
		return 0;
	}
	start_watchdog();
	target = fork();
	if (!target) {
		printf("target %d\n", (int)getpid());
		fflush(stdout);
		execv(argv[4], argv + 4);
		_exit(127);
	}
	signal(SIGUSR1, told);
	signal(SIGCHLD, told);
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	p.fd = device;
	/* A signal comes while it waits here, and nowhere else. */
	while (waitpid(target, &status, WNOHANG) != target) {
		if (ppoll(&p, 1, NULL, &none) > 0 && !serve_one())
			break;
		if (answers_all)
			answer_left();
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
