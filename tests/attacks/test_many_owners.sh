#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program has its code mapped as often as the kernel permits, each time with a buffer of buffered mode of which none of its
# thousands of threads is the owner: looking for the owners of all took minutes.
. "$(dirname "$0")/lib.sh"
need_tracing
need_batches "many owners"
mkfifo "$tmp/in"
"$attacks/many_owners" 30000 "${THREADS:-4000}" <"$tmp/in" >"$tmp/target" 2>&1 &
exec 9>"$tmp/in"
wait_for "$tmp/target" 'ready\|cannot'
if ! grep -q '^ready' "$tmp/target"; then
	skip "many owners" "$(cat "$tmp/target")"
	exec 9>&-
	finish
fi
timeout -k 5 40 "$proftrace" --mode batch -e none -p "$(said "$tmp/target" ready)" -d 100ms -o "$tmp/r" --summary-json "$tmp/s" 9>&- >"$tmp/out" 2>&1
equal "it is recorded in time" $? 0
exec 9>&-
wait $!
equal "the account adds up" "$(field "$tmp/s" adds_up)" true
check "its marks are there" test "$(field "$tmp/s" written)" -gt 5
# Each mapping has a buffer, and its owner is looked for among all threads.
check "buffers that were not looked at are counted ($(field "$tmp/s" batches_unread))" test "$(field "$tmp/s" batches_unread)" -gt 20000
check "the summary says so" grep -q 'batches could not be read to their end' "$tmp/out"
finish
