#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs every fuzzer from its seeds, all of them together for FUZZ_TOTAL seconds (70), or each for
# FUZZ_TIME. What it finds is kept in build/tests/fuzz.
cd "$(dirname "$0")/../.." || exit 1
# What is freed is handed out again sooner, and who allocated it is remembered less deeply: twice as fast.
ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=4
export ASAN_OPTIONS

set --
for fuzzer in build/tests/fuzz/fuzz_*; do
	[ -x "$fuzzer" ] && [ -f "$fuzzer" ] && set -- "$@" "$fuzzer"
done
n=0
for fuzzer; do
	name=$(basename "$fuzzer")
	n=$((n + 1))
	mkdir -p "build/tests/fuzz/corpus/$name"
	seeds=tests/fuzz/corpus/${name#fuzz_}
	[ -d "$seeds" ] || seeds=tests/fuzz/corpus/$name
	if "$fuzzer" -max_total_time="${FUZZ_TIME:-$((${FUZZ_TOTAL:-70} / $#))}" -timeout=10 -rss_limit_mb=2048 \
		-entropic=0 -max_len=4096 -print_final_stats=1 -artifact_prefix="build/tests/fuzz/$name-" \
		"build/tests/fuzz/corpus/$name" "$seeds" >"build/tests/fuzz/$name.log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/tests/fuzz/$name.log")
		echo "ok $n - $name: ${runs:-?} inputs"
	else
		echo "not ok $n - $name"
		tail -40 "build/tests/fuzz/$name.log" | sed 's/^/#   /'
	fi
done
echo "1..$n"
