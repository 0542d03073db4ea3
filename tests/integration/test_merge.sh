#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Traces of ranks and hosts on one timeline: owners and times are right.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

steps=20

# --- four ranks, recorded separately --------------------------------------------------------------

truncate -s 4096 together
for rank in 0 1 2 3; do
	RANK=$rank "$proftrace" -q -o rank$rank -- "$programs/ranks" together 4 $steps >said$rank &
done
wait

# What another host would have recorded: another boot whose monotonic clock shows something else, a wall
# clock that may be wrong, processes with numbers that somebody else has too.
elsewhere() { # IN OUT HOST MONOTONIC-NS REALTIME-NS
	base=$(sed -n '1s/.*"base_ns":\([0-9]*\).*/\1/p' "$1")
	pid=$(pid_of "$1")
	{
		echo "s/\"base_ns\":$base/\"base_ns\":$((base + $4))/"
		echo "s/\"boot_id\":\"[^\"]*\"/\"boot_id\":\"00000000-0000-4000-8000-00000000$3\"/"
		echo "s/\"host\":\"[^\"]*\"/\"host\":\"$3\"/"
		echo "s/\"pid\":$pid\\>/\"pid\":100/; s/\"tid\":$pid\\>/\"tid\":100/"
		for ns in $(grep -oE '"monotonic":"[0-9]+' "$1" | tr -dc '0-9\n' | sort -u); do
			echo "s/\"monotonic\":\"$ns\"/\"monotonic\":\"$((ns + $4))\"/"
		done
		for ns in $(grep -oE '"realtime":"[0-9]+' "$1" | tr -dc '0-9\n' | sort -u); do
			echo "s/\"realtime\":\"$ns\"/\"realtime\":\"$((ns + $5))\"/"
		done
	} >elsewhere.sed
	sed -f elsewhere.sed "$1" >"$2"
}

pid_of() { # FILE: of the program, which is the one with slices
	"$canon" "$1" | awk '$3 == "BEGIN" { print $1; exit }'
}

# When each step began on a process's thread, ns.
step_times() { # FILE PID
	"$canon" "$1" | awk -v pid="$2" '$1 == pid && $3 == "BEGIN" && $5 == "step" { print $4 }'
}

# The process of a rank, by its label.
process_of() { # FILE RANK
	"$canon" "$1" | sed -n "s/^process \([0-9]*\) rank $2: ranks.*/\1/p"
}

# How long a step usually lasts, ns: no two ranks begin the same one further apart.
usual_step() { # FILE OF STEP TIMES
	previous=
	while read -r ns; do
		[ -n "$previous" ] && echo $((ns - previous))
		previous=$ns
	done <"$1" | sort -n | sed -n "$((steps / 2))p"
}

# The largest distance between the lines of two files of numbers, ns. Shell arithmetic is exact.
distance() { # A B
	most=0
	paste "$1" "$2" >distance.in
	while read -r a b; do
		d=$((a - b))
		[ $d -lt 0 ] && d=$((-d))
		[ $d -gt $most ] && most=$d
	done <distance.in
	echo $most
}

elsewhere rank0.json host0.json aaaa 0 0
elsewhere rank1.json host1.json bbbb 777000000000 0
elsewhere rank2.json host2.json cccc -1000000 0
elsewhere rank3.json host3.json dddd 5000000000000 3600000000000
check "a rank of another host as Perfetto" "$proftrace" convert -q -o host2.pftrace host2.json

