#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/run.sh PROGRAM...
#
# Runs test programs that speak TAP ("ok", "not ok", "# SKIP reason"), shows what they say and ends
# with one line: "N passed, N failed, N skipped". A program that dies, hangs or runs no test counts
# as one failure.
set -u
export CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program; do
	echo "# $program"
	timeout -k 10 "${TEST_TIMEOUT:-600}" "$program" >"$log" 2>&1 </dev/null
	status=$?
	cat "$log"
	s=$(grep -cE '^(not )?ok .*# SKIP' "$log")
	f=$(grep -E '^not ok ' "$log" | grep -vc '# SKIP')
	p=$(grep -E '^ok ' "$log" | grep -vc '# SKIP')
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $program ended with status $status"
		f=1
	elif [ $((p + f + s)) -eq 0 ]; then
		echo "not ok - $program ran no test"
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
