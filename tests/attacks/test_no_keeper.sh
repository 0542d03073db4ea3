#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user with a capable proftrace takes away what makes detaching uninterruptible: the keeper is killed, may fork no process or
# may have no descriptors. Then all of proftrace is killed while it detaches. No breakpoint stays in the program. Nor does a
# process stay that the keeper has forked at the start, when there were privileges, and that the user has stopped.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid || { skip "no keeper" "cannot make users"; finish; }
if ! capable_copy "$tmp/proftrace"; then
	skip "no keeper" "file capabilities cannot be set here"
	finish
fi
mkdir "$tmp/owner" "$tmp/lib" && chown "$owner_uid" "$tmp/owner"
mkfifo "$tmp/in"
exec 9<>"$tmp/in"
cp "$attacks/bystander" "$tmp" && chmod 755 "$tmp/bystander"
# A copy, in which nobody else has breakpoints. All that is attached is one link, which takes some time to be detached.
cp "$(ldd "$attacks/bystander" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')" "$tmp/lib/libc.so.6"
library=$(stat -c %i "$tmp/lib/libc.so.6")

changed() {
	"$attacks/changed_bytes" $target where | grep -c "^at $library "
}
owner() {
	as "$owner_uid" "$owner_gid" "$@"
}
start() {
	: >"$tmp/target"
	LD_LIBRARY_PATH=$tmp/lib owner "$tmp/bystander" <"$tmp/in" >"$tmp/target" 9>&- &
	wait_for "$tmp/target" ready
	target=$(sed -n 's/^ready //p' "$tmp/target")
}
record() { # sets recorder, broker, keeper, all
	: >"$tmp/err"
	(cd "$tmp/owner" && exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all \
		"$tmp/proftrace" -e none -p $target -f 'libc.so.6:[a-f]*' -o r) 9>&- 2>"$tmp/err" &
	recorder=$!
	wait_for "$tmp/err" 'proftrace: recording'
	broker=$(pgrep -P $recorder -x proftrace-broke)
	keeper=$(pgrep -P "$broker" -x proftrace-close)
	all=$(changed)
	check "$way: functions of the program have breakpoints" test "$all" -gt 500
}
becomes_clean() {
	for _ in $(seq 1 200); do
		[ "$(changed)" = 0 ] && break
		sleep 0.05
	done
	never_else "$way: nothing is left in the program" "$(changed)" 0
}

for way in "killed" "may not fork" "may have no descriptors"; do
	start
	record
	case $way in
	killed) owner kill -KILL $keeper ;;
	*fork) owner prlimit --pid $keeper --nproc=0 ;;
	*) owner prlimit --pid $keeper --nofile=8 ;;
	esac
	kill -INT $recorder
	# Then they are detaching.
	for _ in $(seq 1 200); do [ "$(changed)" = "$all" ] || break; done
	kill -KILL $broker $keeper $recorder 2>/dev/null
	wait $recorder 2>/dev/null
	becomes_clean
	kill $target
done

way="without end"
start
record
owner kill -KILL $keeper
ends $recorder
equal "the keeper is killed: the recording ends" $? 1
check "and says so" grep -q '^proftrace: .*broker' "$tmp/err"
becomes_clean
kill $target

way="stopped at the start"
start
nice -n -20 setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all sh -c 'while :; do
	keepers=$(pgrep -d, -u "$0" -x proftrace-close) && pkill -STOP -P "$keepers" -x proftrace-close
done' "$owner_uid" 9>&- &
stopper=$!
record
kill $stopper
equal "$way: the keeper has forked no process" "$(pgrep -P $keeper)" ""
kill -INT $recorder
ends $recorder
equal "$way: the recording ends" $? 0
becomes_clean
for _ in $(seq 1 100); do
	pgrep -u "$owner_uid" proftrace >"$tmp/left" || break
	sleep 0.05
done
never_else "$way: no process of proftrace is left" "$(cat "$tmp/left")" ""
pkill -KILL -u "$owner_uid" -x proftrace-close
kill $target
finish
