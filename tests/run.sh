#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/run.sh [PROGRAM... --] PROGRAM...
# tests/run.sh NAME...
#
# Runs test programs that speak TAP ("ok", "not ok", "# SKIP reason"), shows their output and ends with
# one line: "N passed, N failed, N skipped". A program that crashes, hangs or runs no test counts as one
# failure. The programs before "--" only compute; they run at low priority beside the others, and so does the building of
# those that make has to build, and of the fuzzers. Emulated machines that run at the same time (.ci/run) have a lower one.
#
# A NAME without a slash, such as test_names or test_attach, is looked up among the unit, integration and
# attack tests, and style.sh or rooms.sh here. What it needs is built first.
#
# The tests that record compete with the target on a machine that may be busy. A test that fails gets one
# second try, which counts; the first failure is shown, and the test is named before the last line, because it
# has to be investigated. A check whose name ends in "(each time)" gets no second try. At the end, since of a long output
# often only the end is kept, come the programs that took longest, each with all its tries, and the checks that failed.
set -u
export CMOCKA_MESSAGE_OUTPUT=TAP
dir=$(mktemp -d)
export CHECKED="$dir/check" # tests/integration/lib.sh
trap 'rm -rf "$dir"' EXIT

# The programs of NAMEs; make's output goes to standard error, so that the closing line stays alone.
find_program() { # NAME
	scripts=$(ls "tests/integration/$1.sh" "tests/attacks/$1.sh" 2>/dev/null)
	if [ -n "$scripts" ]; then
		make -s all test-programs >&2 && echo "$scripts"
		return
	fi
	if [ -f "tests/unit/$1.c" ]; then
		make -s "build/tests/unit/$1" >&2 && echo "build/tests/unit/$1"
	elif [ -x "tests/$1" ]; then
		echo "tests/$1"
	else
		echo "$1"
	fi
}

names=
for program; do
	case $program in
	*/* | --)
		names=
		break
		;;
	esac
	names="$names $(cd "$(dirname "$0")/.." && find_program "$program")" || exit 1
done
[ -z "$names" ] || { set -- $names && cd "$(dirname "$0")/.."; } || exit 1

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
	took=$(($(date +%s) - began))
	echo "# $1: $took s" >>"$log"
	echo "$took $1" >>"$dir/$name.took"
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
		grep '^not ok ' "$log" | grep -v '# SKIP' | sed "s|^not|# failed: $program: not|" >>"$dir/failed"
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
		renice -n 10 -p "$(exec sh -c 'echo $PPID')" >/dev/null 2>&1
		{
			if ! make -ks -j"$(nproc)" check-beside; then
				echo "not ok - make check-beside"
				echo "# failed: make check-beside" >>"$dir/failed"
				echo 0 1 0 >"$dir/built.counts"
			fi
			run beside 1 $beside
		} >"$dir/beside.said" 2>&1
	) &
	;;
esac
run others 2 "$@"
wait
[ -z "$beside" ] || cat "$dir/beside.said"
cat "$dir"/*.took | awk '
	{ took[$2] += $1 }
	END { for (program in took) print took[program], program }' | sort -rn | head -15 | awk '
	NR == 1 { print "# longest:" }
	{ print "#", $1 " s", $2 }'
[ ! -s "$dir/again" ] || echo "# had a second try: $(tr '\n' ' ' <"$dir/again")"
[ ! -s "$dir/failed" ] || cat "$dir/failed"
cat "$dir"/*.counts | awk '
	{ passed += $1; failed += $2; skipped += $3 }
	END { print passed " passed, " failed " failed, " skipped " skipped"; exit failed || !NR }'
