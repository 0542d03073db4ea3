#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --syscalls: as many system calls as the program has made, with their results, in both files.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

# name, then the arguments, of each system call inside the slice `calls`
calls() { # JSON
	ended_slices "$1" | awk '$1 == 2 && $2 == "calls" { name = $3; sub(/.*"args":/, ""); print name, $0 }'
}
rows() { # FILE: name and count of system calls
	"$proftrace" report --format csv --columns count "$1" | awk -F, '$1 == "slice" && $2 == "syscall" { print $3, $5 }' | sort
}

"$proftrace" check >check.said 2>&1
for mode in exact batch; do
	timeout 60 "$proftrace" -q --syscalls -e none --mode $mode -o t --summary-json s -- "$programs/syscalls" 500 >said
	equal "$mode: exit status" $? 0
	check_account "$mode" s
	equal "$mode: no system call is lost" "$(field s syscalls_lost)" 0
	unread=$(field s batches_unread)
	if [ "${unread:-0}" -gt 0 ] && [ $mode = batch ] && grep -q 'kernel before 6.16' check.said; then
		skip "$mode: calls in slices" "this kernel tells of a thread's end when its memory is gone: $unread batches"
		check_agree "$mode" t
		continue
	fi
	equal "$mode: marks" "$(field s marked)" "$(said said marks)"
	calls t.json >calls
	wanted=$(said said calls)
	fd=$(said said file)
	equal "$mode: getppid(), by its result" "$(grep -c '^getppid {"result":[1-9][0-9]*}' calls)" "$wanted"
	equal "$mode: write(), with its file and its bytes" \
		"$(grep -c "^write {\"result\":3,\"fd\":$fd,\"bytes\":3}" calls)" "$wanted"
	equal "$mode: read(), with its error" \
		"$(grep -c '^read {"result":-9,"error":"EBADF","fd":-1}' calls)" "$wanted"
	equal "$mode: and no more" "$(grep -cE '^(getppid|write|read) ' calls)" $((3 * wanted))
	check_agree "$mode" t
	rows t.pftrace >pftrace.rows
	rows t.json >json.rows
	check "$mode: both files have the same" cmp pftrace.rows json.rows
	equal "$mode: as many as are counted" "$(awk '{ n += $2 } END { print n }' json.rows)" "$(field s syscalls)"
done

# The begin of a call is kept by the number of its thread, which an execution may change. That of the command itself is
# not recorded.
if [ "$(cat /proc/sys/kernel/pid_max)" -le 8192 ]; then
	skip "threads with one place" "the kernel numbers too few threads: kernel.pid_max"
else
	timeout 60 "$proftrace" -q --syscalls -e none -o x --summary-json s -- "$programs/syscalls" shared
	equal "threads with one place: exit status" $? 0
	awk 'match($0, /"name":"(getppid|execve)"/) { n[substr($0, RSTART, RLENGTH)]++ }
		END { for (name in n) print n[name], name }' x.json | sort >counts
	equal "threads with one place, and an execution by another thread: the calls" "$(tr '\n' ' ' <counts)" \
		'1 "name":"execve" 20 "name":"getppid" '
	equal "threads with one place: no system call is lost" "$(field s syscalls_lost)" 0
fi

# With the reasons of waits: the call in which a thread was blocked is a slice, and says so.
timeout 60 "$proftrace" -q --syscalls --wait-reasons -e none -o w --summary-json s -- "$programs/reasons" 1 >said
equal "with --wait-reasons: exit status" $? 0
check "with --wait-reasons: a sleep" grep -qE '"result":0.*"blocked_in.sleep_ns":[1-9]' w.json
check_agree "with --wait-reasons" w

"$proftrace" -q --syscalls --offcpu 1ms -- true 2>err
equal "--syscalls with --offcpu: exit status" $? 2
finish
