#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The memory and descriptors of a recording are bounded, however many names, allocations, threads or descriptors the
# program has. Also clocks that are set back or differ from those of the machine.
. "$(dirname "$0")/lib.sh"
need_tracing

check_marks() { # NAME SUMMARY MARKS
	equal "$1: the account adds up" "$(field "$2" adds_up)" true
	equal "$1: every mark is in the account" "$(field "$2" marked)" "$3"
}

# MOST_KB: what neither the recorder nor its broker (nor the program) may ever take.
buffer=8M
bounded() { # NAME MOST_KB PROGRAM...
	name=$1 most=$2
	shift 2
	timeout 60 "$programs/peak" "$tmp/peak" "$proftrace" -q --buffer $buffer -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$@" >"$tmp/out" 2>"$tmp/err"
	equal "$name: exit status" $? 0
	check_marks "$name" "$tmp/s" "$(said "$tmp/out" marks)"
	check "$name: memory stays below $most KB" test "$(said "$tmp/peak" peak)" -lt "$most"
}

bounded "nothing" 65536 "$programs/hostile" names 1
bounded "a million names" 65536 "$programs/hostile" names 1000000
check "a million names: those that are too many are (other)" test "$(field "$tmp/s" other_names)" -gt 0
bounded "70,000 pools" 131072 "$programs/hostile" pools 70000
check "70,000 pools: the trace loads" "$canon" --count "$tmp/t.pftrace"
# All of them fit into the buffer: what is not followed is too much for the recorder, and nothing else.
buffer=64M
bounded "allocations without end" 196608 "$programs/hostile" allocs 300000
buffer=8M
equal "allocations without end: nothing is lost" "$(field "$tmp/s" lost_total)" 0
check "allocations without end: those not followed are counted" test "$(field "$tmp/s" allocs_not_followed)" -gt 0

