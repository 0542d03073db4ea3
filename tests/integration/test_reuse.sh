#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# PIDs are reused. The new process with the PID of a recorded one is another process, while recording and while
# attaching.
. "$(dirname "$0")/lib.sh"
need_tracing
sh -c : &
gone=$!
wait $gone
"$programs/again" $gone true 2>"$tmp/err"
if [ $? -ne 0 ]; then
	skip "numbers that are used again" "the kernel does not let us choose: $(cat "$tmp/err")"
	finish
fi

begin() { # NAME COMMAND...: with a standard input of its own, on descriptor 8 or 9
	rm -f "$tmp/$1.in" "$tmp/$1.out"
	mkfifo "$tmp/$1.in"
	in=$1
	shift
	"$@" <"$tmp/$in.in" >"$tmp/$in.out" 8>&- 9>&- &
	started=$!
}

named() { # FILE NAME: how many slices and instants
	"$canon" --count "$1" | awk -v name="$2" \
		'{ n = $NF; $NF = ""; sub(/ $/, ""); sub(/^[A-Z_]+ /, ""); if ($0 == name) sum += n } END { print sum + 0 }'
}

# While it is recorded, beside another that goes on. Both execute the same file: its probes stay.
begin keeper "$programs/storm" 1 1000
keeper=$started
exec 9>"$tmp/keeper.in"
wait_for "$tmp/keeper.out" ready
rm -f "$tmp/err"
begin old "$programs/waits" 1000
old=$started
exec 8>"$tmp/old.in"
wait_for "$tmp/old.out" ready
rm -f "$tmp/err"
"$proftrace" -p $keeper,$old -o "$tmp/t" --summary-json "$tmp/s" 8>&- 9>&- 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
echo >&8
wait_for "$tmp/old.out" marked
kill -KILL $old
wait $old 2>/dev/null
begin new "$programs/again" $old "$programs/waits" 500
again=$started
exec 8>"$tmp/new.in"
wait_for "$tmp/new.out" ready
equal "while recorded: another process has the number" "$(said "$tmp/new.out" ready)" "$old"
echo >&8
wait_for "$tmp/new.out" marked
echo >&8
wait $again
kill -INT $recorder
wait $recorder
equal "while recorded: exit status" $? 0
equal "while recorded: the old one's marks, and not the new one's" "$(named "$tmp/t.pftrace" work)" 1000
equal "while recorded: the account adds up" "$(field "$tmp/s" adds_up)" true
check_agree "while recorded" "$tmp/t"

# Alone: with it the recording ends, though the number lives on.
begin old "$programs/waits" 1000
old=$started
exec 8>"$tmp/old.in"
wait_for "$tmp/old.out" ready
rm -f "$tmp/err"
timeout -s KILL 30 "$proftrace" -p $old -o "$tmp/a" --summary-json "$tmp/s" 8>&- 9>&- 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
kill -KILL $old
wait $old 2>/dev/null
begin new "$programs/again" $old "$programs/waits" 500
again=$started
exec 8>"$tmp/new.in"
wait $recorder
equal "alone: the recording ends with its process" $? 0
equal "alone: no mark of the new one" "$(field "$tmp/s" marked)" 0
wait_for "$tmp/new.out" ready
# The recorder does not wait for the end of the detaching.
check_nothing_left "alone"
echo >&8
echo >&8
wait $again
equal "alone: the new one's semaphore is off" "$(said "$tmp/new.out" semaphore)" 0

# While it is attached to, for certain: the old one has so many files mapped that there is time to stop the
# recorder in the midst of them, when its markers are attached to and it is not yet recorded. What comes
# then with its number executes the same file, or another one.
between=0 odd=0
for next in "$programs/hostile maps $programs/storm" "$programs/storm 1 500"; do
	held=no
	for _ in 1 2 3 4 5; do
		begin old "$programs/hostile" maps /dev/null 6000
		old=$started
		exec 8>"$tmp/old.in"
		wait_for "$tmp/old.out" ready
		rm -f "$tmp/err" "$tmp/r".* "$tmp/s"
		"$proftrace" -v -p $old -d 200ms -o "$tmp/r" --summary-json "$tmp/s" 8>&- 9>&- 2>"$tmp/err" &
		recorder=$!
		wait_for "$tmp/err" "proftrace: attached to"
		kill -STOP $recorder
		kill -KILL $old
		wait $old 2>/dev/null
		begin new "$programs/again" $old $next
		again=$started
		exec 8>"$tmp/new.in"
		wait_for "$tmp/new.out" ready
		grep -q "^proftrace: recording" "$tmp/err" || held=yes
		kill -CONT $recorder
		wait $recorder
		status=$?
		exec 8>&-
		wait $again
		[ $held = no ] || break
	done
	[ $held = yes ] && between=$((between + 1))
	[ $status -eq 1 ] && grep -qiE '^proftrace: .*(ended|no such process)' "$tmp/err" || odd=$((odd + 1))
	[ ! -s "$tmp/s" ] || [ "$(field "$tmp/s" marked)" = 0 ] || odd=$((odd + 1))
	[ "$(said "$tmp/new.out" ready)" = "$old" ] || odd=$((odd + 1))
	echo "# held: $held; $(tail -1 "$tmp/err")"
done
equal "between finding and recording it: it was held there" $between 2
equal "between finding and recording it: the old one has ended, and the new one is not recorded" $odd 0
equal "between finding and recording it: the new one's semaphore is off" "$(said "$tmp/new.out" semaphore)" 0

# While it is attached to, at some moment or other: it is either the one or the other, and never both. The
# new one has the old one's file mapped, too.
both=0 odd=0 olds=0 news=0 none=0
for round in 1 2 3 4 5 6; do
	begin old "$programs/storm" 1 500
	old=$started
	exec 8>"$tmp/old.in"
	wait_for "$tmp/old.out" ready
	rm -f "$tmp/r".*
	rm -f "$tmp/err"
	timeout -s KILL 30 "$proftrace" -q -p $old -d 200ms -o "$tmp/r" --summary-json "$tmp/s" 8>&- 9>&- \
		2>"$tmp/err" &
	recorder=$!
	sleep "0.$(((round * 7919 + $$ * 31) % 600 + 100))"
	kill -KILL $old
	wait $old 2>/dev/null
	begin new "$programs/again" $old "$programs/hostile" maps "$programs/storm"
	again=$started
	exec 8>"$tmp/new.in"
	wait_for "$tmp/new.out" ready
	wait $recorder
	status=$?
	if [ $status -eq 0 ]; then
		a=$(named "$tmp/r.pftrace" outer) b=$(named "$tmp/r.pftrace" tick)
		[ "$a" -gt 0 ] && [ "$b" -gt 0 ] && both=$((both + 1))
		[ "$a" -gt 0 ] && olds=$((olds + 1))
		[ "$b" -gt 0 ] && news=$((news + 1))
		[ "$(field "$tmp/s" adds_up)" = true ] || odd=$((odd + 1))
	elif [ $status -eq 1 ] && grep -qE 'ended|no such process' "$tmp/err"; then
		none=$((none + 1))
	else
		odd=$((odd + 1))
		echo "# round $round: status $status: $(cat "$tmp/err")"
	fi
	exec 8>&-
	wait $again
done
echo "# attached to the old one $olds times, to the new one $news times; $none times it had ended"
equal "while attached to: never both" $both 0
equal "while attached to: each time in order" $odd 0
exec 9>&-
wait $keeper
equal "the other's semaphore is off" "$(said "$tmp/keeper.out" semaphore)" 0
check_nothing_left "numbers that are used again"
finish
