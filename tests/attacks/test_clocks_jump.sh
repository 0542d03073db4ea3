#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CLOCK_REALTIME jumps an hour forward and back, repeatedly, while programs are recorded. Order and durations are
# those of CLOCK_MONOTONIC, the outputs agree, recordings last as long as requested, and merge orders them
# correctly. However this test ends, the clock is set right: the end of its input ends the jumps.
. "$(dirname "$0")/lib.sh"
need_tracing
slices=300
mkfifo "$tmp/hold"
"$attacks/jump_clock" <"$tmp/hold" >"$tmp/jumps" 2>&1 &
jumper=$!
exec 9>"$tmp/hold"
# Whatever happens to this test, the clock is right again: the end of its input ends the jumps.
wait_for "$tmp/jumps" '[cj]'
if grep -q '^cannot' "$tmp/jumps"; then
	skip "clocks that jump" "$(cat "$tmp/jumps")"
	exec 9>&-
	finish
fi

record() { # NAME OPTION...
	recording=$1
	shift
	"$proftrace" -q -e none -o "$tmp/$recording" --summary-json "$tmp/s" "$@" -- "$attacks/timed" $slices \
		>"$tmp/$recording.said" 2>"$tmp/err" 9>&-
	equal "$recording: exit status" "$?$(cat "$tmp/err")" 0
	check_account "$recording" "$tmp/s"
	check_agree "$recording" "$tmp/$recording"
	equal "$recording: all slices are there, in order" \
		"$("$canon" "$tmp/$recording.pftrace" | awk '$3 == "BEGIN" && $5 == "timed" && $7 == "n=n:" n + 0 { n++ } END { print n + 0 }')" $slices
	for kind in json pftrace; do
		total=$("$canon" "$tmp/$recording.$kind" |
			awk '$3 == "BEGIN" { began = $4 } $3 == "END" { sum += $4 - began } END { printf "%.0f\n", sum }')
		never_else "$recording: durations in the $kind are what the program measured" "$(awk -v total="$total" \
			-v inside="$(said "$tmp/$recording.said" inside)" -v around="$(said "$tmp/$recording.said" around)" \
			'BEGIN { print (total >= inside && total <= around) ? "yes" : inside " <= " total " <= " around }')" yes
	done
}
record first
record second --mode batch-now --system cpu --system-interval 20ms
"$proftrace" -q -e none -d 300ms -o "$tmp/third.json" -p $jumper 9>&- 2>"$tmp/err"
equal "a program without marks is refused as ever" "$?$(grep -c 'no markers' "$tmp/err")" 11
"$programs/storm" 1 1000 <"$tmp/hold" >"$tmp/target" 9>&- &
target=$!
wait_for "$tmp/target" ready
before=$(cut -d' ' -f1 /proc/uptime)
timeout 60 "$proftrace" -q -e none -d 300ms -o "$tmp/third.json" -p $target 9>&- 2>"$tmp/err"
equal "for a time: exit status" "$?$(cat "$tmp/err")" 0
never_else "for a time: it lasts as long" "$(awk -v from="$before" -v to="$(cut -d' ' -f1 /proc/uptime)" \
	'BEGIN { print (to - from >= 0.29 && to - from < 20) ? "yes" : to - from }')" yes

"$proftrace" merge -q -o "$tmp/merged.json" "$tmp/second.json" "$tmp/first.pftrace" 2>"$tmp/err"
equal "merged: exit status" "$?$(cat "$tmp/err")" 0
never_else "merged: what was recorded first is first" "$("$canon" "$tmp/merged.json" | awk '$3 == "BEGIN" && $5 == "timed" { print $4, $1 }' |
	sort -n | awk '$2 != last { last = $2; print "process" }' | xargs)" "process process"
exec 9>&-
wait $target $jumper
check "the clock jumped all the while ($(said "$tmp/jumps" jumps) times)" test "$(said "$tmp/jumps" jumps)" -gt 40
finish
