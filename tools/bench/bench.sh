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
case ${BENCH_ONLY:-program} in
program)
	{
		echo "What recording does to a real program"
		echo
		$as_root tools/bench/program.sh $rounds 100000 || status=1
		echo
	} >>build/bench/table.txt
	;;
esac
case ${BENCH_ONLY:-} in
program | annotations | growth) ;;
*)
	$as_root build/bench/bench $quick "$PWD/build/bench" ${BENCH_ONLY:+"$BENCH_ONLY"} >>build/bench/table.txt ||
		status=$?
	;;
esac
case ${BENCH_ONLY:-annotations} in
annotations)
	{
		echo
		echo "Annotations (NVTX, ITT)"
		echo
		$as_root tools/bench/annotations.sh || status=1
	} >>build/bench/table.txt
	;;
esac
case ${BENCH_ONLY:-growth} in
growth)
	{
		echo
		echo "How it grows"
		echo
		$as_root tools/bench/growth.sh ${quick:+quick} || status=1
	} >>build/bench/table.txt
	;;
esac
cat build/bench/table.txt
echo
echo "Every sample: build/bench/results.json. A picture: build/bench/chart.svg"
exit $status
