#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Whichever process dies at whatever moment in whatever mode, the target computes the same, its semaphores go off,
# and nothing stays behind.
#
# CYCLES=200 SEED=n tests/integration/test_chaos.sh runs longer, or repeats a run.
. "$(dirname "$0")/lib.sh"
need_tracing
cycles=${CYCLES:-12}
seed=${SEED:-$$}
rounds=${CHAOS_ROUNDS:-30000}

random() { # N: sets $r to 0..N-1
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	r=$((seed / 65536 % $1))
}

# A few milliseconds up to what the program takes: when something happens is what is to be random.
a_while() { # MILLISECONDS
	random "$1"
	sleep "0.$(printf %03d "$r")"
}

# What this kernel does not have is recorded plainly.
can() { # OPTION...
	"$proftrace" -q -o "$tmp/try" "$@" -- "$programs/checksum" 0 0 </dev/null >"$tmp/tried" 2>&1 && return
	echo "# not here: $*: $(grep '^proftrace:' "$tmp/tried")"
	return 1
}
functions= samples=
can -f leaf --sched && functions="-f leaf --sched"
can --sample 1000 --stack '*' --sched && samples="--sample 1000 --stack * --sched"

# Ways to record, each with what its name says; those without files (-o) leave a summary if they end in order.
choose_mode() { # BASE: sets $mode, and $options for what is to be called BASE
	random 6
	options="-o $1 --dump-period 50ms"
	case $r in
	0) mode=plain ;;
	1) mode=batch options="$options --mode batch-now" ;;
	2) mode=functions options="$options $functions" ;;
	3) mode=samples options="$options $samples" ;;
	4) mode=flight options="-o $1 --flight-recorder 1s --trigger instant:never --summary-json $1.summary" ;;
	5) mode=stats options="--stats-only --summary-json $1.summary" ;;
	esac
}

record() { # TARGET OPTION...
	set -f # "*" is for the recorder
	exec "$proftrace" -p $* 8>&- 9>&-
}

# A broker is there a moment longer than its recorder, and takes the probes along when it goes. Of one that is
# ending nobody can tell whose it is.
broker_is_left() {
	for pid in $(pgrep -x proftrace-broke); do
		grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && continue
		tr '\0' '\n' 2>/dev/null >"$tmp/environ" <"/proc/$pid/environ" || continue
		[ -s "$tmp/environ" ] && ! grep -qxF "PROFTRACE_TEST=$tmp" "$tmp/environ" && continue
		return 0
	done
	return 1
}

wait_for_brokers() {
	for _ in $(seq 1 1000); do
		broker_is_left || return 0
		sleep 0.01
	done
	echo "# a broker does not end"
}

"$programs/checksum" 2 "$rounds" </dev/null >"$tmp/untraced"
wanted_plain=$(said "$tmp/untraced" sum)
cp "$programs/plugin.so" "$tmp/library.so"
"$programs/checksum" 2 $((rounds / 6)) "$tmp/library.so" </dev/null >"$tmp/untraced"
wanted_hard=$(said "$tmp/untraced" sum)
check "there are results" test -n "$wanted_plain" -a -n "$wanted_hard" -a "$wanted_plain" != "$wanted_hard"
echo "# SEED=$seed"
# What the kernel says where it gives up (proftrace(7)).
leaks() {
	dmesg 2>/dev/null | grep -c 'leaking uprobe'
}
leaks_before=$(leaks)

