#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program counts its own marker calls; both traces contain exactly those.
. "$(dirname "$0")/lib.sh"
need_tracing
rounds=${ROUNDS:-12000}

"$proftrace" -q -o "$tmp/t" --summary-json "$tmp/s" --strict -- \
	"$programs/every_kind" 4 "$rounds" >"$tmp/out" 2>"$tmp/err"
equal "exit status" $? 0
equal "nothing is said with -q" "$(cat "$tmp/err")" ""
check_account "every kind" "$tmp/s"
equal "marks the kernel counted" "$(field "$tmp/s" marked)" "$(said "$tmp/out" total)"
equal "marks written" "$(field "$tmp/s" written)" "$(said "$tmp/out" total)"
check_agree "every kind" "$tmp/t"

# The same kinds in the trace's own words: allocations and steps are counters there.
for file in "$tmp/t.json" "$tmp/t.pftrace"; do
	"$canon" --count "$file" >"$tmp/counts"
	sum() { awk -v k="$1" '$1 == k { n += $NF } END { print n + 0 }' "$tmp/counts"; }
	kind=${file##*.}
	equal "$kind: BEGINs" "$(sum BEGIN)" "$(said "$tmp/out" "count begin")"
	equal "$kind: ENDs" "$(sum END)" "$(said "$tmp/out" "count end")"
	equal "$kind: instants" "$(sum INSTANT)" "$(said "$tmp/out" "count instant")"
	equal "$kind: async BEGINs" "$(sum ASYNC_BEGIN)" "$(said "$tmp/out" "count async_begin")"
	equal "$kind: async ENDs" "$(sum ASYNC_END)" "$(said "$tmp/out" "count async_end")"
	equal "$kind: flows out" "$(sum FLOW_OUT)" "$(said "$tmp/out" "count flow_out")"
	equal "$kind: flows in" "$(sum FLOW_IN)" "$(said "$tmp/out" "count flow_in")"
done
finish
