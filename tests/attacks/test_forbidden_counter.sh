#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs that are not recorded forbid themselves the processor's counter, for which they are held where a recording
# may use buffered mode. They make neither the account of that recording worse nor its recorder work for each of them.
. "$(dirname "$0")/lib.sh"
need_tracing
begin() { # the attacker, on descriptor 8, until it is ready
	rm -f "$tmp/in" "$tmp/attacker"
	mkfifo "$tmp/in"
	"$programs/sandboxed" counter 1 <"$tmp/in" >"$tmp/attacker" 9>&- &
	attacker=$!
	exec 8<>"$tmp/in"
	wait_for "$tmp/attacker" ready
}
ends_well() { # NAME
	exec 8>&-
	wait $attacker
	status=$?
	[ $status = 2 ] && skip "$1" "this kernel does not forbid the counter"
	never_else "$1: the attacker is not killed" "$([ $status = 2 ] && echo 0 || echo $status)" 0
}

mkfifo "$tmp/end"
"$proftrace" --strict --mode auto -e none -o "$tmp/t.pftrace" --summary-json "$tmp/s" -- sh -c 'echo begun >&2; read end; exit 0' \
	<"$tmp/end" 2>"$tmp/err" &
recorder=$!
exec 9>"$tmp/end"
wait_for "$tmp/err" begun

# While the recorder does not run, nobody releases the thread.
begin
kill -STOP $recorder
echo >&8
wait_for "$tmp/attacker" marks
kill -CONT $recorder
ends_well "not released"
# Each of these is asked for by a request where something may still be in buffered mode.
for again in $(seq 20); do
	begin
	echo >&8
	ends_well "the same, $again"
done
exec 9>&-
wait $recorder
equal "--strict does not fail" $? 0
equal "no file is said to be late" "$(field "$tmp/s" attached_late)" 0
# The shell may have been held for its libraries.
grep -q '"modes"' "$tmp/s" && check "only the first was held" test "$(field "$tmp/s" threads_held)" -lt 15
check_nothing_left "programs that forbid themselves the counter"
finish
