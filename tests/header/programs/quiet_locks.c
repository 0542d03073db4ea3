/* SPDX-License-Identifier: BSD-2-Clause */
/* What quiet.c is for proftrace.h, for proftrace/mutex.h. It is not run. */
#include <proftrace/mutex.h>

#ifdef __cplusplus
#define NO_ATTRIBUTES nullptr
#else
#define NO_ATTRIBUTES NULL
#endif

static prof_mutex_t lock = PROF_MUTEX_INITIALIZER("lock");
static prof_cond_t condition = PROF_COND_INITIALIZER("condition");

int locks(const struct timespec *deadline);
int initialised(prof_mutex_t *m, prof_cond_t *c);

int locks(const struct timespec *deadline)
{
	return prof_mutex_lock(&lock) + prof_mutex_unlock(&lock) + prof_mutex_trylock(&lock) +
	       prof_cond_wait(&condition, &lock) +
	       prof_cond_timedwait(&condition, &lock, deadline) + prof_cond_signal(&condition) +
	       prof_cond_broadcast(&condition)
#if !defined(__STRICT_ANSI__)
	       + prof_mutex_timedlock(&lock, deadline)
#endif
		;
}

int initialised(prof_mutex_t *m, prof_cond_t *c)
{
	return prof_mutex_init(m, "m", NO_ATTRIBUTES) + prof_cond_init(c, "c", NO_ATTRIBUTES) +
	       prof_mutex_destroy(m) + prof_cond_destroy(c);
}

#ifdef __cplusplus
struct nothing {
	void lock()
	{
	}
	void unlock()
	{
	}
};
struct everything : nothing {
	bool try_lock()
	{
		return true;
	}
	bool try_lock_for(int)
	{
		return true;
	}
	bool try_lock_until(int)
	{
		return true;
	}
	void lock_shared()
	{
	}
	bool try_lock_shared()
	{
		return false;
	}
	void unlock_shared()
	{
	}
	pthread_mutex_t *native_handle()
	{
		return &::lock.mutex;
	}
	template <class Lock> void wait(Lock &)
	{
	}
	template <class Lock> int wait_for(Lock &, int duration)
	{
		return duration;
	}
	void notify_one()
	{
	}
	void notify_all()
	{
	}
};

bool guarded(proftrace::mutex<nothing> &a, proftrace::mutex<everything> &b,
	     proftrace::condition<everything> &c);
bool guarded(proftrace::mutex<nothing> &a, proftrace::mutex<everything> &b,
	     proftrace::condition<everything> &c)
{
	a.lock();
	a.unlock();
	b.lock();
	b.unlock();
	b.lock_shared();
	b.unlock_shared();
	c.wait(b);
	c.notify_one();
	c.notify_all();
	return b.try_lock() && b.try_lock_for(1) && b.try_lock_until(2) && c.wait_for(b, 3) == 3;
}
#endif
