#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Annotations of libraries as Debian has them: TBB, oneDNN, OpenMP. Each is recorded late, and the trace holds what another
# tool was told in the same run.
. "$(dirname "$0")/../integration/lib.sh"
. "$(dirname "$0")/../integration/annotations.sh"
need_tracing
sources=$root/tests/languages/annotations
export INTEL_LIBITTNOTIFY64=$annotations PROFTRACE_ITT_CHAIN=$programs/collector.so COLLECTOR_OUT=$tmp/called

# The library has its tool from its first annotation on. Then it is attached to, and works twice more.
record_library() { # NAME PROGRAM
	rm -f "$tmp/called" "$tmp/before"
	start_service "$2"
	tell work
	# A thread may end its task a moment after the work is done.
	for _ in $(seq 1 100); do
		rm -f "$tmp/called"
		kill -USR2 $service
		for _ in $(seq 1 200); do [ -e "$tmp/called" ] && break; sleep 0.05; done
		[ "$(called itt_task_begin)" = "$(called itt_task_end)" ] && break
		sleep 0.02
	done
	mv "$tmp/called" "$tmp/before"
	attach --mode exact
	tell work
	tell work
	end_service "$1"
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$1: nothing is lost" "$(field "$tmp/s" lost_total)" 0
	check_agree "$1" "$tmp/t"
	for kind in json pftrace; do
		equal "$1, $kind: tasks as another tool counts them" "$(number_of "$tmp/t.$kind" BEGIN) $(number_of "$tmp/t.$kind" END)" \
			"$(since itt_task_begin) $(since itt_task_end)"
		equal "$1, $kind: frames and metadata as another tool counts them" "$(frames "$tmp/t.$kind") $(
			"$canon" "$tmp/t.$kind" | awk '$3 == "INSTANT" && $5 ~ /^omp_metadata/' | wc -l)" \
			"$(since itt_frame_submit_v3) $(since itt_metadata_add)"
	done
}
# What it did in two of three times.
recorded() { # WORD
	echo $(($(said "$tmp/out" "$1") / 3 * 2))
}
# How often the other tool was called since then.
since() { # FUNCTION
	echo $(($(called "$1") - $(sed -n "s/^$1 //p" "$tmp/before" | awk '{ n += $1 } END { print n + 0 }')))
}
frames() { # FILE
	number_of "$1" SLICE_AT
}

if ! echo '#include <tbb/flow_graph.h>' | g++ -x c++ -E - >/dev/null 2>&1; then
	skip "TBB" "its headers are not installed (libtbb-dev)"
else
	check "TBB: compiled" g++ -O2 "$sources/tbb.cpp" -o "$tmp/tbb" -ltbb
	record_library "TBB" "$tmp/tbb"
	# A thread that helps with an algorithm begins a task of its own.
	check "TBB: a task for each algorithm" test "$(number_of "$tmp/t.pftrace" BEGIN)" -ge "$(recorded algorithms)"
	check "TBB: compiled with its own tools" g++ -O2 -DTBB_USE_PROFILING_TOOLS=2 "$sources/tbb.cpp" -o "$tmp/tbb2" -ltbb
	record_library "TBB with its own tools" "$tmp/tbb2"
	equal "TBB with its own tools: a task for each body of a graph, too" \
		"$("$canon" "$tmp/t.pftrace" | awk '$3 == "BEGIN" && $5 == "body"' | wc -l)" "$(recorded nodes)"
fi

if ! echo '#include <oneapi/dnnl/dnnl.hpp>' | g++ -x c++ -E - >/dev/null 2>&1; then
	skip "oneDNN" "its headers are not installed (libdnnl-dev)"
else
	check "oneDNN: compiled" g++ -O2 "$sources/onednn.cpp" -o "$tmp/onednn" -ldnnl
	rm -f "$tmp/called"
	echo work | ONEDNN_ITT_TASK_LEVEL=0 "$tmp/onednn" >/dev/null
	check "oneDNN, level 0: it does not even load a tool" test ! -e "$tmp/called"
	export ONEDNN_ITT_TASK_LEVEL=1
	record_library "oneDNN, level 1" "$tmp/onednn"
	equal "oneDNN, level 1: a task for each primitive" "$(number_of "$tmp/t.pftrace" BEGIN)" "$(recorded primitives)"
	check "oneDNN: names of its primitives" sh -c "'$canon' '$tmp/t.pftrace' | grep -q ' BEGIN [0-9]* eltwise '"
	unset ONEDNN_ITT_TASK_LEVEL
	record_library "oneDNN, of itself" "$tmp/onednn"
	check "oneDNN, of itself: it has tasks" test "$(number_of "$tmp/t.pftrace" BEGIN)" -ge "$(recorded primitives)"
fi

if ! clang -fopenmp "$sources/openmp.c" -o "$tmp/openmp" 2>/dev/null || ! "$tmp/openmp" </dev/null >/dev/null 2>&1; then
	skip "OpenMP" "clang's is not installed (libomp-dev)"
else
	record_library "OpenMP" "$tmp/openmp"
	equal "OpenMP: it has no tasks" "$(number_of "$tmp/t.pftrace" BEGIN)" 0
	equal "OpenMP: two frames for each region" "$(frames "$tmp/t.pftrace")" $((2 * $(recorded regions)))
fi
finish