mkfifo "$tmp/witness.in"
wrong=0 stuck=0 lost_files=0 refused=0 marked=0
least=$((cycles > 10 ? cycles / 10 : 1))
# On a busy machine most recorders may end before they have begun: then there are more cycles.
for cycle in $(seq 1 $((2 * cycles))); do
	[ "$cycle" -gt "$cycles" ] && [ "$marked" -ge "$least" ] && break
	mkfifo "$tmp/in"
	# Every other one also opens and closes a library, forks in a storm and executes itself.
	random 2
	hard=$r wanted=$wanted_plain
	[ "$hard" -eq 1 ] && wanted=$wanted_hard
	# What is waited for below is to be said in this cycle.
	rm -f "$tmp/target" "$tmp/out" "$tmp/err"
	cp "$programs/checksum" "$tmp/target"
	if [ "$hard" -eq 1 ]; then
		"$tmp/target" 2 $((rounds / 6)) "$tmp/library.so" <"$tmp/in" >"$tmp/out" &
	else
		rm -f "$tmp/out"
		"$tmp/target" 2 "$rounds" <"$tmp/in" >"$tmp/out" &
	fi
	target=$!
	exec 9>"$tmp/in"
	rm "$tmp/in"
	wait_for "$tmp/out" ready
	# Another process has the same file mapped, with switches of its own, and outlives whoever dies.
	rm -f "$tmp/witness.out"
	"$tmp/target" 0 0 <"$tmp/witness.in" >"$tmp/witness.out" 9>&- &
	witness=$!
	exec 8>"$tmp/witness.in"
	wait_for "$tmp/witness.out" sum
	a_while 50
	choose_mode "$tmp/t$cycle"
	rm -f "$tmp/err"
	record $target "$options" >"$tmp/table" 2>"$tmp/err" &
	recorder=$!
	modes=$mode
	random 3
	second=
	if [ "$r" -eq 0 ]; then
		choose_mode "$tmp/u"
		record $target "$options" -q >"$tmp/table2" 2>/dev/null &
		second=$!
		modes="$modes and $mode"
	fi
	random 8
	action=$r killed=
	# The kernel does not forgive that a process is killed in the midst of attaching. What opens libraries is
	# attached to at any moment: there the broker is left alone.
	[ "$hard" -eq 1 ] && [ "$action" -eq 2 -o "$action" -eq 6 ] && action=3
	what="cycle $cycle: $modes, action $action, hard $hard"
	echo "# $what"
	# Half of the time the recorder shall have begun, and half of the time perhaps not; always where the
	# broker dies.
	random 2
	case $r$action in
	0? | ?2 | ?6) wait_for "$tmp/err" "proftrace: recording" ;;
	esac
	a_while 200
	# Its files are replaced by others, which hold the same.
	random 3
	if [ "$r" -eq 0 ]; then
		cp "$programs/checksum" "$tmp/new" && mv "$tmp/new" "$tmp/target"
		cp "$programs/plugin.so" "$tmp/new" && mv "$tmp/new" "$tmp/library.so"
		a_while 50
	fi
	case $action in
	0) kill -KILL $recorder 2>/dev/null ;;
	1) kill -INT $recorder 2>/dev/null ;;
	2) pkill -KILL -P $recorder 2>/dev/null ;; # its broker
	3) kill -STOP $recorder 2>/dev/null; a_while 100; kill -KILL $recorder 2>/dev/null ;;
	4) killed=1; kill -KILL $target 2>/dev/null ;;
	5) kill -TERM $recorder 2>/dev/null; a_while 100; kill -KILL $recorder 2>/dev/null ;;
	6) pkill -KILL -P $recorder 2>/dev/null; kill -KILL $recorder 2>/dev/null ;;
	7) killed=1; kill -KILL $recorder $target 2>/dev/null ;;
	esac
	if [ -z "$killed" ]; then
		wait_for "$tmp/out" sum || stuck=$((stuck + 1))
	fi
	[ -z "$killed" ] && kill -TERM $recorder 2>/dev/null
	wait $recorder 2>/dev/null
	if [ -n "$second" ]; then
		kill -TERM $second 2>/dev/null
		wait $second 2>/dev/null
	fi
	wait_for_brokers
	exec 8>&- 9>&-
	wait $target 2>/dev/null
	wait $witness
	if [ "$(said "$tmp/witness.out" semaphore)$(said "$tmp/witness.out" code)" != 00 ]; then
		wrong=$((wrong + 1))
		echo "# $what: another process: $(tr '\n' ' ' <"$tmp/witness.out")"
	fi
	rm "$tmp/witness.out"
	if [ -z "$killed" ] && [ "$(said "$tmp/out" sum) $(said "$tmp/out" semaphore)$(said "$tmp/out" code)" != "$wanted 00" ]; then
		wrong=$((wrong + 1))
		echo "# $what: $(tr '\n' ' ' <"$tmp/out")"
	fi
	# A file that has its name can be opened, however its recorder ended.
	for file in "$tmp/t$cycle.json" "$tmp/t$cycle.pftrace"; do
		[ -e "$file" ] || continue
		"$proftrace" report -q "$file" >/dev/null 2>"$tmp/report.err" || {
			lost_files=$((lost_files + 1))
			echo "# $what: $(cat "$tmp/report.err")"
		}
	done
	case $modes in
	flight* | stats*)
		[ -s "$tmp/t$cycle.summary" ] || refused=$((refused + 1))
		[ "$(field "$tmp/t$cycle.summary" marked 2>/dev/null)" -gt 0 ] 2>/dev/null && marked=$((marked + 1))
		;;
	*)
		[ -e "$tmp/t$cycle.json" ] || refused=$((refused + 1))
		! grep -q '"name":"round"' "$tmp/t$cycle.json" 2>/dev/null || marked=$((marked + 1))
		;;
	esac
	rm -f "$tmp/t$cycle".* "$tmp/.t$cycle"* "$tmp/u".* "$tmp"/.u*
done
never_else "the same result in each cycle, switches off and code as before" "$wrong" 0
never_else "no target got stuck" "$stuck" 0
never_else "every file can be read" "$lost_files" 0
echo "# without a file or summary: $refused; with marks in it: $marked"
check "recordings came to have files or summaries, and marks in them" test "$marked" -ge "$least"
if dmesg >/dev/null 2>&1; then
	never_else "the kernel gave up no probe" "$(leaks)" "$leaks_before"
else
	skip "the kernel gave up no probe" "its messages cannot be read here"
fi
finish
