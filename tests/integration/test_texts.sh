#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# C++ strings and views as values: each arrives as it was, up to what is kept, in exact and in buffered mode, in
# both outputs; what is longer counts as cut.
. "$(dirname "$0")/lib.sh"
need_tracing

modes=exact
if ! has_batches; then
	skip "in buffered mode" "no batches on this machine"
else
	modes="exact batch-now"
fi
for mode in $modes; do
	"$proftrace" record -q -e none --mode $mode -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/texts" 3 >"$tmp/out" 2>"$tmp/err"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: marks written" "$(field "$tmp/s" written)" "$(said "$tmp/out" total)"
	equal "$mode: values that were cut" "$(field "$tmp/s" cut_strings)" "$(said "$tmp/out" cut)"
	check_agree "$mode" "$tmp/t"
	sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" | sed -n 's/.* INSTANT .* \(text=s:".*"\)$/\1/p' | sort | uniq -c |
			sed 's/^ *//' | sort >"$tmp/got"
		check "$mode, $kind: each value as often as it was marked" diff "$tmp/wanted" "$tmp/got"
	done
done
finish
