#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The program that adds marks up is loaded by this kernel, and adds up right.
. "$(dirname "$0")/../integration/lib.sh"

"$proftrace" --stats-only --summary-json "$tmp/s" -- "$programs/every_kind" 3 "${ROUNDS:-100}" \
	>"$tmp/out" 2>"$tmp/err"
equal "tables: status" $? 0
check_account "tables" "$tmp/s"
equal "tables: every mark" "$(field "$tmp/s" marked)" "$(said "$tmp/out" total)"
rounds=$((3 * ${ROUNDS:-100}))
for name in round encode connection sent ratio; do
	equal "tables: $name" "$(grep "\"name\": \"$name\"" "$tmp/s" |
		sed -n 's/.*"count": \([0-9]*\).*/\1/p' | tail -1)" $rounds
done
[ "$test_number" -gt 0 ] && grep -q '^proftrace: [^r]' "$tmp/err" && sed 's/^/#   /' "$tmp/err"
finish
