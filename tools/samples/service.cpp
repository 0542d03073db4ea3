// SPDX-License-Identifier: BSD-2-Clause
/*
 * service - requests that wander between threads, marked with what C++ makes easy.
 *
 *	acceptor (main) --requests--> workers
 *
 * It invents requests and serves them: a request begins in the acceptor and ends in a worker.
 *
 *	proftrace -- service 200
 *
 * Each marker stands where a real program would want it. Copy from here.
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <proftrace.h>

PROF_DOMAIN(service, "service");
PROF_DEFAULT_DOMAIN(service);
PROF_DOMAIN(details, "details"); // costs extra work: see prof_is_enabled below

namespace
{
PROF_EVENT(startup, "startup");
PROF_TASK(handle, service, "handle");
PROF_MARKER(parse, service, "parse", .categories = "http,cpu");
PROF_MARKER(slow, service, "slow request", .categories = "http");
// A tick of the acceptor: a frame, which is numbered and has a rate and its own track.
PROF_FRAME(tick, service, "tick");
// The program itself uses this number, also if nobody records.
PROF_COUNTER_OBJECT(in_flight, service, "in flight", 0);

struct request {
	unsigned long id;
	std::string path;
	proftrace::frame_scope frame; // moves with the request to another thread
};

class server
{
      public:
	explicit server(unsigned workers)
	{
		proftrace::event_scope event(startup);

		for (unsigned i = 0; i < workers; i++)
			threads_.emplace_back([this, i] { work(i); });
	}

	~server()
	{
		{
			std::lock_guard<std::mutex> lock(mutex_);
			closing_ = true;
		}
		changed_.notify_all();
		for (auto &thread : threads_)
			thread.join();
	}

	void accept(unsigned long id)
	{
		PROF_FUNCTION("id", id);
		proftrace::frame_scope frame(tick);

		// Begins here and ends in another thread; any number may be open.
		PROF_ASYNC_BEGIN("request", id, "bytes", 100 + id % 50);
		PROF_FLOW_OUT(id);
		prof_counter_increment(&in_flight, 1);
		{
			std::lock_guard<std::mutex> lock(mutex_);
			queue_.push_back({ id, id % 3 ? "/index" : "/search", std::move(frame) });
		}
		changed_.notify_one();
	}

      private:
	bool next(request *ret)
	{
		std::unique_lock<std::mutex> lock(mutex_);

		changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
		if (queue_.empty())
			return false;
		*ret = std::move(queue_.front());
		queue_.pop_front();
		return true;
	}

	void work(unsigned number)
	{
		request request{};

		PROF_THREAD_NAME(("worker " + std::to_string(number)).c_str());
		while (next(&request)) {
			serve(request);
			request.frame
				.finish(); // otherwise it ends when it is destroyed or assigned to
		}
	}

	static std::size_t render(const std::string &path)
	{
		PROF_FUNCTION();
		proftrace::memory_scope scope("render"); // the pool is "render:pages"
		std::string page(path.size() * 1000, '.');

		PROF_ALLOC("pages", page.data(), page.size());
		PROF_FREE("pages", page.data());
		return page.size();
	}

	void serve(const request &request)
	{
		proftrace::task_scope task(handle);

		PROF_FLOW_IN(request.id);
		{
			proftrace::marker_scope guard(parse);

			prof_marker_mark(&parse,
					 PROF_SCOPE_TASK); // its argument is the name of the task
		}
		// A slice around one call, with a run-time name.
		const auto size = PROF_CALL(request.path.c_str(), render(request.path));

		if (prof_is_enabled(&details))
			PROF_INSTANT_IN(details, "headers", "path", request.path.c_str(), "bytes",
					size);
		if (request.id % 64 == 0)
			prof_marker_mark(&slow, PROF_SCOPE_GLOBAL);
		PROF_ASYNC_END("request", request.id, "status", 200);
		prof_counter_decrement(&in_flight, 1);
		std::lock_guard<std::mutex> lock(mutex_);
		served_++;
		PROF_COUNTER("served",
			     served_); // no side effects in arguments: the marker may be off
	}

	std::mutex mutex_;
	std::condition_variable changed_;
	std::deque<request> queue_;
	std::vector<std::thread> threads_;
	bool closing_ = false;
	unsigned long served_ = 0;
};
} // namespace

int main(int argc, char **argv)
{
	const unsigned long n = argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 200;

	{
		server server(3);

		PROF_BEGIN("accepting", "requests", n);
		for (unsigned long id = 1; id <= n; id++) {
			server.accept(id);
			std::this_thread::sleep_for(std::chrono::microseconds(200));
		}
		PROF_END();
	}
	std::printf("served %lu, in flight %lld\n", n,
		    static_cast<long long>(prof_counter_value(&in_flight)));
	return 0;
}
