#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The counters of slices agree with what the program counts itself.
. "$(dirname "$0")/lib.sh"
need_tracing
counted=$programs/counted
slices=${SLICES:-3000}
mode=exact
cd "$tmp" || exit 1

record() { # COUNTERS BASE ARGS...
	counters=$1 base=$2
	shift 2
	timeout 120 "$proftrace" -q --mode $mode -e "$counters" -o "$base" --summary-json "$base.account" -- "$counted" "$@" \
		>"$base.said"
}

# The program reads its own clock on either side of each mark, so what a slice has of it must lie between
# what it read inside and what it read outside. What may be beyond by more than 2 us are the few slices
# during which the hypervisor took the processor away, which the kernel notices late.
check_clock() { # NAME BASE COUNTER SHARE [UNKNOWN]: so many of a hundred slices must; so many may be unknown
	sed -n 's/.*"ph":"E".*"i":\([0-9]*\),"ns":\([0-9]*\).*"'"$3"'":\(-*[0-9]*\).*/slice \1 \2 \3/p
		t
		s/.*"ph":"E".*"i":\([0-9]*\),"ns":\([0-9]*\).*/slice \1 \2/p' "$2.json" |
		awk '
			$1 == "around" { around[$2] = $3; next }
			$1 != "slice" { next }
			{
				n++
				if ($4 == "") { unknown++; next }
				beyond = $4 < $3 ? $3 - $4 : $4 > around[$2] ? $4 - around[$2] : 0
				most = beyond > most ? beyond : most
				between += beyond == 0
				near += beyond <= 2000
				own += $4 - $3 <= 2000 && $3 - $4 <= 2000
			}
			END { print n + 0, near + 0, between + 0, own + 0, most + 0, unknown + 0 }' "$2.said" - >shares
	read -r n near between own most unknown <shares
	equal "$1: slices" "$n" "$slices"
	check "$1: slices whose $3 is not known: $unknown" test "$((unknown * 100))" -le "$((n * ${5:-0}))"
	echo "# $1: $3 between the thread's own clock inside and outside: $between of $n slices;" \
		"beyond by at most $most ns; within 2 us of the inside: $own"
	check "$1: $3 within 2 us of the thread's own clock" test "$((near * 100))" -ge "$(((n - unknown) * $4))"
}

# An END's value, by the name of what else stands on it.
value() { # FILE PATTERN COUNTER
	sed -n '/"ph":"E"/{/'"$2"'/s/.*"'"$3"'":\([0-9.]*\).*/\1/p;}' "$1" | head -1
}

record task-clock clock clock "$slices"
equal "task-clock: exit status" $? 0
check_account "task-clock" clock.account
check_clock "task-clock" clock task_clock 99
check_agree "task-clock" clock

# Perf events count for the CPU: only what was counted while the thread was there is its own.
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')
taskset -c "$cpu" "$counted" busy 60 &
competitor=$!
timeout 120 taskset -c "$cpu" "$proftrace" -q -e cpu-clock,task-clock -o beside -- "$counted" clock "$slices" >beside.said
equal "beside a busy process: exit status" $? 0
kill $competitor
wait $competitor 2>/dev/null
# It also counts what the hypervisor took away, and what it takes to switch.
check_clock "beside a busy process" beside cpu_clock 50
check_clock "beside a busy process" beside task_clock 99
check_agree "beside a busy process" beside
check_nothing_left "beside a busy process"

record page-faults,minor-faults,major-faults,{cpu-clock,software/config=2/} pages pages 500
equal "page faults: of 500 new pages" "$(value pages.json '"round":1,' page_faults)" 500
equal "minor faults: of 500 new pages" "$(value pages.json '"round":1,' minor_faults)" 500
equal "page faults: as perf counts them" "$(value pages.json '"round":1,' 'software\/config=2\/')" 500
equal "page faults: of pages touched before, and a 0 is left out" \
	"$(grep '"ph":"E".*"round":2,' pages.json | grep -cv '_faults')" 1

record context-switches,cpu-migrations sleeps sleeps 50
switches=$(value sleeps.json switches context_switches)
check "context switches: as the thread was told" \
	test "$switches" -ge "$(value sleeps.json switches switches)" -a "$switches" -le "$(said sleeps.said around)"
check "context switches: one for each sleep" test "$switches" -ge 50

