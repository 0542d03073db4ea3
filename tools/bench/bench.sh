#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the bench as root; called by `make bench`. BENCH_QUICK=1: fewer repetitions, a minute.
set -u
cd "$(dirname "$0")/../.." || exit 1
as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "bench: attaching needs root, and there is no sudo" >&2
		exit 1
	}
	as_root=sudo
fi
quick=
rounds=10
case ${BENCH_QUICK:-0} in
0 | '' | no) ;;
*) quick=--quick rounds=3 ;;
esac
status=0
: >build/bench/table.txt
# Unless only another one is wanted.
part() { # NAME TITLE COMMAND...
	case ${BENCH_ONLY:-$1} in
	"$1") ;;
	*) return ;;
	esac
	printf '\n%s\n\n' "$2" >>build/bench/table.txt
	shift 2
	"$@" >>build/bench/table.txt || status=1
}

python_marks() {
	if ! [ -e build/python/proftrace/_native.abi3.so ]; then
		echo "not measured: the package is not built (python3-dev)"
		return
	fi
	tmp=$(mktemp -d)
	PYTHONPATH=build/python ${PYTHON:-/usr/bin/python3} tools/bench/python.py || status=1
	$as_root env PYTHONPATH=build/python build/proftrace -q -e none --mode batch -o "$tmp/t" -- \
		${PYTHON:-/usr/bin/python3} tools/bench/python.py 20 buffered || status=1
	rm -rf "$tmp"
}

rust_marks() {
	if $as_root cargo --version >/dev/null 2>&1; then
		$as_root tools/bench/rust.sh
	else
		echo "not measured: there is no cargo"
	fi
}

part program "What recording does to a real program" $as_root tools/bench/program.sh $rounds 100000
case ${BENCH_ONLY:-} in
program | annotations | python | rust | growth) ;;
*)
	$as_root build/bench/bench $quick "$PWD/build/bench" ${BENCH_ONLY:+"$BENCH_ONLY"} >>build/bench/table.txt ||
		status=$?
	;;
esac
part annotations "Annotations (NVTX, ITT)" $as_root tools/bench/annotations.sh
part python "Python, beyond an empty loop or a bare call" python_marks
part rust "Rust beside C, ns" rust_marks
part growth "How it grows" $as_root tools/bench/growth.sh ${quick:+quick}
cat build/bench/table.txt
echo
echo "Every sample: build/bench/results.json. A picture: build/bench/chart.svg"
exit $status
