#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A process in the same control group takes all memory, and the kernel kills the broker or the recorder for it. The
# recorded program goes on undisturbed, and the files load.
. "$(dirname "$0")/lib.sh"
need_tracing
rounds=40000
cgroup='' neighbour=''
trap '[ -z "$neighbour" ] || kill -KILL $neighbour
	[ -z "$cgroup" ] || { kill -KILL $(cat "$cgroup/cgroup.procs"); sleep 0.2; rmdir "$cgroup"; }
	rm -rf "$tmp"' EXIT
if [ "$(id -u)" -ne 0 ] || ! make_memory_group; then
	skip "killed for a neighbour's memory" "no control group can limit it here"
	cgroup=
	finish
fi
outside=$(dirname "$cgroup")/cgroup.procs
mkfifo "$tmp/in" "$tmp/go"
"$programs/checksum" 2 $rounds <&- >"$tmp/alone"

is_over() { # PROCESS: who reaps it is none of ours
	for _ in $(seq 1 400); do
		grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

# In the group are from now on one of the two, and the neighbour, which takes 64 megabytes where there are 8. The kernel
# kills whom it is told to kill first, then the neighbour.
kill_by_memory() { # VICTIM OTHER
	echo "$2" >"$outside"
	echo 1000 >"/proc/$1/oom_score_adj"
	head -c 64M /dev/zero 8>&- 9>&- | (
		exec 8>&- 9>&-
		echo 0 >"$cgroup/cgroup.procs" && read -r line <"$tmp/go" && exec tail >"$tmp/tail"
	) &
	neighbour=$!
	exec 8<>"$tmp/go"
	echo $(($(cat "$cgroup/$usage") + 8000000)) >"$cgroup/$limit"
	kills_before=$(said "$cgroup/$kills" oom_kill)
	echo go >&8
	is_over "$1"
	check "$attack: the kernel killed it" test "$(said "$cgroup/$kills" oom_kill)" -gt "$kills_before"
	exec 8>&-
}

attack() { # broker|recorder
	attack=$1
	echo 1000000000 >"$cgroup/$limit"
	rm -f "$tmp/k".* "$tmp/target" "$tmp/s"
	"$programs/checksum" 2 $rounds <"$tmp/in" >"$tmp/target" &
	target=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/target" ready
	rm -f "$tmp/err"
	(
		echo 0 >"$cgroup/cgroup.procs" && exec "$proftrace" -e none -p $target --dump-period 50ms -o "$tmp/k" \
			--summary-json "$tmp/s" 9>&-
	) 2>"$tmp/err" &
	recorder=$!
	wait_for "$tmp/err" 'proftrace: recording'
	broker=$(cat /proc/$recorder/task/$recorder/children)
	broker=${broker%% *}
	for _ in $(seq 1 400); do [ -s "$tmp/k.json" ] && [ -s "$tmp/k.pftrace" ] && break; sleep 0.05; done
	if [ $attack = broker ]; then kill_by_memory $broker $recorder; else kill_by_memory $recorder $broker; fi
	ends $recorder
	status=$?
	if [ $attack = broker ]; then
		equal "broker: the recorder says so, and ends" \
			"$status$(grep -c '^proftrace: .*broker' "$tmp/err")" 11
		never_else "broker: the account adds up" "$(field "$tmp/s" adds_up)" true
		equal "broker: the account says that it is not in order" "$(field "$tmp/s" orderly)" false
		check_agree "broker" "$tmp/k"
		for kind in json pftrace; do
			"$proftrace" report "$tmp/k.$kind" >"$tmp/table" 2>"$tmp/report"
			equal "broker: report reads the $kind" $? 0
			check "broker: it says what is missing of the $kind" grep -qE 'the end is missing|aborted|ended early' "$tmp/report"
		done
	else
		equal "recorder: killed" $status 137
		for kind in json pftrace; do check "recorder: the $kind loads" "$canon" "$tmp/k.$kind"; done
		check_cut "recorder" "$tmp/k.json" "$tmp/k.pftrace"
		is_over $broker || { kill -KILL $broker; false; }
		equal "recorder: the broker ends too" $? 0
	fi
	check "$attack: marks were recorded" test "$("$canon" --count "$tmp/k.json" 2>/dev/null | awk '$1 == "BEGIN" { n += $NF } END { print n }')" -gt 100
	ends $neighbour 2>/dev/null
	neighbour=
	wait_for "$tmp/target" sum
	exec 9>&-
	ends $target
	equal "$attack: the program ends well" $? 0
	never_else "$attack: its result is the same, its semaphores off, its code as before" \
		"$(said "$tmp/target" sum) $(said "$tmp/target" semaphore)$(said "$tmp/target" code)" "$(said "$tmp/alone" sum) 00"
	check_nothing_left "$attack"
}
attack broker
attack recorder
for _ in $(seq 1 100); do
	rmdir "$cgroup" 2>/dev/null && break
	sleep 0.05
done
check "no process is left in the group" test ! -d "$cgroup"
[ -d "$cgroup" ] || cgroup=
finish
