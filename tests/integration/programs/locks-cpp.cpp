/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks-cpp ROUNDS: the same as locks.c for the locks of C++: around those of the standard library, and around one
 * that has nothing but lock() and unlock().
 */
#include <proftrace/mutex.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "objects.h"

/* Nobody knows its owner. */
class spin_lock
{
      public:
	void lock()
	{
		while (taken_.exchange(true))
			waiting = true;
	}
	void unlock()
	{
		taken_ = false;
	}
	std::atomic<bool> waiting{ false };

      private:
	std::atomic<bool> taken_{ false };
};

static proftrace::mutex<std::mutex> plain("plain");
static proftrace::mutex<std::timed_mutex> timed("timed");
static proftrace::mutex<std::recursive_mutex> nested("nested");
static proftrace::mutex<spin_lock> spin("spin");
static proftrace::condition<std::condition_variable_any> ready("ready");
static bool is_ready;
static char waited[128], late[128];

static void holds(const char *line)
{
	saw(line, 1);
	passed(2);
}

static void contend()
{
	std::unique_lock<decltype(plain)> guard(plain);
	std::thread other([] { std::lock_guard<decltype(plain)> mine(plain); });

	while (__atomic_load_n(&plain.base().native_handle()->__data.__lock, __ATOMIC_RELAXED) != 2)
		std::this_thread::yield();
	if (plain.try_lock())
		abort();
	guard.unlock();
	other.join();
	holds("ASYNC_BEGIN plain locks,hold thread");
	holds("ASYNC_BEGIN plain locks,hold thread");
	saw(waited, 1);
	passed(2);
}

static void be_late()
{
	timed.lock();
	std::thread other([] {
		if (timed.try_lock_for(std::chrono::milliseconds(1)))
			abort();
	});
	other.join();
	timed.unlock();
	holds("ASYNC_BEGIN timed locks,hold thread");
	saw(late, 1);
	passed(2);
}

static void nest()
{
	std::lock_guard<decltype(nested)> once(nested), twice(nested);

	holds("ASYNC_BEGIN nested locks,hold thread");
}

/* Each lock is waited for: there is no way to try. */
static void spin_around()
{
	spin.lock();
	spin.base().waiting = false;
	std::thread other([] { std::lock_guard<decltype(spin)> mine(spin); });
	while (!spin.base().waiting)
		std::this_thread::yield();
	spin.unlock();
	other.join();
	holds("ASYNC_BEGIN spin locks,hold");
	holds("ASYNC_BEGIN spin locks,hold");
	saw("BEGIN spin locks,wait", 2);
	passed(4);
}

static void await()
{
	unsigned waits = 0;
	std::thread other;
	{
		std::unique_lock<decltype(plain)> guard(plain);

		other = std::thread([] {
			/* Comes in only when the other one waits. */
			while (!plain.try_lock())
				std::this_thread::yield();
			is_ready = true;
			plain.unlock();
			ready.notify_all();
		});
		while (!is_ready) {
			ready.wait(guard);
			waits++;
		}
		is_ready = false;
	}
	other.join();
	for (unsigned i = 0; i < waits + 2; i++)
		holds("ASYNC_BEGIN plain locks,hold thread");
	saw("BEGIN ready locks,condition", waits);
	passed(2 * waits);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	const long me = syscall(SYS_gettid);

	snprintf(waited, sizeof(waited), "BEGIN plain locks,wait holder=n:%ld", me);
	snprintf(late, sizeof(late), "BEGIN timed locks,wait holder=n:%ld", me);
	for (int i = 0; i < rounds; i++) {
		contend();
		be_late();
		nest();
		spin_around();
		await();
	}
	print_counts();
	return 0;
}
