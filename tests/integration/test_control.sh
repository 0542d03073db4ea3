#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recording is controlled while it runs: by the program itself, by ctl, by signals.
. "$(dirname "$0")/lib.sh"
need_tracing
mkdir -m 700 "$tmp/run"
export XDG_RUNTIME_DIR=$tmp/run
sockets() { ls "$tmp/run/proftrace" 2>/dev/null | wc -l; }

# The program itself. It ends the recording, too, long before it ends; its exit status is ours.
"$proftrace" -q --strict -e none -o "$tmp/p" --summary-json "$tmp/s" -- "$programs/paused" 3 300 >"$tmp/out" 2>"$tmp/err"
equal "pause: the command's exit status, with --strict" "$?$(cat "$tmp/err")" 7
equal "pause: written is what was to be recorded" "$(field "$tmp/s" written)" "$(said "$tmp/out" recorded)"
after=$(($(field "$tmp/s" marked) - $(said "$tmp/out" marks)))
check "pause: every mark is counted" test $after -ge 0 -a $after -le "$(said "$tmp/out" after)"
equal "pause: the rest is what was paused" "$(field "$tmp/s" paused)" \
	"$(($(said "$tmp/out" marks) - $(said "$tmp/out" recorded) + after))"
check_account "pause" "$tmp/s"
check_agree "pause" "$tmp/p"
check "pause: what was to be recorded is in the trace" grep -q '"name":"seen inside"' "$tmp/p.json"
equal "pause: nothing else is" "$(grep -c hidden "$tmp/p.json")" 0
equal "pause: its instants" "$(grep -c '"ph":"i"' "$tmp/p.json")" "$(said "$tmp/out" instants)"
equal "pause: no slice is left open" "$(field "$tmp/s" open_at_end)" 0
equal "pause: no END was without its BEGIN" "$(field "$tmp/s" async_unmatched)$(field "$tmp/s" frees_unknown)" 00
# From outside. The program marks all the while, and counts what it marked.
start() { # NAME OPTIONS...: a program and its recorder, in $target and $recorder
	name=$1
	shift
	mkfifo "$tmp/$name.in"
	rm -f "$tmp/$name.out"
	"$programs/storm" 2 1000 <"$tmp/$name.in" >"$tmp/$name.out" &
	target=$!
	exec 9>"$tmp/$name.in"
	wait_for "$tmp/$name.out" ready
	"$proftrace" -q -e none -p $target -o "$tmp/$name" --dump-period 1h --summary-json "$tmp/$name.s" "$@" \
		2>"$tmp/$name.err" 9>&- &
	recorder=$!
	until [ "0$(written)" -gt 100 ] || ! kill -0 $recorder; do sleep 0.05; done
}
written() { "$proftrace" ctl status -p $target 2>/dev/null | sed -n 's/.*marks: \([0-9]*\) written.*/\1/p'; }
size() { stat -c %s "$tmp/one.json" 2>/dev/null || echo 0; }

start one
# Somebody else's recordings may run on this machine, and root sees them.
others() { "$proftrace" ctl status 2>/dev/null | grep '^recorder' | grep -vc "process $target$"; }
if [ "$(others)" -eq 0 ]; then
	"$proftrace" ctl status >"$tmp/status"
	check "ctl: the only recording is found" grep -q "process $target" "$tmp/status"
else
	skip "ctl: the only recording is found" "others are running on this machine"
fi
check "ctl: it is found by the recorder's number" "$proftrace" ctl status -p $recorder
equal "ctl: the socket is its user's alone" \
	"$(stat -c %a "$tmp/run/proftrace" "$tmp/run/proftrace/$recorder.control" | xargs)" "700 600"
