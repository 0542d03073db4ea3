#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The kernel decodes the instruction at a probe once for a file: for the first process that gets the breakpoint. 32-bit processes,
# before and behind the recorded one in the kernel's order, have the file mapped and wait. Decoded for them, an instruction that
# addresses memory relative to itself reads another place in 64-bit programs.
. "$(dirname "$0")/lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || { skip "other decoding" "32-bit processes of other machines get no breakpoints"; finish; }
program=$attacks/relative

code=$(readelf -lW "$program" | awk '$1 == "LOAD" && $7 $8 == "RE" { print $2 }')
if ! command as --32 --defsym page=$((code / 4096)) "$root/tests/attacks/programs/maps_file.s" -o "$tmp/other.o" 2>/dev/null || ! ld -m elf_i386 "$tmp/other.o" -o "$tmp/other" 2>/dev/null; then
	skip "other decoding" "needs an assembler and a linker for 32-bit programs"
	finish
fi
mkfifo "$tmp/wait" "$tmp/in"
other() { # NAME
	"$tmp/other" "$program" <"$tmp/wait" >"$tmp/$1" 2>/dev/null 9>&- 8>&- &
	other=$!
	[ -e /proc/self/fd/9 ] || exec 9>"$tmp/wait"
	wait_for "$tmp/$1" ready >"$tmp/waited"
}
if ! other first; then # which the recorder attaches to before the other one
	exec 9>&-
	skip "other decoding" "the kernel executes no 32-bit programs"
	finish
fi
first=$other

try() { # WHAT OPTION...
	what=$1
	shift
	"$program" <"$tmp/in" >"$tmp/out" 9>&- &
	target=$!
	exec 8>"$tmp/in"
	wait_for "$tmp/out" ready >"$tmp/waited"
	echo >&8
	wait_for "$tmp/out" 'right\|wrong\|crashed' >"$tmp/waited"
	other second
	start_recorder -e none --summary-json "$tmp/s" "$@" -p $target 8>&-
	for _ in 1 2 3; do echo; done >&8
	exec 8>&-
	wait $target
	status=$?
	kill -INT $recorder 2>/dev/null
	wait $recorder
	equal "$what: the program computes what it does alone" "$status $(sed 1d "$tmp/out" | sort | uniq -c | tr -s ' ')" "0  4 right"
	equal "$what: and is recorded" "$(grep -c '"name":"relative_load".*"ph":"B"' "$tmp/t.json")" 3
}
try "functions, for all processes" -f 'relative_*'
try "a jump to a register" -f relative_load -f relative_register
if kernel_can "return probes"; then try "return probes" --return-probes -f 'relative_*'; fi
try "functions, for a 32-bit process before" --no-children -f 'relative:relative_*' -p $first
exec 9>&-
wait

# --- between the broker's steps ----------------------------------------------------------------------
# Somebody else's uprobe, which the kernel decodes for a 32-bit process that it is for, comes when the broker looks at what the kernel has.
if ! kernel_can "instructions kept"; then
	skip "in between" "this kernel (before 6.12) does not show which instructions it has kept"
	finish
fi
rm -f "$tmp/in" "$tmp/wait"
mkfifo "$tmp/wait" "$tmp/in"
cp "$program" "$tmp/between"
program=$tmp/between
address=$(readelf -sW "$program" | awk '$8 == "relative_load" { print $2 }')
start_recorder -e none -f relative_load -n between --wait
broker=$(cat /proc/$recorder/task/$recorder/children)
"$attacks/decodes_between" "${broker%% *}" "$program" \
	$((0x$address - $(readelf -lW "$program" | awk '$1 == "LOAD" && $7 $8 == "RE" { print $3 }') + code)) "$tmp/other" <"$tmp/wait" >"$tmp/between.out" 2>&1 &
exec 9>"$tmp/wait"
wait_for "$tmp/between.out" ready >"$tmp/waited"
for _ in 1 2 3; do echo; done | "$program" >"$tmp/out" 9>&-
equal "in between: a 32-bit process got the breakpoint" "$(sed 1d "$tmp/between.out")" mapped
equal "in between: the program computes what it does alone" "$(sed 1d "$tmp/out" | sort | uniq -c | tr -s ' ')" " 3 right"
exec 9>&-
kill -INT $recorder
wait $recorder
wait
equal "in between: and is recorded" "$(grep -c '"name":"relative_load".*"ph":"B"' "$tmp/t.json")" 3
finish
