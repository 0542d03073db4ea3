#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The table that the kernel aggregates is the same as that of a recording of the same run.
. "$(dirname "$0")/lib.sh"
need_tracing

# The rows of a report in JSON, or of a summary: "part|category|name|field=value field=value ...".
rows() { # FILE
	awk '/^  "[a-z_]*": \[/ { gsub(/[" :\[]/, "", $1); part = $1 }
		/^    \{"category"/ {
			line = $0; category = line; name = line
			sub(/.*"category": /, "", category); sub(/, "name": .*/, "", category)
			sub(/.*"name": "/, "", name); sub(/", "(count|unit)": .*/, "", name)
			sub(/.*"count": /, "count=", line); gsub(/[",{}]|counters: |unit: [^ ]* /, "", line)
			gsub(/: /, "=", line)
			print part "|" category "|" name "|" line
		}' "$1"
}

value() { # FILE PART NAME FIELD
	rows "$1" | awk -F '|' -v p="$2" -v n="$3" -v f="$4" '$1 == p && $3 == n {
		k = split($4, words, " ")
		for (i = 1; i <= k; i++) if (index(words[i], f "=") == 1) print substr(words[i], length(f) + 2) }'
}

# Two recorders on one run, both there before the first mark.
mkfifo "$tmp/go"
rm -f "$tmp/target"
"$programs/every_kind" 4 250 wait <"$tmp/go" >"$tmp/target" &
target=$!
exec 8>"$tmp/go"
wait_for "$tmp/target" ready
"$proftrace" -e none -o "$tmp/trace.pftrace" --summary-json "$tmp/recorded" -p $target 2>"$tmp/first" &
first=$!
"$proftrace" --stats-only --summary-json "$tmp/added" -p $target 2>"$tmp/second" &
second=$!
wait_for "$tmp/first" "proftrace: recording" && wait_for "$tmp/second" "proftrace: recording"
echo go >&8
exec 8>&-
wait $first
wait $second
equal "status" $? 0
wait $target
check_account "the recording" "$tmp/recorded"
check_account "--stats-only" "$tmp/added"
equal "both saw every mark" "$(field "$tmp/recorded" marked) $(field "$tmp/added" marked)" \
	"$(said "$tmp/target" total) $(said "$tmp/target" total)"
equal "what is open at the end" "$(field "$tmp/added" open_at_end) $(field "$tmp/added" unfinished)" "0 0"
"$proftrace" report -q --format json "$tmp/trace.pftrace" >"$tmp/report"
# All but memory pools, which the kernel does not follow.
counts() {
	rows "$1" | sed 's/|count=\([0-9]*\).*/|\1/' | grep -E '^(slices|async_slices|frames|instants|counters)\|' | sort
}
counts "$tmp/report" >"$tmp/a"
counts "$tmp/added" >"$tmp/b"
check "there are all kinds of rows" test "$(cut -d '|' -f 1 "$tmp/a" | sort -u | wc -l)" -ge 4
if cmp -s "$tmp/a" "$tmp/b"; then
	ok "counts are exactly equal in $(wc -l <"$tmp/a") rows"
else
	not_ok "counts are exactly equal" "$(diff "$tmp/a" "$tmp/b")"
fi
for name in signed "load user" ratio largest "load system" "load idle"; do
	for f in min max avg; do
		equal "counter '$name': $f" "$(value "$tmp/added" counters "$name" $f)" \
			"$(value "$tmp/report" counters "$name" $f)"
	done
done
close() { # NAME GOT WANTED PERCENT
	if awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { d = a > b ? a - b : b - a; exit !(b > 0 && d * 100 <= p * b) }'; then
		ok "$1: within $4 %"
	else
		not_ok "$1: within $4 %" "got '$2', wanted '$3'"
	fi
}
# Both read their clocks one after the other at each mark, so long slices are compared. A percentile
# is within 1/16 of the truth on either side.
for name in round work; do
	close "'$name': p50" "$(value "$tmp/added" slices "$name" p50_ns)" \
		"$(value "$tmp/report" slices "$name" p50_ns)" 18
	close "'$name': total" "$(value "$tmp/added" slices "$name" total_ns)" \
		"$(value "$tmp/report" slices "$name" total_ns)" 30
done
check "recursion counts once" test "$(value "$tmp/added" slices factorial total_ns)" -lt \
	"$(value "$tmp/added" slices work total_ns)"
sum=$(rows "$tmp/added" | sed -n 's/^slices|.* self_ns=\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { printf "%d", s }')
equal "Self adds up to the time inside slices" "$sum" "$(value "$tmp/added" slices round total_ns)"
check "the table is printed" grep -q '^default *round *1000 ' "$tmp/second"

# While it runs: the table so far, and beginning anew.
rm -f "$tmp/target"
mkfifo "$tmp/go2"
"$programs/escapes" <"$tmp/go2" >"$tmp/target" &
target=$!
exec 8>"$tmp/go2"
wait_for "$tmp/target" ready
rm -f "$tmp/err"
"$proftrace" --stats-only --per-thread --summary-json "$tmp/added" -p $target 2>"$tmp/err" 8>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
mark() {
	: >"$tmp/target"
	echo go >&8
	wait_for "$tmp/target" marked
}
mark
kill -USR2 $recorder
check "SIGUSR2 prints the table" wait_for "$tmp/err" "default .*cleared .* 1 "
mark
"$proftrace" ctl reset -p $recorder >"$tmp/ctl" 2>&1
equal "ctl reset" $? 0
mark
"$proftrace" ctl dump -p $recorder >"$tmp/ctl" 2>&1
check "ctl dump prints the table" grep -q "default .*cleared .* 1 " "$tmp/err"
mark
kill -USR1 $recorder
for _ in $(seq 1 200); do
	[ "$(grep -c "was reset" "$tmp/err")" = 2 ] && break
	sleep 0.05
done
mark
mark
mark
exec 8>&-
wait $recorder
equal "SIGUSR1 began anew" "$(grep -c 'cleared".* "count": 3, ' "$tmp/added")" 1
equal "the account goes on" "$(field "$tmp/added" written) $(field "$tmp/added" adds_up)" "56 true"
equal "a counter after beginning anew" "$(grep -c 'counted".* "count": 3, "min": 1, "max": 1, "avg": 1.0, "last": 1' "$tmp/added")" 1
wait $target

# What is meant for the table does an ordinary recording no harm.
rm -f "$tmp/target"
"$programs/escapes" <"$tmp/go2" >"$tmp/target" &
target=$!
exec 8>"$tmp/go2"
wait_for "$tmp/target" ready
rm -f "$tmp/err"
"$proftrace" -o "$tmp/ordinary" -p $target 2>"$tmp/err" 8>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
kill -USR1 $recorder
check "SIGUSR1 to another recording: says so" wait_for "$tmp/err" "proftrace: SIGUSR1"
exec 8>&-
wait $recorder
equal "SIGUSR1 to another recording: it goes on to its end" $? 0
wait $target

# It follows what a recording follows.
"$proftrace" -q --stats-only --summary-json "$tmp/s" -- "$programs/executes" 5 \
	"$programs/forks" 3 4 >"$tmp/out" 2>"$tmp/err"
equal "exec: exit status is the command's" $? 0
check_account "exec" "$tmp/s"
equal "exec: every generation" "$(value "$tmp/s" slices generation count)" 6
equal "exec: what is open ends with the program" "$(field "$tmp/s" unfinished)" 5
equal "children" "$(value "$tmp/s" slices "in child" count)" 12
"$proftrace" -q --stats-only --summary-json "$tmp/s" -- "$programs/opens" 100 \
	"$programs/plugin.so" >"$tmp/out" 2>"$tmp/err"
check_account "dlopen" "$tmp/s"
equal "dlopen: all marks of 100 constructors" "$(value "$tmp/s" slices constructor count)" 1000
equal "dlopen: all marks of 100 destructors" "$(value "$tmp/s" instants destructor count)" 100
"$proftrace" -q --stats-only -D '!prof*' -D '!default' --summary-json "$tmp/s" -- "$programs/every_kind" 1 10 >"$tmp/out"
equal "-D: some domains" "$(value "$tmp/s" slices encode count)" 10
equal "-D: and no others" "$(rows "$tmp/s" | grep -c '|"default"|')" 0
"$proftrace" -q --stats-only --summary-json "$tmp/s" -- "$programs/mess" >"$tmp/out"
equal "mess: the account adds up" "$(field "$tmp/s" adds_up)" true
equal "mess: the good slices are there" "$(value "$tmp/s" slices good count) $(value "$tmp/s" instants inside count)" "100 100"
"$proftrace" -q --stats-only --summary-json "$tmp/s" -- "$programs/objects" >"$tmp/out" 2>&1
"$proftrace" -q -e none -o "$tmp/o.pftrace" -- "$programs/objects" >"$tmp/out" 2>&1
"$proftrace" report -q --format json "$tmp/o.pftrace" >"$tmp/report"
equal "objects: the account adds up" "$(field "$tmp/s" adds_up)" true
equal "objects: counts are those of a recording" "$(counts "$tmp/s")" \
	"$(counts "$tmp/report" | grep -v 'marker started twice')"

# More threads than there are places, one after the other; too little room for their names.
"$proftrace" -q --stats-only --buffer 2M --summary-json "$tmp/s" -- "$programs/every_kind" 5000 1 >"$tmp/out"
check_account "many threads" "$tmp/s"
equal "many threads: all marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" total)"
equal "many threads: all slices, by name or not" \
	"$(rows "$tmp/s" | sed -n 's/^slices|.*|count=\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')" 40000

# Asynchronous slices: few that are open, more than a thread has near, more than there is room for.
awaits() { # NUMBER: how many jobs and twins ended as what they are
	"$proftrace" -q --stats-only --summary-json "$tmp/s" -- "$programs/awaits" "$1" >"$tmp/out"
	echo "$(value "$tmp/s" async_slices job count) $(value "$tmp/s" async_slices twin count)"
}
for n in 20 3000; do
	equal "$n open: each is ended by another thread" "$(awaits $n)" "$n $n"
	check_account "$n open" "$tmp/s"
	equal "$n open: none is left" "$(field "$tmp/s" unfinished) $(field "$tmp/s" async_unmatched)" "0 0"
done
awaits 40000 >"$tmp/ended"
equal "too many open: the account adds up" "$(field "$tmp/s" adds_up)" true
equal "too many open: all marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" total)"
check "too many open: said" test "$(field "$tmp/s" limit)" -gt 0
equal "too many open: what found no room is not ended, all else is" \
	"$(awk '{ print $1 + $2 }' "$tmp/ended") $(field "$tmp/s" unfinished)" "$((80000 - $(field "$tmp/s" async_unmatched))) 0"
