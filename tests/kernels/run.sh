#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/kernels/run.sh [NAME...]: the integration tests inside other kernels; `make test-kernels`.
#
# Stock Debian kernels are downloaded (fetch.sh), packed together with proftrace and its tests into
# guests (root.sh) and booted in an emulator (boot.sh), two at a time. Nothing needs root, and nothing
# of the machine is changed. What is downloaded and built stays in build/kernels. A kernel that cannot
# be downloaded is skipped, and it says why. NAMEs choose among the guests below. With KERNEL_IMAGE the guest
# NAME boots that kernel instead of its own: one that nobody packages.
#
# Emulation is slow: the tests run shorter than they do on the machine itself, and a guest has BOOT_LIMIT
# seconds (1200). What is the same everywhere is not tested again here, but what depends on the kernel: that
# the BPF programs load, which probe sites and links are used, that threads wait for their libraries on one
# CPU, that nothing gets lost or mixed up however the kernel preempts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/kernels
every=test_features,test_counts,test_threads

# name, architecture, kernel, CPUs; uprobe_multi, a word about the probe sites (a dot for a space); tests;
# more for the kernel's command line. What test_features wants to see is what these kernels have. Those
# that take long come first, and before them the one for arm64, for which everything has to be built.
guests="
arm64-6.12	arm64 6.12 1 yes no.faster $every,test_one_file,test_counters,test_pmu,test_batch_many,test_func,test_sched,test_sample,test_unwind WANT_SIGNED=1
6.1		amd64 6.1  1 no  no.faster $every,test_decoding,test_options,test_target,test_loss,test_follow,test_attach,test_tables,test_one_file,test_starts,test_clocks,test_rights,test_func,test_sched
7.2		amd64 7.2  1 yes 10-byte   $every,test_decoding,test_follow,test_foreign_usdt,test_batch,test_sched
6.12-8		amd64 6.12 8 yes no.faster test_cpus
6.12		amd64 6.12 2 yes no.faster $every,test_closed,test_capabilities,test_control,test_lockdown
6.18		amd64 6.18 1 yes 5-byte    $every,test_follow,test_sched preempt=full
"

wanted() { # NAME
	[ -n "$names" ] || return 0
	case " $names " in *" $1 "*) return 0 ;; esac
	return 1
}

# Builds what the guests of an architecture boot, once in a run.
prepare() { # ARCH
	[ ! -e "$work/$1.ready" ] || return 0
	# The lists are only needed for what is not there yet.
	for series in $(cat "$work/$1.series"); do
		[ -s "${KERNEL_IMAGE:-$work/$1-$series/vmlinuz}" ] || {
			"$here/apt.sh" "$1" update
			break
		}
	done
	"$here/$1.sh" >"$work/$1.log" 2>&1 || tail -1 "$work/$1.log" >"$work/$1.why"
	touch "$work/$1.ready"
}

# Leaves what a guest said in $work/NAME.tap.
run_guest() { # NAME ARCH SERIES CPUS MULTI SITES TESTS WORD...
	name=$1 arch=$2 series=$3 cpus=$4 multi=$5 sites=$6 tests=$7
	shift 7
	# The first guest of its architecture does that, while the others may already run.
	flock "$work/$arch.lock" "$here/run.sh" --prepare "$arch"
	if [ -s "$work/$arch.why" ] && [ -e "$work/$arch.had" ]; then
		echo "not ok - $name: its root file system cannot be built: $(tail -1 "$work/$arch.why")"
	elif [ -s "$work/$arch.why" ]; then
		echo "ok - $name # SKIP $(tail -1 "$work/$arch.why")"
	elif image=$("$here/fetch.sh" "$arch" "$series" 2>"$work/$name.why"); then
		"$here/boot.sh" "$name" "$arch" "$image" "$work/$arch.cpio" "$cpus" \
			"TESTS=$tests LIMIT=200 WANT_MULTI=$multi WANT_SITES=$sites" \
			"ROUNDS=300 SLICES=300 CROWD=200 CALLS=3000 FORKS=200 LIBRARIES=5 BATCHES=300 STORM=2000 STORM_PAUSE=400" "$@"
	else
		echo "ok - $name # SKIP $(tail -1 "$work/$name.why")"
	fi >"$work/$name.tap" 2>&1
}

case ${1:-} in
--guest)
	shift
	run_guest "$@"
	exit
	;;
--prepare)
	prepare "$2"
	exit
	;;
esac

names=$*
if [ -n "${KERNEL_IMAGE:-}" ] && ! { [ $# -eq 1 ] && [ -r "$KERNEL_IMAGE" ]; }; then
	echo "KERNEL_IMAGE=$KERNEL_IMAGE: a file that can be read, and KERNELS names the one guest that boots it" >&2
	exit 2
fi
mkdir -p "$work"
rm -f "$work"/*.tap "$work"/*.why "$work"/*.had "$work"/*.ready
guests=$(echo "$guests" | while read -r name rest; do
	[ -n "$name" ] && wanted "$name" && echo "$name $rest"
done)
for arch in amd64 arm64; do
	echo "$guests" | awk -v arch=$arch '$2 == arch { print $3 }' >"$work/$arch.series"
done
echo "$guests" | xargs -P 2 -L 1 "$here/run.sh" --guest

: >"$work/failed"
passed=0 failed=0 skipped=0
for name in $(echo "$guests" | awk '{ print $1 }'); do
	if [ -n "${KERNEL_IMAGE:-}" ]; then
		echo "# $name: $KERNEL_IMAGE"
	else
		echo "# $name$(sed 's/^/: /' "$work"/*"-${name%%-*}/release" 2>/dev/null | head -1)"
	fi
	cat "$work/$name.tap"
	s=$(grep -cE '^(not )?ok .*# SKIP' "$work/$name.tap")
	f=$(grep -E '^not ok ' "$work/$name.tap" | grep -vc '# SKIP')
	p=$(grep -E '^ok ' "$work/$name.tap" | grep -vc '# SKIP')
	[ $((p + f + s)) -gt 0 ] || { echo "not ok - $name: said nothing" | tee -a "$work/$name.tap"; f=1; }
	grep -E '^not ok ' "$work/$name.tap" | grep -v '# SKIP' | sed 's/^/# failed: /' >>"$work/failed"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
# Without downloads there is nothing to run, which is no failure; but nor is it a test of anything.
[ $((passed + failed)) -gt 0 ] || echo "# NO KERNEL WAS TESTED: each of the guests was skipped, see above for why"
# Of a long output often only the end is kept.
cat "$work/failed"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
