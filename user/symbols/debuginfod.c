/* SPDX-License-Identifier: BSD-2-Clause */
/* The process that fetches debug files, and the recorder's side of it. */
#include "symbols/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/packet.h"
#include "base/text.h"
#include "privilege/bare.h"
#include "privilege/confine.h"
#include "privilege/landlock.h"
#include "privilege/privileges.h"
#include "symbols/wire.h"

#define LIBRARY "libdebuginfod.so.1"

/* The largest debug files of distributions have 2 GB when they are unpacked. */
#define MAX_FILE    (2ull << 30)
#define MAX_MEMORY  (512ull << 20)  /* what is downloaded goes to a file at once */
#define SECONDS	    "60"	    /* for one file */
#define LIMIT_NS    180000000000ull /* for all files */
#define MIN_ID_SIZE 8
#define SOCKET	    3

struct fetch_request {
	uint32_t size;
	uint8_t build_id[SYMBOL_MAX_ID];
};

struct fetch_reply {
	int32_t error; /* negative errno; 0: a descriptor comes with it */
};

struct debuginfod {
	int socket; /* -1: it has ended */
	pid_t pid;
	uint64_t left_ns;
	bool (*give_up)(void *context); /* may be NULL */
	void *context;
	struct debuginfod_counts counts;
};

static bool size_is_of_id(uint32_t size)
{
	return size >= MIN_ID_SIZE && size <= SYMBOL_MAX_ID;
}

/* --- the process ----------------------------------------------------------------------------------- */

/* What is used of elfutils/debuginfod.h. */
static struct {
	void *(*begin)(void);
	int (*find_debuginfo)(void *client, const unsigned char *build_id, int size, char **path);
	void (*set_progressfn)(void *client, int (*progress)(void *client, long done, long all));
} library;

static bool library_open(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	*(void **)&library.begin = dlsym(handle, "debuginfod_begin");
	*(void **)&library.find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library.set_progressfn = dlsym(handle, "debuginfod_set_progressfn");
	return library.begin && library.find_debuginfo && library.set_progressfn;
}

/* Called several times a second. A value other than 0 ends the download: the recorder has ended. */
static int show_progress(void *client, long done, long all)
{
	struct pollfd fd = { .fd = SOCKET };

	(void)client;
	if (isatty(STDERR_FILENO) && all > 0) {
		fputs("\r\033[K", stderr);
		print_visible(stderr, "proftrace: debuginfod: %ld of %ld KB", done / 1024,
			      all / 1024);
	}
	return poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP;
}

static void set_limit(int resource, rlim_t most)
{
	const struct rlimit r = { most, most };

	setrlimit(resource, &r);
}

/* Where the library would have its cache. */
static void find_cache(char *path, size_t size)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *caches = getenv("XDG_CACHE_HOME");
	struct stat st;

	snprintf(path, size, "%s", own ? own : "");
	if (path[0])
		return;
	snprintf(path, size, "%s/.debuginfod_client_cache", home ? home : "");
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return;
	snprintf(path, size, "%s%s",
		 caches && *caches ? caches
		 : home		   ? home
				   : "",
		 caches && *caches ? "" : "/.cache");
	mkdir(path, 0700);
	snprintf(path + strlen(path), size - strlen(path), "/debuginfod_client");
}

/*
 * What a server sends is written there and nowhere else: whoever takes over the process shall not write what the user
 * executes. Without Landlock it goes on.
 */
static void write_to_cache_alone(void)
{
	char path[4096];

	find_cache(path, sizeof(path));
	mkdir(path, 0700);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	landlock_writes(path);
}

/* Users may set their own limits in the environment; those of the process hold for all. */
static void fetcher_confine(void)
{
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_FSIZE, MAX_FILE);
	set_limit(RLIMIT_DATA, MAX_MEMORY);
	setenv("DEBUGINFOD_MAXTIME", SECONDS, 0);
	setenv("DEBUGINFOD_MAXSIZE", "2147483648", 0);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
	privileges_keep(NULL, 0, true);
	confine_downloader();
}

