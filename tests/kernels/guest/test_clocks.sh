#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CPU time where CLOCK_MONOTONIC runs faster than the processor's clock, by which the kernel counts it:
# as NTP makes it do, here more than it ever would.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
echo "# clocksource $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"

# By how much the time of slices that sleep half a second is wrong, in us: the worst of them.
worst() { # BASE
	"$proftrace" -q -e task-clock -o "$tmp/$1" -- "$programs/counted" naps 6 >"$tmp/$1.said"
	equal "$1: exit status" $? 0
	sed -n 's/.*"ph":"E".*"ns":\([0-9]*\),"task_clock":\(-*[0-9]*\).*/\1 \2/p' "$tmp/$1.json" >"$tmp/rows"
	equal "$1: slices" "$(wc -l <"$tmp/rows")" 6
	wrong=$(awk '{ d = ($2 - $1) / 1000; if (d < 0) d = -d; if (d > most) most = d } END { print int(most) }' "$tmp/rows")
	echo "# $1: task_clock differs by at most $wrong us"
}

worst steady
steady=$wrong
adjtimex -q -f 26214400 >"$tmp/said" 2>&1 # 400 us a second
worst fast
check "fast: as right as before" test "$wrong" -le "$((steady + 60))"
finish
