#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Many CPUs: several of them share each ring buffer, threads move between them, and they go offline and come back
# meanwhile. The order of what the threads answer each other must not suffer.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
cpus=$(grep -c ^processor /proc/cpuinfo)
check "there are many CPUs: $cpus" test "$cpus" -ge 8

# All but the first, one after the other, until the file is there.
come_and_go() {
	while [ ! -e "$tmp/enough" ]; do
		for online in /sys/devices/system/cpu/cpu[1-9]*/online; do
			echo 0 >"$online" && echo gone
			echo 1 >"$online"
		done
	done >"$tmp/went"
}

record() { # RUN OPTION...
	run=$1
	shift
	rm -f "$tmp/enough"
	come_and_go &
	"$proftrace" -q -o "$tmp/$run" --summary-json "$tmp/$run.account" "$@" -- "$programs/hops" 40 >"$tmp/$run.said"
	status=$?
	: >"$tmp/enough"
	wait $!
	equal "$run: exit status" $status 0
	echo "# CPUs went offline and came back $(wc -l <"$tmp/went") times, threads moved $(said "$tmp/$run.said" moves) times"
	check "$run: CPUs went offline" test -s "$tmp/went"
	check_account "$run" "$tmp/$run.account"
	equal "$run: marks" "$(field "$tmp/$run.account" written)" "$(said "$tmp/$run.said" marks)"
	for mistake in async_unmatched frees_unknown unfinished open_at_end; do
		equal "$run: $mistake" "$(field "$tmp/$run.account" $mistake)" 0
	done
	check_agree "$run" "$tmp/$run"
}

record exact
check "by default there are several buffers" test "$(field "$tmp/exact.account" buffers)" -gt 1
record each --buffers "$cpus" --sched

# The emulated counter does not say that its rate is the same on all CPUs, nor that it never stops.
if grep -qw nonstop_tsc /proc/cpuinfo; then
	skip "buffered: not with counters that may differ" "these say that they do not"
else
	"$proftrace" --mode batch-now -o "$tmp/buffered" --summary-json "$tmp/s" -- "$programs/hops" 5 >"$tmp/out" 2>"$tmp/err"
	equal "buffered: exit status" $? 0
	check "buffered: not with counters that may differ" \
		grep -q 'buffered mode is not available, using --mode exact: .*(TSC)' "$tmp/err"
	equal "buffered: marks" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
fi
finish
