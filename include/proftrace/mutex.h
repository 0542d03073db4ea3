/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proftrace/mutex.h - locks that show who waits for them, and who holds them meanwhile.
 *
 *	static prof_mutex_t lock = PROF_MUTEX_INITIALIZER("accounts");
 *
 *	prof_mutex_lock(&lock);
 *	...
 *	prof_mutex_unlock(&lock);
 *
 * and in C++, around anything that has lock() and unlock():
 *
 *	proftrace::mutex<std::mutex> lock("accounts");
 *
 *	std::lock_guard<proftrace::mutex<std::mutex>> guard(lock);
 *
 * They behave as the lock that they wrap. While nobody records the domain "locks", to lock costs a load and a
 * branch more, and to unlock as well. While somebody does, each lock gives
 *
 *	a slice of its name in the category "wait", on the thread that has to wait for it: only where it was
 *	taken. Its argument `holder` is the thread that holds it as the wait begins;
 *	an asynchronous slice of its name in the category "hold", from when a thread has it until it gives it
 *	back. Its argument `thread` is that thread.
 *
 * Threads are given by the numbers that the process itself knows them by (gettid(2)). They are read from the
 * pthread_mutex_t, where glibc keeps its owner: elsewhere, and for locks of other kinds, they are missing.
 * A recursive lock is held once, from the first to the last. A name is any C string that stays where it is as
 * long as the lock does. For files that include this one, all that proftrace.h says holds as well: no library to
 * link, and -DPROFTRACE_DISABLE leaves the wrapped locks alone.
 */
#ifndef PROFTRACE_MUTEX_H
#define PROFTRACE_MUTEX_H

#include <errno.h>
#include <proftrace.h>
#include <pthread.h>
#include <time.h>

PROF_DOMAIN(prof_locks, "locks");

/*
 * A mutex. `mutex` is the one of pthreads, for functions that are not here; the other members are private.
 *
 *	prof_mutex_t lock = PROF_MUTEX_INITIALIZER("name")
 *	prof_mutex_init(&lock, "name", attributes)	as pthread_mutex_init()
 *	prof_mutex_destroy(&lock)
 *	prof_mutex_lock(&lock)
 *	prof_mutex_trylock(&lock)
 *	prof_mutex_timedlock(&lock, deadline)
 *	prof_mutex_unlock(&lock)
 *
 * They return what those of pthreads return. Where these are not declared (-std=c99 without _POSIX_C_SOURCE),
 * prof_mutex_timedlock() is not there either.
 */
typedef struct prof_mutex {
	pthread_mutex_t mutex;
	const char *name;
	uint32_t hold_is_open; /* of its holder: the slice that it has to end */
} prof_mutex_t;

/*
 * A condition. A thread that waits for it has a slice of its name in the category "condition"; meanwhile it does
 * not hold the mutex.
 *
 *	prof_cond_t condition = PROF_COND_INITIALIZER("name")
 *	prof_cond_init(&condition, "name", attributes)	as pthread_cond_init()
 *	prof_cond_destroy(&condition)
 *	prof_cond_wait(&condition, &lock)
 *	prof_cond_timedwait(&condition, &lock, deadline)
 *	prof_cond_signal(&condition)
 *	prof_cond_broadcast(&condition)
 */
typedef struct prof_cond {
	pthread_cond_t cond;
	const char *name;
} prof_cond_t;

/* clang-format off */
#define PROF_MUTEX_INITIALIZER(name) { PTHREAD_MUTEX_INITIALIZER, "" name, 0 }
#define PROF_COND_INITIALIZER(name) { PTHREAD_COND_INITIALIZER, "" name }
/* clang-format on */

/* Implementation ================================================================================= */

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes" /* as in proftrace.h */
#endif

