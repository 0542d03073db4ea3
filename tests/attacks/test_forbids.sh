#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Threads and children that forbid themselves nearly every system call at the moment at which they are recorded in
# buffered mode, some before their first mark: none dies, and every mark is accounted for.
. "$(dirname "$0")/lib.sh"
need_tracing
need_batches "programs that forbid themselves system calls"
# One recording of ten programs, the first of which begins with it: an attack is as many moments of the program, and
# a recorder costs more than ten programs.
recordings=20 died=0 wrong=
for recording in $(seq $recordings); do
	"$proftrace" -q --mode batch -o "$tmp/t.pftrace" --summary-json "$tmp/s" -- sh -c '
		for seed in $(seq $(($1 * 10 - 9)) $(($1 * 10))); do
			"$2" $seed || echo died $seed
		done' sh "$recording" "$attacks/forbids" >"$tmp/out" 2>"$tmp/err" || wrong="$wrong $recording:$(head -1 "$tmp/err")"
	died=$((died + $(grep -c '^died' "$tmp/out")))
	marks=$(awk '$1 == "marks" { n += $2 } END { print n + 0 }' "$tmp/out")
	[ "$(field "$tmp/s" marked) $(field "$tmp/s" adds_up)" = "$marks true" ] ||
		wrong="$wrong $recording:$(field "$tmp/s" marked)/$marks"
done
never_else "of $((recordings * 10)) programs, so many died" $died 0
equal "all their marks are in the account" "$wrong" ""
check_nothing_left "programs that forbid themselves system calls"
finish
