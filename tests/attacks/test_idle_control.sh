#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Ten thousand idle connections to the control socket of a recorder, from another user and from the same one: its
# owner can still control it.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other || { skip "idle connections" "cannot make users"; finish; }
cp "$attacks/idle_connections" "$proftrace" "$tmp" && chmod 755 "$tmp/idle_connections" "$tmp/proftrace"
mkdir -m 755 "$tmp/run" && mkdir "$tmp/out" && chown "$owner_uid" "$tmp/run" "$tmp/out"
mkfifo "$tmp/in" "$tmp/hold"
"$programs/storm" 1 1000 <"$tmp/in" >"$tmp/target" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/target" ready
SUDO_UID=$owner_uid SUDO_GID=$owner_gid XDG_RUNTIME_DIR="$tmp/run" "$tmp/proftrace" -q -e none -p $target \
	-o "$tmp/out/t.json" --summary-json "$tmp/out/s" 9>&- 2>"$tmp/err" &
recorder=$!
socket=$tmp/run/proftrace/$recorder.control
for _ in $(seq 1 400); do [ -S "$socket" ] && break; sleep 0.05; done
check "the recorder has its socket" test -S "$socket"

control() { # VERB
	as "$owner_uid" "$owner_gid" env XDG_RUNTIME_DIR="$tmp/run" timeout 20 "$tmp/proftrace" ctl "$1" -p $target >"$tmp/said" 2>&1
}
answers() { # NAME
	began=$(date +%s%N)
	failed=
	for verb in status pause resume status status status; do
		control $verb || failed="$failed $verb: $(head -c 200 "$tmp/said")"
	done
	never_else "$1: the owner's ctl is answered ($((($(date +%s%N) - began) / 1000000)) ms)" "$failed" ""
}
idle() { # NAME UID GID
	rm -f "$tmp/idle"
	as "$2" "$3" "$tmp/idle_connections" "$socket" 10000 "$request" <"$tmp/hold" >"$tmp/idle" 2>&1 9>&- &
	attacker=$!
	exec 8>"$tmp/hold"
	wait_for "$tmp/idle" 'connected 10000' && attempted=10000
	chmod 700 "$tmp/run/proftrace"
	equal "$1: connections were tried" "${attempted:-0}" 10000
	answers "$1"
	check "$1: descriptors of the recorder stay few" test "$(find /proc/$recorder/fd -type l | wc -l)" -lt 64
	exec 8>&-
	wait $attacker
}
answers "nobody else"
# A request that changes nothing, in the form that ctl gives it.
request='status
'
idle "another user" "$made_uid" "$made_gid"
never_else "another user: no reply" "$(said "$tmp/idle" reply)" 0
idle "the same user" "$owner_uid" "$owner_gid"
check "the same user: the request has a reply" test "$(said "$tmp/idle" reply)" -gt 0
# The directory keeps others out; where it did not, the socket would know them.
chmod 711 "$tmp/run/proftrace" && chmod 666 "$socket"
idle "another user who got in" "$made_uid" "$made_gid"
never_else "another user who got in: no reply" "$(said "$tmp/idle" reply)" 0
control stop
equal "the owner stops it" $? 0
wait $recorder
equal "exit status" $? 0
check "the recording is there" test -s "$tmp/out/t.json"
check_account "behind idle connections" "$tmp/out/s"
exec 9>&-
wait $target
finish
