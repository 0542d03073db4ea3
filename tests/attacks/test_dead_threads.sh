#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user has a process with thousands of threads that have ended and are still listed. Root finds what it looks for, and what comes
# behind that process, as soon as without it.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user hostile || { skip "processes with threads that have ended" "cannot make users"; finish; }
uid=$made_uid gid=$made_gid
chmod 755 "$tmp"
cp "$attacks/dead_threads" "$programs/waits" "$tmp"
mkfifo "$tmp/hostile.in" "$tmp/victim.in"
as "$uid" "$gid" "$tmp/dead_threads" 2000 <"$tmp/hostile.in" >"$tmp/hostile.out" &
exec 7>"$tmp/hostile.in"
wait_for "$tmp/hostile.out" ready || { skip "processes with threads that have ended" "so many threads are not permitted here"; finish; }
# They are looked at before those that have begun later.
cp "$programs/waits" "$tmp/victim"
"$tmp/victim" 10 <"$tmp/victim.in" >"$tmp/victim.out" 7>&- &
exec 9>"$tmp/victim.in"
wait_for "$tmp/victim.out" ready
start_recorder --summary-json "$tmp/s" -n victim
exec 9>&-
wait_for "$tmp/victim.out" marked
kill -TERM $recorder
ends $recorder
equal "what comes behind them is found" $? 0
equal "what comes behind them is recorded" "$(field "$tmp/s" written)" 20
exec 7>&-
check_nothing_left "processes with threads that have ended"
finish
