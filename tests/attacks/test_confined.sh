#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Somebody who took over the process that sends to a collector, downloads debug files, serves metrics or parses symbols, by
# what it reads, uses what its filter of system calls and Landlock leave: to type a command into root's terminal, to kill
# other processes, to read and write their memory, to ask other programs (`proftrace ctl`) for something, to write a file.
. "$(dirname "$0")/lib.sh"
tool=$root/build/tests/tools/confined
try() { # KIND
	mkdir "$tmp/$1" && timeout -k 5 30 "$tool" "$1" "$tmp/$1" >"$tmp/said" 2>&1
	equal "$1: all was tried" "$(tail -1 "$tmp/said")" through
}
landlock=yes
try none
# Where the kernel lets nobody type into a terminal (legacy_tiocsti), it is one less.
check "without a filter, what is tried works" test "$(grep -c '^got' "$tmp/said")" -ge 7
for kind in sender:1 downloader:2 exporter:0 parser:0 recorder:0; do
	permitted=${kind#*:} kind=${kind%:*}
	try "$kind"
	if grep -q '^no Landlock' "$tmp/said"; then
		skip "$kind: memory and files of others" "this kernel has no Landlock"
		landlock=no
	fi
	never_else "$kind: nothing was got" "$(grep -E '^(got|cannot)' "$tmp/said")" ""
	equal "$kind: what it needs works" "$(grep -c '^permitted' "$tmp/said")" "$permitted"
done

need_tracing
equal "check says whether the kernel has Landlock" \
	"$("$proftrace" check | sed -n 's/^Landlock *\([a-z]*\) .*/\1/p')" $landlock
# Nor do these processes hold the terminal, or the trace that is written to standard output.
mkfifo "$tmp/in"
"$proftrace" -q -o - --metrics $((20000 + $$ % 12000)) --otlp http://127.0.0.1:9 -- cat "$tmp/in" >"$tmp/out" 2>"$tmp/err" &
recorder=$!
exec 9>"$tmp/in"
for child in $(cat "/proc/$recorder/task/$recorder/children"); do
	case $(cat "/proc/$child/comm") in
	proftrace-metri | proftrace-otlp)
		equal "$(cat "/proc/$child/comm"): its standard streams" \
			"$(for i in 0 1 2; do readlink "/proc/$child/fd/$i"; done | sort -u)" /dev/null
		;;
	esac
done >"$tmp/said"
cat "$tmp/said"
check "both processes were looked at" test "$(grep -c 'its standard streams' "$tmp/said")" = 2
exec 9>&-
wait "$recorder"
check_nothing_left "confined"
finish
