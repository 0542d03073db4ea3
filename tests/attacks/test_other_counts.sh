#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Somebody who took over a recorder with counters makes the eBPF programs miss that a thread of its own leaves its CPU and
# comes back, by what it writes into the memory that it shares with them: the thread's counters would contain what others did.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user attacker || { skip "counts of others" "cannot make users"; finish; }
cp "$root/build/tests/tools/other_counts" "$tmp/other_counts"
setcap cap_bpf,cap_perfmon,cap_sys_admin,cap_checkpoint_restore+ep "$tmp/other_counts" 2>/dev/null ||
	{ skip "counts of others" "file capabilities cannot be set here"; finish; }
chmod 755 "$tmp"
# The threads are to keep their CPU while it is written to memory; who has a CPU and is not there is seen by everybody.
timeout -k 5 100 nice -n -15 setpriv --reuid="$made_uid" --regid="$made_gid" --clear-groups --inh-caps=-all "$tmp/other_counts" >"$tmp/said" 2>&1
status=$?
[ $status = 3 ] && { skip "counts of others" "needs two CPUs"; finish; }
equal "all was tried" "$status $(tail -1 "$tmp/said")" "0 through"
for thread in first second; do
	share=$(said "$tmp/said" $thread-counts)
	check "$thread: what the thread does is counted ($share %)" test "${share:-0}" -gt 50
	for attack in honest pause zeros ones; do
		# Once the hypervisor may have had the CPU for so long, which is counted as well.
		said=$(said "$tmp/said" $thread-$attack)
		never_else "$thread, $attack: others are not counted ($said)" "$([ "${said%% *}" -le 1 ] && echo yes)" yes
	done
done
check_nothing_left "counts of others"
finish