# What the kernel's own software events count for the thread, read by itself inside of each slice.
check_perf() { # NAME KNOWN: so many slices at least have counters
	record task-clock,page-faults,context-switches perf perf 300
	if [ $? -eq 3 ]; then
		skip "$1: perf events of the thread itself" "perf_event_open is not permitted"
		return
	fi
	sed '/"page_faults":/!s/"task_clock":[0-9]*/&,"page_faults":0/
		/"context_switches":/!s/"page_faults":[0-9]*/&,"context_switches":0/' perf.json >perf.whole
	sed -n 's/.*"ph":"E".*"i":[0-9]*,"new":\([0-9]*\),"slept":\([0-9]*\),"perf_clock":\([0-9]*\),"perf_faults":\([0-9]*\),"perf_switches":\([0-9]*\),"task_clock":\(-*[0-9]*\),"page_faults":\([0-9]*\),"context_switches":\([0-9]*\).*/\1 \2 \3 \4 \5 \6 \7 \8/p' perf.whole >perf.rows
	equal "$1: slices" "$(grep -c '"ph":"E".*"i":[0-9]' perf.json)" 300
	n=$(wc -l <perf.rows)
	check "$1: slices with counters: $n" test "$n" -ge "$2"
	equal "$1: page faults are those of the new pages" "$(awk '$7 != $1' perf.rows | wc -l)" 0
	equal "$1: page faults as perf counts them" "$(awk '$7 != $4' perf.rows | wc -l)" 0
	# As perf counts them: a sleep that is over before it has begun is no switch.
	equal "$1: no context switch is missing" "$(awk '$8 < $5' perf.rows | wc -l)" 0
	# A slice begins before the program reads perf's counter and may lose its CPU right there.
	check "$1: context switches as perf counts them" test "$(awk '$8 == $5' perf.rows | wc -l)" -ge "$((n * 9 / 10))"
	echo "# $1: $(awk '$8 == $5' perf.rows | wc -l) of $n with as many switches;" \
		"$(awk '$8 == $2' perf.rows | wc -l) with none but the sleeps;" \
		"task_clock beyond perf's by $(awk '{ print $6 - $3 }' perf.rows | sort -n | sed -n "$((n / 2))p") ns (median)"
	# Reading takes its time, on either side of what is counted.
	check "$1: task clock as perf counts it" \
		test "$(awk '$6 >= $3 - 2000 && $6 <= $3 + 100000' perf.rows | wc -l)" -ge "$((n * 9 / 10))"
}
check_perf "perf" 300

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

# Read every so often: a thread in one long slice has values all along, and one without any slice, too.
# Of the thread's CPU time at most the last interval is not told; on a CPU that is taken away, some more.
timeout 60 "$proftrace" -q -e cpu-clock,task-clock --counter-interval 2ms -o often --summary-json often.account \
	-- "$counted" long 200
equal "often: exit status" $? 0
check_account "often" often.account
check_agree "often" often
readings() { # THREAD
	sed -nE 's/.*"ph":"C".*"tid":'"$1"',.*"cpu_clock":([0-9]+),"task_clock":([0-9]+).*/\1 \2/p' often.json
}
slice=$(sed -nE '/"ph":"B"/s/.*"tid":([0-9]+).*/\1/p' often.json)
other=$(sed -nE 's/.*"ph":"C".*"tid":([0-9]+),.*/\1/p' often.json | grep -vx "$slice" | sort | uniq -c | sort -n | tail -1 | awk '{ print $2 }')
for thread in $slice $other; do
	readings "$thread" >readings
	echo "# often: thread $thread: $(wc -l <readings) readings, the last one $(tail -1 readings | awk '{ print $2 }') ns"
	check "often: values of thread $thread" test "$(wc -l <readings)" -ge 20
	# task_clock steps back where the scheduler has just noticed that the host took the CPU away.
	equal "often: thread $thread: cpu_clock only grows" \
		"$(awk '$1 < last { n++ } { last = $1 } END { print n + 0 }' readings)" 0
	check "often: thread $thread: up to its end" \
		test "$(tail -1 readings | awk '{ print ($2 > 150000000 && $2 < 300000000) }')" = 1
done
equal "often: the slice is the slice" "$(value often.json ns task_clock | cut -c1-2)" 20
check "often: counted" test "$(sed -nE 's/.*"samples": ([0-9]+).*/\1/p' often.account)" -ge 40
equal "often: none lost" "$(grep -c '"samples_lost": 0,' often.account)" 1
check_nothing_left "often"

