#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program that is recorded holds the lock of its memory when it opens a library: the kernel lets nobody read what it has mapped. The
# recorder waited in the kernel: what other programs marked meanwhile was lost, and nothing ended it.
. "$(dirname "$0")/lib.sh"
need_tracing
command -v strace >"$tmp/found" || { skip "locked list" "needs strace"; finish; }
mkfifo "$tmp/in" "$tmp/victims_in"

begin() { # NAME OPTION...: two programs are recorded, and no thread gets the list of the first one for a minute
	case=$1
	shift
	"$programs/scripted" <"$tmp/in" >"$tmp/program" 2>&1 &
	program=$!
	exec 8>"$tmp/in"
	"$programs/storm" 1 2000 <"$tmp/victims_in" >"$tmp/victim" 2>&1 8>&- &
	victim=$!
	exec 9>"$tmp/victims_in"
	wait_for "$tmp/victim" ready
	"$proftrace" -v --strict -e none "$@" -p "$program,$victim" -o "$tmp/$case.json" --summary-json "$tmp/$case.s" \
		>"$tmp/$case.out" 2>&1 8>&- 9>&- &
	recorder=$!
	wait_for "$tmp/$case.out" 'proftrace: recording'
	strace -f -p $recorder -o "$tmp/$case.trace" -P "/proc/$program/maps" -e trace=pread64,ioctl \
		-e inject=pread64,ioctl:delay_enter=60000000 2>"$tmp/$case.strace" 8>&- 9>&- &
	tracer=$!
	wait_for "$tmp/$case.strace" 'strace: Process .* attached'
}

# Then the other program is what the recorder has to do with.
goes_on() {
	check "$case: the program is held for a moment only" wait_for "$tmp/program" "done $1"
	check "$case: the recorder answers" timeout 5 "$proftrace" ctl status -p $recorder
	check "$case: it is said" wait_for "$tmp/$case.out" "proftrace: what process $program has mapped cannot be read for now"
}

ends() {
	began=$(date +%s)
	kill -INT $recorder
	check "$case: it can be ended" wait_for "$tmp/$case.out" '.* marks: .* written'
	check "$case: in time ($(($(date +%s) - began)) s)" test $(($(date +%s) - began)) -le 5
	# Interrupted, strace may wait for a thread that it delays and that ends; nobody reaps the recorder then.
	kill -KILL $tracer 2>"$tmp/kill"
	wait $recorder
	equal "$case: that something is missing is an error with --strict" $? 3
	exec 8>&- 9>&-
	wait
	equal "$case: the account adds up" "$(field "$tmp/$case.s" adds_up)" true
	equal "$case: nothing that the other program marked is lost" "$(field "$tmp/$case.s" lost_total)" 0
	# On a busy machine a thread may also have been held for too long.
	check "$case: it is counted" test "$(field "$tmp/$case.s" attached_late)" -ge 1
	equal "$case: said once" "$(grep -c 'cannot be read for now' "$tmp/$case.out")" 1
}

# --- it lets go of it: what it has mapped is attached to then -------------------------------------------------------------------
begin "a while"
echo "load $programs/plugin.so" >&8
goes_on 1
kill -INT $tracer
wait_for "$tmp/$case.out" "proftrace: attached to .*plugin.so'"
# It unloads the library as it ends.
exec 8>&-
wait $program
ends
check "a while: what it marks then is recorded" grep -q '"destructor"' "$tmp/a while.json"

# --- it never does --------------------------------------------------------------------------------------------------------------
begin "for ever" --sample 97
for i in 1 2 3 4 5; do
	cp "$programs/plugin.so" "$tmp/$i.so"
	echo "load $tmp/$i.so" >&8
done
goes_on 5
threads=$(find "/proc/$recorder/task" -mindepth 1 -maxdepth 1 | wc -l)
check "for ever: one thread at most waits ($threads)" test "$threads" -le 5
ends
finish
