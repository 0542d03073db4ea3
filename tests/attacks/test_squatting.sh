#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user makes the directories of other users' control sockets first, and removes them later, so that their
# recordings cannot be controlled.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user squatter || { skip "squatting" "cannot make users"; finish; }
cp "$proftrace" "$programs/storm" "$tmp" && chmod 755 "$tmp/proftrace" "$tmp/storm"
squatted=
trap 'remove_test_users; rm -rf "$tmp" $squatted' EXIT
for uid in 0 "$owner_uid"; do
	[ -e "/tmp/proftrace-$uid" ] && [ "$(stat -c %u "/tmp/proftrace-$uid")" = "$uid" ] && rm -rf "/tmp/proftrace-$uid"
	as "$made_uid" "$made_gid" mkdir -m 777 "/tmp/proftrace-$uid" && squatted="$squatted /tmp/proftrace-$uid"
done
mkfifo "$tmp/hold"
exec 9<>"$tmp/hold"
mkdir "$tmp/out" && chown "$owner_uid" "$tmp/out"

controlled() { # NAME UID GID ENVIRONMENT...
	victim=$1 uid=$2 gid=$3
	shift 3
	"$tmp/storm" 1 100 <"$tmp/hold" >"$tmp/$victim.out" 9>&- &
	storm=$!
	rm -f "$tmp/$victim.err"
	env -u XDG_RUNTIME_DIR "$@" "$tmp/proftrace" -p $storm -o "$tmp/out/$victim" 2>"$tmp/$victim.err" &
	recorder=$!
	wait_for "$tmp/$victim.err" 'proftrace: recording' || return
	check "$victim: no complaint" test "$(grep -c 'cannot reach' "$tmp/$victim.err")" = 0
	for when in "squatted" "squatted no more" "squatted again"; do
		case $when in
		*more) as "$made_uid" "$made_gid" rmdir "/tmp/proftrace-$uid" ;;
		*again) as "$made_uid" "$made_gid" mkdir -m 777 "/tmp/proftrace-$uid" ;;
		esac
		as "$uid" "$gid" env -u XDG_RUNTIME_DIR timeout 20 "$tmp/proftrace" ctl status -p $recorder >"$tmp/$victim.status" 2>&1
		equal "$victim: status, $when" $? 0
	done
	"$tmp/proftrace" ctl stop -p $recorder >"$tmp/$victim.stop" 2>&1
	equal "$victim: root stops it" $? 0
	grep -q "^stopped" "$tmp/$victim.stop" || kill $recorder
	wait $recorder
	equal "$victim: exit status" $? 0
	kill $storm
}
controlled root 0 0 env
controlled owner "$owner_uid" "$owner_gid" SUDO_UID="$owner_uid" SUDO_GID="$owner_gid"
check "what was squatted is empty" test -z "$(ls -A $squatted | grep -v :)"
rm -rf /tmp/proftrace-"$owner_uid".*

# Who may read a directory may lock it, and every file of it that is readable.
mkdir -m 755 "$tmp/traces"
quota() { # into the next file
	"$tmp/proftrace" -q -o "$tmp/traces/{pid}.pftrace" --max-size 1M --quota 10M -- true >"$tmp/quota" 2>&1
}
quota
equal "a quota: kept" $? 0
check "a quota: what is locked is nobody else's to open" test "$(find "$tmp/traces" -name '*.lock' -perm 600 | wc -l)" = 1
for place in "$tmp/traces" "$tmp/traces/".* "$tmp/traces/"*; do
	[ "${place##*/}" = .. ] || as "$made_uid" "$made_gid" flock -x "$place" sh -c 'echo locked; exec sleep 60' >>"$tmp/locked" 2>/dev/null &
done
wait_for "$tmp/locked" locked
quota
equal "a quota: kept, although another user has locked the directory" $? 0

# A FIFO in place of the file: if it is opened and closed, its reader has come to the end.
mkdir -m 777 "$tmp/everybody"
as "$made_uid" "$made_gid" mkfifo -m 666 "$tmp/everybody/.proftrace-kept.lock"
as "$made_uid" "$made_gid" sh -c 'echo "reader $$"; read -r line <"$0"; echo "line $line"' "$tmp/everybody/.proftrace-kept.lock" \
	>"$tmp/opened" &
reader=$!
wait_for "$tmp/opened" reader
opens=$(said "$tmp/opened" reader)
while [ -d "/proc/$opens" ] && ! grep -q '^State:.S' "/proc/$opens/status"; do sleep 0.01; done
"$tmp/proftrace" -q -o "$tmp/everybody/{pid}.pftrace" --max-size 1M --quota 10M -- true >"$tmp/quota" 2>&1
equal "a quota: refused, where its file is another user's FIFO" "$?$(grep -c 'others may lock its file' "$tmp/quota")" 11
exec 7<>"$tmp/everybody/.proftrace-kept.lock"
echo waited >&7
wait $reader
exec 7>&-
equal "a quota: and that is not opened" "$(said "$tmp/opened" line)" waited
finish