all_there() { # NAME MERGED PARTS...: nothing is missing, nothing is twice
	name=$1 merged=$2
	shift 2
	"$canon" --count "$merged" | grep -vE '^(PROCESS_NAME|PROCESS_LABELS|THREAD_NAME|CLOCK) ' >all.count
	for part in "$@"; do "$canon" --count "$part"; done | grep -vE '^(PROCESS_NAME|PROCESS_LABELS|THREAD_NAME|CLOCK) ' |
		awk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (k in sum) print k sum[k] }' | sort >sum.count
	sort -o all.count all.count
	if cmp -s all.count sum.count && [ -s all.count ]; then ok "$name: $(wc -l <all.count) kinds add up"; else
		not_ok "$name: all kinds add up" "$(diff all.count sum.count | head -5)"
	fi
	equal "$name: slices nest" "$("$canon" --nest "$merged")" "ok, 0 open"
	# All but the share of the time, which is that of one trace here and of several there.
	"$proftrace" report -q --format csv "$@" | cut -d, -f1-13,15- >sum.report
	"$proftrace" report -q --format csv "$merged" | cut -d, -f1-13,15- >all.report
	if cmp -s all.report sum.report && grep -q '^slice,default,step,ns,[1-9]' all.report; then
		ok "$name: report of the merge is the sum of the reports: $(wc -l <all.report) rows"
	else
		not_ok "$name: report of the merge is the sum of the reports" "$(diff all.report sum.report | head -6)"
	fi
}

# --- one boot -------------------------------------------------------------------------------------

"$proftrace" merge -o same rank0.pftrace rank1.json rank2.pftrace rank3.json 2>err
equal "one boot: exit status" $? 0
equal "one boot: by the monotonic clock" "$(grep -c 'same boot, same clock' err)" 3
check_agree "one boot" same
all_there "one boot" same.json rank0.pftrace rank1.json rank2.pftrace rank3.json
for rank in 0 1 2 3; do
	step_times rank$rank.json "$(pid_of rank$rank.json)" >was
	step_times same.pftrace "$(process_of same.pftrace $rank)" >is
	equal "one boot: rank $rank has its steps" "$(wc -l <is)" $steps
	check "one boot: rank $rank is where it was" cmp was is
done
step_times rank0.json "$(pid_of rank0.json)" >was
step=$(usual_step was)
equal "one boot: the merge says so" "$(head -1 same.json | grep -oE '"(boot_id|host)":"[^"]*"')" \
	"$(head -1 rank0.json | grep -oE '"(boot_id|host)":"[^"]*"')"

# --- four hosts, one with a wall clock that is an hour ahead ---------------------------------------

"$proftrace" merge -o hosts host0.json host1.json host2.pftrace host3.json 2>err
equal "hosts: exit status" $? 0
equal "hosts: two by their wall clocks" "$(grep -c 'by the realtime clocks, residual' err)" 2
if grep -q '^host3.json.*by common steps (clocks: 3[0-9]*\.[0-9]* s off), residual' err; then
	ok "hosts: one by its steps, and how wrong its clock is"
else
	not_ok "hosts: one by its steps, and how wrong its clock is" "$(cat err)"
fi
check_agree "hosts" hosts
all_there "hosts" hosts.json host0.json host1.json host2.pftrace host3.json
equal "hosts: four processes 100 are four" \
	"$(for rank in 0 1 2 3; do process_of hosts.json $rank; done | sort -u | wc -l)" 4
equal "hosts: their names tell the number" "$("$canon" hosts.json | grep -c '^process .*rank [0-9]: ranks (pid 100)$')" 3
for rank in 0 1 2 3; do
	step_times rank$rank.json "$(pid_of rank$rank.json)" >was
	step_times hosts.pftrace "$(process_of hosts.pftrace $rank)" >is
	equal "hosts: rank $rank has its steps" "$(wc -l <is)" $steps
	off=$(distance was is)
	if [ -s is ] && [ "$off" -lt "$step" ]; then ok "hosts: rank $rank lines up"; else
		not_ok "hosts: rank $rank lines up" "off by $off ns"
	fi
done

