/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads that read, and the waiting for them. */
#include "tracee/memory/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * How long a read may take. Reading a page takes microseconds; the rest is for a reading thread that waits for a CPU
 * beside busy programs.
 */
#define PATIENCE_NS 100000000ull
/*
 * Many processes may hold their locks in turns. So of all the time one part in so many is spent on reads that come to
 * nothing, or this much for each.
 */
#define PATIENCE_SHARE	  10
#define LEAST_PATIENCE_NS 1000000ull
/* A reading thread that is ready to run waits for a CPU and for no lock. It is waited for as long as this, in such steps. */
#define CPU_PATIENCE_NS 500000000ull
#define CPU_STEP_NS	10000000ull
/* Threads that are stuck at the same time: in all, and for processes of one user, who may have any number of them. */
#define MOST_STUCK	   64
#define MOST_STUCK_OF_USER 16
#define STACK_BYTES \
	(1 << 20) /* with the space that the C library keeps for libraries that are loaded late */

struct target_memory {
	int fd;
	char *path;		      /* not opened yet; NULL: it is */
	uid_t owner;		      /* of the process */
	bool has_owner;		      /* it has been looked up */
	bool is_read;		      /* a thread is reading, or stuck */
	bool is_free;		      /* the thread frees it when it comes back */
	bool (*waits)(void *context); /* NULL: for a limited time */
	void *context;
};

struct reading_thread {
	pthread_cond_t wanted;
	/* What is to be read; NULL: nothing, or it has been read. */
	struct target_memory *memory;
	target_read_fn *read;
	uint64_t address;
	size_t size;
	ssize_t got;
	bool is_given_up; /* nobody waits for it any more */
	uid_t owner;	  /* of the process, if so */
	struct reading_thread *next_stuck;
	pid_t tid; /* 0: it has not begun */
	char bytes[TARGET_PIECE] __attribute__((aligned(8)));
};

/* Of all threads. They live until the program ends, or until they come back from a read that was given up. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished;
/* By `hurries`: a thread keeps the priority that the caller has when it starts it. */
static struct reading_thread *ready[2];
static struct reading_thread *stuck;
static unsigned n_stuck;
static bool hurries;
static uint64_t cpu_ns;
/* Only the caller uses these. */
static uint64_t patience_ns = PATIENCE_NS, patience_at_ns;

struct target_memory *target_memory_new(int fd)
{
	struct target_memory *m = calloc(1, sizeof(*m));

	if (m)
		m->fd = fd;
	else
		close(fd);
	return m;
}

struct target_memory *target_memory_at(const char *path)
{
	struct target_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->fd = -1;
	m->path = strdup(path);
	if (m->path)
		return m;
	free(m);
	return NULL;
}

void target_memory_wait_while(struct target_memory *m, bool (*waits)(void *context), void *context)
{
	m->waits = waits;
	m->context = context;
}

static void close_memory(struct target_memory *m)
{
	if (m->fd >= 0)
		close(m->fd);
	free(m->path);
	free(m);
}

/* Its descriptor must not be closed under a thread that reads: it might get another file's number. */
void target_memory_free(struct target_memory *m)
{
	bool is_read;

	if (!m)
		return;
	pthread_mutex_lock(&lock);
	is_read = m->is_read;
	m->is_free = true;
	pthread_mutex_unlock(&lock);
	if (!is_read)
		close_memory(m);
}

/* Called with the lock. */
static void finish_read(struct reading_thread *t, ssize_t got)
{
	struct target_memory *m = t->memory;

	t->got = got;
	t->memory = NULL;
	m->is_read = false;
	if (m->is_free)
		close_memory(m);
}

/* The kernel gives a page of a text at a time. */
static ssize_t read_bytes(int fd, uint64_t offset, void *out, size_t size)
{
	size_t at = 0;
	ssize_t n = 1;

	while (n > 0 && at < size) {
		n = pread(fd, (char *)out + at, size - at, (off_t)(offset + at));
		at += n > 0 ? (size_t)n : 0;
	}
	return n < 0 && !at ? -errno : (ssize_t)at;
}

