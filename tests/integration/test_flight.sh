#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The flight recorder: the files contain exactly what happened before a trigger.
. "$(dirname "$0")/lib.sh"
need_tracing

count() { # FILE KIND NAME
	"$canon" --count "$1" | awk -v k="$2" -v n="$3" \
		'{ c = $NF; $NF = ""; sub(/ $/, ""); if ($0 == k " " n) s += c } END { print s + 0 }'
}

check_flight_account() { # NAME SUMMARY TOTAL
	equal "$1: the account adds up" "$(field "$2" adds_up)" true
	equal "$1: nothing is lost" "$(field "$2" lost_total)" 0
	equal "$1: written + unrecorded = marked" \
		"$(($(field "$2" written) + $(field "$2" unrecorded)))" "$3"
}

# A slice that takes too long. What is older than the window is not there, but what it left behind is.
"$proftrace" -o "$tmp/t" --flight-recorder 3s --trigger 'slice:slow>20ms' --trigger instant:never \
	--summary-json "$tmp/s" -- "$programs/scripted" name open "level 7" "async 3" "step 2 5" "ticks 100" \
	"slow 1" "wait 4000" "slices 50" "ticks 20" "slow 30" "ticks 9" close >"$tmp/out" 2>"$tmp/err"
equal "slow slice: exit status" $? 0
check_flight_account "slow slice" "$tmp/s" "$(said "$tmp/out" total)"
equal "slow slice: one dump" "$(field "$tmp/s" dumps)" 1
check "slow slice: said at once" grep -q "proftrace: slice:slow>20ms: the last 3.000 s are in .*/t.pftrace .*/t.json" "$tmp/err"
equal "slow slice: one set of files" "$(ls "$tmp" | grep -c '^t')" 2
check_agree "slow slice" "$tmp/t"
for file in "$tmp/t.json" "$tmp/t.pftrace"; do
	kind=${file##*.}
	equal "$kind: slices in the window" "$(count "$file" BEGIN work)" 50
	equal "$kind: instants in the window" "$(count "$file" INSTANT tick)" 20
	equal "$kind: only the slow one that is in it" "$(count "$file" BEGIN slow)" 1
	equal "$kind: ENDs" "$(count "$file" END -)" 51
	equal "$kind: what triggered it" "$(count "$file" INSTANT "flight recorder")" 1
	equal "$kind: an older open slice" "$(count "$file" BEGIN "kept open")" 1
	equal "$kind: an older asynchronous one" "$(count "$file" ASYNC_BEGIN job)" 1
	equal "$kind: an older counter" "$(count "$file" COUNTER level)" 1
	equal "$kind: an older step" "$(count "$file" COUNTER "step epoch")" 1
	equal "$kind: names" "$(count "$file" THREAD_NAME marker)$(count "$file" PROCESS_NAME scripted)" 11
done
equal "slow slice: marks written" "$(field "$tmp/s" written)" 122
equal "slow slice: what was open is open" "$("$canon" --nest "$tmp/t.pftrace" | head -1)" "ok, 1 open"
check "slow slice: with the step" grep -q '"name":"tick".*"epoch":2,"batch":5' "$tmp/t.json"

# An instant; a second one so soon after it that there is no window for it; then on request.
mkfifo "$tmp/in"
rm -f "$tmp/out"
"$programs/scripted" <"$tmp/in" >"$tmp/out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/out" ready
rm -f "$tmp/err"
"$proftrace" -p $target -o "$tmp/i-{epoch}-{n}" -o "$tmp/i.json.gz" --flight-recorder 1h --trigger instant:alarm \
	--summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
n=0
tell() {
	echo "$1" >&9
	n=$((n + 1))
	wait_for "$tmp/out" "done $n\$"
}
tell "ticks 5"
tell "step 1 1"
tell "alarm"
wait_for "$tmp/err" "proftrace: instant:alarm"
tell "step 2 2"
tell "ticks 7"
tell "alarm"
tell "ticks 3"
# A program's own requests: one file in the window after the trigger or another request. They are all ignored here.
tell "dump 500"
kill -USR2 $recorder
wait_for "$tmp/err" "proftrace: requested"
tell "ticks 2"
"$proftrace" ctl dump -p $target >"$tmp/ctl" 2>&1
equal "instant: ctl dump" $? 0
tell "ticks 4"
"$proftrace" ctl status -p $target >"$tmp/ctl.status" 2>&1
equal "ctl status: its line of marks adds up" "$(sed -n 's/^\([0-9]* marks: .*\)$/\1/p' "$tmp/ctl.status" |
	awk '{ sum = $1; for (i = 3; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum -= $i; print sum }')" 0