"$proftrace" ctl pause -p $target >"$tmp/said"
equal "ctl pause: it answers" "$?$(cut -c1-7 "$tmp/said")" 0paused:
"$proftrace" ctl dump -p $target >"$tmp/said"
equal "ctl dump: it answers" "$?$(head -1 "$tmp/said" | cut -c1-8)" 0written:
before=$(written)
full=$(size)
check "ctl dump: the files can be loaded" "$canon" "$tmp/one.json"
check "ctl pause: it is said" sh -c "'$proftrace' ctl status -p $target | grep -q paused,"
paused() { "$proftrace" ctl status -p $target | sed -n 's/.*lost, \([0-9]*\) while paused.*/\1/p'; }
until [ "$(paused)" -gt 1000 ]; do sleep 0.02; done
equal "ctl pause: nothing is written any more" "$(written)" "$before"
"$proftrace" ctl resume -p $target >/dev/null
until [ "$(written)" -gt "$before" ]; do sleep 0.02; done
ok "ctl resume: marks are written again"
kill -USR2 $recorder
until [ "$(size)" -gt "$full" ] || ! kill -0 $recorder; do sleep 0.02; done
check "SIGUSR2 dumps" test "$(size)" -gt "$full"

# Who else asks.
if setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 711 "$tmp/run"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$proftrace" ctl stop -p $target >"$tmp/said" 2>&1
	equal "ctl: somebody else does not reach it" "$?$(grep -c 'no recording' "$tmp/said")" 11
	# Nor if somebody opened the way there: it looks at who it is.
	socket=$tmp/run/proftrace/$recorder.control
	cp "$programs/clients" "$tmp/clients"
	chmod 711 "$tmp/run/proftrace" && chmod 666 "$socket"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/clients" "$socket" ask stop >"$tmp/said" 2>&1
	equal "ctl: somebody else gets no answer" "$(cat "$tmp/said")" "answered 0"
	chmod 600 "$socket" && chmod 700 "$tmp/run/proftrace" "$tmp/run"
	check "ctl: its user gets one" sh -c "'$tmp/clients' '$socket' ask status | grep -q 'answered [1-9]'"

	# What other users put in a recorder's place: root believes its own, then each user of his processes.
	first=$((700000000 + $$ % 1000000 * 10))
	trap 'kill $fakes $theirs 2>/dev/null; rm -rf "$tmp" /tmp/proftrace-${first%?}[0-9]' EXIT
	fakes=
	as() { # NTH COMMAND...
		nth=$((first + $1))
		shift
		exec setpriv --reuid $nth --regid $nth --clear-groups "$@"
	}
	fake() { # NTH N PROCESS
		install -d -m 700 -o $((first + $1)) "/tmp/proftrace-$((first + $1))"
		rm -f "$tmp/fake.$1"
		(as "$1" "$tmp/clients" "/tmp/proftrace-$((first + $1))" fakes "$2" "$3") >"$tmp/fake.$1" 9>&- &
		fakes="$fakes $!"
		wait_for "$tmp/fake.$1" ready
	}
	(as 5 sleep 1000) 9>&- &
	theirs=$!
	until [ "$(stat -c %u /proc/$theirs)" -eq $((first + 5)) ]; do sleep 0.02; done
	fake 1 64 $target
	fake 2 64 $target
	fake 3 64 $$
	fake 4 64 $theirs
	fake 5 1 $theirs
	for action in pause resume; do
		"$proftrace" ctl $action -p $target >"$tmp/said" 2>&1
		equal "ctl: no other user's recorder is asked where ours says yes ($action)" \
			"$?$(cut -c1-5 "$tmp/said" | xargs)" "0$(echo $action | cut -c1-5)"
	done
	"$proftrace" ctl stop -p $$ >"$tmp/said" 2>&1
	equal "ctl: nobody is believed of another user's process" "$?$(grep -c 'no recording' "$tmp/said")" 11
	"$proftrace" ctl stop -p $theirs >"$tmp/said" 2>&1
	equal "ctl: but of his own, and it is said whose recorder it is" \
		"$?$(sed 's/ [0-9]*: / N: /' "$tmp/said" | xargs)" \
		"0of user N: recorder 1 of process $theirs of user N: faked"
	equal "ctl: whose it is" "$(cut -d: -f1 "$tmp/said" | sort -u)" "of user $((first + 5))"
	SUDO_UID=$((first + 5)) "$proftrace" ctl status -p $theirs >"$tmp/said" 2>&1
	equal "ctl: who called sudo is no other user" "$?$(xargs <"$tmp/said")" "0recorder 1 of process $theirs faked"
	"$proftrace" ctl status >"$tmp/said" 2>"$tmp/err"
	equal "ctl status: exit status" $? 0
	equal "ctl status: many of one user leave room for those of others" \
		"$(for i in 1 2 3 4 5; do grep -c "^of user $((first + i)): recorder" "$tmp/said"; done | xargs)" "8 8 8 8 1"
	equal "ctl status: ours come first" "$(head -1 "$tmp/said" | cut -c1-9)" "recorder "
	check "ctl status: it is said that there are more" grep -q '^proftrace: some recorders of other users' "$tmp/err"
	if [ "$(others)" -eq 0 ]; then
		"$proftrace" ctl resume >"$tmp/said" 2>&1
		equal "ctl: ours is the only one, whatever others run" "$?$(cut -c1-8 "$tmp/said")" 0resumed:
	else
		skip "ctl: ours is the only one, whatever others run" "others are running on this machine"
	fi
	kill $fakes $theirs
	wait $fakes $theirs 2>/dev/null
