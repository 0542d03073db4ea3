#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program of another user holds the lock of its memory while root's recorder reads marks there that have not been handed
# over. The recorder read its own ring buffers no more meanwhile, and could not be ended for half a minute.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
if "$proftrace" --mode batch-now -o "$tmp/try" -- true 2>&1 | grep -q 'no batches'; then
	skip "locked memory" "no batches on this machine"
	finish
fi
make_user locker || { skip "locked memory" "cannot make a user"; finish; }
cp "$attacks/locks_memory" "$tmp" && chmod 755 "$tmp" "$tmp/locks_memory"
mkfifo "$tmp/in" "$tmp/hold"
as "$made_uid" "$made_gid" "$tmp/locks_memory" 400 2 <"$tmp/hold" >"$tmp/locker" 2>&1 &
exec 8>"$tmp/hold"
"$programs/storm" 1 20 <"$tmp/in" >"$tmp/victim" 2>&1 8>&- &
victim=$!
exec 9>"$tmp/in"
wait_for "$tmp/locker" ready
wait_for "$tmp/victim" ready
locker=$(said "$tmp/locker" ready)
"$proftrace" -v --mode batch -e none -p "$locker,$victim" -o "$tmp/t.json" --summary-json "$tmp/s" >"$tmp/out" 2>&1 8>&- 9>&- &
recorder=$!
wait_for "$tmp/out" 'proftrace: recording'
echo >&8
wait_for "$tmp/locker" locks

# Its only thread that reads the ring buffers also answers requests.
longest=0
for _ in $(seq 40); do
	began=$(date +%s%N)
	timeout 30 "$proftrace" ctl status -p $victim >"$tmp/status" 2>&1 || echo "# status: $(head -c 200 "$tmp/status")"
	took=$((($(date +%s%N) - began) / 1000000))
	[ $took -le $longest ] || longest=$took
done
check "the recorder answers while the lock is held ($longest ms at most)" test $longest -lt 1500
# Then nothing holds the lock any more, which detaching would wait for.
exec 8>&- 9>&-
kill -INT $recorder
wait $recorder
equal "exit status" $? 0
wait $victim
equal "the account adds up" "$(field "$tmp/s" adds_up)" true
check "the victim's marks are there" test "$(field "$tmp/s" written)" -gt 10000
equal "none is lost" "$(field "$tmp/s" lost_total)" 0
finish
