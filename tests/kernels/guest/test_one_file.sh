#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The static file records on this kernel what the other one does.
. "$(dirname "$0")/../integration/lib.sh"
proftrace=$root/build/static/proftrace
need_tracing
for program in steps steps-static; do
	"$proftrace" -q -o "$tmp/t" --summary-json "$tmp/summary" -- "$programs/$program" 2 1 10 >"$tmp/said" 2>"$tmp/err"
	equal "$program: status" "$?/$(cat "$tmp/err")" "0/"
	equal "$program: each mark" "$(field "$tmp/summary" written)" "$(said "$tmp/said" marks)"
	check_account "$program" "$tmp/summary"
	check_agree "$program" "$tmp/t"
done
finish
