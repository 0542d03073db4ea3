#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/run.sh [PROGRAM... --] PROGRAM...
#
# Runs test programs that speak TAP ("ok", "not ok", "# SKIP reason"), shows what they say and ends
# with one line: "N passed, N failed, N skipped". A program that dies, hangs or runs no test counts
# as one failure. Those before "--" only compute: they run beside the others, with what is left of the
# processors.
#
# The others record what races with them on a machine that may be busy. One that fails gets a second
# try, once, and that counts; what failed at first is shown, and named before the last line: it is to be
# looked into, but is no reason to throw away everything else. What has to hold "each time" gets none.
set -u
export CMOCKA_MESSAGE_OUTPUT=TAP
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

try() { # PROGRAM: leaves what it says in $log, and passed, failed and skipped checks in p, f and s
	began=$(date +%s)
	timeout -k 10 "${TEST_TIMEOUT:-600}" "$1" >"$log" 2>&1 </dev/null
	status=$?
	s=$(grep -cE '^(not )?ok .*# SKIP' "$log")
	f=$(grep -E '^not ok ' "$log" | grep -vc '# SKIP')
	p=$(grep -E '^ok ' "$log" | grep -vc '# SKIP')
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $1 ended with status $status" >>"$log"
		f=1
	elif [ $((p + f + s)) -eq 0 ]; then
		echo "not ok - $1 ran no test" >>"$log"
		f=1
	fi
	echo "# $1: $(($(date +%s) - began)) s" >>"$log"
}

run() { # NAME TRIES PROGRAM...: leaves what they say in NAME.said, and how they ended in NAME.counts
	name=$1 tries=$2 log=$dir/$1.log
	shift 2
	passed=0 failed=0 skipped=0
	for program; do
		echo "# $program"
		try "$program"
		if [ "$f" -ne 0 ] && [ "$tries" -gt 1 ] && ! grep -q '^not ok .*(each time)$' "$log"; then
			sed 's/^/# first try: /' "$log"
			echo "$program" >>"$dir/again"
			try "$program"
		fi
		cat "$log"
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
		run beside 1 $beside >"$dir/beside.said" 2>&1
	) &
	;;
esac
run others 2 "$@"
wait
[ -z "$beside" ] || cat "$dir/beside.said"
[ ! -s "$dir/again" ] || echo "# had a second try: $(tr '\n' ' ' <"$dir/again")"
cat "$dir"/*.counts | awk '
	{ passed += $1; failed += $2; skipped += $3 }
	END { print passed " passed, " failed " failed, " skipped " skipped"; exit failed || !NR }'
