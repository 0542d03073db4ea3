#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# PROF_REALLOC: the pool's table has what the program counted, of blocks that move, that stay and that cannot grow.
. "$(dirname "$0")/lib.sh"
need_tracing

modes=exact
if has_batches; then
	modes="exact batch-now"
fi
cell() { # POOL COLUMN
	awk -F , -v pool="$1" -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$1 == "pool" && $3 == pool { print $at }' "$tmp/csv"
}
for mode in $modes; do
	"$proftrace" record -q -e none --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/moves" 5 >"$tmp/out"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: nothing is given back that was not there" "$(field "$tmp/s" frees_unknown)" 0
	check_agree "$mode" "$tmp/t"
	for kind in json pftrace; do
		"$proftrace" report --format csv "$tmp/t.$kind" >"$tmp/csv"
		for pool in moved taken; do
			for column in allocations:count frees:frees leaked:leaked peak:peak; do
				equal "$mode, $kind: $pool: ${column%:*}" "$(cell $pool "${column#*:}")" \
					"$(said "$tmp/out" "$pool ${column%:*}")"
			done
		done
	done
done
finish