/* The thread that has the mutex, 0: none, or not known; and whether it has it more than once. */
PROF_IMPL_INLINE uint64_t prof_impl_mutex_owner(const pthread_mutex_t *mutex)
{
#if defined(__GLIBC__)
	const int owner = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);

	/* Of a robust mutex whose owner is dead it is INT_MAX, or one less. */
	return owner > 0 && owner < 0x7ffffffe ? PROF_IMPL_U64(owner) : 0;
#else
	(void)mutex;
	return 0;
#endif
}
PROF_IMPL_INLINE int prof_impl_mutex_is_nested(const pthread_mutex_t *mutex)
{
#if defined(__GLIBC__)
	return mutex->__data.__count > 1;
#else
	(void)mutex;
	return 0;
#endif
}

#if PROF_IMPL_OFF

PROF_IMPL_INLINE void prof_impl_lock_begin(const char *name, const char *category,
					   const uint64_t *token, uint64_t holder)
{
	(void)name, (void)category, (void)token, (void)holder;
}
PROF_IMPL_INLINE void prof_impl_lock_end(const uint64_t *token)
{
	(void)token;
}
PROF_IMPL_INLINE void prof_impl_hold_begin(const char *name, const void *lock, uint64_t thread)
{
	(void)name, (void)lock, (void)thread;
}
PROF_IMPL_INLINE void prof_impl_hold_end(const char *name, const void *lock)
{
	(void)name, (void)lock;
}

#else

PROF_IMPL_INLINE uint64_t prof_impl_lock_meta(uint64_t thread)
{
	return PROF_META_NAME_DYNAMIC | PROF_META_HAS_CATEGORIES |
	       (thread ? 1 | prof_impl_meta(0, PROF_VALUE_INT) : 0);
}

/* The slice of a thread that waits; `token` is a variable of its own for as long as it does. */
PROF_IMPL_COLD void prof_impl_lock_begin(const char *name, const char *category,
					 const uint64_t *token, uint64_t holder)
{
	prof_begin_in_prof_locks(prof_impl_name(name), prof_impl_lock_meta(holder),
				 PROF_IMPL_ADDRESS(token), PROF_IMPL_ADDRESS(category),
				 PROF_IMPL_LITERAL("holder"), PROF_IMPL_ADDRESS(&holder));
}
PROF_IMPL_COLD void prof_impl_lock_end(const uint64_t *token)
{
	prof_end_in_prof_locks(PROF_IMPL_NULL, 0, PROF_IMPL_ADDRESS(token), 0, PROF_IMPL_NULL, 0);
}

/* The slice of a lock that is held. Not one of the thread: locks need not be given back in the order of nesting. */
PROF_IMPL_COLD void prof_impl_hold_begin(const char *name, const void *lock, uint64_t thread)
{
	prof_async_begin_in_prof_locks(prof_impl_name(name), prof_impl_lock_meta(thread),
				       PROF_IMPL_ADDRESS(lock),
				       PROF_IMPL_ADDRESS(PROF_IMPL_LITERAL("hold")),
				       PROF_IMPL_LITERAL("thread"), PROF_IMPL_ADDRESS(&thread));
}
PROF_IMPL_COLD void prof_impl_hold_end(const char *name, const void *lock)
{
	prof_async_end_in_prof_locks(
		prof_impl_name(name), prof_impl_lock_meta(0), PROF_IMPL_ADDRESS(lock),
		PROF_IMPL_ADDRESS(PROF_IMPL_LITERAL("hold")), PROF_IMPL_NULL, 0);
}

#endif

PROF_IMPL_INLINE int prof_mutex_init(prof_mutex_t *m, const char *name,
				     const pthread_mutexattr_t *attributes)
{
	m->name = name;
	m->hold_is_open = 0;
	return pthread_mutex_init(&m->mutex, attributes);
}
PROF_IMPL_INLINE int prof_mutex_destroy(prof_mutex_t *m)
{
	return pthread_mutex_destroy(&m->mutex);
}

