#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Administrators forbid: yama's ptrace_scope (1: only children, 2: only root, 3: nobody), then lockdown (integrity, confidentiality).
# What can be recorded is recorded completely; what cannot be is refused with the reason, and nothing is attached then.
# Neither yama's last step nor any of lockdown's can be taken back: of a guest's tests this is the last one, and a second
# try would skip it.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
mkdir "$tmp/theirs"
chown 1000 "$tmp/theirs"
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
scope=/proc/sys/kernel/yama/ptrace_scope
lockdown=/sys/kernel/security/lockdown

# A command, and a process that runs already; in each mode.
records() { # NAME USER|root
	as= dir=$tmp
	[ "$2" = root ] || { as="$programs/rights user 1000 bpf,perfmon,sys_admin" dir=$tmp/theirs; }
	for mode in exact batch batch-now; do
		$as "$proftrace" -q -e none --mode $mode -o "$dir/t" --summary-json "$dir/s" -- "$programs/every_kind" 1 5 >"$tmp/out" 2>"$tmp/err"
		equal "$1, $2, $mode: a command: exit status" $? 0
		never_else "$1, $2, $mode: a command: every mark" "$(field "$dir/s" marked) $(field "$dir/s" lost_total)" "$(said "$tmp/out" total) 0"
		mkfifo "$tmp/in"
		rm -f "$tmp/out"
		${as:+$programs/rights user 1000 ""} "$programs/every_kind" 1 5 wait <"$tmp/in" >"$tmp/out" &
		target=$!
		exec 9>"$tmp/in"
		wait_for "$tmp/out" ready
		rm -f "$tmp/err"
		$as "$proftrace" -e none --mode $mode -p $target -o "$dir/t" --summary-json "$dir/s" >"$tmp/log" 2>"$tmp/err" 9>&- &
		recorder=$!
		wait_for "$tmp/err" 'proftrace: recording'
		echo go >&9
		exec 9>&-
		wait $target $recorder
		equal "$1, $2, $mode: a process: exit status" $? 0
		# Buffers that the recorder may not read come when they are full, or when the thread ends.
		never_else "$1, $2, $mode: a process: every mark, or it says which it may not read" \
			"$(field "$dir/s" adds_up) $([ "$(field "$dir/s" marked)" = "$(said "$tmp/out" total)" ] || grep -q 'not permitted to read the memory' "$tmp/err" && echo told)" "true told"
		rm -f "$tmp/in" "$dir"/[ts] "$dir"/t.*
	done
}

if [ -w $scope ]; then
	for value in 0 1 2 3; do
		echo $value >$scope
		equal "ptrace_scope is $value" "$(cat $scope)" $value
		records "ptrace_scope $value" root
		records "ptrace_scope $value" user
	done
	check_nothing_left "ptrace_scope"
else
	skip "ptrace_scope" "this kernel has no yama"
fi

if [ -w $lockdown ]; then
	for level in integrity confidentiality; do
		echo $level >$lockdown
		check "lockdown is $level (each time)" grep -qF "[$level]" $lockdown
		"$proftrace" check >"$tmp/check" 2>&1
		if grep -qE '^recording +yes' "$tmp/check"; then
			records "lockdown $level" root
			continue
		fi
		# Refused: said by the check and by a recording, with the reason; the program runs or is not begun.
		check "lockdown $level: the check says why (each time)" grep -qE 'lockdown|locked down' "$tmp/check"
		"$proftrace" -e none -o "$tmp/t" -- "$programs/every_kind" 1 5 >"$tmp/out" 2>"$tmp/err"
		equal "lockdown $level: exit status (each time)" $? 1
		check "lockdown $level: a recording says why (each time)" grep -qE '^(proftrace|hint): .*(lockdown|locked down)' "$tmp/err"
		equal "lockdown $level: no file is left (each time)" "$(ls "$tmp"/t.* 2>/dev/null)" ""
		sed 's/^/# /' "$tmp/check" "$tmp/err"
	done
else
	skip "lockdown" "this kernel has none"
fi
finish
