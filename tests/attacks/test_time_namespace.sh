#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program, or the recorder, is in a time namespace, where CLOCK_MONOTONIC and CLOCK_BOOTTIME are others: days ahead, or
# behind. Times and durations in the trace are the kernel's, also those of a trace that such a program writes itself.
. "$(dirname "$0")/lib.sh"
need_tracing
if ! unshare --fork --time --monotonic 86400 true 2>/dev/null; then
	skip "time namespaces" "there are none here"
	finish
fi
slices=50
uptime_ns() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }
behind=$((-$(cut -d. -f1 /proc/uptime) / 2))
cd "$tmp" || exit 1

# All slices are there, lasted what the program measured, and are between two looks at the clock (which shows 10 ms).
judge() { # NAME
	equal "$1: exit status" "$status$(cat err)" 0
	check_account "$1" s
	check_agree "$1" t
	for kind in json pftrace; do
		never_else "$1: times in the $kind are the kernel's, durations those of the program" \
			"$("$canon" t.$kind | awk -v from="$from" -v to="$(uptime_ns)" -v n=$slices \
				-v inside="$(said said inside)" -v around="$(said said around)" '
				$3 == "BEGIN" && $5 == "timed" { began = $4; if (began < from - 1e8 || began > to + 1e8) wrong++ }
				$3 == "END" { sum += $4 - began; ends++ }
				END { print (!wrong && ends == n && sum >= inside && sum <= around) ? "yes" : wrong " " ends " " sum }')" yes
	done
	rm -f t.*
}
for shift in 864000 $behind; do
	inside="unshare --fork --time --monotonic $shift --boottime $shift"
	for mode in exact batch batch-now; do
		from=$(uptime_ns)
		"$proftrace" -q -e none --mode $mode -o t --summary-json s -- $inside "$attacks/timed" $slices >said 2>err
		status=$?
		judge "the program, $shift s, $mode"
		from=$(uptime_ns)
		$inside "$proftrace" -q -e none --mode $mode -o t --summary-json s -- "$attacks/timed" $slices >said 2>err
		status=$?
		judge "the recorder and the program, $shift s, $mode"
	done
	# A recorder in a namespace, of a program that is in another.
	from=$(uptime_ns)
	mkfifo in
	$inside "$programs/scripted" <in >told &
	exec 9>in
	for _ in $(seq 1 400); do target=$(pgrep -n -P $! scripted) && break; sleep 0.05; done
	rm -f err
	unshare --fork --time --monotonic 1000 --boottime 2000 "$proftrace" -e none -d 60s -o t --summary-json s -p "$target" 2>err 9>&- &
	recorder=$!
	# Semaphores that are on would not show that: other recordings turn them on, too, in all processes of the file.
	wait_for err 'proftrace: recording'
	echo ticks 10 >&9
	exec 9>&-
	wait $recorder
	status=$?
	wait
	never_else "two namespaces, $shift s: exit status" $status 0
	never_else "two namespaces, $shift s: times are the kernel's" \
		"$("$canon" t.json | awk -v from="$from" -v to="$(uptime_ns)" '$3 == "INSTANT" && $5 == "tick" { n++; if ($4 < from - 1e8 || $4 > to + 1e8) wrong++ } END { print n + 0, wrong + 0 }')" "10 0"
	rm -f in t.*

	# The program's own profiler has the clock of its namespace. While the program lives, the recorder knows it.
	mkfifo in
	rm -f err
	"$proftrace" -e none -o t --summary-json s -- $inside "$programs/includes" 5 own.json "$tmp/own.json" <in >said 2>err &
	recorder=$!
	exec 9>in
	for _ in $(seq 1 400); do "$proftrace" ctl dump -p $recorder >said.ctl 2>&1 && grep -q include_json t.json && break; sleep 0.05; done
	exec 9>&-
	wait $recorder
	equal "its own trace, $shift s: exit status" $? 0
	never_else "its own trace, $shift s: each event is within the slice that was around it" \
		"$("$canon" t.json | awk '$3 == "BEGIN" && $5 == "outer" { n++; begin[n] = $4 } $3 == "END" { if (n) end[n] = $4 }
			$3 == "BEGIN" && $5 == "theirs" { m++; at[m] = $4 }
			END { for (i = 1; i <= m; i++) for (j = 1; j <= n; j++) if (at[i] >= begin[j] - 1000 && at[i] <= end[j] + 1000) { good++; break }
				print n + 0, m + 0, good + 0 }')" "5 5 5"
	rm -f in t.* own.json

	# When it has exited before, it is said that the times are those of another clock.
	"$proftrace" -e none -o t --summary-json s -- $inside "$programs/includes" 5 own.json "$tmp/own.json" >said 2>err </dev/null
	equal "its own trace, exited, $shift s: exit status" $? 0
	check "its own trace, exited, $shift s: included, or left out with the reason" \
		grep -qE 'own.json  (1[0-9]|[1-9]) events? included|own.json  0 events included, [0-9]* from (before the recording left out|.*another clock)' err
	never_else "its own trace, exited, $shift s: no time is wrong" \
		"$("$canon" t.json | awk -v from="$from" -v to="$(uptime_ns)" '$1 ~ /^[0-9]+$/ && $4 && ($4 < from - 1e8 || $4 > to + 1e8)' | head -3)" ""
	rm -f t.* own.json
done
finish
