#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Attaching to a program that marks all the time, detaching from it, and killing recorder, broker or program.
. "$(dirname "$0")/lib.sh"
need_tracing

start_storm() {
	rm -f "$tmp/in" "$tmp/storm.out"
	mkfifo "$tmp/in"
	"$programs/storm" "${1:-2}" "${STORM_PAUSE:-20}" <"$tmp/in" >"$tmp/storm.out" &
	storm=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/storm.out" ready
}

end_storm() { # NAME
	exec 9>&-
	wait $storm
	equal "$1: the program ends well" $? 0
	equal "$1: its semaphore is off again" "$(said "$tmp/storm.out" semaphore)" 0
}

# Of each thread every number from the first to the last is there, and each twice (slice and instant).
no_gaps() { # TRACE
	"$canon" "$1" | awk '
		$3 == "INSTANT" && match($0, / n=n:[0-9]+/) {
			n = substr($0, RSTART + 5, RLENGTH - 5) + 0
			t = $1 " " $2
			if (t in last && n != last[t] + 1) bad++
			last[t] = n
			seen++
		}
		END { print (seen > 1000 ? bad + 0 : "too few: " seen) }'
}

start_storm 2
for i in 1 2 3; do
	"$proftrace" -q -p $storm -d 400ms -o "$tmp/a$i" --summary-json "$tmp/s$i" 2>"$tmp/err"
	equal "attach $i: exit status" $? 0
	equal "attach $i: the account adds up" "$(field "$tmp/s$i" adds_up)" true
	equal "attach $i: lost are only the ENDs of slices that were open" \
		"$(field "$tmp/s$i" lost_total)" "$(field "$tmp/s$i" cut)"
	equal "attach $i: no gap in any thread" "$(no_gaps "$tmp/a$i.pftrace")" 0
	check_agree "attach $i" "$tmp/a$i"
	check "attach $i: it waits until it is detached" test "$(field "$tmp/s$i" detach_requests)" -ge 1
	check_nothing_left "attach $i"
done
end_storm "attach"

"$proftrace" -q -o "$tmp/command" --summary-json "$tmp/s" -- "$programs/storm" 2 0 >"$tmp/storm.out" </dev/null
equal "a command: exit status" $? 0
equal "a command: the account adds up" "$(field "$tmp/s" adds_up)" true
check_agree "a command" "$tmp/command"
if kernel_can "uprobe_multi links"; then
	equal "a command: detaching is left to the broker" "$(field "$tmp/s" detach_requests)" 0
else
	check "a command: a link for each site is detached by the recorder" [ "$(field "$tmp/s" detach_requests)" -gt 0 ]
fi
check_nothing_left "a command"

# SIGINT ends a recording in order.
start_storm 1
"$proftrace" -q -p $storm -o "$tmp/i" --summary-json "$tmp/s" 9>&- &
recorder=$!
for _ in $(seq 1 100); do [ -e "$tmp/i.json" ] && break; sleep 0.05; done
kill -INT $recorder
wait $recorder
equal "SIGINT: exit status" $? 0
equal "SIGINT: orderly" "$(field "$tmp/s" orderly)" true
check_agree "SIGINT" "$tmp/i"
end_storm "SIGINT"

# The recorder is killed: the files load, the program goes on, nothing stays behind.
start_storm 2
"$proftrace" -q -p $storm -o "$tmp/k" 9>&- &
recorder=$!
for _ in $(seq 1 100); do [ -s "$tmp/k.json" ] && break; sleep 0.05; done
sleep 2.2
before=$(awk '{ printf "%.0f", $1 * 1000000000 }' /proc/uptime)
broker=$(cat /proc/$recorder/task/$recorder/children)
kill -KILL $recorder
wait $recorder 2>/dev/null
# What is attached is the broker's, which ends as it finds the recorder gone: on old kernels that takes a while.
for _ in $(seq 1 400); do [ -d /proc/${broker% } ] || break; sleep 0.05; done
check "recorder killed: the broker ends" test ! -d /proc/${broker% }
check_nothing_left "recorder killed"
end_storm "recorder killed"
for kind in pftrace json; do
	"$canon" "$tmp/k.$kind" >"$tmp/canon" 2>"$tmp/err"
	equal "recorder killed: the $kind loads" $? 0
	"$proftrace" report "$tmp/k.$kind" >"$tmp/out" 2>"$tmp/err"
	check "recorder killed: the $kind says that it was cut off" grep -qE 'truncated|the end is missing' "$tmp/err"
	"$proftrace" convert -q -o "$tmp/again.json" "$tmp/k.$kind" && "$proftrace" report "$tmp/again.json" >"$tmp/out" 2>"$tmp/err"
	check "recorder killed: what the $kind is converted to says that, too" grep -q 'aborted' "$tmp/err"
	check "recorder killed: the $kind holds events" test "$(wc -l <"$tmp/canon")" -gt 1000
	last=$(awk '$3 == "BEGIN" && $4 > m { m = $4 } END { printf "%.0f", m }' "$tmp/canon")
	check "recorder killed: the $kind holds all up to the last second" \
		test "$((before - last))" -lt 1300000000