/* Called without the lock: nobody else uses the memory meanwhile. */
static ssize_t read_memory(struct reading_thread *t)
{
	struct target_memory *m = t->memory;

	if (m->path) {
		m->fd = open(m->path, O_RDONLY | O_CLOEXEC);
		if (m->fd < 0)
			return -errno;
		free(m->path);
		m->path = NULL;
	}
	return t->read(m->fd, t->address, t->bytes, t->size);
}

/* Called with the lock, which is released meanwhile. */
static ssize_t do_read(struct reading_thread *t)
{
	uint64_t took_ns;
	ssize_t got;

	pthread_mutex_unlock(&lock);
	took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	got = read_memory(t);
	took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - took_ns;
	pthread_mutex_lock(&lock);
	cpu_ns += took_ns;
	return got;
}

/*
 * The files of a process that is not dumpable are root's, but not the directory in which they are. The kernel needs no lock of the
 * memory for this.
 */
static void find_owner(struct target_memory *m)
{
	char link[32], path[PATH_MAX], *end;
	struct stat st;
	ssize_t n;

	if (m->has_owner)
		return;
	m->has_owner = true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", m->fd);
	n = m->path ? snprintf(path, sizeof(path), "%s", m->path)
		    : readlink(link, path, sizeof(path) - 1);
	path[n > 0 && n < PATH_MAX ? n : 0] = '\0';
	end = strncmp(path, "/proc/", 6) ? NULL : strchr(path + 6, '/');
	if (end)
		*end = '\0';
	if (end || m->path ? !stat(path, &st) : !fstat(m->fd, &st))
		m->owner = st.st_uid;
}

/* The next one that waits would be one more. */
static bool too_many_are_stuck(const struct target_memory *m)
{
	unsigned n = 0;

	for (const struct reading_thread *t = stuck; t; t = t->next_stuck)
		n += t->owner == m->owner;
	return n >= MOST_STUCK_OF_USER || n_stuck >= MOST_STUCK;
}

/* Called with the lock: nobody waits for the thread any more. */
static void give_up_thread(struct reading_thread *t)
{
	t->is_given_up = true;
	t->owner = t->memory->owner;
	t->next_stuck = stuck;
	stuck = t;
	n_stuck++;
}

static void leave_stuck(struct reading_thread *t)
{
	struct reading_thread **at = &stuck;

	while (*at != t)
		at = &(*at)->next_stuck;
	*at = t->next_stuck;
	n_stuck--;
}

static void *reading_thread_run(void *context)
{
	struct reading_thread *t = context;

	pthread_mutex_lock(&lock);
	t->tid = gettid();
	while (t->memory || !t->is_given_up) {
		ssize_t got = -EAGAIN;

		if (!t->memory) {
			pthread_cond_wait(&t->wanted, &lock);
			continue;
		}
		/* It may have had no CPU until it was given up. */
		if (!t->is_given_up)
			got = do_read(t);
		finish_read(t, got);
		if (!t->is_given_up)
			pthread_cond_signal(&finished);
	}
	leave_stuck(t);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&t->wanted);
	free(t);
	return NULL;
}

/* Signals are for the caller's thread. */
static int start_thread(struct reading_thread *t)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attr, reading_thread_run, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}

static struct reading_thread *reading_thread_new(void)
{
	static bool prepared;
	struct reading_thread *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (!t)
		return NULL;
	if (!prepared) {
		pthread_condattr_init(&attr);
		pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		pthread_cond_init(&finished, &attr);
		pthread_condattr_destroy(&attr);
		prepared = true;
	}
	pthread_cond_init(&t->wanted, NULL);
	if (!start_thread(t))
		return t;
	pthread_cond_destroy(&t->wanted);
	free(t);
	return NULL;
}

static uint64_t find_patience(uint64_t now_ns)
{
	uint64_t gained = (now_ns - patience_at_ns) / PATIENCE_SHARE;

	patience_at_ns = now_ns;
	patience_ns = gained < PATIENCE_NS - patience_ns ? patience_ns + gained : PATIENCE_NS;
	return patience_ns > LEAST_PATIENCE_NS ? patience_ns : LEAST_PATIENCE_NS;
}