/* Of a thread that has just got it. EOWNERDEAD: the holder before is dead, and so is its slice. */
PROF_IMPL_COLD void prof_impl_mutex_held(prof_mutex_t *m)
{
	if (prof_impl_mutex_is_nested(&m->mutex))
		return;
	if (m->hold_is_open)
		prof_impl_hold_end(m->name, m);
	m->hold_is_open = 1;
	prof_impl_hold_begin(m->name, m, prof_impl_mutex_owner(&m->mutex));
}
PROF_IMPL_COLD void prof_impl_mutex_given_back(prof_mutex_t *m)
{
	if (prof_impl_mutex_is_nested(&m->mutex))
		return;
	m->hold_is_open = 0;
	prof_impl_hold_end(m->name, m);
}

/* Whether the thread has the mutex now: EOWNERDEAD says so, too. */
PROF_IMPL_INLINE int prof_impl_mutex_is_ours(int error)
{
	return error == 0 || error == EOWNERDEAD;
}

#if !defined(__STRICT_ANSI__) || (defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L)
#define PROF_IMPL_TIMEDLOCK(mutex, deadline) pthread_mutex_timedlock(mutex, deadline)
#else
#define PROF_IMPL_TIMEDLOCK(mutex, deadline) ((void)(deadline), EINVAL)
#endif

/* First without waiting. What is returned is what to lock would have returned; a deadline NULL is none. */
PROF_IMPL_COLD int prof_impl_mutex_lock(prof_mutex_t *m, const struct timespec *deadline)
{
	int error = pthread_mutex_trylock(&m->mutex);
	uint64_t token = 0;

	if (error && !prof_impl_mutex_is_ours(error)) {
		prof_impl_lock_begin(m->name, "wait", &token, prof_impl_mutex_owner(&m->mutex));
		error = deadline ? PROF_IMPL_TIMEDLOCK(&m->mutex, deadline)
				 : pthread_mutex_lock(&m->mutex);
		prof_impl_lock_end(&token);
	}
	if (prof_impl_mutex_is_ours(error))
		prof_impl_mutex_held(m);
	return error;
}

PROF_IMPL_INLINE int prof_mutex_lock(prof_mutex_t *m)
{
	if (PROF_IMPL_ON(prof_locks))
		return prof_impl_mutex_lock(m, PROF_IMPL_NULL);
	return pthread_mutex_lock(&m->mutex);
}
#if !defined(__STRICT_ANSI__) || (defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L)
PROF_IMPL_INLINE int prof_mutex_timedlock(prof_mutex_t *m, const struct timespec *deadline)
{
	if (PROF_IMPL_ON(prof_locks))
		return prof_impl_mutex_lock(m, deadline);
	return pthread_mutex_timedlock(&m->mutex, deadline);
}
#endif
PROF_IMPL_INLINE int prof_mutex_trylock(prof_mutex_t *m)
{
	const int error = pthread_mutex_trylock(&m->mutex);

	if (PROF_IMPL_ON(prof_locks) && prof_impl_mutex_is_ours(error))
		prof_impl_mutex_held(m);
	return error;
}
PROF_IMPL_INLINE int prof_mutex_unlock(prof_mutex_t *m)
{
	if (__builtin_expect(m->hold_is_open != 0, 0))
		prof_impl_mutex_given_back(m);
	return pthread_mutex_unlock(&m->mutex);
}

PROF_IMPL_INLINE int prof_cond_init(prof_cond_t *c, const char *name,
				    const pthread_condattr_t *attributes)
{
	c->name = name;
	return pthread_cond_init(&c->cond, attributes);
}
PROF_IMPL_INLINE int prof_cond_destroy(prof_cond_t *c)
{
	return pthread_cond_destroy(&c->cond);
}
PROF_IMPL_INLINE int prof_cond_signal(prof_cond_t *c)
{
	return pthread_cond_signal(&c->cond);
}
PROF_IMPL_INLINE int prof_cond_broadcast(prof_cond_t *c)
{
	return pthread_cond_broadcast(&c->cond);
}

