#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs every fuzzer for FUZZ_TIME seconds (10) from its seeds. What it finds is kept in build/tests/fuzz.
cd "$(dirname "$0")/../.." || exit 1
n=0
for fuzzer in build/tests/fuzz/fuzz_*; do
	[ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
	name=$(basename "$fuzzer")
	n=$((n + 1))
	mkdir -p "build/tests/fuzz/corpus/$name"
	seeds=tests/fuzz/corpus/${name#fuzz_}
	[ -d "$seeds" ] || seeds=tests/fuzz/corpus/$name
	if "$fuzzer" -max_total_time="${FUZZ_TIME:-10}" -timeout=10 -rss_limit_mb=2048 \
		-max_len=65536 -artifact_prefix="build/tests/fuzz/$name-" "build/tests/fuzz/corpus/$name" \
		"$seeds" >"build/tests/fuzz/$name.log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p;s/^Done \([0-9]*\) runs.*/\1/p' "build/tests/fuzz/$name.log" | tail -1)
		echo "ok $n - $name: ${runs:-?} inputs"
	else
		echo "not ok $n - $name"
		tail -40 "build/tests/fuzz/$name.log" | sed 's/^/#   /'
	fi
done
echo "1..$n"
