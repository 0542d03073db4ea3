/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks ROUNDS: mutexes and a condition of proftrace/mutex.h. Who waits for whom is certain, since the holder lets go
 * only when another thread is seen to wait. Prints `saw <line>` for each kind of slice, with how many of them there
 * must be, and `marks`.
 */
#include <proftrace/mutex.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "objects.h"

static prof_mutex_t accounts = PROF_MUTEX_INITIALIZER("accounts");
static prof_mutex_t journal = PROF_MUTEX_INITIALIZER("journal");
static prof_mutex_t nested, dying;
static prof_cond_t filled = PROF_COND_INITIALIZER("filled");
static int items;
static char waited[128], held[128];

static void require(int error)
{
	if (error)
		abort();
}

/* Counted by name: objects.h keeps the text. */
static void got_after(const prof_mutex_t *lock, int error)
{
	char line[128];

	snprintf(line, sizeof(line), "ASYNC_BEGIN %s locks,hold%s", lock->name,
		 error ? "" : " thread");
	saw(strdup(line), 1);
	passed(2);
}

static void got(const prof_mutex_t *lock)
{
	got_after(lock, 0);
}

static void *wait_for_accounts(void *unused)
{
	require(prof_mutex_lock(&accounts));
	got(&accounts);
	require(prof_mutex_unlock(&accounts));
	return unused;
}

/* glibc: 2 is locked, and somebody waits. */
static void wait_for_waiter(prof_mutex_t *lock)
{
	while (__atomic_load_n(&lock->mutex.__data.__lock, __ATOMIC_RELAXED) != 2)
		sched_yield();
}

static void contend(void)
{
	pthread_t thread;

	require(prof_mutex_lock(&accounts));
	got(&accounts);
	require(pthread_create(&thread, NULL, wait_for_accounts, NULL));
	wait_for_waiter(&accounts);
	if (prof_mutex_trylock(&accounts) != EBUSY)
		abort();
	/* Not in the order of nesting. */
	require(prof_mutex_trylock(&journal));
	got(&journal);
	require(prof_mutex_unlock(&accounts));
	require(prof_mutex_unlock(&journal));
	require(pthread_join(thread, NULL));
	saw(waited, 1);
	passed(2);
}

/* Whether it would have to wait depends on the other thread: it does not. */
static void *fill(void *unused)
{
	while (prof_mutex_trylock(&journal))
		sched_yield();
	got(&journal);
	items++;
	require(prof_cond_signal(&filled));
	require(prof_mutex_unlock(&journal));
	return unused;
}

/* The mutex is held twice: before the wait and after it. */
static void await(void)
{
	pthread_t thread;
	unsigned waits = 0;

	require(prof_mutex_lock(&journal));
	got(&journal);
	require(pthread_create(&thread, NULL, fill, NULL));
	while (!items) {
		require(prof_cond_wait(&filled, &journal));
		got(&journal);
		waits++;
	}
	items--;
	require(prof_mutex_unlock(&journal));
	require(pthread_join(thread, NULL));
	saw("BEGIN filled locks,condition", waits);
	passed(2 * waits);
}

static void too_late(void)
{
	const struct timespec past = { 1, 0 };

	require(prof_mutex_lock(&journal));
	got(&journal);
	if (prof_mutex_timedlock(&journal, &past) != ETIMEDOUT)
		abort();
	saw(held, 1);
	if (prof_cond_timedwait(&filled, &journal, &past) != ETIMEDOUT)
		abort();
	got(&journal);
	saw("BEGIN filled locks,condition", 1);
	passed(4);
	require(prof_mutex_unlock(&journal));
}

/* Held once, however often. */
static void nest(void)
{
	require(prof_mutex_lock(&nested));
	got(&nested);
	require(prof_mutex_lock(&nested));
	require(prof_mutex_trylock(&nested));
	require(prof_mutex_unlock(&nested));
	require(prof_mutex_unlock(&nested));
	require(prof_mutex_unlock(&nested));
}

static void *die(void *unused)
{
	require(prof_mutex_lock(&dying));
	got(&dying);
	return unused;
}

/* Whoever gets it next ends the slice of the dead. */
static void inherit(void)
{
	pthread_t thread;

	require(pthread_create(&thread, NULL, die, NULL));
	require(pthread_join(thread, NULL));
	if (prof_mutex_lock(&dying) != EOWNERDEAD)
		abort();
	got_after(&dying, EOWNERDEAD);
	require(pthread_mutex_consistent(&dying.mutex));
	require(prof_mutex_unlock(&dying));
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	pthread_mutexattr_t attributes;
	int i;

	snprintf(waited, sizeof(waited), "BEGIN accounts locks,wait holder=n:%ld",
		 syscall(SYS_gettid));
	snprintf(held, sizeof(held), "BEGIN journal locks,wait holder=n:%ld", syscall(SYS_gettid));
	require(pthread_mutexattr_init(&attributes));
	require(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE));
	require(prof_mutex_init(&nested, "nested", &attributes));
	require(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL));
	require(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
	require(prof_mutex_init(&dying, "dying", &attributes));
	for (i = 0; i < rounds; i++) {
		contend();
		await();
		too_late();
		nest();
		inherit();
	}
	require(prof_mutex_destroy(&nested));
	print_counts();
	return 0;
}
