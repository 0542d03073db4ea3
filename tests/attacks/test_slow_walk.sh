#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Somebody who took over a recorder with --offcpu makes the walk of a stack long, by what it writes into the maps, while a
# thread of its own blocks all the time: the walk is made while the kernel switches between threads, in the time of others.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
[ "$(uname -m)" = x86_64 ] || { skip "slow walks" "the thread that blocks is written for x86-64"; finish; }
make_user attacker || { skip "slow walks" "cannot make users"; finish; }
cp "$root/build/tests/tools/slow_walk" "$tmp/slow_walk"
setcap cap_bpf,cap_perfmon,cap_sys_admin+ep "$tmp/slow_walk" 2>/dev/null || { skip "slow walks" "file capabilities cannot be set here"; finish; }
chmod 755 "$tmp"
timeout -k 5 60 setpriv --reuid="$made_uid" --regid="$made_gid" --clear-groups --inh-caps=-all "$tmp/slow_walk" >"$tmp/said" 2>&1
equal "all was tried" "$?" 0
honest=$(said "$tmp/said" honest)
check "an honest recorder's walks are measured ($honest ns)" test "${honest:-0}" -gt 0
# As proftrace(7) promises: 30 microseconds, beside what other switches take, and the last steps of a walk that is ended.
for limit in unreadable=20000 searched=20000 deep=40000; do
	kind=${limit%=*}
	ns=$(said "$tmp/said" $kind)
	never_else "$kind: a walk takes little more ($ns ns)" "$([ "${ns:-0}" -gt 0 ] && [ "$ns" -lt $((${honest:-0} + ${limit#*=})) ] && echo yes)" yes
done
check_nothing_left "slow walks"
finish
