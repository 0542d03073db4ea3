#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --sched: the thread states of slices agree with what the program measures.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

# Of each slice: name, tid, begin and end in ns, cpu_ns, and running, runnable, blocked, unknown ns.
slices() { # JSON
	sed -n 's/^{"name":"\([a-z]*\)".*"ph":"B","ts":\([0-9]*\)\.\([0-9]*\),"pid":[0-9]*,"tid":\([0-9]*\).*/B \4 \2\3 \1/p
		s/^{"ph":"E","ts":\([0-9]*\)\.\([0-9]*\),"pid":[0-9]*,"tid":\([0-9]*\),"args":{\(.*\)}}.*/E \3 \1\2 \4/p' "$1" |
		awk '
			function value(key,   at) {
				at = index($4, "\"" key "\":")
				return at ? substr($4, at + length(key) + 3) + 0 : 0
			}
			$1 == "B" { depth[$2]++; name[$2, depth[$2]] = $4; begin[$2, depth[$2]] = $3 }
			$1 == "E" && depth[$2] {
				printf "%s %s %s %s %.0f %.0f %.0f %.0f %.0f\n", name[$2, depth[$2]], $2,
					begin[$2, depth[$2]], $3, value("cpu_ns"), value("running_ns"),
					value("runnable_ns"), value("blocked_ns"), value("unknown_ns")
				depth[$2]--
			}'
}

# Each kind of slice at least once as it is meant, within 5 %: 10 ms of running, of sleep, of waiting for
# the lock; and as long running as the thread's own clock says, while another wants the CPU.
exact() {
	awk '
		function near(ns, wanted) { return ns > wanted * 0.95 && ns < wanted * 1.05 }
		$1 == "spin" && near($6, 1e7) { spin = 1 }
		$1 == "sleep" && near($8, 1e7) { sleep = 1 }
		$1 == "lock" && near($8, 1e7) { lock = 1 }
		$1 == "preempted" && near($6, $5) && near($6 + $7, $4 - $3) { preempted = 1 }
		END { print spin, sleep, lock, preempted; exit !(spin && sleep && lock && preempted) }' slices
}

# Once more where the machine is so busy that nobody got the CPU when it was time.
for try in 1 2 3 4 5; do
	timeout 60 "$proftrace" -q --sched -e none -o states --summary-json states.account -- "$programs/states" 3 >states.said
	status=$?
	slices states.json >slices
	exact >exact.said && break
	echo "# try $try: spin, sleep, lock, preempted are exact: $(cat exact.said)"
done
equal "exit status" $status 0
check "states are what they are known to be, within 5 %" exact
check_account "states" states.account
# Some kernels tell nothing of what the first process of the machine does: then a few are missing.
lost=$(field states.account sched_lost)
echo "# $lost switches were not told"
equal "every mark is there" "$(field states.account written)" "$(said states.said marks)"
check_agree "states" states
"$canon" --sched states.pftrace >switches
main=$(said states.said main)
holder=$(said states.said holder)
competitor=$(said states.said competitor)

equal "twelve slices say what their thread did" "$(wc -l <slices)" 12
equal "running + runnable + blocked = duration, to the nanosecond" \
	"$(awk '$6 + $7 + $8 + $9 != $4 - $3' slices | wc -l)" 0
equal "nothing is unknown, unless it was not told" "$([ "$lost" -ne 0 ] || awk '$9' slices)" ""
# On a busy machine whoever wants a CPU may have to wait; it runs as long as it says it did.
# A machine that is itself a guest may be stopped at any time, of which only one of the two clocks knows.
check "running is the thread's CPU time, within 5 % and 0.1 ms, in ten of twelve" awk '
	{ d = $6 - $5; d = d < 0 ? -d - $9 : d; if (d > $6 * 0.05 + 100000) { print; bad++ } }
	END { exit bad > 2 || !NR }' slices
check "spinning: never blocked" awk '
	$1 == "spin" && $8 > 500000 { print; bad = 1 }
	END { exit bad }' slices
check "sleeping: blocked for what it slept, at least" awk '
	$1 == "sleep" && $8 + $9 < 9500000 { print; bad = 1 }
	END { exit bad }' slices
check "sleeping: no longer, once at least" awk '
	$1 == "sleep" && $8 < 11000000 { found = 1 }
	END { exit !found }' slices
# Its holder may come late, too.
check "waiting for a lock: blocked as long as it is held, once at least" awk '
	$1 == "lock" && $8 > 9500000 && $6 + $7 < $8 { found = 1 }
	END { exit !found }' slices
check "preempted: waits for the CPU, and is not blocked" awk '
	$1 == "preempted" { if ($7 > 5000000) found = 1; if ($8 > 500000) { print; bad = 1 } }
	END { exit bad || !found }' slices

# What the switches and wakings themselves say. Times in JSON are relative to a base.
base=$(sed -n 's/.*"base_ns":\([0-9]*\).*/\1/p' states.json | head -1)
awk -v base="$base" '{ printf "slice %s %.0f %.0f\n", $1, $3 + base, $4 + base }' slices | cat - switches >both
check "preempted: by the competitor" awk -v main="$main" -v other="$competitor" '
	$1 == "slice" && $2 == "preempted" { from[++n] = $3; to[n] = $4 }
	$1 == "switch" && $4 == main && $6 == other && ($5 == 0 || $5 == 256) {
		for (i = 1; i <= n; i++) found += $2 > from[i] && $2 < to[i]
	}
	END { exit !found }' both