else
	skip "ctl: somebody else does not reach it" "no setpriv"
fi
# One who never takes a call is not waited for.
"$programs/clients" "$tmp/run/proftrace/2000000000.control" full >"$tmp/full" &
silent=$!
wait_for "$tmp/full" ready
check "ctl: one who takes no call keeps it from no other" timeout 20 "$proftrace" ctl status -p $target
timeout 20 "$proftrace" ctl status >"$tmp/said" 2>&1
check "ctl: and is named" grep -q "^proftrace: no answer from recorder '.*does not answer" "$tmp/said"
kill $silent
wait $silent 2>/dev/null
rm -f "$tmp/run/proftrace/2000000000.control"
"$proftrace" ctl status -p 1 >"$tmp/said" 2>&1
equal "ctl: a process that nobody records" "$?$(grep -c "no recording of process '1'" "$tmp/said")" 11
"$proftrace" ctl fly >"$tmp/said" 2>&1
equal "ctl: wrong usage" $? 2

# A second recording, of two processes, which ends with its program; and the place of a recorder that was killed.
mkfifo "$tmp/two.in"
"$proftrace" -q -e none -o "$tmp/two" -- sh -c '"$0" 1 1000; true' "$programs/storm" <"$tmp/two.in" >"$tmp/two.out" 2>&1 &
two=$!
exec 8>"$tmp/two.in"
until [ "$(sockets)" -eq 2 ]; do sleep 0.05; done
"$proftrace" ctl pause >"$tmp/said" 2>&1
equal "ctl: of several, none is guessed" "$?$(grep -c "^recorder .* process $target$" "$tmp/said")" 11
check "ctl status: all of them" test "$("$proftrace" ctl status | grep -c '^recorder')" -ge 2
child() { # OF NAME
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		[ "$(cat "/proc/$child/comm")" != "$2" ] || echo "$child"
	done
}
until storm=$(child "$(child $two sh)" storm) && [ -n "$storm" ]; do sleep 0.05; done
two_are() { "$proftrace" ctl status -p $two | sed -n '2s/for .* s, //p'; }
equal "ctl status: two processes" "$(two_are)" "recording 2 processes alive"
"$proftrace" ctl pause --only "$storm" >/dev/null
equal "ctl status: one of them is paused" "$(two_are)" "recording 2 processes alive, 1 of them paused"
"$proftrace" ctl pause -p $two >/dev/null
equal "ctl status: both are" "$(two_are)" "paused, recording 2 processes alive"
"$proftrace" ctl resume --only "$storm" >/dev/null
equal "ctl status: the other one is" "$(two_are)" "recording 2 processes alive, 1 of them paused"
kill -KILL $two
wait $two 2>/dev/null
exec 8>&-
"$proftrace" ctl status -p $two >/dev/null 2>&1
equal "ctl: a recorder that was killed is none" $? 1

