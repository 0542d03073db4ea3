#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/kernels/boot.sh NAME ARCH IMAGE ROOT CPUS WORD...
#
# Boots a kernel in an emulator, runs the tests in it (guest/init; the WORDs go to the kernel's command
# line) and prints their TAP lines, each test named NAME, then its file, then its own name. A guest that
# does not come to its end, or a test that does not, is a failure.
set -u
name=$1 arch=$2 image=$3 initrd=$4 cpus=$5
shift 5

# Never hardware virtualisation: it is not everywhere, and what the tests see would depend on it. Time
# is counted in instructions, two nanoseconds each: what a guest sees does not depend on how busy the
# machine is, and it does not wait while nothing runs. Two processors take turns in one thread: newer
# kernels crash under the emulator otherwise.
case $arch in
amd64)
	set -- qemu-system-x86_64 -M q35 -cpu max -accel tcg,thread=single -append \
		"console=ttyS0 panic=-1 loglevel=1 $*"
	;;
arm64)
	# Counted like that, there are hardware counters as well, which count exactly. Return addresses are signed, by
	# a method of the emulator's that is faster than the architecture's.
	set -- qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -accel tcg -append \
		"console=ttyAMA0 panic=-1 loglevel=1 $*"
	;;
esac
timeout --foreground -k 10 "${BOOT_LIMIT:-1200}" "$@" -icount shift=1,sleep=off -smp "$cpus" -m 1024 -nographic -nodefaults -no-reboot \
	-serial stdio -kernel "$image" -initrd "$initrd" </dev/null 2>&1 | tr -d '\r' |
	awk -v name="$name" '
		# What a test says is shown when it is known that it had no second try.
		function show(text) {
			shown[n_shown++] = text
		}
		function flush(prefix) {
			for (i = 0; i < n_shown; i++)
				print prefix shown[i]
			n_shown = 0
		}
		# Says how a test ended that is begun, with its last words when it failed to come to its end.
		function fail(why) {
			show("not ok - " name " " why)
			for (i = said > 15 ? said - 15 : 0; i < said; i++)
				show("#   " last[i])
		}
		sub(/^.*@@ begin /, "") { flush(""); test = $1; since = $2; said = planned = bad = 0; next }
		sub(/^.*@@ end /, "") {
			if (!planned || ($2 != 0 && !bad))
				fail(test ": ended with status " $2)
			show("# " name " " test ": " $3 - since " s")
			test = ""
			next
		}
		sub(/^.*@@ again /, "") { flush("# first try: "); show("# had a second try: " name " " $1); next }
		/^@@ done/ { done = 1 }
		/^1\.\.[0-9]+$/ { planned = 1 }
		match($0, /^(not )?ok [0-9]+ - /) {
			bad += substr($0, RSTART, 3) == "not"
			line = substr($0, RSTART, RLENGTH)
			sub(/ [0-9]+ /, " ", line)
			show(line name " " test ": " substr($0, RSTART + RLENGTH))
		}
		/^#/ { show($0) }
		{ last[said++] = $0 }
		END {
			if (!done)
				fail(test == "" ? "boots" : test ": the guest crashed or hung")
			flush("")
		}'
