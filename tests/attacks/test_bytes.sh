#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user with a capable proftrace records programs and libraries that others run, too. No byte in the memory of
# another user's process or of a set-user-ID program changes.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other || { skip "bytes" "cannot make users"; finish; }
if ! capable_copy "$tmp/proftrace"; then
	skip "bytes" "file capabilities cannot be set here"
	finish
fi
cp "$attacks/bystander" "$tmp" && chmod 755 "$tmp/bystander"
cp "$attacks/bystander" "$tmp/suid" && chmod 4755 "$tmp/suid"
mkdir "$tmp/owner" && chown "$owner_uid" "$tmp/owner"
trap 'pkill -x -u "$owner_uid,$made_uid" bystander; remove_test_users; rm -rf "$tmp"' EXIT
for fifo in target before during; do mkfifo "$tmp/$fifo.in"; done
exec 5<>"$tmp/target.in" 6<>"$tmp/before.in" 7<>"$tmp/during.in"

# Functions of a C library are attached to: of a copy, so that nobody else on this machine has their breakpoints.
mkdir "$tmp/lib"
cp "$(ldd "$attacks/bystander" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')" "$tmp/lib/libc.so.6"
library=$tmp/lib

bytes() { # PID
	"$attacks/changed_bytes" "$1" where 2>/dev/null | grep '^at' | sort -u
}
# In how many bytes the code of a process is not as in its files, but for those in which this shell's is not, either:
# recordings of root's on this machine put breakpoints into everybody's dynamic linker.
changed() { # PID
	bytes $$ >"$tmp/shell.bytes"
	bytes "$1" >"$tmp/process.bytes"
	bytes $$ | sort -u -o "$tmp/shell.bytes" - "$tmp/shell.bytes"
	comm -23 "$tmp/process.bytes" "$tmp/shell.bytes" | wc -l
}
# The last number behind a word in what a program printed.
pid_of() { # FILE WORD
	wait_for "$1" "$2" && sed -n "s/^$2 //p" "$1" | tail -1
}
becomes_clean() { # NAME PID: polled, and how long it took is not a matter of this test
	for _ in $(seq 1 200); do
		[ "$(changed "$2")" = 0 ] && break
		sleep 0.01
	done
	never_else "$1" "$(changed "$2")" 0
}
# A process of its own, which has none of our FIFOs.
start() { # UID GID NAME FILE...
	: >"$tmp/$3.out"
	(exec 5>&- 6>&- 7>&- env LD_LIBRARY_PATH="$library" setpriv --reuid="$1" --regid="$2" --clear-groups --inh-caps=-all "$tmp/bystander" ${4:-} <"$tmp/$3.in" >>"$tmp/$3.out") &
}
start_target() {
	start "$owner_uid" "$owner_gid" target "$tmp/suid"
	target=$(pid_of "$tmp/target.out" ready)
}
record() { # NAME OPTION...
	recording=$1
	shift
	rm -f "$tmp/owner/$recording"*
	rm -f "$tmp/$recording.err"
	(cd "$tmp/owner" && exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all \
		"$tmp/proftrace" -p $target -o "$recording" --summary-json "$recording.account" "$@") 2>"$tmp/$recording.err" 5>&- 6>&- 7>&- &
	recorder=$!
	wait_for "$tmp/$recording.err" 'proftrace: recording'
}
stop() {
	kill -INT $recorder
	wait $recorder
	equal "$recording: exit status" $? 0
	case $recording in
	# A child that is followed late may return from functions whose calls were missed. That is said.
	functions) never_else "$recording: the account adds up" "$(field "$tmp/owner/$recording.account" adds_up)" true ;;
	*) check_account "$recording" "$tmp/owner/$recording.account" ;;
	esac
}

start "$made_uid" "$made_gid" before
before=$(pid_of "$tmp/before.out" ready)
start_target
record functions -f 'libc.so.6:getppid' -f 'main'
start "$made_uid" "$made_gid" during
during=$(pid_of "$tmp/during.out" ready)
check "the recorded process has breakpoints" test "$(changed $target)" -gt 2
never_else "another user's process that ran before has none" "$(changed $before)" 0
never_else "another user's process that was started later has none" "$(changed $during)" 0

# Children are recorded by links of their own.
echo fork >&5
child=$(pid_of "$tmp/target.out" child)
for _ in $(seq 1 200); do
	[ "$(changed "$child")" -gt 0 ] && break
	sleep 0.01
done
check "a forked child is recorded" test "$(changed "$child")" -gt 0
kill "$child"
stop
never_else "afterwards the recorded process is as before" "$(changed $target)" 0
exec 6>&- 7>&-
wait_for "$tmp/before.out" marks
wait_for "$tmp/during.out" marks
never_else "markers of another user were never on" "$(said "$tmp/before.out" enabled) $(said "$tmp/during.out" enabled)" "0 0"

# Without children, what they inherit is taken away.
record alone --no-children
: >"$tmp/target.out"
echo fork >&5
child=$(pid_of "$tmp/target.out" child)
becomes_clean "without children: a forked child is cleaned" "$child"
kill "$child"
stop

# Set-user-ID programs, which have the usual library, as the recorded one has then.
kill $target
library=
start_target
for way in exec raw; do
	record "$way"
	: >"$tmp/target.out"
	echo $way >&5
	pid_of "$tmp/target.out" ready >/dev/null
	becomes_clean "a set-user-ID program that the recorded one executes ($way) is clean" $target
	stop
	kill $target
	start_target
done
kill $target
finish
