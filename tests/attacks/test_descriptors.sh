#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user who may run a proftrace with file capabilities tries to get descriptors from each of its processes, at any
# moment.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user thief || { skip "stealing descriptors" "cannot make a user"; finish; }
if ! capable_copy "$tmp/proftrace"; then
	skip "stealing descriptors" "file capabilities cannot be set here"
	finish
fi
cp "$attacks/steal_descriptors" "$programs/every_kind" "$tmp" && chmod 755 "$tmp/steal_descriptors" "$tmp/every_kind"
mkdir "$tmp/theirs" && chown "$made_uid" "$tmp/theirs"

steal() { # NAME OPTION...
	attack=$1
	shift
	(cd "$tmp/theirs" && as "$made_uid" "$made_gid" "$tmp/steal_descriptors" "${ROUNDS:-5}" "${THIEVES_PROFTRACE:-$tmp/proftrace}" -q -e none -o out.json \
		"$@" -- "$tmp/every_kind" 1 20 >"$tmp/$attack.said" 2>"$tmp/$attack.err")
	equal "$attack: the attack ended by itself" $? 0
	check "$attack: processes were looked into" test "$(said "$tmp/$attack.said" processes)" -gt 0
	# The attack can succeed: the command's process is its user's, who may have what it holds.
	check "$attack: descriptors of the command were taken" test "$(said "$tmp/$attack.said" harmless)" -gt 0
	never_else "$attack: nothing of the broker, of BPF and of the recorder was got" "$(grep '^got' "$tmp/$attack.said" | sort | uniq -c | head -5)" ""
	check "$attack: the recording is there" test -s "$tmp/theirs/out.json"
	rm -f "$tmp/theirs/out.json"
}

steal exact
steal functions -f 'getppid'
steal batches --mode batch-now
if ls /usr/lib/*/libcurl.so.4 /usr/lib/*/libcurl-gnutls.so.4 >/dev/null 2>&1; then
	# Nobody listens there, so each round waits for three seconds at its end.
	ROUNDS=${ROUNDS:-2} steal otlp --otlp http://127.0.0.1:1
else
	skip "otlp: stealing descriptors" "there is no libcurl"
fi
finish
