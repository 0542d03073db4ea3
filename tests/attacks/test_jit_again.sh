#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The generated code of a process has the names that this process has written, not those of one that had its number before, or of
# the program that it ran before.
. "$(dirname "$0")/lib.sh"
need_tracing
if ! "$attacks/jit_again" >"$tmp/out" 2>&1; then
	skip "a number that is used again" "no process can be given a number"
	finish
fi
"$proftrace" -q --sample 997 -e none -o "$tmp/t" -- "$attacks/jit_again" >"$tmp/said" 2>&1
equal "recorded" $? 0
never_else "each code has its own name" \
	"$("$root/build/tests/tools/stacks" "$tmp/t.pftrace" | grep -o '[a-z]*_code$' | sort | uniq -c | awk '$1 > 20 { print $2 }' | xargs)" \
	"first_code second_code third_code"
check_nothing_left "a number that is used again"
finish
