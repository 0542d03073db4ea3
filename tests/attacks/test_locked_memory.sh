#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program of another user holds the lock of its memory while root's recorder reads marks there that have not been handed
# over, another one compares its code with its file, which is on an overlay, `list` reads its semaphores, and `ctl --role` its environment. The recorder read
# its own ring buffers no more meanwhile, and could not be ended for half a minute.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
need_batches "locked memory"
make_user locker || { skip "locked memory" "cannot make a user"; finish; }
mkdir "$tmp/low" "$tmp/up" "$tmp/work" "$tmp/all"
cp "$attacks/locks_memory" "$tmp/low"
chmod 755 "$tmp" "$tmp/low" "$tmp/up" "$tmp/all" "$tmp/low/locks_memory"
mkfifo "$tmp/in" "$tmp/hold"
cat >"$tmp/layers" <<-END
	mount -t overlay none -o lowerdir=$tmp/low,upperdir=$tmp/up,workdir=$tmp/work $tmp/all || mount --bind $tmp/low $tmp/all
	exec setpriv --reuid $made_uid --regid $made_gid --clear-groups $tmp/all/locks_memory 400 2
END
unshare --mount sh "$tmp/layers" <"$tmp/hold" >"$tmp/locker" 2>&1 &
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
import os, signal, subprocess, sys, time

recorder, program, locker, trace = sys.argv[1:]
said = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "close_fds": True}
reading = {}


def watch(process, name):
    directory = f"/proc/{process}/task"
    try:
        tasks = os.listdir(directory)
    except OSError:
        return
    for task in tasks:
        try:
            with open(f"{directory}/{task}/stack") as stack:
                which = name + ("first" if task == str(process) else "others")
                # The environment and the command line are read like that, too.
                waits = "access_remote_vm" in stack.read()
                reading[which] = reading.get(which, 0) + waits
        except OSError:
            pass


os.write(8, b"\n")
until = time.monotonic() + 8
lists = asks = None
while time.monotonic() < until:
    if not lists or lists.poll() is not None:
        lists = subprocess.Popen([program, "list", "-p", locker], **said)
    # For this the recorder reads the environment of each process.
    if not asks or asks.poll() is not None:
        asks = subprocess.Popen([program, "ctl", "resume", "--role", "nobody", "-p", recorder], **said)
    watch(recorder, "")
    watch(lists.pid, "list_")
    time.sleep(0.01)
# Its attaching makes forks wait.
second = subprocess.Popen([program, "-e", "none", "-p", locker, "-o", trace], **said)
until = time.monotonic() + 8
while time.monotonic() < until:
    watch(second.pid, "second_")
    time.sleep(0.01)
# Then nothing holds the lock any more, which detaching would wait for.
os.close(8)
second.send_signal(signal.SIGINT)
second.wait()
lists.wait()
asks.wait()
for which in reading:
    print(which, reading[which])
END
timeout 90 python3 "$tmp/watch.py" $recorder "$proftrace" "$locker" "$tmp/second" >"$tmp/watched" 2>&1 &
watcher=$!
exec 8>&-
wait $watcher
sed 's/^/# /' "$tmp/watched"
if [ "$(said "$tmp/watched" first)" = 0 ] && [ "$(said "$tmp/watched" others)" -lt 5 ]; then
	skip "the lock is held" "it was not, or stacks of the kernel cannot be seen"
else
	never_else "the thread that reads the ring buffers is never seen to wait for the lock ($(said "$tmp/watched" others) times others)" \
		"$(said "$tmp/watched" first)" 0
	never_else "nor that of a recorder that begins ($(said "$tmp/watched" second_others) times others)" \
		"$(said "$tmp/watched" second_first)" 0
	never_else "nor that of list ($(said "$tmp/watched" list_others) times others)" "$(said "$tmp/watched" list_first)" 0
fi
exec 9>&-
kill -INT $recorder
wait $recorder
equal "exit status" $? 0
wait $victim
equal "the account adds up" "$(field "$tmp/s" adds_up)" true
check "the victim's marks are there" test "$(field "$tmp/s" written)" -gt 10000
equal "none is lost" "$(field "$tmp/s" lost_total)" 0

# --- memory that is never read in time: the file is attached to, and it is said that nobody has compared it --------------------
if ! command -v strace >/dev/null; then
	skip "not compared" "needs strace"
	finish
fi
sed -i 's/ 400 2$/ 1 1/' "$tmp/layers"
unshare --mount sh "$tmp/layers" <"$tmp/hold" >"$tmp/slow" 2>&1 &
exec 8>"$tmp/hold"
wait_for "$tmp/slow" ready
slow=$(said "$tmp/slow" ready)
if grep -q " $tmp/all .* overlay " "/proc/$slow/mountinfo"; then
	strace -qq -f -D -o "$tmp/trace" -P "/proc/$slow/mem" -e trace=pread64 -e inject=pread64:delay_enter=400000 \
		"$proftrace" -e none -p "$slow" -o "$tmp/slow.json" -d 1 --summary-json "$tmp/slow.s" >"$tmp/out" 2>&1 8>&-
	equal "not compared: it is said and counted" "$(grep -c "locks_memory' was not compared with process $slow" "$tmp/out") $(field "$tmp/slow.s" attached_late)" "1 1"
	check "not compared: it is recorded" test "$(field "$tmp/slow.s" written)" -gt 0
else
	skip "not compared" "overlay cannot be mounted"
fi

# --- a list of mappings that is never read: a recording that begins can be ended, and one that waits goes on --------------------
threads() { # NUMBER: until the recorder has so many
	for _ in $(seq 1 500); do
		[ "$(find "/proc/$recorder/task" -mindepth 1 -maxdepth 1 2>"$tmp/null" | wc -l)" -lt "$1" ] || return 0
		sleep 0.01
	done
	return 1
}

delayed() { # MICROSECONDS: each reading of the list by a recorder of the program
	strace -qq -f -D -o "$tmp/trace" -P "/proc/$slow/maps" -e trace=pread64,ioctl \
		-e inject=pread64,ioctl:delay_enter="$1" \
		"$proftrace" -v -e none -p "$slow" -o "$tmp/slow.json" --summary-json "$tmp/slow.s" >"$tmp/out" 2>&1 8>&- &
	recorder=$!
}

# What strace delays ends only after that, so the recorder says itself when it has ended.
delayed 10000000
check "the list of mappings is not read: another thread reads it" threads 2
began=$(date +%s)
kill -INT $recorder
wait_for "$tmp/out" '0 marks: 0 written'
check "the list of mappings is not read: it can be ended ($(($(date +%s) - began)) s)" test $(($(date +%s) - began)) -le 3
wait $recorder
equal "the list of mappings is not read: nothing counts as late" "$(field "$tmp/slow.s" attached_late)" 0
delayed 400000
wait_for "$tmp/out" 'proftrace: recording'
kill -INT $recorder
wait $recorder
equal "the list of mappings is read late: exit status" $? 0
equal "the list of mappings is read late: nothing is missing" "$(field "$tmp/slow.s" attached_late) $(field "$tmp/slow.s" files_refused)" "0 0"
exec 8>&-
wait
finish
