/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends of a plug-in's socket. What its process says to the recorder is foreign code's word; what it
 * is told comes from a recorder that may have been taken over, and that process has no filter of system
 * calls. The input: a byte that says which end, then what arrives there, in pieces, each behind a byte
 * that says how it comes and two of its length.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Small ones, so that an input can have messages that are too long, and more than the buffer holds. */
#include "plugin/plugin_wire.h"
#undef PLUGIN_MESSAGE_MAX
#define PLUGIN_MESSAGE_MAX 512

static ssize_t fuzz_recv(int fd, void *buffer, size_t size, int flags);
static ssize_t fuzz_send(int fd, const void *bytes, size_t size, int flags);
static int fuzz_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
static int fuzz_socketpair(int domain, int type, int protocol, int sockets[2]);
static pid_t fuzz_fork(int keep, void (*run)(void *context), void *context);
static int fuzz_kill(pid_t pid, int number);
static pid_t fuzz_waitpid(pid_t pid, int *status, int options);
static int fuzz_close(int fd);
static long fuzz_syscall(long number, ...);
static void *fuzz_dlopen(const char *path, int flags);
static void *fuzz_dlsym(void *object, const char *name);
#define recv	   fuzz_recv
#define send	   fuzz_send
#define poll	   fuzz_poll
#define socketpair fuzz_socketpair
#define bare_fork  fuzz_fork
#define kill	   fuzz_kill
#define waitpid	   fuzz_waitpid
#define close(fd)  fuzz_close(fd)
#define syscall	   fuzz_syscall
#define dlopen	   fuzz_dlopen
#define dlsym	   fuzz_dlsym
#include "base/outbox.c"
#include "plugin/plugin.c"
#include "plugin/plugin_send.c"
#undef BUFFER
#undef close /* a member of a plug-in's table, too */
#include "plugin/plugin_host.c"
#undef recv
#undef send
#undef poll
#undef socketpair
#undef bare_fork
#undef kill
#undef waitpid
#undef syscall
#undef dlopen
#undef dlsym

#define SOCKET	100000 /* descriptors here are no real ones */
#define OTHER	100001
#define PROCESS 100002
#define CHILD	4242

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition)
{
	if (!condition)
		abort();
}

/* What is still to arrive. */
static struct {
	const uint8_t *at;
	size_t size;
	const uint8_t *piece; /* what is left of the piece that arrives */
	size_t n;
	unsigned waits;
	unsigned silent; /* so many more waits end without anything */
	bool open[3], child, killed;
	unsigned libraries, closes;
} w;

static void next_piece(void)
{
	size_t n;

	if (w.n || w.size < 3)
		return;
	n = w.at[1] | w.at[2] << 8;
	w.at += 3;
	w.size -= 3;
	w.n = n < w.size ? n : w.size;
	w.piece = w.at;
	w.at += w.n;
	w.size -= w.n;
}

static unsigned how(void)
{
	return w.n || w.size < 3 ? 0 : w.at[0];
}

static ssize_t fuzz_recv(int fd, void *buffer, size_t size, int flags)
{
	must(fd == SOCKET && w.open[0] && !(flags & ~MSG_DONTWAIT));
	if (how() == 1) {
		next_piece();
		errno = EINTR;
		return -1;
	}
	if (how() == 2) {
		next_piece();
		errno = ECONNRESET;
		return -1;
	}
	next_piece();
	if (size > w.n)
		size = w.n;
	memcpy(buffer, w.piece, size);
	w.piece += size;
	w.n -= size;
	return size;
}

/* Whatever the recorder says is a row of whole messages; what the plug-in's process says is a reply. */
static ssize_t fuzz_send(int fd, const void *bytes, size_t size, int flags)
{
	(void)bytes;
	must(fd == SOCKET && w.open[0] && flags & MSG_NOSIGNAL);
	return size;
}

static int fuzz_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	unsigned what = how();

	must(n == 1 && timeout_ms > 0 && w.open[fds->fd - SOCKET]);
	if (!w.silent && what == 4) {
		next_piece();
		errno = EINTR;
		return -1;
	}
	must(++w.waits < 200); /* nobody is waited for without end */
	if (!w.silent && what == 3) {
		next_piece();
		w.silent = PATIENCE_MS / STEP_MS;
	}
	if (!w.silent)
		return 1;
	w.silent--;
	return 0;
}

static int fuzz_socketpair(int domain, int type, int protocol, int sockets[2])
{
	(void)domain, (void)type, (void)protocol;
	sockets[0] = SOCKET;
	sockets[1] = OTHER;
	w.open[0] = w.open[1] = true;
	return 0;
}

static pid_t fuzz_fork(int keep, void (*run)(void *context), void *context)
{
	(void)run, (void)context;
	must(keep == OTHER);
	w.child = true;
	return CHILD;
}

static int fuzz_kill(pid_t pid, int number)
{
	must(pid == CHILD && w.child && number == SIGKILL);
	w.killed = true;
	return 0;
}

static pid_t fuzz_waitpid(pid_t pid, int *status, int options)
{
	must(pid == CHILD && w.child && !options);
	w.child = false;
	*status = w.killed ? SIGKILL : w.size ? w.at[0] << 8 : 0;
	return pid;
}

static int fuzz_close(int fd)
{
	must(fd >= SOCKET && fd <= PROCESS && w.open[fd - SOCKET]);
	w.open[fd - SOCKET] = false;
	return 0;
}

