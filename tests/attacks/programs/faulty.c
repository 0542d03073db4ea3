/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faulty KIND N DIRECTORY COMMAND [ARG...]
 *
 * A file system in memory is mounted at DIRECTORY, where no other process but the COMMAND sees it, and is served until
 * that ends. It has one directory, and each of its files fails at a moment that no real disk can be told to fail at:
 *
 *	ENOSPC, EIO	the file's N-th write and all that follow it
 *	once		only the file's N-th write, with EIO: what follows would leave a hole
 *	short		from the N-th write on each writes half of what it was given, at least a byte; none fails
 *	half		the N-th write writes half, and all that follow fail with ENOSPC
 *	close		nothing but the closing of a file that was written to, with EIO
 *	read		the N-th read of the file and all that follow it, with EIO
 *
 * Prints `cannot mount: WHY` where nothing can be mounted, else `faults N` at the end: how many requests were answered
 * so. Ends with the command's status. Whatever happens it is gone after a minute, and so is the file system.
 */
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
	FIRST_NODE = FUSE_ROOT_ID + 1,
	MOST_FILES = 64,
	MOST_BYTES = 64 << 20,
	MOST_WRITTEN = 1 << 20,
	AT_MOST_S = 60,
};

struct file {
	char name[256]; /* empty: none has it any more */
	char *data;
	uint64_t size;
	unsigned long writes, reads;
};

static int device;
static const char *kind;
static unsigned long nth, faults;
static struct file files[MOST_FILES];
static unsigned n_files;
static union {
	struct fuse_in_header in;
	char bytes[MOST_WRITTEN + 65536];
} request;

static void reply(int error, const void *data, size_t n)
{
	struct fuse_out_header out = { (uint32_t)(sizeof(out) + n), error, request.in.unique };
	struct iovec iov[2] = { { &out, sizeof(out) }, { (void *)(uintptr_t)data, n } };

	/* It may have been interrupted meanwhile: then nobody waits for it. */
	if (writev(device, iov, n ? 2 : 1) < 0 && errno != ENOENT)
		perror("faulty: reply");
}

static struct file *find_file(const char *name)
{
	unsigned i;

	for (i = 0; i < n_files && strcmp(files[i].name, name); i++)
		;
	return i < n_files ? &files[i] : NULL;
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096, .mode = S_IFDIR | 0777 };

	if (node >= FIRST_NODE) {
		a.mode = S_IFREG | 0666;
		a.size = files[node - FIRST_NODE].size;
		a.blocks = (a.size + 511) / 512;
	}
	return a;
}

static struct fuse_entry_out entry(const struct file *file)
{
	struct fuse_entry_out out = { .nodeid = FIRST_NODE + (uint64_t)(file - files) };

	out.attr = attributes(out.nodeid);
	return out;
}

static void answer_init(void)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 65536,
		.flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES,
		.max_write = MOST_WRITTEN,
		.max_pages = MOST_WRITTEN / 4096,
	};

	reply(0, &out, sizeof(out));
}

static void answer_lookup(const char *name)
{
	struct file *file = name[0] ? find_file(name) : NULL;
	struct fuse_entry_out out;

	if (!file) {
		reply(-ENOENT, NULL, 0);
		return;
	}
	out = entry(file);
	reply(0, &out, sizeof(out));
}

static void answer_attributes(void)
{
	struct fuse_attr_out out = { .attr = attributes(request.in.nodeid) };

	reply(0, &out, sizeof(out));
}

/* Of all that can be set only the size matters here. */
static void answer_setattr(const struct fuse_setattr_in *in)
{
	struct file *file = &files[request.in.nodeid - FIRST_NODE];

	if (request.in.nodeid >= FIRST_NODE && in->valid & FATTR_SIZE) {
		if (in->size > file->size && in->size <= MOST_BYTES)
			memset(file->data + file->size, 0, in->size - file->size);
		file->size = in->size <= MOST_BYTES ? in->size : file->size;
	}
	answer_attributes();
}

/* Past the page cache: each read and write of a process is a request. */
static void answer_create(const char *name)
{
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = { .open.open_flags = FOPEN_DIRECT_IO };
	struct file *file = &files[n_files];

	if (n_files == MOST_FILES) {
		reply(-ENFILE, NULL, 0);
		return;
	}
	file->data = calloc(1, MOST_BYTES);
	if (!file->data)
		exit(1);
	snprintf(file->name, sizeof(file->name), "%.255s", name);
	n_files++;
	out.entry = entry(file);
	reply(0, &out, sizeof(out));
}

static void answer_open(void)
{
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO };

	reply(0, &out, sizeof(out));
}

static int is(const char *wanted)
{
	return !strcmp(kind, wanted);
}

