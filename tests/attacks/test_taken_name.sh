#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Root's recorder never records a broker of proftrace, nor what it has forked. A user's program takes the name of one, so that a
# set-user-ID program of somebody else that it starts is left out; or the user executes that program by a link of this name.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user one && one_uid=$made_uid one_gid=$made_gid || { skip "taken name" "cannot make users"; finish; }
make_user other && other_uid=$made_uid
begin_recording
chmod 711 "$tmp"
for tool in othertool roottool; do
	cp "$programs/every_kind" "$tmp/$tool"
	[ $tool = othertool ] && chown "$other_uid" "$tmp/$tool"
	chmod 4755 "$tmp/$tool"
done
mkdir -m 755 "$tmp/links" "$tmp/names"
ln -s "$tmp/roottool" "$tmp/links/proftrace-broke"
mkfifo "$tmp/in"
try() { # NAME PROGRAM COMMAND...
	name=$1 program=$2
	shift 2
	rm -f "$tmp/out" "$tmp/t.pftrace"
	as "$one_uid" "$one_gid" "$@" 1 1 wait <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	process=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	start_recorder -n "$program"
	exec 9>&-
	wait $process
	kill -TERM $recorder 2>/dev/null
	ends $recorder
	found=$("$proftrace" report --format csv "$tmp/t.pftrace" 2>/dev/null | grep -c '^slice,net.rpc,request,')
	[ "$found" = 1 ] || sed 's/^/# /' "$tmp/said"
	never_else "$name: the program is recorded" "$found" 1
}
try "no such name" othertool "$attacks/takes_name" harmless "$tmp/othertool"
try "the parent has the name of a broker" othertool "$attacks/takes_name" proftrace-broke "$tmp/othertool"
try "the parent has the name of a keeper" othertool "$attacks/takes_name" proftrace-close "$tmp/othertool"
try "a link has the name of a broker" roottool "$tmp/links/proftrace-broke"
check_nothing_left "taken name"
finish
