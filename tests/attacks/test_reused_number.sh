#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user's program names a file to be included and exits. When root's recorder reads that, the number of the process is that
# of a process of root's. The file is still read for the user only.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner || { skip "reused number" "cannot make users"; finish; }
begin_recording
chmod 711 "$tmp"
mkfifo "$tmp/in" "$tmp/stays"
"$programs/includes" 2 "$tmp/roots.json" >/dev/null
cp "$tmp/roots.json" "$tmp/everybodys.json" && chmod 644 "$tmp/everybodys.json" && chmod 600 "$tmp/roots.json"
cp "$attacks/reused_number" "$tmp/names" && chmod 755 "$tmp/names"

# Prints how many events of the file are in the trace. What the recorder shall not see in time happens while it is stopped.
include() { # UID GID FILE UID-OF-THE-NEXT
	rm -f "$tmp"/said* "$tmp/t.json"
	"$proftrace" -q --include-offset 1h -o "$tmp/t.json" -- \
		setpriv --reuid="$1" --regid="$2" --clear-groups "$tmp/names" names "$tmp/$3" <"$tmp/in" >"$tmp/said" 2>"$tmp/err" &
	recorder=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/said" child
	kill -STOP $recorder
	echo >&9
	wait_for "$tmp/said" named
	number=$(said "$tmp/said" named)
	"$attacks/reused_number" becomes "$number" "$4" <"$tmp/stays" >"$tmp/said.next" 9>&- &
	next=$!
	exec 8>"$tmp/stays"
	wait_for "$tmp/said.next" is
	kill -CONT $recorder
	exec 9>&-
	wait $recorder
	status=$?
	exec 8>&-
	wait $next || return 1
	echo "$status $(grep -c theirs "$tmp/t.json")"
}
owner_uid=$made_uid owner_gid=$made_gid
never_else "a file of root's: nothing of it" "$(include "$owner_uid" "$owner_gid" roots.json 0)" "0 0"
check "a file of root's: says so" grep -q "cannot include '$tmp/roots.json': Permission denied" "$tmp/err"
equal "a file of everybody's: it is read" "$(include "$owner_uid" "$owner_gid" everybodys.json 0)" "0 2"
equal "what root named is read, when the number is the user's" "$(include 0 0 roots.json "$owner_uid")" "0 2"
finish