check "waiting for a lock: woken by its holder, every time" awk -v main="$main" -v holder="$holder" '
	$1 == "slice" && $2 == "lock" { from[++n] = $3; to[n] = $4 }
	$1 == "waking" && $4 == main {
		for (i = 1; i <= n; i++) if ($2 > from[i] && $2 < to[i]) last[i] = $5
	}
	END { for (i = 1; i <= n; i++) if (last[i] != holder) { print i, last[i]; bad = 1 }; exit bad || !n }' both
check "sleeping: woken by a timer, which is no thread" awk -v main="$main" -v holder="$holder" '
	$1 == "slice" && $2 == "sleep" { from[++n] = $3; to[n] = $4 }
	$1 == "waking" && $4 == main && $5 == 0 && $7 != "interrupt" { bad = 1 }
	END { exit bad || !n }' both

# The kernel counts switches of each thread as well.
sed -n 's/.*"name":"usage".*"ts":\([0-9]*\)\.\([0-9]*\),"pid":[0-9]*,"tid":\([0-9]*\).*/\3 \1\2/p' states.json |
	awk -v base="$base" '{ printf "usage %s %.0f\n", $1, $2 + base }' | cat - switches >usages
check "switches of each thread: as many as getrusage() counts" awk '
	FILENAME == "states.said" {
		if ($1 == "from") { a[$2] = $3; b[$2] = $4; c[$2] = $5; d[$2] = $6 }
		if ($1 == "until") {
			least_v[$2] = $3 - c[$2]; most_v[$2] = $5 - a[$2]
			least_i[$2] = $4 - d[$2]; most_i[$2] = $6 - b[$2]
		}
		next
	}
	$1 == "usage" { if ($2 in from) to[$2] = $3; else from[$2] = $3 }
	$1 == "switch" && ($4 in from) && $2 > from[$4] && $2 < to[$4] {
		if ($5 == 0 || $5 == 256) i[$4]++; else v[$4]++
	}
	END {
		for (t in from) {
			n++
			printf "%d: %d of %d to %d voluntary, %d of %d to %d involuntary\n", t, v[t],
				least_v[t], most_v[t], i[t], least_i[t], most_i[t]
			if (v[t] < least_v[t] || v[t] > most_v[t] || i[t] < least_i[t] || i[t] > most_i[t]) bad = 1
		}
		exit bad || n != 3
	}' states.said usages
sed 's/^/# /' check.out

# Each CPU is somebody's all the time: who leaves it is who came.
check "the tracks of the CPUs have no holes" awk '
	$1 == "gap" { delete has[$3] }
	$1 == "switch" { if ($3 in has && has[$3] != $4) { print; bad = 1 }; has[$3] = $6; n++ }
	END { exit bad || !n }' switches
check "others have names" awk -v main="$main" '
	$1 == "switch" && $6 && $6 != main && $7 != "" { n++ } END { exit !n }' switches
check_nothing_left "states"

# JSON has no switches but states of threads, which tell as much.
sorted() { # FILE
	"$canon" --sched "$1" | sed '/^switch/s/^\(\([^ ]* \)\{5\}[^ ]*\).*/\1/' | sort
}
sorted states.pftrace >pftrace.sorted
sorted states.json >json.sorted
# A waking that found its thread awake ends no state.
check "Perfetto and JSON tell of the same switches" awk '
	FILENAME == "json.sorted" { json[$0] = 1; next }
	!($0 in json) && $1 == "switch" { print "only in Perfetto:", $0; bad = 1 }
	{ delete json[$0] }
	END { for (line in json) { print "only in JSON:", line; bad = 1 }; exit bad }' \
	json.sorted pftrace.sorted
grep -c '"ph":"T"' states.json | sed 's/^/# states in JSON: /'
"$proftrace" convert -q -o back.pftrace states.json
"$proftrace" convert -q -o again.json states.pftrace
# Losses that follow each other, with nothing known in between, become one.
sorted back.pftrace | grep -v ^gap >back.sorted
grep -v ^gap json.sorted | cmp -s - back.sorted
equal "JSON to Perfetto: nothing is lost" $? 0
sorted again.json >again.sorted
check "Perfetto to JSON: as it was recorded" diff again.sorted json.sorted

# The report: what threads did adds up to Total, whichever file it comes from.
for file in states.pftrace states.json back.pftrace; do
	"$proftrace" report --format csv "$file" >table
	check "report of $file: on-cpu, runnable and blocked add up to total" awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == "slice" {
			n++
			rest = $at["total"] - $at["on-cpu"] - $at["runnable"] - $at["blocked"]
			if ("unknown" in at) rest -= $at["unknown"]
			if (rest != 0) { print; bad = 1 }
		}
		END { exit bad || n != 4 || !("on-cpu" in at) }' table
done
check "report: a table with On-CPU" sh -c "'$proftrace' report states.pftrace | grep -q 'On-CPU *Runnable *Blocked'"
"$proftrace" report --format json states.json >table.json
check "report: JSON has running_ns" grep -q '"running_ns": [1-9]' table.json

# Two files that tell of the same CPUs tell of them once.
"$proftrace" merge -o both.pftrace states.pftrace back.pftrace 2>err
check "merge: says what is left out" grep -q "context switches and wakeups of several files: written once" err
equal "merge: CPUs are not told twice" "$("$canon" --sched both.pftrace | awk '$1 == "switch"' | wc -l)" \
	"$(awk '$1 == "switch"' switches | wc -l)"

"$proftrace" -q --sched --stats-only -- true 2>err
equal "--sched with --stats-only: exit status" $? 2
check "--sched with --stats-only: says why not" grep -q "stats-only cannot be combined with --sched" err
"$proftrace" check >checked 2>&1
check "check: says whether it can" grep -q "^states of threads (--sched) *yes" checked
finish
