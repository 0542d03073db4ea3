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

# The time of day is set back by years while it is recorded: marks do not go by it.
"$proftrace" -q -e none -o "$tmp/back" --summary-json "$tmp/s" -- \
	sh -c "'$programs/every_kind' 1 50 >'$tmp/out'; date -s '2001-02-03 04:05:06' >/dev/null; '$programs/every_kind' 1 50 >>'$tmp/out'"
equal "set back: exit status" $? 0
check "set back: it was" test "$(date +%Y)" -eq 2001
check_account "set back" "$tmp/s"
check_agree "set back" "$tmp/back"
equal "set back: each mark" "$(field "$tmp/s" marked)" "$(awk '$1 == "total" { n += $2 } END { print n }' "$tmp/out")"
finish