"$proftrace" ctl stop -p $target >"$tmp/said"
equal "ctl stop: it answers" "$?$(head -1 "$tmp/said" | cut -c1-8)" 0stopped:
check "ctl stop: the files are finished then" grep -q '"orderly": *true' "$tmp/one.json"
wait $recorder
equal "ctl stop: the recorder's exit status" $? 0
check "ctl stop: the program goes on" kill -0 $target
exec 9>&-
wait $target
check_account "ctl" "$tmp/one.s"
check_agree "ctl" "$tmp/one"
"$proftrace" -q -e none -o "$tmp/three" -- "$programs/paused" 1 1 >/dev/null
equal "no socket is left, not even the killed one's" "$(sockets)" 0

# The table so far has all that was marked before the request, and is what `report` shows of the trace, in which nothing
# comes later, no change of the mode either.
mkfifo "$tmp/five.in"
"$programs/waits" 500 <"$tmp/five.in" >"$tmp/five.out" &
target=$!
exec 9>"$tmp/five.in"
wait_for "$tmp/five.out" ready
"$proftrace" -q -e none --mode exact -p $target -o "$tmp/five" 2>/dev/null 9>&- &
recorder=$!
until "$proftrace" ctl status -p $target >/dev/null 2>&1 || ! kill -0 $recorder; do sleep 0.05; done
"$proftrace" ctl stats -p $target >"$tmp/table"
equal "ctl stats: nothing was marked yet" "$?$(grep -c work "$tmp/table")" 00
echo go >&9
wait_for "$tmp/five.out" marked
for format in json csv table; do
	"$proftrace" ctl stats -p $target --format $format >"$tmp/stats.$format"
	equal "ctl stats: exit status ($format)" $? 0
done
"$proftrace" ctl stats -p $target --sort nothing >"$tmp/said" 2>&1
equal "ctl stats: no such column" "$?$(grep -c "nothing" "$tmp/said")" 11
"$proftrace" ctl stats -p $target --sort count -n 1 --ascending --reset >"$tmp/said"
equal "ctl stats --reset: shows it once more" "$?$(grep -c '  work  ' "$tmp/said")" 01
"$proftrace" ctl stats -p $target >"$tmp/table"
equal "ctl stats: and begins anew" "$?$(grep -c work "$tmp/table")" 00
echo go >&9
exec 9>&-
wait $target
wait $recorder
for format in json csv table; do
	"$proftrace" report --format $format "$tmp/five.pftrace" >"$tmp/report.$format"
	check "ctl stats: the rows of report ($format)" sh -c "grep work '$tmp/stats.$format' >'$tmp/a' &&
		sed 's/, *100.0 *$//' '$tmp/report.$format' | grep work | diff - '$tmp/a'"
done
equal "ctl stats: all slices" "$(sed -n 's/.*"name": *"work".*"count": *\([0-9]*\).*/\1/p' "$tmp/stats.json" | head -1)" 500
"$proftrace" ctl status --format json >"$tmp/said" 2>&1
equal "ctl: options of stats with another action" $? 2

# A reader of the trace that does not read. The first signal is for an orderly end; the second gives up
# that reader, and the file beside it is whole.
mkfifo "$tmp/pipe" "$tmp/four.in"
"$programs/storm" 2 <"$tmp/four.in" >"$tmp/four.out" &
target=$!
exec 9>"$tmp/four.in"
wait_for "$tmp/four.out" ready
exec 7<>"$tmp/pipe"
"$proftrace" -q -e none -p $target -o - -o "$tmp/four.json" --dump-period 50ms >"$tmp/pipe" 2>"$tmp/four.err" 9>&- 7>&- &
recorder=$!
# Stalled: it has taken marks, and no longer answers.
until [ "$(sockets)" -eq 1 ]; do sleep 0.05; done
while timeout 1 "$proftrace" ctl status -p $recorder >/dev/null; do sleep 0.05; done
kill -INT $recorder
sleep 0.3
check "stalled: one signal waits" kill -0 $recorder
kill -INT $recorder
wait $recorder
equal "stalled: a second one ends it, which is said" "$?$(grep -c "cannot write '-'" "$tmp/four.err")" 11
check "stalled: the other file is whole" "$canon" "$tmp/four.json"
exec 7>&- 9>&-
wait $target
finish