static long fuzz_syscall(long number, ...)
{
	must(number == SYS_pidfd_open);
	w.open[2] = true;
	return PROCESS;
}

/* --- a plug-in ----------------------------------------------------------------------------------- */

static size_t touched;

/* All of it is there, and ends. */
static int touch(void *self, const struct proftrace_event *e)
{
	unsigned i;

	must(self == &w && !w.closes);
	touched += strlen(e->name) + strlen(e->categories) + strlen(e->unit);
	touched += strlen(e->thread->process) + strlen(e->thread->name);
	touched += e->step ? e->step->epoch + e->step->batch : 0;
	must(e->scope <= PROFTRACE_SCOPE_GLOBAL && e->n_args <= PLUGIN_ARGS);
	for (i = 0; i < e->n_args; i++) {
		must(e->args[i].type >= PROFTRACE_INT && e->args[i].type <= PROFTRACE_NULL);
		touched += strlen(e->args[i].key) + e->args[i].value.u;
		if (e->args[i].type == PROFTRACE_STRING)
			touched += strlen(e->args[i].value.s);
	}
	return e->id == 0xdeadu ? -ENOSPC : 0;
}

static void *open_it(const char *argument, const struct proftrace_recording *about)
{
	touched += strlen(argument) + strlen(about->version);
	return argument[0] == 'n' ? NULL : &w;
}

static int take_file(void *self, const char *path)
{
	must(self == &w && !w.closes);
	touched += strlen(path);
	return 0;
}

static int flush_it(void *self)
{
	must(self == &w && !w.closes);
	return 0;
}

static int close_it(void *self, const struct proftrace_account *account)
{
	must(self == &w && !w.closes++);
	touched += account->marked;
	return account->orderly ? 0 : 9;
}

static const struct proftrace_handler table = {
	sizeof(table), open_it, touch, touch, touch, take_file, flush_it, close_it,
};

static const struct proftrace_handler *get_table(void)
{
	return &table;
}

static void *fuzz_dlopen(const char *path, int flags)
{
	(void)flags;
	must(!w.libraries++); /* the one that the user named, and no other */
	touched += strlen(path);
	return path[0] ? &w : dlopen("/no/such/library", RTLD_LAZY);
}

static void *fuzz_dlsym(void *object, const char *name)
{
	const struct proftrace_handler *(*get)(void) = get_table;
	void *address;

	must(object == &w && !strcmp(name, "proftrace_get_handler"));
	memcpy(&address, &get, sizeof(address));
	return address;
}

/* --- the two ends -------------------------------------------------------------------------------- */

static void be_told(void)
{
	w.open[0] = true;
	(void)plugin_host(SOCKET);
}

static void check_failure(const struct consumer *consumer)
{
	struct failure f = { 0 };

	plugin_failure(consumer, &f);
	must(f.what[0] && memchr(f.reason, '\0', sizeof(f.reason)));
	must(!strpbrk(f.reason, "\033\n\r\b"));
}

static struct name *name_of(size_t length)
{
	struct name *name = malloc(sizeof(*name) + length + 1);

	must(name != NULL);
	name->id = 1;
	name->length = (uint32_t)length;
	memset(name->text, 'n', length);
	name->text[length] = '\0';
	return name;
}

/* Of any lengths: each is sent whole, or not at all. */
static int tell_facts(struct consumer *h)
{
	struct name *name, *key;
	struct process process = { .uuid = 1, .pid = 1 };
	struct arg args[EVENT_MAX_ARGS + 2];
	struct fact fact = { .kind = FACT_INSTANT, .process = &process, .args = args };
	int error;

	if (w.size < 4)
		return 0;
	name = name_of(w.at[0] * 8);
	key = name_of(w.at[1] * 8);
	process.name = fact.name = fact.category = name;
	for (; fact.n_args < w.at[2] % (EVENT_MAX_ARGS + 3); fact.n_args++)
		args[fact.n_args] = (struct arg){ .key = key,
						  .type = w.at[3] & 1 ? ARG_STRING : ARG_INT,
						  .length = name->length,
						  .s = name->text };
	w.at += 4;
	w.size -= 4;
	error = h->ops->fact(h, &fact);
	fact.kind = FACT_PROCESS;
	if (!error)
		error = h->ops->fact(h, &fact);
	free(name);
	free(key);
	return error;
}

static void call_receive(void)
{
	const struct account account = { 0 };
	const struct trace_info info = { .version = "1" };
	struct consumer *h;
	struct failure f = { 0 };

	if (plugin_new("./it.so=x", &info, &h, &f)) {
		must(f.what[0] && !strpbrk(f.reason, "\033\n\r\b"));
	} else {
		plugin_json_file(h, "a.json");
		if (!h->error)
			h->error = tell_facts(h);
		if (!h->error)
			h->error = h->ops->flush(h);
		must(h->error <= 0);
		if (!h->error)
			h->error = h->ops->close(h, &account);
		must(h->error <= 0);
		if (h->error)
			check_failure(h);
		h->ops->free(h);
	}
	must(!w.child && !w.open[0] && !w.open[1] && !w.open[2]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	memset(&w, 0, sizeof(w));
	w.at = w.piece = data + 1;
	w.size = size - 1;
	if (data[0] & 1)
		call_receive();
	else
		be_told();
	return 0;
}