static bool await_for(struct reading_thread *t, uint64_t ns)
{
	struct timespec until;

	/* Of the time namespace of this process, unlike clock_ns(). */
	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	while (t->memory && pthread_cond_timedwait(&finished, &lock, &until) != ETIMEDOUT)
		;
	return !t->memory;
}

/* Whether the thread is ready to run, so that no lock of the process is what it waits for. */
static bool thread_needs_cpu(const struct reading_thread *t)
{
	char path[64], text[128];
	const char *state;
	ssize_t n;
	int fd;

	if (!t->tid)
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3);
}

/* Called with the lock. False: it has not been read in time. */
static bool await_read(struct reading_thread *t)
{
	const struct target_memory *m = t->memory;
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC), waited_ns = 0;

	if (m->waits) {
		while (!await_for(t, PATIENCE_NS)) {
			if (!m->waits(m->context))
				return false;
		}
		return true;
	}
	if (await_for(t, find_patience(began_ns)))
		return true;
	while (waited_ns < CPU_PATIENCE_NS && thread_needs_cpu(t)) {
		if (await_for(t, CPU_STEP_NS))
			return true;
		waited_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	}
	waited_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	patience_ns -= waited_ns < patience_ns ? waited_ns : patience_ns;
	return false;
}

/* Called with the lock. Returns how many bytes were read. */
static ssize_t read_piece(struct target_memory *m, target_read_fn *read, uint64_t address,
			  void *out, size_t size)
{
	struct reading_thread *t = ready[hurries];

	if (m->is_read)
		return -EAGAIN;
	find_owner(m);
	if (too_many_are_stuck(m))
		return -EAGAIN;
	if (!t)
		t = ready[hurries] = reading_thread_new();
	if (!t)
		return -EAGAIN;
	m->is_read = true;
	t->memory = m;
	t->read = read;
	t->address = address;
	t->size = size;
	pthread_cond_signal(&t->wanted);
	if (!await_read(t)) {
		give_up_thread(t);
		ready[hurries] = NULL;
		return -EAGAIN;
	}
	if (t->got > 0)
		memcpy(out, t->bytes, (size_t)t->got);
	return t->got;
}

ssize_t target_memory_read_by(struct target_memory *m, target_read_fn *read, uint64_t at, void *out,
			      size_t size)
{
	ssize_t n;

	pthread_mutex_lock(&lock);
	n = read_piece(m, read, at, out, size < TARGET_PIECE ? size : TARGET_PIECE);
	pthread_mutex_unlock(&lock);
	return n;
}

bool target_memory_is_awaited(struct target_memory *m)
{
	bool is_read;

	pthread_mutex_lock(&lock);
	is_read = m->is_read;
	pthread_mutex_unlock(&lock);
	return is_read;
}

void target_memory_hurry(bool hurry)
{
	pthread_mutex_lock(&lock);
	hurries = hurry;
	pthread_mutex_unlock(&lock);
}

uint64_t target_memory_cpu_ns(void)
{
	uint64_t ns;

	pthread_mutex_lock(&lock);
	ns = cpu_ns;
	pthread_mutex_unlock(&lock);
	return ns;
}

ssize_t target_memory_read_text(struct target_memory *m, uint64_t offset, void *out, size_t size)
{
	ssize_t n = 0;
	size_t at = 0, piece = 0;

	if (offset > INT64_MAX || size > INT64_MAX - offset)
		return -EFAULT;
	pthread_mutex_lock(&lock);
	while (at < size && n == (ssize_t)piece) {
		piece = size - at < TARGET_PIECE ? size - at : TARGET_PIECE;
		n = read_piece(m, read_bytes, offset + at, (char *)out + at, piece);
		at += n > 0 ? (size_t)n : 0;
	}
	pthread_mutex_unlock(&lock);
	return n < 0 ? n : (ssize_t)at;
}

int target_memory_read(struct target_memory *m, uint64_t address, void *out, size_t size)
{
	ssize_t n = target_memory_read_text(m, address, out, size);

	return n == -EAGAIN ? -EAGAIN : n == (ssize_t)size ? 0 : -EFAULT;
}
