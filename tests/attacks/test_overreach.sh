#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Somebody who took over a recorder uses what it honestly has, the maps of the eBPF programs, samples and files that the
# broker opens, to read or write the memory of others: of root's processes under sudo; without root, of a process that the
# user may not look into, and of a set-user-ID program.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user attacker || { skip "overreach" "cannot make users"; finish; }
tool=$root/build/tests/tools/overreach
cp "$tool" "$tmp/secret" && chmod 4755 "$tmp/secret"
attack() { # NAME PERMITTED COMMAND...
	attack=$1 permitted=$2
	shift 2
	timeout -k 5 60 "$@" >"$tmp/said" 2>&1
	for process in $(said "$tmp/said" maps); do rm -f "/tmp/perf-$process.map" "/tmp/perf-$process.map.other"; done
	equal "$attack: all was tried" "$(tail -1 "$tmp/said")" through
	equal "$attack: what is permitted works" "$(grep -c '^permitted' "$tmp/said")" "$permitted"
	never_else "$attack: nothing was got" "$(grep '^got' "$tmp/said")" ""
	check_nothing_left "$attack"
}
attack sudo 3 "$tool" "$made_uid" "$tmp/secret"
if capable_copy "$tmp/capable"; then
	cp "$tool" "$tmp/capable" && setcap "$needed_capabilities,cap_checkpoint_restore+ep" "$tmp/capable"
	set -- setpriv --reuid="$made_uid" --regid="$made_gid" --clear-groups --inh-caps=-all "$tmp/capable" "$made_uid" "$tmp/secret"
	attack "without root" 4 "$attacks/with_states" "$@"
	attack "without root, the broker is killed" 0 "$@" kill
else
	skip "without root" "file capabilities cannot be set here"
fi
finish
