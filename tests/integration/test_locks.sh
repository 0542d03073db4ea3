#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Locks of proftrace/mutex.h, in C and in C++: both traces have each wait, with who held the lock, and each hold.
. "$(dirname "$0")/lib.sh"
need_tracing

# A wait with who held it; a hold, and whether it says on which thread.
events() { # FILE
	"$canon" "$1" | awk '
		$3 == "BEGIN" { n["BEGIN " $5 " " $6 ($7 ? " " $7 : "")]++ }
		$3 == "ASYNC_BEGIN" { n["ASYNC_BEGIN " $5 " " $6 ($8 ~ /^thread=n:[1-9][0-9]*$/ ? " thread" : "")]++ }
		END { for (i in n) print i, n[i] }' | sort
}

modes=exact
if has_batches; then
	modes="exact batch-now"
fi
for program in locks locks-cpp; do
	for mode in $modes; do
		"$proftrace" record -q -e none --strict --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- \
			"$programs/$program" 20 >"$tmp/out" 2>"$tmp/err"
		equal "$program, $mode: exit status" $? 0
		check_account "$program, $mode" "$tmp/s"
		equal "$program, $mode: marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
		equal "$program, $mode: every slice ends" \
			"$(field "$tmp/s" open_at_end)$(field "$tmp/s" async_unmatched)$(field "$tmp/s" unfinished)" 000
		check_agree "$program, $mode" "$tmp/t"
		sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
		for kind in json pftrace; do
			events "$tmp/t.$kind" >"$tmp/got"
			check "$program, $mode, $kind: waits and holds" diff "$tmp/wanted" "$tmp/got"
		done
	done
done

# Switched off.
"$proftrace" record -q -e none -D '!locks' -o "$tmp/none" --summary-json "$tmp/s" -- "$programs/locks" 2 >"$tmp/out"
equal "without the domain: nothing is marked" "$(field "$tmp/s" marked)" 0
finish