"$proftrace" merge -q --align realtime -o wrong.json host0.json host3.json
step_times wrong.json "$(process_of wrong.json 3)" >is
step_times rank3.json "$(pid_of rank3.json)" >was
equal "--align realtime: believes the clock, s" $((($(distance was is) + 500000000) / 1000000000)) 3600
"$proftrace" merge -q --align step -o steps.json host0.json host3.json host1.json
step_times steps.json "$(process_of steps.json 3)" >is
equal "--align step" $(($(distance was is) / step)) 0
"$proftrace" merge -q --align none -o none.json host0.json host3.json
step_times none.json "$(process_of none.json 3)" >is
equal "--align none: as they are" "$(distance was is)" 5000000000000
"$proftrace" merge -q --align monotonic --offset host3.json=-5000s -o moved.json host0.json host3.json
step_times moved.json "$(process_of moved.json 3)" >is
equal "--offset: moved" "$(distance was is)" 0
"$proftrace" merge -q --offset rank1.json=+1500us -o moved.json rank0.json rank1.json
step_times moved.json "$(process_of moved.json 1)" >is
step_times rank1.json "$(pid_of rank1.json)" >was
equal "--offset: after the alignment" "$(distance was is)" 1500000

# --- one recording, many files --------------------------------------------------------------------

"$proftrace" -q -e none -o part --max-size 64K -- "$programs/every_kind" 3 150 >said
check "many files: there are many" test "$(ls part*.json | wc -l)" -gt 5
"$proftrace" merge -q -o whole part*.json
check_agree "many files" whole
for kind in BEGIN END INSTANT ASYNC_END FLOW_IN; do
	wanted=$(said said "count $(echo $kind | tr A-Z a-z)")
	equal "many files: $kind" "$("$canon" --count whole.json | awk -v k=$kind '$1 == k { n += $NF } END { print n }')" "$wanted"
done
equal "many files: nothing is in it twice" "$("$canon" whole.json | grep -c 'continued')" 0
equal "many files: one process" "$("$canon" whole.json | awk '$3 == "BEGIN" { print $1 }' | sort -u | wc -l)" 1
equal "many files: slices nest" "$("$canon" --nest whole.json)" "ok, 0 open"

# --- a job of many ranks: far more files than may be open, and little memory ---------------------------

for i in $(seq 300); do ln -s rank$((i % 4)).pftrace job$i.pftrace; done
(ulimit -n 24 && ulimit -v 300000 && "$proftrace" merge -q -o three-hundred.pftrace job*.pftrace)
equal "300 files: exit status" $? 0
equal "300 files: all steps are there" "$("$proftrace" report -q --format csv three-hundred.pftrace | grep '^slice,default,step,' | cut -d, -f5)" $((300 * steps))
(ulimit -n 24 && "$proftrace" report -q --slowest 1 step job*.pftrace >job.slowest)
equal "300 files: read twice by a report" "$?$(grep -c "^$((300 * steps)) slices" job.slowest)" 01

# --- before the clock's zero ------------------------------------------------------------------------

# The first mark of a file need not be its earliest: thread 2 began before the reference had booted.
cat >booted.json <<-'END'
	[{"name":"proftrace","ph":"M","pid":0,"tid":0,"args":{"version":"x","base_ns":0,"monotonic":1000000000,"realtime":1700000001000000000,"boottime":0}},
	{"name":"a","ph":"X","ts":1000000,"dur":1,"pid":9,"tid":9}]
END
cat >before.json <<-'END'
	{"baseTimeNanoseconds":1700000000000000000,"traceEvents":[
	{"name":"w","ph":"X","ts":1000000,"dur":50,"pid":1,"tid":1},
	{"name":"v","ph":"X","ts":-3000000,"dur":50,"pid":1,"tid":2}]}
END
"$proftrace" merge -o early.json booted.json before.json 2>err
equal "before zero: all are moved" "$(grep -c '^all traces: +86403.000000000 s' err)$(grep -c 'moved to zero' err)" 10
equal "before zero: the earliest is a day from it" "$("$canon" early.json | awk '$3 == "BEGIN" { printf "%s %s ", $5, $4 }')" \
	"w 86404000000000 v 86400000000000 a 86404000000000 "

# A clock that cannot have shown what the file says.
sed 's/"realtime":[0-9]*/"realtime":18446744073709551615/' booted.json >odd.json
"$proftrace" merge -o odd2.json booted.json odd.json 2>err
equal "a clock that makes no sense: said" "$?$(grep -c 'odd.json.*the realtime clocks are invalid' err)" 01

# --- arrows ---------------------------------------------------------------------------------------