# A process that is paused is not read either. A tick may come between the mark and the pause.
timeout 60 "$proftrace" -q -e task-clock --counter-interval 2ms -o paused -- "$counted" paused 50
equal "paused: exit status" $? 0
awk '/"name":"pausing"/ { now = 1 } /"name":"resumed"/ { now = 2 } /"ph":"C"/ { n[now + 0]++ }
	END { print n[0] + 0, n[1] + 0, n[2] + 0 }' paused.json >readings
check "paused: readings before" test "$(cut -d' ' -f1 readings)" -ge 10
check "paused: none meanwhile" test "$(cut -d' ' -f2 readings)" -le 1
check "paused: readings after" test "$(cut -d' ' -f3 readings)" -ge 10

# Readings that find no room are counted: here nobody takes them until the program has ended.
mkfifo go
"$proftrace" -q -e task-clock --buffer 64K --counter-interval 100us -o full --summary-json full.account -- \
	sh -c 'echo $$ >pid; read go; i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done' <go &
recorder=$!
exec 3>go
while [ ! -s pid ] && kill -0 $recorder; do sleep 0.02; done
kill -STOP $recorder
echo go >&3
exec 3>&-
while grep -qE '^State:.[RSD]' "/proc/$(cat pid)/status" 2>/dev/null; do sleep 0.05; done
kill -CONT $recorder
wait $recorder
equal "full: exit status" $? 0
check "full: readings that were lost are counted" grep -qE '"samples_lost": [1-9]' full.account
equal "full: the account adds up" "$(grep -c '"adds_up": true' full.account)" 1
"$proftrace" -e none --counter-interval 1ms -o no -- true 2>said
equal "nothing to read often: exit status" $? 2
"$proftrace" --counter-interval 1us -o no -- true 2>said
equal "too often: exit status" $? 2

# In buffered mode the kernel sends the values when they change, and those of each mark are computed from its time. If it
# did not say that a thread got a CPU, as kernels that hide some processes do, they are not known until the next tick.
"$proftrace" --mode batch-now -o try --summary-json try.account -- "$counted" pages 1 >said 2>&1
if grep -q 'buffered mode is not available' said; then
	skip "counters in buffered mode" "it is not available on this machine"
elif ! grep -q '"batches_unread": 0,' try.account; then
	skip "counters in buffered mode" "this kernel told of the end when the memory was gone: the last marks are missing"
else
	mode=batch-now
	record task-clock,page-faults,context-switches buffered clock "$slices"
	check_account "buffered" buffered.account
	check_clock "buffered" buffered task_clock 97 25
	check_agree "buffered" buffered
	equal "buffered: nothing lost" "$(grep -c '"samples_lost": 0,' buffered.account)" 1
	check_perf "buffered" 150
	record task-clock threads threads 400
	equal "buffered: slices of 400 threads" "$(grep -c '"ph":"E"' threads.json)" 800
	check "buffered: with counters" test "$(grep '"ph":"E"' threads.json | grep -c '"task_clock":[0-9]')" -ge 600
	check_agree "buffered: 400 threads" threads
	mode=exact
	"$proftrace" -v --mode batch-now -o usual -- "$counted" threads 1 2>said
	equal "buffered: says once what it counts" \
		"$(grep -c '^proftrace: counters: task-clock,page-faults,context-switches (buffered' said)" 1
	"$proftrace" --mode batch-now -o no -e task-clock,cpu-clock -- true 2>said
	equal "buffered: a perf event: exit status" $? 1
	check "buffered: a perf event: says why not" grep -q "cannot count 'cpu-clock': buffered mode has only" said
fi

# What is said when nothing is named, when nothing shall be counted, and of what cannot be.
"$proftrace" -o usual -- "$counted" threads 1 2>said
equal "the usual: exit status" $? 0
equal "the usual: nothing is said of counters" "$(grep -c '^proftrace: counters' said)" 0
"$proftrace" -v -o usual -- "$counted" threads 1 2>said
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
check "nine: refused" grep -q 'at most 8 counters can be recorded' said
"$proftrace" -e none-such/config=2/ -o no -- true 2>said
equal "no such PMU: exit status" $? 1
check "no such PMU: which there are" grep -qE '^hint: available: .*software' said
equal "nothing was written" "$(ls | grep -c '^no\.')" 0
check "list: what is always there" sh -c "'$proftrace' list --counters | grep -qE '^task-clock +yes'"
finish