# KB of the kernel's memory in the BPF maps that a process and its children hold, or that their programs use.
kernel_memory() { # PID
	for p in "$1" $(pgrep -P "$1"); do cat "/proc/$p/fdinfo"/* 2>/dev/null; done | grep -E '^(map|prog)_id:' >"$tmp/ids"
	"$bpftool" prog show >"$tmp/programs" 2>/dev/null
	"$bpftool" map show >"$tmp/maps" 2>/dev/null
	awk '
		FILENAME ~ /ids$/ { if ($1 == "map_id:") ours[$2] = 1; else programs[$2] = 1; next }
		/^[0-9]+:/ { id = $1 + 0 }
		FILENAME ~ /programs$/ && /map_ids / && programs[id] {
			sub(/.*map_ids /, "")
			n = split($1, list, ",")
			for (i = 1; i <= n; i++) ours[list[i]] = 1
		}
		FILENAME ~ /maps$/ && /memlock / && ours[id] {
			sub(/.*memlock /, "")
			bytes += $1
			delete ours[id]
		}
		END { print int(bytes / 1024) }' "$tmp/ids" "$tmp/programs" "$tmp/maps"
}

# Of the map of traced processes, what those have of it.
traced_entries() { # after kernel_memory
	awk '
		FILENAME ~ /ids$/ { if ($1 == "map_id:") ours[$2] = 1; next }
		/^[0-9]+:/ { found = ours[$1 + 0] && / name traced / }
		found && sub(/.*max_entries /, "") { print $1 }' "$tmp/ids" "$tmp/maps"
}

# MOST_KB: besides a buffer of 8 MB, and something for each CPU.
kernel() { # NAME MOST_KB OPTION...
	mode=$1 most=$((8192 + $2 + 256 * $(nproc)))
	shift 2
	rm -f "$tmp/err"
	"$proftrace" -p $storm --buffer 8M --summary-json "$tmp/s" "$@" 2>"$tmp/err" >/dev/null 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	taken=$(kernel_memory $recorder)
	kill -INT $recorder
	wait $recorder
	equal "the kernel's memory, $mode: exit status" $? 0
	check "the kernel's memory, $mode: the buffer is seen in it" test "$taken" -ge 8192
	check "the kernel's memory, $mode: it stays below $most KB" test "$taken" -lt "$most"
	echo "# the kernel's memory, $mode: $taken KB"
	entries=$(traced_entries)
	check "the kernel's memory, $mode: no more processes ($entries) than numbers" \
		test "${entries:-99999999}" -le "$(cat /proc/sys/kernel/pid_max)" -a "${entries:-99999999}" -le 65536
}

# More threads at once than the recorder may have descriptors; attached to, each has its name read.
few() { # DESCRIPTORS COMMAND...
	(ulimit -n "$1" && shift && exec timeout 60 "$@")
}
few 128 "$proftrace" -q -e none -o "$tmp/c" --summary-json "$tmp/s" -- "$programs/crowd" 500 1 >"$tmp/out" 2>"$tmp/err"
equal "500 threads, 128 descriptors: exit status" $? 0
check_marks "500 threads, 128 descriptors" "$tmp/s" "$(said "$tmp/out" marks)"
check_agree "500 threads, 128 descriptors" "$tmp/c"
mkfifo "$tmp/in"
"$programs/storm" 200 <"$tmp/in" >"$tmp/storm.out" &
storm=$!
exec 9>"$tmp/in"
wait_for "$tmp/storm.out" ready
few 128 "$proftrace" -q -p $storm -d 200ms -o "$tmp/a" --summary-json "$tmp/s" 2>"$tmp/err" 9>&-
equal "200 threads, 128 descriptors, attached: exit status" $? 0
equal "200 threads, 128 descriptors, attached: the account adds up" "$(field "$tmp/s" adds_up)" true
# With too few for itself it says so, and nothing is left behind.
bad=
for n in 5 8 10 14; do
	few $n "$proftrace" -q -p $storm -d 100ms -o "$tmp/n" 2>"$tmp/err" 9>&-
	status=$?
	[ $status -eq 0 ] || [ $status -eq 1 -a "$(grep -c '^proftrace: ' "$tmp/err")" -ge 1 ] || bad="$bad $n:$status"
done
equal "too few descriptors are an error that is named" "$bad" ""
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)
if "$bpftool" map show >/dev/null 2>&1; then
	kernel "in batches" 20480 --mode batch-now -o "$tmp/k"
	# With the rows of unwind tables and what finds them: 16 MiB and less than 3.
	kernel "one by one" $((20480 + 19456)) --sched --sample 99 --offcpu 1ms -o "$tmp/k"
	kernel "counted in the kernel" 49152 --stats-only
else
	skip "the kernel's memory" "no bpftool here that can tell"
fi
exec 9>&-
wait $storm
equal "its program's semaphore is off" "$(said "$tmp/storm.out" semaphore)" 0

# The time of day goes back while it is recorded; marks do not go by it.
LD_PRELOAD=$programs/backwards.so "$proftrace" -q -o "$tmp/b" --dump-period 20ms --summary-json "$tmp/s" -- \
	"$programs/every_kind" 1 300 >"$tmp/out" 2>"$tmp/err"
equal "the time of day goes back: exit status" $? 0
grep -o '"realtime":"[0-9]*' "$tmp/b.json" | cut -d'"' -f4 >"$tmp/readings"
check_account "the time of day goes back" "$tmp/s"
check_agree "the time of day goes back" "$tmp/b"
# The readings stand in the trace in the order in which they were taken.
check "the time of day goes back: it did, in the trace" awk '$1 < before { back = 1 } { before = $1 } END { exit !back }' "$tmp/readings"

# In a time namespace CLOCK_MONOTONIC is not the one of the marks.
day=86400
if unshare --fork --time --monotonic $day true 2>/dev/null; then
	unshare --fork --time --monotonic $day "$proftrace" -q -o "$tmp/n" --summary-json "$tmp/s" -- \
		"$programs/every_kind" 1 10 >"$tmp/out"
	equal "a time namespace: exit status" $? 0
	check_account "a time namespace" "$tmp/s"
	check_agree "a time namespace" "$tmp/n"
	now=$(cut -d. -f1 /proc/uptime)
	begun=$(grep -o '"monotonic":"[0-9]*' "$tmp/n.json" | head -1 | cut -d'"' -f4)
	check "a time namespace: times are the machine's" test $((begun / 1000000000)) -le "$now"
	equal "a time namespace: each mark has its own" \
		"$(grep -c '"ts":0.000,' "$tmp/n.json")" "$(grep -c '"ts":0.000,"ph":"M"\|"ph":"M".*"ts":0.000,' "$tmp/n.json")"
else
	skip "a time namespace" "there are none here"
fi
check_nothing_left "bounds"
finish
