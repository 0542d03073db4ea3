#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Threads that end while their marks are lost: no batch is counted twice, whether its thread was killed while it handed
# the batch over, or its marks had been read in memory, or nothing told of its end. The programs count for themselves.
. "$(dirname "$0")/lib.sh"
need_tracing
need_batches "losses of batches"

# Of each thread one mark may be in the trace that it has not counted yet.
check_counts() { # NAME MADE MORE
	marked=$(field "$tmp/s" marked) lost=$(field "$tmp/s" lost_total) written=$(field "$tmp/s" written)
	never_else "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	never_else "$1: marked = written + lost" "$marked" $((written + lost))
	if [ "$marked" -lt "$2" ] && [ "$(field "$tmp/s" batches_unread)" -gt 0 ]; then
		skip "$1: all marks" "this kernel told of the end when the memory was gone: $marked of $2"
	else
		check "$1: of $2 marks (and $3 more at most), $marked" test "$marked" -ge "$2" -a "$marked" -le $(($2 + $3))
	fi
	equal "$1: no event was malformed" "$(field "$tmp/s" malformed)" 0
	check "$1: some were lost" test "$lost" -gt 0
	equal "$1: the JSON has what is written" "$("$canon" --marks "$tmp/t.json" | awk '{ n += $1 } END { print n + 0 }')" "$written"
	equal "$1: the Perfetto file, too" "$("$canon" --marks "$tmp/t.pftrace" | awk '{ n += $1 } END { print n + 0 }')" "$written"
}

for run in "exact 64K" "batch 64K" "batch 1M" "batch-now 64K" "batch-now 1M"; do
	"$proftrace" -q -e none --mode ${run% *} --buffer ${run#* } -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/losers" killed 200 100 "$programs/part.so" >"$tmp/out"
	equal "killed, $run: exit status" $? 0
	check_counts "killed, $run" "$(said "$tmp/out" marks)" 200
done

mkfifo "$tmp/in"
exec 9<>"$tmp/in"
rm -f "$tmp/out"
"$programs/losers" quiet 100 <"$tmp/in" >"$tmp/out" 9>&- &
target=$!
wait_for "$tmp/out" ready
"$proftrace" -e none --mode batch-now --buffer 64K -p $target -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
echo $recorder >&9
wait_for "$tmp/out" marks
kill -INT $recorder
wait $recorder
check "nothing tells of their end: $(field "$tmp/s" kernel_events_lost) events of the kernel were lost" \
	test "$(field "$tmp/s" kernel_events_lost)" -gt 100
check_counts "nothing tells of their end" "$(said "$tmp/out" marks)" 0
exec 9>&-
wait $target
finish
