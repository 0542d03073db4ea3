/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with TBB, unmodified: at each `work` it runs some algorithms, and a graph with a node. What happens in TBB is
 * annotated by TBB alone; the program counts what it asked for.
 */
#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <string>

int main()
{
	std::atomic<long> bodies(0), nodes(0);
	long algorithms = 0;
	std::string word;

	std::puts("ready");
	std::fflush(stdout);
	while (std::cin >> word) {
		for (int i = 0; i < 50; i++, algorithms++)
			tbb::parallel_for(0, 100, [&](int) { bodies++; });
		tbb::flow::graph graph;
		tbb::flow::function_node<int, int> node(graph, tbb::flow::unlimited, [&](int n) {
			nodes++;
			return n;
		});
		for (int i = 0; i < 20; i++)
			node.try_put(i);
		graph.wait_for_all();
		algorithms++;
		std::puts("did");
		std::fflush(stdout);
	}
	std::printf("algorithms %ld\nbodies %ld\nnodes %ld\ndone\n", algorithms, bodies.load(),
		    nodes.load());
}