equal "too many open: as many ENDs as BEGINs found nothing" "$(field "$tmp/s" async_unmatched)" "$(field "$tmp/s" limit)"
"$proftrace" -q --stats-only --summary-json "$tmp/s" -- sh -c \
	"for i in 1 2; do '$programs/awaits' 3000 leave; done; '$programs/awaits' 3000" >"$tmp/out"
check_account "left open by others before" "$tmp/s"
equal "left open by others before: each is ended" \
	"$(value "$tmp/s" async_slices job count) $(value "$tmp/s" async_slices twin count) $(field "$tmp/s" unfinished)" "3000 3000 6000"

# Refused.
"$proftrace" --stats-only -o "$tmp/x" -p 1 2>"$tmp/err"
equal "with -o: refused" $? 2
"$proftrace" --stats-only -e cycles -p 1 2>"$tmp/err"
equal "with -e: refused" $? 2

# The processes go on, and slices that are open are said.
rm -f "$tmp/target"
mkfifo "$tmp/go3"
"$programs/storm" 2 200 <"$tmp/go3" >"$tmp/target" &
target=$!
exec 8>"$tmp/go3"
wait_for "$tmp/target" ready
"$proftrace" --stats-only -d 300ms --per-thread --summary-json "$tmp/s" -p $target 2>"$tmp/err" 8>&-
equal "-d: status" $? 0
equal "-d: the account adds up" "$(field "$tmp/s" adds_up)" true
check "-d: a row for each thread" test "$(grep '"tid": [0-9]' "$tmp/s" | grep -o '"tid": [0-9]*' | sort -u | wc -l)" -ge 2
exec 8>&-
wait $target
equal "-d: the target went on" $? 0
check_nothing_left "at the end"
finish
