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
	for format in json pftrace; do
		"$proftrace" report "$tmp/t.$format" >"$tmp/table" 2>"$tmp/err"
		equal "$program: report of the $format: status" "$?/$(cat "$tmp/err")" "0/"
		check "$program: report of the $format: its slices" grep -q '^default *round *400 ' "$tmp/table"
	done
done
check "it is the static one" sh -c '"$1" --version | grep "^libraries (static): "' - "$proftrace"
finish
