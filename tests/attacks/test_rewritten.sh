#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program that is recorded is written over while nobody runs it, as `cp` and `cat >` do. Where the probe sites were are other
# instructions now, and with a breakpoint in any of them the program computes something else or is killed. What runs next computes
# what it should, and its marks are recorded, or it is said that some are missing.
. "$(dirname "$0")/lib.sh"
need_tracing
rounds=3
"$attacks/sled" 2 >"$tmp/alone"

for again in $(seq $rounds); do
	cp "$programs/every_kind" "$tmp/target$again"
	start_recorder -n "target$again" --wait --strict --summary-json "$tmp/s.json"
	"$tmp/target$again" 1 10 >"$tmp/first"
	cat "$attacks/sled" >"$tmp/target$again"
	# Until the recorder has had a CPU the program may be killed, as proftrace(7) says: it answers after it has detached.
	wait_for "$tmp/said" "proftrace: detached from .*target$again', which was written to"
	"$proftrace" ctl status -p $recorder >"$tmp/status"
	statuses=
	for run in 1 2 3; do
		"$tmp/target$again" 2 >"$tmp/now"
		statuses="$statuses$? $(said "$tmp/now" sum) "
	done
	kill -TERM $recorder
	ends $recorder
	status=$?
	computed="0 $(said "$tmp/alone" sum) "
	never_else "a program is written over: it computes the same" "$statuses" "$computed$computed$computed"
	check "a program is written over: the recording ends in order ($status)" test $status -eq 0 -o $status -eq 3
	check "a program is written over: it is said" grep -q "detached from .*target$again', which was written to" "$tmp/said"
	check "a program is written over: its marks are recorded" \
		sh -c '"$1" report --format csv "$2" >"$2.csv" && grep -q "^slice,default,round" "$2.csv"' sh "$proftrace" "$tmp/t.pftrace"
done
finish
