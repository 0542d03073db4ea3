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

# A dynamic linker whose name does not say that it is one: libraries that a program opens while it is recorded are found.
linker=$(ldd "$programs/waits" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\).*/\1/p')
cp "$linker" "$tmp/loader"
check "a linker of another name: links" gcc -O2 -I"$root/include" "-Wl,--dynamic-linker=$tmp/loader" \
	"$root/tests/integration/programs/scripted.c" -o "$tmp/own"
mkfifo "$tmp/commands"
"$tmp/own" <"$tmp/commands" >"$tmp/out" &
target=$!
exec 9>"$tmp/commands"
wait_for "$tmp/out" ready
"$proftrace" -e none -p $target -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
echo "load $programs/plugin.so" >&9
wait_for "$tmp/out" "done 1"
exec 9>&-
wait $target
wait $recorder
equal "a linker of another name: the marks of a constructor" "$("$canon" --count "$tmp/t.pftrace" | sed -n 's/^BEGIN constructor //p')" 10
rm -f "$tmp/out" "$tmp/err"

# Compiled with a header whose semaphores did not begin a page: lld has theirs in two writable mappings until the program
# is relocated. That is refused before anything is recorded, and recorded in a program that runs.
if "ld.lld" --version >/dev/null 2>&1; then
	mkdir "$tmp/old"
	sed '/^#define PROF_IMPL_ASM_SEMAPHORE_PAGE/,/endif/s/balign 4096/balign 4/' "$root/include/proftrace.h" >"$tmp/old/proftrace.h"
	check "an older header: links" gcc -O2 -I"$tmp/old" -fuse-ld=lld "$root/tests/integration/programs/waits.c" -o "$tmp/waits"
	for mode in exact batch-now; do
		printf 'go\ngo\n' | "$proftrace" -q -e none --mode $mode -o "$tmp/none" -- "$tmp/waits" 50 >"$tmp/out" 2>"$tmp/err"
		equal "an older header, $mode: it is refused" $? 1
		check "an older header, $mode: with the reason" grep -q "kernel would not find its semaphores" "$tmp/err"
		check "an older header, $mode: and what to do" grep -q "^hint: .*lld" "$tmp/err"
		rm -f "$tmp/in" "$tmp/out"
		mkfifo "$tmp/in"
		exec 9<>"$tmp/in"
		"$tmp/waits" 50 <"$tmp/in" >"$tmp/out" 9>&- &
		target=$!
		wait_for "$tmp/out" ready
		rm -f "$tmp/err"
		"$proftrace" -e none --mode $mode -p $target -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
		recorder=$!
		wait_for "$tmp/err" "proftrace: recording"
		printf 'go\ngo\n' >&9
		wait $target
		wait $recorder
		equal "an older header, $mode, attached to: every mark" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
		check "an older header, $mode, attached to: it says what it cannot do" grep -q "only in programs that run already" "$tmp/err"
		exec 9>&-
	done
else
	skip "an older header" "ld.lld is not installed"
fi
finish
