#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A million distinct names of slices: names beyond the limit are (other) and counted; no slice is missing.
. "$(dirname "$0")/lib.sh"
need_tracing
slices=1000000

# MOST_KB: what neither the recorder nor its broker may take.
names() { # NAME MOST_KB OPTION...
	recorded=$1 most=$2
	shift 2
	timeout -k 5 100 "$programs/peak" "$tmp/peak" "$proftrace" -q --buffer 8M --summary-json "$tmp/s" "$@" -- \
		"$programs/hostile" slices $slices >"$tmp/out" 2>"$tmp/err"
	equal "$recorded: exit status" $? 0
	equal "$recorded: every mark is in the account" "$(field "$tmp/s" marked)" "$((2 * slices))"
	equal "$recorded: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$recorded: written + lost = marked" \
		"$(($(field "$tmp/s" written) + $(field "$tmp/s" lost_total)))" "$(field "$tmp/s" marked)"
	check "$recorded: names that are too many are (other)" test "$(field "$tmp/s" other_names)" -gt 0
	check "$recorded: memory stays below $most KB" test "$(said "$tmp/peak" peak)" -lt "$most"
	echo "# $recorded: $(said "$tmp/peak" peak) KB, $(field "$tmp/s" lost_total) lost"
}

# Each slice is counted in a row, at most 65,536 of them with names of their own.
rows() { # NAME MOST_KB
	timeout -k 5 60 "$programs/peak" "$tmp/peak" "$proftrace" report --format csv "$tmp/t.pftrace" >"$tmp/csv" 2>"$tmp/err"
	equal "$1: the report's exit status" $? 0
	check "$1: the report's memory stays below $2 KB" test "$(said "$tmp/peak" peak)" -lt "$2"
	awk -F , '$1 == "slice" { rows++; sum += $5; if ($3 == "(other)") other = $5 }
		END { print "rows", rows + 0; print "sum", sum + 0; print "other", other + 0 }' "$tmp/csv" >"$tmp/rows"
	check "$1: no more than 65,536 names and (other)" test "$(said "$tmp/rows" rows)" -gt 10000 -a "$(said "$tmp/rows" rows)" -le 65537
	check "$1: (other) has the others" test "$(said "$tmp/rows" other)" -gt 100000
	# What is lost is lost as a whole, but where it ends without having been recorded when it began, or the
	# other way round.
	missing=$(($(field "$tmp/s" written) / 2 - $(said "$tmp/rows" sum)))
	check "$1: all slices that were written are in some row" \
		test "${missing#-}" -le $((1 + $(field "$tmp/s" ends_lost)))
}

names "one by one" 196608 -o "$tmp/t.pftrace"
rows "one by one" 393216
if ! has_batches; then
	skip "in batches" "no batches on this machine"
else
	names "in batches" 196608 --mode batch-now -o "$tmp/t.pftrace"
	rows "in batches" 393216
fi
names "counted in the kernel" 65536 --stats-only
finish
