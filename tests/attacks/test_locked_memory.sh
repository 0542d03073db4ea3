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

# Where its threads are, without a fork: while somebody attaches to a file that the program has mapped, forks wait for the lock, too.
cat >"$tmp/watch.py" <<'END'
import os, sys, time

recorder = sys.argv[1]
directory = f"/proc/{recorder}/task"
reading = {True: 0, False: 0}
os.write(8, b"\n")
until = time.monotonic() + 8
while time.monotonic() < until:
    for task in os.listdir(directory):
        try:
            with open(f"{directory}/{task}/stack") as stack:
                reading[task == recorder] += "access_remote_vm" in stack.read()
        except OSError:
            pass
    time.sleep(0.01)
print("first", reading[True])
print("others", reading[False])
END
timeout 60 python3 "$tmp/watch.py" $recorder >"$tmp/watched" 2>&1
if [ "$(said "$tmp/watched" first)" = 0 ] && [ "$(said "$tmp/watched" others)" -lt 5 ]; then
	skip "the lock is held" "it was not, or stacks of the kernel cannot be seen"
else
	never_else "the thread that reads the ring buffers is never seen to wait for the lock ($(said "$tmp/watched" others) times others)" \
		"$(said "$tmp/watched" first)" 0
fi
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
