#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Libraries that are unloaded while they are recorded: what is in their buffers is handed over before these go with
# them, also where the linker has dropped all sites that the library does not use, and nothing of them stays.
. "$(dirname "$0")/lib.sh"
need_tracing

# The header as it was before it kept a control site for this.
mkdir "$tmp/before"
sed '/PROF_IMPL_ASM_WANTS("prof_step_prof_control")/d' "$root/include/proftrace.h" >"$tmp/before/proftrace.h"
check "the header keeps a control site" sh -c "! cmp -s '$tmp/before/proftrace.h' '$root/include/proftrace.h'"

unload() { # NAME LIBRARY OPTION...
	unloaded=$1 library=$2
	shift 2
	"$proftrace" -q -e none "$@" -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/unloads" 20 3 "$library" >"$tmp/out"
	equal "$unloaded: exit status" $? 0
	check_account "$unloaded" "$tmp/s"
	equal "$unloaded: no buffer was looked for in vain" "$(field "$tmp/s" batches_unread)" 0
	equal "$unloaded: all marks" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
	for output in json pftrace; do
		equal "$unloaded: those of the library, in the $output" \
			"$("$canon" "$tmp/t.$output" | awk '$3 == "INSTANT" && $5 == "part"' | wc -l)" $((2 * 61))
	done
}

for linker in bfd gold lld; do
	if ! "ld.$linker" --version >/dev/null 2>&1; then
		skip "ld.$linker" "it is not installed"
		continue
	fi
	for include in "$root/include" "$tmp/before"; do
		check "ld.$linker: links" gcc -O2 -I"$include" -shared -fPIC -fuse-ld=$linker -ffunction-sections \
			-Wl,--gc-sections "$root/tests/integration/programs/part.c" -o "$tmp/part.so"
		for mode in exact batch batch-now; do
			unload "ld.$linker, ${include##*/}, $mode" "$tmp/part.so" --mode $mode
		done
	done
	unload "ld.$linker, no children" "$tmp/part.so" --mode batch-now --no-children
done

# Several threads, and a forked child, have had a buffer at an address where another one is later, or none any more.
libraries=
for i in 1 2 3 4; do
	cp "$programs/part.so" "$tmp/$i.so"
	libraries="$libraries $tmp/$i.so"
done
for open in 0 1; do
	reload="where another was, $open open"
	"$proftrace" -q -e none --mode batch-now -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/reloads" 2000 $open $libraries >"$tmp/out"
	check "$reload: $(said "$tmp/out" again) of 4 are there" test "$(said "$tmp/out" again)" -gt 0
	check_account "$reload" "$tmp/s"
	equal "$reload: no buffer was looked for in vain" "$(field "$tmp/s" batches_unread)" 0
	equal "$reload: all marks" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
done

# A buffer takes 32 KiB of each thread. If one stayed each time, that were 19 MB.
"$proftrace" -q -e none --mode batch-now -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/unloads" 200 3 \
	"$programs/part.so" >"$tmp/out"
equal "600 times: all marks" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
check "600 times: no memory is kept, $(said "$tmp/out" kept) KiB" test "$(said "$tmp/out" kept)" -lt 256
finish
