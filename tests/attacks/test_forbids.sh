#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Threads and children that forbid themselves nearly every system call at the moment at which they are recorded in
# buffered mode, some before their first mark: none dies, and every mark is accounted for.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
if "$proftrace" --mode batch -o "$tmp/try" -- true 2>&1 | grep -q 'no batches'; then
	skip "programs that forbid themselves system calls" "no batches on this machine"
	finish
fi
rounds=${FORBIDS_ROUNDS:-200} died=0 wrong=
for round in $(seq "$rounds"); do
	"$proftrace" -q --mode batch -o "$tmp/t.pftrace" --summary-json "$tmp/s" -- \
		"$root/build/tests/attacks/forbids" "$round" >"$tmp/out" 2>"$tmp/err" || died=$((died + 1))
	[ "$(field "$tmp/s" marked) $(field "$tmp/s" adds_up)" = "$(said "$tmp/out" marks) true" ] ||
		wrong="$wrong $round:$(field "$tmp/s" marked)/$(said "$tmp/out" marks)"
done
equal "of $rounds programs, so many died" $died 0
equal "all their marks are in the account" "$wrong" ""
check_nothing_left "programs that forbid themselves system calls"
finish
