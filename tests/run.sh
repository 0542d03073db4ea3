#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/run.sh [PROGRAM... --] PROGRAM...
#
# Runs test programs that speak TAP ("ok", "not ok", "# SKIP reason"), shows what they say and ends
# with one line: "N passed, N failed, N skipped". A program that dies, hangs or runs no test counts
# as one failure. Those before "--" only compute: they run beside the others, with what is left of the
# processors.
set -u
export CMOCKA_MESSAGE_OUTPUT=TAP
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

run() { # NAME PROGRAM...: leaves what they say in NAME.said, and how they ended in NAME.counts
	name=$1 log=$dir/$1.log
	shift
	passed=0 failed=0 skipped=0
	for program; do
		echo "# $program"
		began=$(date +%s)
		timeout -k 10 "${TEST_TIMEOUT:-600}" "$program" >"$log" 2>&1 </dev/null
		status=$?
		cat "$log"
		echo "# $program: $(($(date +%s) - began)) s"
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
	echo "$passed $failed $skipped" >"$dir/$name.counts"
}

beside=
case " $* " in
*" -- "*)
	while [ "$1" != -- ]; do
		beside="$beside $1"
		shift
	done
	shift
	(
		renice -n 19 -p "$(exec sh -c 'echo $PPID')" >/dev/null 2>&1
		run beside $beside >"$dir/beside.said" 2>&1
	) &
	;;
esac
run others "$@"
wait
[ -z "$beside" ] || cat "$dir/beside.said"
cat "$dir"/*.counts | awk '
	{ passed += $1; failed += $2; skipped += $3 }
	END { print passed " passed, " failed " failed, " skipped " skipped"; exit failed || !NR }'
