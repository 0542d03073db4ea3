#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What proftrace finds out about a kernel is what that kernel is known to have, and names are right
# through whichever door it then uses.
#
#	WANT_MULTI	"yes" or "no": one link for all sites of a file
#	WANT_DOOR	a word of what is said about probe sites
. "$(dirname "$0")/../integration/lib.sh"

"$proftrace" check >"$tmp/check" 2>&1
equal "check: exit status" $? 0
sed 's/^/# /' "$tmp/check"
equal "check: uprobe_multi links" "$(awk '/^uprobe_multi links/ { print $3 }' "$tmp/check")" "$WANT_MULTI"
check "check: probe sites: $WANT_DOOR" grep -q "^probe sites .*$WANT_DOOR" "$tmp/check"
need_tracing

"$proftrace" -q -o "$tmp/t" --summary-json "$tmp/s" --strict -- "$programs/every_kind" 2 50 >"$tmp/out"
equal "every kind: exit status" $? 0
"$canon" --count "$tmp/t.pftrace" >"$tmp/counts"
equal "names: every slice of the program's" \
	"$(awk '$1 == "BEGIN" { c = $NF; $NF = ""; sub(/^BEGIN /, ""); sub(/ $/, ""); print $0 ":" c }' \
		"$tmp/counts" | sort | tr '\n' ' ')" \
	"encode:100 factorial:300 reply:100 request:100 round:100 work:100 "
equal "names: none is unreadable" "$(field "$tmp/s" unreadable_names)" 0
finish
