#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A caller leaves proftrace only few descriptors: every verb works, or prints the reason in one line and a hint in
# another.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
echo '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]' >t.json
wrong=
try() { # LIMIT COMMAND...
	limit=$1
	shift
	(ulimit -n "$limit" && exec timeout 30 "$proftrace" "$@") >out 2>err
	status=$?
	[ $status -eq 0 ] && { succeeded=$((succeeded + 1)); return; }
	refused=$((refused + 1))
	[ $status -eq 1 ] && [ "$(grep -c '^proftrace: ' err)" = 1 ] && [ "$(grep -c '^hint: .*ulimit -n' err)" = 1 ] ||
		wrong="$wrong $limit:$1($(head -c 100 err))"
}
succeeded=0 refused=0
for n in 7 8 9 10 12 16 20 24 28 32 40 48 56 63 64 80 128 256; do
	try $n report -q t.json
	try $n convert -q -o c t.json
	try $n merge -q -o m t.json t.json
	try $n list "$programs/every_kind"
done
never_else "reading verbs succeed, or say why" "$wrong" ""
check "reading verbs: both happen" test $succeeded -gt 30 -a $refused -gt 0
need_tracing
wrong= succeeded=0 refused=0
for n in 7 8 12 16 24 32 48 63 64 80 128 256; do
	try $n record -q -o r -- "$programs/every_kind" 1 5
	try $n check
done
# Enough for the least recording, but not for what this one needs, until the last.
for n in 64 68 72 76 80 120; do
	try $n record -q --sample 99 --sched --no-children -o r -- "$programs/every_kind" 1 5
done
never_else "recording succeeds, or says why" "$wrong" ""
check "recording: both happen" test $succeeded -ge 8 -a $refused -ge 16
finish