/* How many bytes of this write are written, or a negative error. */
static int allowed_size(unsigned long n, uint32_t size)
{
	if (n < nth || is("close") || is("read"))
		return (int)size;
	if (is("once") && n > nth)
		return (int)size;
	faults++;
	if (is("short") || (is("half") && n == nth))
		return size > 1 ? (int)size / 2 : 1;
	return is("EIO") || is("once") ? -EIO : -ENOSPC;
}

static void answer_write(const struct fuse_write_in *in)
{
	struct file *file = &files[request.in.nodeid - FIRST_NODE];
	int n = allowed_size(++file->writes, in->size);
	struct fuse_write_out out = { .size = (uint32_t)n };

	if (n >= 0 && in->offset + in->size > MOST_BYTES)
		n = -EFBIG;
	if (n < 0) {
		reply(n, NULL, 0);
		return;
	}
	memcpy(file->data + in->offset, in + 1, (size_t)n);
	if (in->offset + (uint32_t)n > file->size)
		file->size = in->offset + (uint32_t)n;
	reply(0, &out, sizeof(out));
}

static void answer_read(const struct fuse_read_in *in)
{
	struct file *file = &files[request.in.nodeid - FIRST_NODE];
	uint64_t n = in->offset < file->size ? file->size - in->offset : 0;

	if (is("read") && ++file->reads >= nth) {
		faults++;
		reply(-EIO, NULL, 0);
		return;
	}
	if (n > in->size)
		n = in->size;
	reply(0, file->data + (n ? in->offset : 0), (size_t)n);
}

static void answer_rename(const char *names)
{
	struct file *from = find_file(names), *to = find_file(names + strlen(names) + 1);

	if (!from) {
		reply(-ENOENT, NULL, 0);
		return;
	}
	if (to)
		to->name[0] = '\0';
	snprintf(from->name, sizeof(from->name), "%.255s", names + strlen(names) + 1);
	reply(0, NULL, 0);
}

static void answer_unlink(const char *name)
{
	struct file *file = find_file(name);

	if (file)
		file->name[0] = '\0';
	reply(file ? 0 : -ENOENT, NULL, 0);
}

static void answer_flush(void)
{
	int fails = is("close") && request.in.nodeid >= FIRST_NODE &&
		    files[request.in.nodeid - FIRST_NODE].writes;

	faults += (unsigned)fails;
	reply(fails ? -EIO : 0, NULL, 0);
}

static void answer(void)
{
	struct fuse_statfs_out statfs = { .st = { .bsize = 4096, .namelen = 255 } };
	const char *body = request.bytes + sizeof(request.in);

	switch (request.in.opcode) {
	case FUSE_INIT:
		answer_init();
		break;
	case FUSE_LOOKUP:
		answer_lookup(body);
		break;
	case FUSE_GETATTR:
		answer_attributes();
		break;
	case FUSE_SETATTR:
		answer_setattr((const void *)body);
		break;
	case FUSE_CREATE:
		answer_create(body + sizeof(struct fuse_create_in));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer_open();
		break;
	case FUSE_READ:
		answer_read((const void *)body);
		break;
	case FUSE_WRITE:
		answer_write((const void *)body);
		break;
	case FUSE_RENAME:
		answer_rename(body + sizeof(struct fuse_rename_in));
		break;
	case FUSE_UNLINK:
		answer_unlink(body);
		break;
	case FUSE_STATFS:
		reply(0, &statfs, sizeof(statfs));
		break;
	case FUSE_FLUSH:
		answer_flush();
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FSYNC:
		reply(0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(-ENOSYS, NULL, 0);
	}
}

static int serve_one(void)
{
	ssize_t n = read(device, &request, sizeof(request) - 1);

	if (n < (ssize_t)sizeof(request.in))
		return n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT);
	request.bytes[n] = '\0';
	answer();
	return 1;
}

static int mount_at(const char *directory)
{
	char options[128];

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (device < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	return mount("faulty", directory, "fuse.faulty", 0, options);
}

static void note_child(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	struct pollfd p = { .events = POLLIN };
	sigset_t blocked, none;
	int status = 0;
	pid_t command;

	if (argc < 5)
		return 2;
	kind = argv[1];
	nth = strtoul(argv[2], NULL, 10);
	if (mount_at(argv[3])) {
		printf("cannot mount: %s\n", strerror(errno));
		return 0;
	}
	command = fork();
	if (!command) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[4], argv + 4);
		_exit(127);
	}
	alarm(AT_MOST_S);
	signal(SIGCHLD, note_child);
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	p.fd = device;
	while (waitpid(command, &status, WNOHANG) != command) {
		if (ppoll(&p, 1, NULL, &none) > 0 && !serve_one())
			break;
	}
	printf("faults %lu\n", faults);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
