/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects-cpp THREADS ROUNDS
 *
 * The same as objects.c for what C++ has besides: guards that are moved, return from functions, end
 * out of order and by exceptions, frames that are handed from thread to thread.
 */
#include <proftrace.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "objects.h"

PROF_DOMAIN(app, "cpp");
PROF_DEFAULT_DOMAIN(app);

namespace server
{
PROF_MARKER(request, app, "request", .categories = "http", .instant_on_finish = true);
PROF_TASK(parse, app, "parse");
PROF_EVENT(loaded, "loaded");
PROF_FRAME(frame, app, "frame");
PROF_COUNTER_OBJECT(served, app, "served", 0);
} /* namespace server */
using namespace server;

static proftrace::marker_scope begin_request()
{
	proftrace::marker_scope guard(request);

	return guard;
}

static std::string shout(const std::string &what)
{
	return what + "!";
}

static void guards()
{
	proftrace::marker_scope guard = begin_request();
	proftrace::marker_scope again(request); /* guards have slices of their own: no mistake */
	{
		proftrace::task_scope first(parse), second(parse);

		second.finish(); /* and not once more */
		passed(4);
		saw("BEGIN parse cpp thread", 2);
	}
	again = std::move(guard); /* ends what `again` had */
	try {
		proftrace::event_scope event(loaded);
		PROF_MARKER_SCOPE(&request);

		throw std::runtime_error("leaves both");
	} catch (const std::runtime_error &) {
		passed(5);
		saw("BEGIN loaded default thread", 1);
		saw("BEGIN request cpp,http thread", 1);
		saw("INSTANT request cpp,http process", 1);
	}
	passed(6);
	saw("BEGIN request cpp,http thread", 2);
	saw("INSTANT request cpp,http process", 2);
}

static void calls(unsigned i)
{
	std::string name = "call-" + std::to_string(i % 2);
	int value = 1;
#if __cplusplus >= 201402L
	int &reference = PROF_CALL("reference", (value));
#else
	int &reference = value;

	PROF_CALL("reference", (value));
#endif

	reference = PROF_CALL(name.c_str(), [](int x) { return x + 1; }(value));
	if (value != 2 || PROF_CALL("string", shout("a")) != "a!")
		abort();
	passed(6);
	saw("BEGIN reference cpp thread", 1);
	saw("BEGIN string cpp thread", 1);
	saw(i % 2 ? "BEGIN call-1 cpp thread" : "BEGIN call-0 cpp thread", 1);
}

static void memory()
{
	char block[1];
	proftrace::memory_scope scope("scoped");

	PROF_ALLOC("blocks", block, 1);
	PROF_FREE("blocks", block);
	passed(4);
	saw("COUNTER scoped:blocks", 2);
}

static void run(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		guards();
		calls(i);
		memory();
		prof_counter_increment(&served, 1);
		passed(1);
		saw("COUNTER served", 1);
	}
}

/* Each frame ends on a thread of its own, those that began last first. */
static void frames(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i += 4) {
		std::vector<proftrace::frame_scope> open;
		std::vector<std::thread> threads;

		for (int k = 0; k < 4; k++)
			open.emplace_back(frame);
		for (int k = 3; k >= 0; k--)
			threads.emplace_back(
				[](proftrace::frame_scope *mine) {
					proftrace::frame_scope owned(std::move(*mine));
				},
				&open[static_cast<size_t>(k)]);
		for (auto &thread : threads)
			thread.join();
		passed(8);
		saw("ASYNC_BEGIN frame cpp process", 4);
		saw("COUNTER frame rate", 4);
	}
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? static_cast<unsigned>(strtoul(argv[1], nullptr, 0)) : 1;
	unsigned rounds = argc > 2 ? static_cast<unsigned>(strtoul(argv[2], nullptr, 0)) : 1;
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < n; i++)
		threads.emplace_back(run, rounds);
	frames(rounds);
	for (auto &thread : threads)
		thread.join();
	saw("COUNTER frame rate", UINT64_MAX);
	print_counts();
	printf("served %lld\n", static_cast<long long>(prof_counter_value(&served)));
	printf("frames %u\n", (rounds + 3) / 4 * 4);
	return 0;
}
