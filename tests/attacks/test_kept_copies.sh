#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The kernel leaks a uprobe that it cannot remove from some process, with its copy of the instruction, and finds it again by
# the address of the file's inode and the offset. What root records after that is a file that was written over, and new files
# whose inodes lie where those of removed ones did: their functions must not be executed as the old ones.
#
# Each file here is a new one. What is leaked stays until the machine is booted: some 30 uprobes of these files.
. "$(dirname "$0")/lib.sh"
need_tracing
program=$attacks/kept_copy
files=12 # of which uprobes are leaked, before new ones get their inodes
if kernel_can "instructions kept"; then compared=true; else compared=false; fi
"$proftrace" -q -e none -f 'kept_*' --summary-json "$tmp/s" -o "$tmp/t" -- "$program" >"$tmp/said" 2>&1
equal "a recording says whether the kernel shows them" "$(field "$tmp/s" instructions_compared) $(grep -o '"instructions_compared":"[a-z]*"' "$tmp/t.json") $(grep -ac proftrace.instructions_compared "$tmp/t.pftrace")" "$compared \"instructions_compared\":\"$compared\" 1"
if [ $compared = false ]; then
	skip "kept copies" "this kernel (before 6.12) does not show which instructions it has kept"
	finish
fi

# Another value, and another number: one byte of each instruction.
begin=$(LC_ALL=C grep -obUaP '\xb8\x67\x12\x00\x00\xc3' "$program" | head -1 | cut -d: -f1)
[ -n "$begin" ] || { skip "kept copies" "needs x86-64"; finish; }
put_byte() { # FILE OFFSET BYTE
	printf "\\$(printf %03o "$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
cp "$program" "$tmp/other"
distance=$(od -An -tu1 -j $((begin + 18)) -N 1 "$program")
put_byte "$tmp/other" $((begin + 1)) $((0x68))
put_byte "$tmp/other" $((begin + 18)) $(((distance + 4) % 256))
equal "the other program computes something else" "$("$program") $("$tmp/other")" "value 4711 3 value 4712 4"

# Records functions of running copies, and has the kernel leak their uprobes.
leak() { # PATTERN FILE...
	pattern=$1
	shift
	rm -f "$tmp/in" && mkfifo "$tmp/in"
	exec 8<>"$tmp/in"
	guards='' pids='' n=0
	for copy; do
		"$copy" guard <"$tmp/in" >"$tmp/out.$n" 8>&- &
		guards="$guards $!"
		pids="$pids -p $!"
		wait_for "$tmp/out.$n" ready >"$tmp/waited"
		n=$((n + 1))
	done
	# shellcheck disable=SC2086 # options
	start_recorder -e none -f "$pattern" $pids 8>&-
	for copy; do echo >&8; done
	for i in $(seq 0 $((n - 1))); do wait_for "$tmp/out.$i" 'guarded\|cannot' >"$tmp/waited"; done
	kill -TERM $recorder
	wait $recorder
	# shellcheck disable=SC2086 # several
	kill $guards
	# shellcheck disable=SC2086
	wait $guards
	exec 8>&-
	! grep -q cannot "$tmp"/out.*
}
recorded() { grep -c "\"name\":\"$1\".*\"ph\":\"B\"" "$tmp/t.json"; }

# --- written over in place ---------------------------------------------------------------------------
for function in kept_value kept_number; do
	cp "$program" "$tmp/victim"
	if ! leak $function "$tmp/victim"; then
		skip "kept copies" "this kernel (before 6.13) has no guard pages"
		finish
	fi
	start_recorder -e none -f $function -- "$tmp/victim"
	wait $recorder
	equal "$function: what the kernel has kept of the same instruction is no hindrance" "$(grep "^value" "$tmp/said") $(recorded $function)" "value 4711 3 1"
	cat "$tmp/other" >"$tmp/victim"
	start_recorder -e none -f $function -- "$tmp/victim"
	wait $recorder
	equal "$function, written over: the program computes what it does alone" "$(grep "^value" "$tmp/said")" "value 4712 4"
	equal "$function, written over: it is not attached to, which is said" "$(grep -c "$function.*kept another instruction" "$tmp/said") $(recorded $function)" "1 0"
	cat "$program" >"$tmp/victim"
	start_recorder -e none -f $function -- "$tmp/victim"
	wait $recorder
	equal "$function, written back: it is recorded" "$(grep "^value" "$tmp/said") $(recorded $function)" "value 4711 3 1"
done

# --- two recordings at once: the kernel has copies for the second, as it should ------------------------
cp "$program" "$tmp/shared"
mkfifo "$tmp/wait"
exec 8<>"$tmp/wait"
"$tmp/shared" guard <"$tmp/wait" >"$tmp/out" 8>&- &
target=$!
wait_for "$tmp/out" ready >"$tmp/waited"
start_recorder -e none -f 'kept_*' -p $target 8>&-
first=$recorder
mv "$tmp/said" "$tmp/said.first"
mv "$tmp/t.pftrace" "$tmp/first.pftrace" 2>/dev/null
"$proftrace" -q -e none -f 'kept_*' -o "$tmp/second" -- "$tmp/shared" >"$tmp/second.out" 2>&1 8>&-
equal "beside another recording: the program computes what it does alone" "$(cat "$tmp/second.out")" "value 4711 3"
equal "beside another recording: both functions are recorded" "$(grep -c '"name":"kept_.*"ph":"B"' "$tmp/second.json")" 2
kill -TERM $first
wait $first
kill $target
exec 8>&-
wait

# --- the inode of a new file ---------------------------------------------------------------------------
# The allocator of each CPU returns first what was freed on it last, and an inode is freed after a grace period (membarrier).
grace_period() { taskset -c 0 python3 -c 'import ctypes; [ctypes.CDLL(None).syscall(324, 1, 0, 0) for _ in range(3)]' 2>/dev/null; }
mkdir "$tmp/old" "$tmp/new"
set --
for i in $(seq $files); do
	cp "$program" "$tmp/old/kept$i"
	set -- "$@" "$tmp/old/kept$i"
done
leak kept_value "$@"
taskset -c 0 rm -f "$tmp"/old/*
grace_period
for i in $(seq 30); do taskset -c 0 cp "$tmp/other" "$tmp/new/kept_new$i"; done
start_recorder -e none -f kept_value -n 'kept_new*' --wait
for new in "$tmp"/new/*; do "$new"; done >"$tmp/new.out"
kill -INT $recorder
wait $recorder
never_else "new files: each computes what it does alone" "$(grep -v '^value 4712 4$' "$tmp/new.out")" ""
stale=$(grep -c 'kept another instruction' "$tmp/said")
if [ "$stale" -gt 0 ]; then
	check "new files: those with the inodes of removed ones are refused ($stale)" true
else
	skip "new files: those with the inodes of removed ones are refused" "none of 30 has got such an inode"
fi
finish
