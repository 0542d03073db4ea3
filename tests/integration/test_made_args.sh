#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Arguments that are made at run time, more than one mark carries: each event has all of its own, in order, and no
# others; what is more than an event keeps is counted.
. "$(dirname "$0")/lib.sh"
need_tracing
threads=6 rounds=8 most=40 kept=32

# What the arguments of an event are that has n of them, for each n.
awk -v most=$most -v kept=$kept -v times=$((threads * rounds)) 'BEGIN {
	for (n = 0; n <= most; n++) {
		line = ""
		for (i = 0; i < n && i < kept; i++) {
			kind = i % 6
			value = "n:" i
			if (kind == 0 && i) value = "n:" (0 - i)
			if (kind == 2) value = "d:" (i + 0.5)
			if (kind == 3) value = "s:\"ey" i "\""
			if (kind == 4) value = int(i / 4) % 2 ? "b:true" : "b:false"
			if (kind == 5) value = sprintf("s:\"0x%x\"", i * 16)
			line = line " key" i "=" value
		}
		count[line] += times
	}
	for (line in count) print count[line] line
}' | sort >"$tmp/wanted"
args() { # FILE EVENT
	"$canon" "$1" | awk -v event="$2" '
		$3 == event && $5 != "between" {
			line = ""
			for (i = 7; i <= NF; i++) line = line " " $i
			n[line]++
		}
		END { for (line in n) print n[line] line }' | sort
}

modes=exact
if has_batches; then
	modes="exact batch-now"
fi
for mode in $modes; do
	"$proftrace" record -q -e none --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/made_args" $threads $rounds >"$tmp/out"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
	equal "$mode: what is beyond the limit is counted" "$(field "$tmp/s" args_dropped)" "$(said "$tmp/out" dropped)"
	check_agree "$mode" "$tmp/t"
	for kind in json pftrace; do
		for event in INSTANT BEGIN END; do
			args "$tmp/t.$kind" $event >"$tmp/got"
			check "$mode, $kind: arguments of each $event" diff "$tmp/wanted" "$tmp/got"
		done
		equal "$mode, $kind: other marks have their own" \
			"$("$canon" "$tmp/t.$kind" | grep -c ' INSTANT [0-9]* between default own=n:[0-9]*$')" $((threads * rounds))
		equal "$mode, $kind: a counter of any number of series" \
			"$("$canon" --count "$tmp/t.$kind" | awk '$1 == "COUNTER" && $2 == "many" { n += $NF } END { print n }')" $((threads * most))
		equal "$mode, $kind: each series" \
			"$("$canon" "$tmp/t.$kind" | sed -n 's/.* COUNTER [0-9]* many series\([0-9]*\) n:\([0-9]*\)$/\1 \2/p' | awk '$1 == $2' | wc -l)" $((threads * most))
	done
done

# Added up in the kernel there are no arguments, and what carries them is no event.
"$proftrace" record --stats-only --summary-json "$tmp/s" -- "$programs/made_args" 1 2 >"$tmp/out" 2>"$tmp/err"
equal "a table alone: marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
equal "a table alone: the account adds up" "$(field "$tmp/s" adds_up)" true
equal "a table alone: instants" "$(awk '$1 == "made" && $2 == "instant" { print $3 }' "$tmp/err")" $((2 * (most + 1)))
finish
