#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --start-at: nothing from before that moment is recorded, everything from then on is, and both are counted.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

start=$(($(date +%s) + 3))
for mode in exact batch; do
	timeout 30 "$proftrace" -q -e none --mode $mode --strict --start-at @$start -o $mode --summary-json $mode.sum -- \
		"$programs/moments" $((start + 1)) >$mode.said &
	eval "$mode=$!"
done
for mode in exact batch; do
	eval "wait \$$mode"
	equal "$mode: exit status" $? 0
	"$canon" $mode.pftrace | sed -n 's/.* at=n:\([0-9]*\).*/\1/p' | sort -n >at
	written=$(wc -l <at)
	paused=$(sed -n 's/.*"paused": \([0-9]*\).*/\1/p' $mode.sum)
	equal "$mode: no mark is missing" $((written + paused)) "$(cat $mode.said)"
	check "$mode: marks before and after" test "$written" -gt 0 -a "$paused" -gt 0
	# The clock is read before the mark, so the first mark may have an earlier time in it.
	equal "$mode: none is from before that time" "$(sed 1d at | awk -v start=$start '$1 < start * 1e9' | wc -l)" 0
	equal "$mode: the moment is in the trace" "$("$canon" $mode.json | grep -c 'INSTANT .* resume')" 1
done

for wrong in @1 /0s soon 25:00 / @; do
	"$proftrace" -q --start-at $wrong -- true 2>err
	equal "--start-at $wrong" "$?$(grep -c "'$wrong' is not a time to come" err)" 21
done
finish
