#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program executes a file of which it has a lease, and does not give it up: whoever opens the file waits.
. "$(dirname "$0")/lib.sh"
need_tracing
begin_recording
cp /bin/true "$tmp/program"
"$attacks/lease" "$tmp/program" 15 >"$tmp/said" 2>"$tmp/err" &
target=$!
trap 'kill $target 2>/dev/null; rm -rf "$tmp"' EXIT
if ! wait_for "$tmp/said" leased; then
	skip "leases" "$(cat "$tmp/err")"
	finish
fi
timeout 6 "$proftrace" -q -d 600ms -o "$tmp/t" -p $target
equal "a lease of a program that is executed: the recording ends in time" $? 0
check "its marks are there" test "$("$proftrace" report --format csv "$tmp/t.pftrace" | grep -c tick)" -ge 1
kill $target
wait $target
check_nothing_left "leases"
finish
