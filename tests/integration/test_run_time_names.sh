#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run-time names (the forms in _DYN): each mark has the name that it had when it was made, in exact and buffered
# mode, in both outputs.
. "$(dirname "$0")/lib.sh"
need_tracing

for mode in exact batch-now; do
	"$proftrace" record -q --strict --mode $mode -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/run_time_names" 5003 >"$tmp/out" 2>"$tmp/err"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: marks written" "$(field "$tmp/s" written)" "$(said "$tmp/out" total)"
	check_agree "$mode" "$tmp/t"
	for file in "$tmp/t.json" "$tmp/t.pftrace"; do
		"$canon" --count "$file" >"$tmp/counts"
		grep '^[BI]' "$tmp/out" | while read -r kind what i n; do
			awk -v k="$kind" -v w="$what $i" '$1 == k && index($0, w) { s += $NF } END { print s + 0 }' \
				"$tmp/counts" | grep -qx "$n" || echo "$kind $what $i: not $n"
		done >"$tmp/wrong"
		equal "$mode, ${file##*.}: each name as often as it was made" "$(cat "$tmp/wrong")" ""
	done

	# Each is in two pages that are not in memory before the mark: its marker reads both.
	"$proftrace" record -q -e none --mode $mode -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/away" "$tmp/texts" 500 >"$tmp/out"
	equal "$mode, taken away: marks written" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
	equal "$mode, taken away: names that could not be read" "$(field "$tmp/s" unreadable_names)" 0
	equal "$mode, taken away: and arguments" "$(field "$tmp/s" unreadable_args)" 0
	for output in json pftrace; do
		equal "$mode, taken away: names and keys, in the $output" \
			"$("$canon" "$tmp/t.$output" | grep -c 'name in two pages'),$("$canon" "$tmp/t.$output" | grep -c 'key in two pages')" 1000,500
	done
done
finish