check "ctl status: and says what is in memory" grep -q '^[0-9]* marks: .*[1-9][0-9]* in memory$' "$tmp/ctl.status"
exec 9>&-
wait $target
wait $recorder
equal "instant: exit status" $? 0
check_flight_account "instant" "$tmp/s" "$(said "$tmp/out" total)"
equal "instant: three dumps" "$(field "$tmp/s" dumps)" 3
equal "instant: one trigger not obeyed" "$(field "$tmp/s" triggers_suppressed)" 1
check "instant: which is said" grep -q "1 trigger.* ignored" "$tmp/err"
equal "instant: the program's requests are counted" "$(field "$tmp/s" requests_ignored)" 500
check "instant: which is said, too" grep -q "500 calls of prof_dump() ignored" "$tmp/err"
for kind in json pftrace; do
	equal "$kind: the first" "$(count "$tmp/i-1-1.$kind" INSTANT tick)" 5
	equal "$kind: and its trigger" "$(count "$tmp/i-1-1.$kind" INSTANT alarm)" 1
	equal "$kind: the second begins where the first ended" "$(count "$tmp/i-2-2.$kind" INSTANT tick)" 10
	equal "$kind: the third, for ctl" "$(count "$tmp/i-2-3.$kind" INSTANT tick)" 2
	equal "$kind: and holds the trigger that was not obeyed" "$(count "$tmp/i-2-2.$kind" INSTANT alarm)" 1
done
check "ctl dump names the files" grep -q "i-2-3.json" "$tmp/ctl"
equal "compressed: the second" "$(count "$tmp/i-2.json.gz" INSTANT tick)" 10
equal "instant: what nothing triggered is not there" "$(field "$tmp/s" unrecorded)" 4

# A program that requests files without end gets one in a window, and does not suppress a trigger.
"$proftrace" -q -e none -o "$tmp/d-{n}.json" --flight-recorder 1h --trigger instant:alarm --summary-json "$tmp/s" -- \
	"$programs/scripted" "ticks 3" "dump 300" "wait 250" "dump 300" "ticks 2" alarm "dump 100" >"$tmp/out" 2>"$tmp/err"
check_flight_account "requests" "$tmp/s" "$(said "$tmp/out" total)"
equal "requests: one file, and the trigger's" "$(ls "$tmp" | grep -c '^d-')" 2
equal "requests: the rest is counted" "$(field "$tmp/s" requests_ignored)" 699
equal "requests: no trigger is suppressed" "$(field "$tmp/s" triggers_suppressed)" 0
equal "requests: the files have all of it" \
	"$(($(count "$tmp/d-1.json" INSTANT tick) + $(count "$tmp/d-2.json" INSTANT tick)))" 5

# Too little memory for the window.
"$proftrace" -e none -o "$tmp/m.json" --flight-recorder 1h --flight-memory 64K --trigger instant:alarm \
	--summary-json "$tmp/s" -- "$programs/scripted" open "slices 50" "ticks 50000" alarm >"$tmp/out" 2>"$tmp/err"
check_flight_account "small memory" "$tmp/s" "$(said "$tmp/out" total)"
equal "small memory: counted" "$(field "$tmp/s" dumps_short)" 1
check "small memory: said" grep -q -- "1 of 1 times the memory did not reach 3600.000 s back.*--flight-memory" "$tmp/err"
equal "small memory: said in the trace" "$(count "$tmp/m.json" INSTANT "flight recorder fell short")" 1
check "small memory: what fits is there" test "$(count "$tmp/m.json" INSTANT tick)" -gt 500
equal "small memory: and no more" "$(count "$tmp/m.json" BEGIN work)" 0
equal "small memory: the open slice" "$(count "$tmp/m.json" BEGIN "kept open")" 1
equal "small memory: the last is the trigger" "$(count "$tmp/m.json" INSTANT alarm)" 1

# No trigger, no file; and what is refused.
"$proftrace" -o "$tmp/no" --flight-recorder 10s --summary-json "$tmp/s" -- "$programs/scripted" "ticks 10" >"$tmp/out" 2>"$tmp/err"
equal "no trigger: exit status" $? 0
equal "no trigger: no file" "$(ls "$tmp" | grep -c '^no')" 0
equal "no trigger: all passed by" "$(field "$tmp/s" unrecorded)" 10
check "no trigger: said" grep -q "no trigger fired: no file was written" "$tmp/err"
check "no trigger: the table is there" grep -q "tick  *10" "$tmp/err"
"$proftrace" --strict -q -o "$tmp/no" --flight-recorder 10s -- "$programs/scripted" "ticks 10" >"$tmp/out" 2>"$tmp/err"
equal "no trigger: --strict misses nothing" $? 0
"$proftrace" -q -o "$tmp/no" --flight-recorder 10s --trigger 'slice:x' -- true 2>"$tmp/err"
equal "bad trigger: usage" $? 2
"$proftrace" -q -o "$tmp/no" --trigger 'instant:x' -- true 2>"$tmp/err"
equal "trigger without a flight recorder: usage" $? 2
"$proftrace" -q -o /nowhere/x --flight-recorder 10s -- touch "$tmp/ran" 2>"$tmp/err"
equal "no such directory: refused at the start" "$?$(ls "$tmp" | grep -c '^ran')" 10
finish