/* The mutex is given back while the thread waits, and got back without our hand. */
PROF_IMPL_INLINE int prof_impl_cond_wait(prof_cond_t *c, prof_mutex_t *m,
					 const struct timespec *deadline)
{
	const int on = PROF_IMPL_ON(prof_locks) ? 1 : 0;
	uint64_t token = 0;
	int error;

	if (__builtin_expect(m->hold_is_open != 0, 0))
		prof_impl_mutex_given_back(m);
	if (on)
		prof_impl_lock_begin(c->name, "condition", &token, 0);
	error = deadline ? pthread_cond_timedwait(&c->cond, &m->mutex, deadline)
			 : pthread_cond_wait(&c->cond, &m->mutex);
	if (on)
		prof_impl_lock_end(&token);
	if (PROF_IMPL_ON(prof_locks) && error != EPERM) /* then it was not ours */
		prof_impl_mutex_held(m);
	return error;
}
PROF_IMPL_INLINE int prof_cond_wait(prof_cond_t *c, prof_mutex_t *m)
{
	return prof_impl_cond_wait(c, m, PROF_IMPL_NULL);
}
PROF_IMPL_INLINE int prof_cond_timedwait(prof_cond_t *c, prof_mutex_t *m,
					 const struct timespec *deadline)
{
	return prof_impl_cond_wait(c, m, deadline);
}

#ifdef __cplusplus
namespace proftrace
{
namespace impl
{
/* A slice that ends even if the wait throws. */
class lock_slice
{
      public:
	lock_slice(bool on, const char *name, const char *category, uint64_t holder) noexcept
	    : token_(0), on_(on)
	{
		if (on_)
			prof_impl_lock_begin(name, category, &token_, holder);
	}
	~lock_slice()
	{
		if (on_)
			prof_impl_lock_end(&token_);
	}
	lock_slice(const lock_slice &) = delete;
	lock_slice &operator=(const lock_slice &) = delete;