ids() { # FILE
	"$canon" "$1" | grep -oE 'FLOW_OUT .* id=0x[0-9a-f]*' | sed 's/.*id=//' | sort -u | wc -l
}
equal "arrows of two ranks stay apart" "$("$proftrace" merge -q -o f.json rank0.json rank1.json; ids f.json)" $((2 * steps))
equal "--join-flows: they meet" "$("$proftrace" merge -q --join-flows -o f.json rank0.json rank1.json; ids f.json)" $steps

# --- what cannot be done --------------------------------------------------------------------------

expect() { # NAME STATUS PATTERN COMMAND...
	name=$1 wanted=$2 pattern=$3
	shift 3
	"$@" >out 2>err </dev/null
	equal "$name: exit status" $? "$wanted"
	if grep -qE -- "$pattern" err; then ok "$name: says so"; else not_ok "$name: says so" "$(cat err)"; fi
}
printf '[{"name":"x","ph":"X","ts":1000000,"dur":5,"pid":1,"tid":1}]' >other.json
expect "no output named" 2 'o OUT' "$proftrace" merge rank0.json rank1.json
expect "no such way" 2 'not one of auto' "$proftrace" merge --align soon -o x rank0.json
expect "no such time" 2 'is not a time' "$proftrace" merge --offset rank0.json=soon -o x rank0.json
expect "an offset for nobody" 1 "cannot move 'rank9.json'" "$proftrace" merge --offset rank9.json=1s -o x rank0.json
expect "no common step" 1 "no step in common" "$proftrace" merge --align step -o x rank0.json other.json
expect "no common wall clock" 1 "no realtime clock" "$proftrace" merge --align realtime -o x rank0.json other.json
expect "somebody else's trace" 0 'assumed to be the monotonic clock' "$proftrace" merge -o other2.json rank0.json other.json
equal "somebody else's trace: named by its file" "$("$canon" other2.json | grep -c '^process 1 other.json: process 1$')" 1
equal "nothing is left of what failed" "$(ls -A | grep -E '^\.?x')" ""

# --- how wrong the clocks of hosts may be -----------------------------------------------------------------

host() { # NAME REALTIME MORE: one slice
	echo "[{\"name\":\"proftrace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"version\":\"x\",\"clock\":\"monotonic\",\"base_ns\":0,\"monotonic\":\"1000\",\"realtime\":\"$2\",\"boot_id\":\"$1\",\"host\":\"$1\"$3}},"
	echo '{"name":"work","ph":"X","ts":1000,"dur":100,"pid":1,"tid":1}]'
}
host one 1700000000000000000 ',"clock_error_ns":"250000"' >one.json
host two 1700000000000500000 ',"clock_error_ns":"1500000"' >two.json
host three 1700000000000000000 '' >three.json
"$proftrace" merge -o within one.json two.json 2>err
equal "clocks of hosts: how far apart they may be" "$(grep -c '^two.json.* by the realtime clocks, error at most 1.750 ms$' err)" 1
for kind in json pftrace; do
	equal "clocks of hosts: in the metadata ($kind)" "$("$proftrace" convert -q -o clock.json within.$kind && head -1 clock.json | grep -o '"clock_error_ns":"[0-9]*"')" '"clock_error_ns":"1500000"'
done
"$proftrace" merge -o without one.json three.json 2>err
equal "clocks of hosts: one that nothing is known of" "$(grep -c '^three.json.* by the realtime clocks, error unknown: ' err)" 1
host one 1700000000000000000 ',"instructions_compared":"true"' >one.json
host two 1700000000000000000 ',"instructions_compared":"true"' >two.json
host three 1700000000000000000 ',"instructions_compared":"false"' >three.json
"$proftrace" merge -q -o within one.json two.json
"$proftrace" merge -q -o differs one.json three.json
equal "kept instructions: what all traces say" "$(grep -c '"instructions_compared":"true"' within.json) $(grep -c instructions_compared differs.json)" "1 0"
equal "clocks of hosts: not in the metadata then" "$(grep -c clock_error without.json)" 0
finish