done

# The broker is killed: the recording ends, says so, and its files are whole.
start_storm 1
"$proftrace" -q -p $storm -o "$tmp/b" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
for _ in $(seq 1 100); do [ -s "$tmp/b.json" ] && break; sleep 0.05; done
pkill -KILL -P $recorder
wait $recorder
equal "broker killed: exit status" $? 1
check "broker killed: it says so" grep -q 'broker' "$tmp/err"
check_agree "broker killed" "$tmp/b"
for kind in pftrace json; do
	"$proftrace" report "$tmp/b.$kind" >"$tmp/out" 2>"$tmp/err"
	check "broker killed: the $kind says so" grep -q 'aborted' "$tmp/err"
done
check_nothing_left "broker killed"
end_storm "broker killed"

# The target is killed.
start_storm 2
"$proftrace" -q -p $storm -o "$tmp/tk" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
for _ in $(seq 1 100); do [ -s "$tmp/tk.json" ] && break; sleep 0.05; done
kill -KILL $storm
wait $storm 2>/dev/null
exec 9>&-
wait $recorder
equal "target killed: exit status" $? 0
equal "target killed: the account adds up" "$(field "$tmp/s" adds_up)" true
check_agree "target killed" "$tmp/tk"
for kind in pftrace json; do
	"$proftrace" report "$tmp/tk.$kind" >"$tmp/out" 2>"$tmp/report"
	equal "target killed: the $kind came to its end" "$(grep -cE 'truncated|missing|broken' "$tmp/report")" 0
	equal "target killed: the $kind says by what, once" \
		"$(awk '/killed by SIGKILL/ { print $NF }' "$tmp/out")" 1
done
equal "target killed: the summary says by what" "$(field "$tmp/s" processes_killed)$(
	grep -c "\"killed\": \[{\"pid\": $storm, \"signal\": 9}\]" "$tmp/s")" 11
check_nothing_left "target killed"

# Both are killed at once.
start_storm 2
"$proftrace" -q -p $storm -o "$tmp/bk" --dump-period 50ms 9>&- &
recorder=$!
for _ in $(seq 1 400); do [ -s "$tmp/bk.json" ] && [ -s "$tmp/bk.pftrace" ] && break; sleep 0.05; done
broker=$(cat /proc/$recorder/task/$recorder/children)
kill -KILL $recorder $storm
wait $recorder 2>/dev/null
equal "both killed: the recorder was" $? 137
wait $storm 2>/dev/null
equal "both killed: the program was" $? 137
exec 9>&-
for _ in $(seq 1 400); do [ -d /proc/${broker% } ] || break; sleep 0.05; done
check "both killed: the broker ends" test ! -d /proc/${broker% }
check_cut "both killed" "$tmp/bk.pftrace" "$tmp/bk.json"
check_nothing_left "both killed"

# It ends while attached.
start_storm 1
"$proftrace" -q -p $storm -o "$tmp/x" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
for _ in $(seq 1 100); do [ -s "$tmp/x.json" ] && break; sleep 0.05; done
exec 9>&-
wait $storm
wait $recorder
equal "exit while attached: exit status" $? 0
check_agree "exit while attached" "$tmp/x"
equal "exit while attached: nobody is said to be killed" \
	"$(field "$tmp/s" processes_killed)$(grep -c 'killed by' "$tmp/x.json")" 00
for death in "SEGV 139" "TERM 143"; do
	signal=${death% *}
	"$proftrace" -o "$tmp/c" --summary-json "$tmp/s" -- \
		sh -c "$programs/executes 1 && sh -c 'kill -$signal \$\$'; kill -$signal \$\$" >"$tmp/out" 2>"$tmp/err"
	equal "a child and its parent die of SIG$signal: each is told" \
		"$? $(grep -c "^process [0-9]* was killed by SIG$signal" "$tmp/err") $(field "$tmp/s" processes_killed)" \
		"${death#* } 2 2"
done
finish
