#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program that has forbidden itself system calls survives its recording, also in buffered mode, whose marks make
# no system call. So do other processes of the same file that are not recorded.
. "$(dirname "$0")/lib.sh"
need_tracing
n=${SANDBOXED_MARKS:-500}

# The program on descriptor 9, until it has said what it counted.
begin() { # WHAT COMMAND...
	rm -f "$tmp/in" "$tmp/out"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	started=$!
	exec 9<>"$tmp/in"
	wait_for "$tmp/out" ready
}

ends() { # NAME
	echo >&9
	exec 9>&-
	wait $started
	equal "$1: exit status" $? 0
	made=$(said "$tmp/out" marks)
	check "$1: it has ended by itself, and marked" test "${made:-0}" -ge $n
}

for what in none wide narrow strict fork; do
	for mode in exact batch; do
		# In batches its thread reads the processor's counter, which that forbids.
		[ $what$mode = strictbatch ] && continue
		begin "$proftrace" -q --mode $mode -e none -o "$tmp/t" --summary-json "$tmp/s" -- \
			"$programs/sandboxed" $what $n
		ends "$what, $mode"
		check_account "$what, $mode" "$tmp/s"
		equal "$what, $mode: marks" "$(field "$tmp/s" written)" "$made"
		check_agree "$what, $mode" "$tmp/t"
		"$canon" --count "$tmp/t.pftrace" >"$tmp/$mode.count"
	done
	[ $what = strict ] || check "$what: the same in both modes" diff "$tmp/exact.count" "$tmp/batch.count"
done

# Under --mode auto, a thread that forbids itself the counter waits until all domains are in exact mode.
for what in strict counter; do
	begin "$proftrace" -q --mode auto -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/sandboxed" $what $n
	echo >&9
	exec 9>&-
	wait $started
	status=$?
	if [ $what$status = counter2 ]; then
		skip "the counter, auto" "this kernel does not forbid the counter"
		continue
	fi
	equal "$what, auto: exit status" $status 0
	check_account "$what, auto" "$tmp/s"
	equal "$what, auto: marks" "$(field "$tmp/s" written)" "$(said "$tmp/out" marks)"
	grep -q '"modes"' "$tmp/s" || continue
	check "$what, auto: the summary has its process" grep -q '"counter_forbidden_by": [1-9]' "$tmp/s"

	# No domain goes over while there is such a process.
	[ $what = counter ] || continue
	begin "$programs/sandboxed" counter $n
	echo >&9
	wait_for "$tmp/out" marks
	"$proftrace" -q --mode auto -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/every_kind" 2 2000 \
		>"$tmp/every.out" 9>&-
	equal "beside one that has forbidden it: marks" "$(field "$tmp/s" written)" "$(said "$tmp/every.out" total)"
	check "beside one that has forbidden it: all is exact" grep -q \
		"\"begins\": \"exact\".*\"counter_forbidden_by\": $started," "$tmp/s"
	exec 9>&-
	wait $started
done

# The same by system calls without the C library's function, in the middle of its marks in buffered mode, where the kernel
# lets the recorder see them.
for what in raw-counter raw-strict raw-child; do
	if ! kernel_can "changing modes (auto)"; then
		skip "$what, auto" "the kernel refuses programs at its functions"
		continue
	fi
	begin "$proftrace" -q --mode auto -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/sandboxed" $what $n
	ends "$what, auto"
	check_account "$what, auto" "$tmp/s"
	equal "$what, auto: marks" "$(field "$tmp/s" written)" "$made"
	equal "$what, auto: marks in the trace" \
		"$("$canon" --count "$tmp/t.pftrace" | sed -n 's/^INSTANT mark //p')" "$made"
	check_agree "$what, auto" "$tmp/t"
	check "$what, auto: it was in buffered mode" grep -q '"begins": "batch"' "$tmp/s"
	check "$what, auto: the summary has its process" grep -q '"counter_forbidden_by": [1-9]' "$tmp/s"
done

# One that forbids itself nothing is recorded in batches; one that
# runs the same file and is not recorded at all, and forbids itself nearly everything, notices nothing.
begin "$programs/sandboxed" narrow $n
beside=$started
exec 8>&9
mv "$tmp/out" "$tmp/beside.out"
rm -f "$tmp/err.r"
"$proftrace" --mode batch-now -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/every_kind" 2 2000 \
	>"$tmp/every.out" 2>"$tmp/err.r" 8>&- 9>&-
equal "free: exit status" $? 0
check_account "free" "$tmp/s"
equal "free: marks" "$(field "$tmp/s" written)" "$(said "$tmp/every.out" total)"
echo >&8
exec 8>&- 9>&-
wait $beside
equal "beside another program: exit status" $? 0

begin "$programs/sandboxed" none $n
other=$started
exec 7>&9
mv "$tmp/out" "$tmp/other.out"
begin "$programs/sandboxed" narrow $n
beside=$started
rm -f "$tmp/err.r"
"$proftrace" --mode batch-now -p $other -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err.r" 7>&- 9>&- &
recorder=$!
wait_for "$tmp/err.r" "proftrace: recording"
echo >&9
exec 9>&-
wait $beside
equal "beside the same program: exit status" $? 0
equal "beside the same program: marks" "$(said "$tmp/out" marks)" $n
echo >&7
exec 7>&-
wait $other
wait $recorder
equal "the same program: exit status" $? 0
check_account "the same program" "$tmp/s"
equal "the same program: marks, and none of the other's" "$(field "$tmp/s" written)" \
	"$(said "$tmp/other.out" marks)"
finish
