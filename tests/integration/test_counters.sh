#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counters of slices, against what a program counts of itself.
. "$(dirname "$0")/lib.sh"
need_tracing
counted=$programs/counted
slices=${SLICES:-3000}
cd "$tmp" || exit 1

record() { # COUNTERS BASE ARGS...
	counters=$1 base=$2
	shift 2
	timeout 120 "$proftrace" -q -e "$counters" -o "$base" --summary-json "$base.account" -- "$counted" "$@"
}

# By how much a counter differs from the slice's own `ns`: sorted, in ns, without signs.
differences() { # FILE COUNTER
	sed -n 's/.*"ph":"E".*"ns":\([0-9]*\).*"'"$2"'":\([0-9]*\).*/\1 \2/p' "$1" |
		awk '{ d = $2 - $1; print d < 0 ? -d : d }' | sort -n
}

# How close they are is said; what is checked is that the counter is the thread's own time and nobody
# else's, which would be off by milliseconds. The slice itself contains the end of one probe hit and
# the begin of another, which the program's own clock does not see.
check_clock() { # NAME FILE COUNTER
	differences "$2" "$3" >differences
	n=$(wc -l <differences)
	equal "$1: slices" "$n" "$slices"
	median=$(sed -n "$(((n + 1) / 2))p" differences)
	p99=$(sed -n "$((n * 99 / 100))p" differences)
	echo "# $1: $3 differs from the thread's own clock by $median ns, 99 % below $p99 ns"
	check "$1: $3 is the thread's own time" test "$median" -le 20000
}

# An END's value, by the name of what else stands on it.
value() { # FILE PATTERN COUNTER
	sed -n '/"ph":"E"/{/'"$2"'/s/.*"'"$3"'":\([0-9.]*\).*/\1/p;}' "$1" | head -1
}

record task-clock clock clock "$slices"
equal "task-clock: exit status" $? 0
check_account "task-clock" clock.account
check_clock "task-clock" clock.json task_clock
check_agree "task-clock" clock

# Perf events count for the CPU: only what was counted while the thread was there is its own.
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')
taskset -c "$cpu" "$counted" busy 60 &
competitor=$!
timeout 120 taskset -c "$cpu" "$proftrace" -q -e cpu-clock,task-clock -o beside -- "$counted" clock "$slices"
equal "beside a busy process: exit status" $? 0
kill $competitor
wait $competitor 2>/dev/null
check_clock "beside a busy process" beside.json cpu_clock
check_clock "beside a busy process" beside.json task_clock
check_agree "beside a busy process" beside
check_nothing_left "beside a busy process"

record page-faults,minor-faults,major-faults,{cpu-clock,software/config=2/} pages pages 500
equal "page faults: of 500 new pages" "$(value pages.json '"round":1,' page_faults)" 500
equal "minor faults: of 500 new pages" "$(value pages.json '"round":1,' minor_faults)" 500
equal "page faults: as perf counts them" "$(value pages.json '"round":1,' 'software\/config=2\/')" 500
equal "page faults: of pages touched before" "$(value pages.json '"round":2,' page_faults)" 0

record context-switches,cpu-migrations sleeps sleeps 50
equal "context switches: as the thread was told" "$(value sleeps.json switches context_switches)" \
	"$(value sleeps.json switches switches)"
check "context switches: one for each sleep" test "$(value sleeps.json switches context_switches)" -ge 50

# Threads that start while the others are recorded have counters from their first mark on.
record cpu-clock,task-clock threads threads 400
check_account "400 threads" threads.account
equal "400 threads: slices that end" "$(grep -c '"ph":"E"' threads.json)" 800
for counter in cpu_clock task_clock; do
	equal "400 threads: slices with $counter" "$(grep '"ph":"E"' threads.json | grep -c "\"$counter\":")" 800
	# A few with a switch inside come out short, presumably by what the scheduler accounts for late.
	short=$(grep '"ph":"E"' threads.json | sed 's/.*"'$counter'":\([0-9]*\).*/\1/' |
		awk '$1 < 19000 { n++ } END { print n + 0 }')
	echo "# 400 threads: $short slices of 20 us have less of $counter"
	check "400 threads: $counter of slices of 20 us" test "$short" -le 80
done
check_agree "400 threads" threads
equal "400 threads: a track of each for each counter" "$("$canon" --count threads.pftrace | grep -c '^COUNTER')" 2

# What is said when nothing is named, when nothing shall be counted, and of what cannot be.
"$proftrace" -o usual -- "$counted" threads 1 2>said
equal "the usual: exit status" $? 0
if "$proftrace" list --counters | grep -qE '^cycles +yes'; then
	check "the usual: cycles" grep -q '"cycles":' usual.json
else
	equal "the usual: says once what it counts instead" "$(grep -c '^proftrace: counters: task-clock,page-faults,context-switches' said)" 1
	check "the usual: in the table" grep -q 'task_clock *page_faults *context_switches' said
	check "the usual: in the trace" grep -q '"task_clock":[0-9]*,"page_faults":[0-9]*,"context_switches":[0-9]*' usual.json
	"$proftrace" -o no -e cycles -- true 2>said
	equal "cycles: exit status" $? 1
	check "cycles: says why not" grep -q "cannot count 'cycles': this machine does not count it" said
fi
"$proftrace" -q -e none -o none -- "$counted" threads 1
equal "none: no counter" "$(grep -cE '"ph":"C"|task_clock' none.json)" 0
"$proftrace" -e task-clok -o no -- true 2>said
equal "unknown: exit status" $? 1
check "unknown: named" grep -q "unknown counter 'task-clok'" said
check "unknown: the nearest" grep -q '^hint: did you mean task-clock' said
"$proftrace" -e r1,r2,r3,r4,r5,r6,r7,r8,r9 -o no -- true 2>said
equal "nine: exit status" $? 1
check "nine: refused" grep -q '8 are counted at most' said
"$proftrace" -e none-such/config=2/ -o no -- true 2>said
equal "no such PMU: exit status" $? 1
check "no such PMU: which there are" grep -qE '^hint: there are .*software' said
equal "nothing was written" "$(ls | grep -c '^no\.')" 0
check "list: what is always there" sh -c "'$proftrace' list --counters | grep -qE '^task-clock +yes'"
finish
