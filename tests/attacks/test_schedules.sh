#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every process of a proftrace with file capabilities is stopped before and after each system call, while a process
# of its user tries to get descriptors from all of them.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user thief || { skip "schedules" "cannot make a user"; finish; }
if ! capable_copy "$tmp/proftrace"; then
	skip "schedules" "file capabilities cannot be set here"
	finish
fi
cp "$programs/every_kind" "$tmp" && chmod 755 "$tmp/every_kind"
mkdir "$tmp/theirs" && chown "$made_uid" "$tmp/theirs"

schedule() { # NAME EVERY PHASE OPTION...
	attack=$1 every=$2 phase=$3
	shift 3
	(cd "$tmp/theirs" && exec timeout -k 5 60 "$attacks/scheduler" "$made_uid" "$made_gid" "$every" "$phase" \
		"${THIEVES_PROFTRACE:-$tmp/proftrace}" -q -e none -o out.json "$@" -- "$tmp/every_kind" 1 20) \
		>"$tmp/$attack.said" 2>"$tmp/$attack.err"
	equal "$attack: the recording ends well" "$?$(head -c 300 "$tmp/$attack.err")" 0
	for process in proftrace proftrace-broke every_kind; do
		check "$attack: $process was stopped, and the tree searched" \
			test "$(said "$tmp/$attack.said" "searched $process")" -ge 10
	done
	# The attack can succeed: the command's process is its user's, who may have what it holds.
	check "$attack: descriptors of the command were taken" test "$(said "$tmp/$attack.said" harmless)" -gt 0
	never_else "$attack: nothing of the broker, of BPF and of the recorder was got" \
		"$(grep '^got' "$tmp/$attack.said" | sort | uniq -c | head -5)" ""
	check "$attack: all processes were looked at, whatever they hold" test \
		"$(sed -n 's/^held //p' "$tmp/$attack.said" | sort -u | grep -cE '^(every_kind|proftrace-(close|trial))$')" -eq 3
	never_else "$attack: no process that can be stopped holds a capability in effect, or anything of BPF" \
		"$(grep '^holds' "$tmp/$attack.said" | sort | uniq -c | head -5)" ""
	# They end in the middle of everything, and then descriptors remain longer than memory: see privileges.h.
	never_else "$attack: processes of the broker are permitted a capability that their user lacks, at each moment" \
		"$(grep -E '^(un)?guarded' "$tmp/$attack.said" | sort -u | tr '\n' ' ')" "$(printf 'guarded proftrace-%s ' $guarded)"
	check "$attack: the recording is there" test -s "$tmp/theirs/out.json"
	rm -f "$tmp/theirs/out.json"
}

guarded="close trial"
schedule exact 3 0
schedule exact-next 3 1
schedule exact-last 3 2
guarded="close prove start trial"
schedule functions 5 3 -f getppid
guarded="close trial"
schedule batches 5 1 --mode batch-now
schedule samples 5 2 --sample 99
finish