      private:
	uint64_t token_;
	bool on_;
};

/* What a lock knows of its owner: those that are made of a pthread_mutex_t. */
inline const pthread_mutex_t *native(const pthread_mutex_t *mutex)
{
	return mutex;
}
template <class Lockable>
auto native_of(Lockable &lockable, int) -> decltype(native(lockable.native_handle()))
{
	return lockable.native_handle();
}
template <class Lockable> const pthread_mutex_t *native_of(Lockable &, long)
{
	return nullptr;
}

template <class Lockable>
auto locks_at_once(Lockable &lockable, int) -> decltype(lockable.try_lock())
{
	return lockable.try_lock();
}
template <class Lockable> bool locks_at_once(Lockable &, long)
{
	return false;
}
} /* namespace impl */

/*
 * A lock around another one, with a name. It has what that one has of lock, try_lock, try_lock_for,
 * try_lock_until, unlock, and of the shared ones, of which only the waits of lock_shared are slices. That one
 * itself is base().
 */
template <class Lockable> class mutex
{
      public:
	constexpr explicit mutex(const char *name) : base_(), name_(name), hold_is_open_(false)
	{
	}
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;

	void lock()
	{
		if (PROF_IMPL_ON(prof_locks))
			lock_slowly();
		else
			base_.lock();
	}
	bool try_lock()
	{
		return held(base_.try_lock());
	}
	template <class Duration> bool try_lock_for(const Duration &duration)
	{
		if (base_.try_lock())
			return held(true);
		return held(waited([&] { return base_.try_lock_for(duration); }));
	}
	template <class Time> bool try_lock_until(const Time &time)
	{
		if (base_.try_lock())
			return held(true);
		return held(waited([&] { return base_.try_lock_until(time); }));
	}
	void unlock()
	{
		if (__builtin_expect(hold_is_open_, 0))
			give_back();
		base_.unlock();
	}

	void lock_shared()
	{
		if (!PROF_IMPL_ON(prof_locks))
			base_.lock_shared();
		else if (!base_.try_lock_shared())
			waited([&] { return base_.lock_shared(), true; });
	}
	bool try_lock_shared()
	{
		return base_.try_lock_shared();
	}
	template <class Duration> bool try_lock_shared_for(const Duration &duration)
	{
		return base_.try_lock_shared_for(duration);
	}
	template <class Time> bool try_lock_shared_until(const Time &time)
	{
		return base_.try_lock_shared_until(time);
	}
	void unlock_shared()
	{
		base_.unlock_shared();
	}

	Lockable &base() noexcept
	{
		return base_;
	}
	const char *name() const noexcept
	{
		return name_;
	}

      private:
	template <class Wait> bool waited(Wait wait)
	{
		const pthread_mutex_t *owned = impl::native_of(base_, 0);
		const impl::lock_slice slice(PROF_IMPL_ON(prof_locks), name_, "wait",
					     owned ? prof_impl_mutex_owner(owned) : 0);

		return wait();
	}
	__attribute__((cold, noinline)) void lock_slowly()
	{
		if (!impl::locks_at_once(base_, 0))
			waited([&] { return base_.lock(), true; });
		hold();
	}
	bool held(bool is)
	{
		if (is && PROF_IMPL_ON(prof_locks))
			hold();
		return is;
	}
	__attribute__((cold, noinline)) void hold() noexcept
	{
		const pthread_mutex_t *owned = impl::native_of(base_, 0);

		if (owned && prof_impl_mutex_is_nested(owned))
			return;
		hold_is_open_ = true;
		prof_impl_hold_begin(name_, this, owned ? prof_impl_mutex_owner(owned) : 0);
	}
	__attribute__((cold, noinline)) void give_back() noexcept
	{
		const pthread_mutex_t *owned = impl::native_of(base_, 0);

		if (owned && prof_impl_mutex_is_nested(owned))
			return;
		hold_is_open_ = false;
		prof_impl_hold_end(name_, this);
	}

	Lockable base_;
	const char *name_;
	bool hold_is_open_; /* of its holder: the slice that it has to end */
};

/*
 * A condition around another one that waits with any lock, such as std::condition_variable_any, which is base(). A
 * thread that waits has a slice of its name in the category "condition".
 */
template <class Condition> class condition
{
      public:
	explicit condition(const char *name) : base_(), name_(name)
	{
	}
	condition(const condition &) = delete;
	condition &operator=(const condition &) = delete;

	void notify_one() noexcept
	{
		base_.notify_one();
	}
	void notify_all() noexcept
	{
		base_.notify_all();
	}
	template <class Lock> void wait(Lock &lock)
	{
		const impl::lock_slice slice(PROF_IMPL_ON(prof_locks), name_, "condition", 0);

		base_.wait(lock);
	}
	template <class Lock, class Predicate> void wait(Lock &lock, Predicate is_so)
	{
		while (!is_so())
			wait(lock);
	}
	template <class Lock, class Duration, class... More, class Base = Condition>
	auto wait_for(Lock &lock, const Duration &limit, const More &...more)
		-> decltype(::prof_impl::any<Base &>().wait_for(lock, limit, more...))
	{
		const impl::lock_slice slice(PROF_IMPL_ON(prof_locks), name_, "condition", 0);

		return base_.wait_for(lock, limit, more...);
	}
	template <class Lock, class Duration, class... More, class Base = Condition>
	auto wait_until(Lock &lock, const Duration &limit, const More &...more)
		-> decltype(::prof_impl::any<Base &>().wait_until(lock, limit, more...))
	{
		const impl::lock_slice slice(PROF_IMPL_ON(prof_locks), name_, "condition", 0);

		return base_.wait_until(lock, limit, more...);
	}

	Condition &base() noexcept
	{
		return base_;
	}

      private:
	Condition base_;
	const char *name_;
};
} /* namespace proftrace */
#endif
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif /* PROFTRACE_MUTEX_H */
