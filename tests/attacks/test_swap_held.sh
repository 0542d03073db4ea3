#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program replaces the code at which one of its threads is held, by a file of its own file system, which does not
# answer. What the kernel reads there while an eBPF program runs, it waits for, and so does everybody who detaches a uprobe.
. "$(dirname "$0")/lib.sh"
need_tracing
[ "$(id -u)" = 0 ] && [ -c /dev/fuse ] || { skip "a held thread" "needs root and /dev/fuse"; finish; }
kernel_has_turns() {
	awk '$3 ~ /^bpf_task_work_schedule_resume(_impl)?$/ { found = 1 } END { exit !found }' /proc/kallsyms
}
kernel_has_turns || { skip "a held thread" "before Linux 6.18 threads are not held in turns: proftrace(7), LIMITS"; finish; }
check "check says that threads are held in turns" kernel_can "holding in turns"

mkdir "$tmp/fs"
cp "$programs/library.so" "$tmp/library.so"
mkfifo "$tmp/in" "$tmp/by"
"$attacks/swap_held" "$tmp/fs" "$tmp/library.so" <"$tmp/in" >"$tmp/target" 2>&1 &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/target" 'ready\|failed'
if grep -q failed "$tmp/target"; then
	skip "a held thread" "$(grep failed "$tmp/target")"
	exec 9>&-
	finish
fi
"$attacks/detach" <"$tmp/by" >"$tmp/bystander" 9>&- &
bystander=$!
exec 8>"$tmp/by"
wait_for "$tmp/bystander" attached
"$proftrace" -e none -p $target -o "$tmp/r" 9>&- 8>&- 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" 'proftrace: recording'
# Then nobody releases the thread, until half a second has passed.
trap 'kill -KILL $recorder 2>/dev/null; remove_test_users; rm -rf "$tmp"' EXIT
kill -STOP $recorder
echo >&9
wait_for "$tmp/target" 'asked'
echo >&8
kill -CONT $recorder
kill -INT $recorder
# A loaded machine needs seconds; who waits for the file system waits until it is killed.
for _ in $(seq 400); do
	grep -q '^detached' "$tmp/bystander" && break
	sleep 0.05
done
detached=$(sed -n 's/^detached after //p' "$tmp/bystander")
asked=$(sed -n 's/^asked after //p' "$tmp/target")
# Whoever waits for an answer waits no more.
kill -KILL "$(sed -n 's/^server //p' "$tmp/target")"
check "the code was replaced" grep -q '^swapped' "$tmp/target"
# From the swap on, which a busy machine may delay: a second try is allowed.
check "while the thread was held nobody read what it was replaced by (but $asked ms later)" test "${asked:-0}" -ge 300
never_else "another program detaches its uprobe as ever ($detached ms)" "$([ -n "$detached" ] && echo yes)" yes
wait $bystander $recorder
# 1: the library was attached late, since the recorder was stopped.
check "the recorder ends" test $? -le 1
exec 9>&- 8>&-
wait $target 2>/dev/null
check_nothing_left "a thread was held"
finish