/* The recorder may have been taken over; for the library a size of 0 means that the id is a text, any part of a path. */
static int fetcher_find(void *client, const struct fetch_request *request)
{
	int fd = -EINVAL;

	if (size_is_of_id(request->size))
		fd = library.find_debuginfo(client, request->build_id, (int)request->size, NULL);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	return fd;
}

static void close_inherited(int socket)
{
	int nothing;

	if (descriptors_put(socket, SOCKET))
		_exit(1);
	closefrom(SOCKET + 1);
	nothing = open("/dev/null", O_RDWR);
	if (nothing < 0 || descriptors_put(nothing, STDIN_FILENO) ||
	    descriptors_put(nothing, STDOUT_FILENO))
		_exit(1);
	close(nothing);
}

static void run_fetcher(void *socket)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ };
	struct fetch_request request;
	void *client = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NAME, "debuginfod", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	close_inherited(*(const int *)socket);
	write_to_cache_alone();
	if (library_open())
		client = library.begin();
	fetcher_confine();
	if (client)
		library.set_progressfn(client, show_progress);
	while (packet_receive(SOCKET, &request, sizeof(request), NULL) == (int)sizeof(request)) {
		int fd = client ? fetcher_find(client, &request) : -ELIBACC;
		const struct fetch_reply reply = { fd < 0 ? fd : 0 };

		if (packet_send(SOCKET, &reply, sizeof(reply), fd))
			break;
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

/* --- the recorder ---------------------------------------------------------------------------------- */

struct debuginfod *debuginfod_on(int socket)
{
	struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->socket = socket;
	d->left_ns = LIMIT_NS;
	return d;
}

int debuginfod_new(struct debuginfod **ret)
{
	struct debuginfod *d;
	int sockets[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	d = debuginfod_on(sockets[0]);
	if (!d) {
		close(sockets[0]);
		close(sockets[1]);
		return -ENOMEM;
	}
	d->pid = bare_fork(sockets[1], run_fetcher, &sockets[1]);
	error = d->pid < 0 ? d->pid : 0;
	close(sockets[1]);
	if (!error) {
		*ret = d;
		return 0;
	}
	close(d->socket);
	free(d);
	return error;
}

void debuginfod_set_give_up(struct debuginfod *d, bool (*give_up)(void *context), void *context)
{
	d->give_up = give_up;
	d->context = context;
}

static int debuginfod_close(struct debuginfod *d, int error)
{
	if (d->socket >= 0)
		close(d->socket);
	d->socket = -1;
	return error;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	debuginfod_close(d, 0);
	if (d->pid)
		TEMP_FAILURE_RETRY(waitpid(d->pid, NULL, 0));
	free(d);
}

/* What comes from the process is not trusted: it may have been taken over by what a server sent. */
static int receive_file(struct debuginfod *d)
{
	struct fetch_reply reply;
	struct stat st;
	int n, fd = -1;

	n = packet_wait(d->socket, &d->left_ns, d->give_up, d->context);
	if (n < 0)
		return debuginfod_close(d, n);
	n = packet_receive(d->socket, &reply, sizeof(reply), &fd);
	if (n == (int)sizeof(reply) && !reply.error && fd >= 0 && !fstat(fd, &st) &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size <= MAX_FILE)
		return fd;
	if (fd >= 0)
		close(fd);
	return n == (int)sizeof(reply) && reply.error < 0 ? reply.error
							  : debuginfod_close(d, -EPROTO);
}

int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, uint32_t size)
{
	struct fetch_request request = { .size = size };
	int fd;

	if (!size_is_of_id(size))
		return -EINVAL;
	if (d->socket < 0)
		return -EPIPE;
	memcpy(request.build_id, build_id, size);
	fd = packet_send(d->socket, &request, sizeof(request), -1);
	if (!fd)
		fd = receive_file(d);
	d->counts.fetched += fd >= 0;
	d->counts.missing += fd < 0;
	if (fd < 0 && fd != -ENOENT)
		d->counts.error = fd;
	return fd;
}

struct debuginfod_counts debuginfod_count(const struct debuginfod *d)
{
	return d->counts;
}
