#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs of every linker: where it puts the switches, the kernel counts in the memory that the markers look at, from
# the first instruction on. (lld maps what is read-only after relocation apart from other data.)
. "$(dirname "$0")/lib.sh"
need_tracing

for linker in bfd gold lld; do
	for options in "" "-Wl,--gc-sections -ffunction-sections" "-static"; do
		name="$linker${options:+ }${options%% *}"
		if ! "ld.$linker" --version >/dev/null 2>&1; then
			skip "$name" "ld.$linker is not installed"
			continue
		fi
		check "$name: links" gcc -O2 -I"$root/include" -fuse-ld=$linker $options \
			"$root/tests/integration/programs/waits.c" -o "$tmp/waits"
		for mode in exact batch-now; do
			printf 'go\ngo\n' | "$proftrace" -q -e none --mode $mode -o "$tmp/t" --summary-json "$tmp/s" -- \
				"$tmp/waits" 50 >"$tmp/out"
			equal "$name, $mode: exit status" $? 0
			equal "$name, $mode: every mark" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
			equal "$name, $mode: is written" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
		done
	done
done
finish
