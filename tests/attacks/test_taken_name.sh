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
	# shellcheck disable=SC2086
	start_recorder -n "$program" ${SUDO_UID:+--wait} --summary-json "$tmp/s.json"
	exec 9>&-
	wait $process
	kill -TERM $recorder 2>/dev/null
	ends $recorder
	protected=$(field "$tmp/s.json" processes_protected)
	found=$("$proftrace" report --format csv "$tmp/t.pftrace" 2>/dev/null | grep -c '^slice,net.rpc,request,')
	[ "$found" = 1 ] || sed 's/^/# /' "$tmp/said"
	if [ -z "${SUDO_UID-}" ]; then
		never_else "$name: the program is recorded" "$found" 1
	else
		never_else "$name: the program is recorded, or counted" "$found$((protected > 0))" 01
	fi
}
try "no such name" othertool "$attacks/takes_name" harmless "$tmp/othertool"
try "the parent has the name of a broker" othertool "$attacks/takes_name" proftrace-broke "$tmp/othertool"
try "the parent has the name of a keeper" othertool "$attacks/takes_name" proftrace-close "$tmp/othertool"
try "a link has the name of a broker" roottool "$tmp/links/proftrace-broke"

# What a process with the capabilities of a proftrace has forked, and whose file has the name of one. Its command is its user's: it
# executes what that wants.
cp "$attacks/takes_name" "$tmp/proftraced" && chmod 755 "$tmp/proftraced"
if setcap cap_bpf,cap_perfmon+ep "$tmp/proftraced" 2>/dev/null; then
	try "the parent has the capabilities of a proftrace" othertool "$tmp/proftraced" proftrace-broke "$tmp/othertool"
	setcap -r "$tmp/proftraced"
else
	skip "the parent has the capabilities of a proftrace" "file capabilities cannot be set here"
fi

# Root of a container, without any capability: in its own namespace, and where that is shared.
cp "$programs/every_kind" "$tmp/plaintool"
one_uid=0 one_gid=0
if unshare -pf --mount-proc true 2>/dev/null; then
	try "root of a container has the name" plaintool unshare -pf --mount-proc setpriv --bounding-set=-all "$tmp/proftraced" proftrace-broke \
		"$tmp/plaintool"
fi
try "root without capabilities has the name" plaintool setpriv --bounding-set=-all "$tmp/proftraced" proftrace-broke "$tmp/plaintool"
# What runs a file of that name itself may be a broker of another version, where the recorder is not root. It is counted.
cp "$programs/every_kind" "$tmp/proftrace-tool"
ln -s "$tmp/proftrace-tool" "$tmp/names/proftrace-broke"
try "root's program has the name" proftrace-tool "$tmp/names/proftrace-broke"
chmod 777 "$tmp"
export SUDO_UID="$other_uid" SUDO_GID="$other_uid"
try "under sudo, root's program has the name" "$tmp/proftrace-*" "$tmp/names/proftrace-broke"
check "under sudo, root's program has the name: it is counted" test "$protected" -ge 1
unset SUDO_UID SUDO_GID

# Who has no root has a broker, too, which is not root's process.
if capable_copy "$tmp/proftrace"; then
	as "$made_uid" "$made_gid" "$tmp/proftrace" -q -o "$tmp/own" -- sh -c 'echo ready; read line' <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	process=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	"$tmp/proftrace" -q -n proftrace-broke --wait -d 100ms -o "$tmp/t" --summary-json "$tmp/s.json" >"$tmp/said" 2>&1 9>&-
	protected=$(field "$tmp/s.json" processes_protected)
	never_else "a user's broker is protected" "$((protected > 0))" 1
	exec 9>&-
	wait $process
else
	skip "a user's broker is protected" "file capabilities cannot be set here"
fi

# The first process has its own name whatever link starts it.
ln -s "$proftrace" "$tmp/links/proftrace-close"
"$tmp/links/proftrace-close" -q -o "$tmp/t" -- sh -c 'cat /proc/$PPID/comm' >"$tmp/out"
equal "a link does not name the recorder" "$(cat "$tmp/out")" proftrace
check_nothing_left "taken name"
finish
