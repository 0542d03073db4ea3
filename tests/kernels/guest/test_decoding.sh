#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a kernel emulates differs, and with it what it makes of an instruction that it decodes for a 32-bit process
# (tests/attacks/test_other_decoding.sh).
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
relative=$root/build/tests/attacks/relative
maps_file=$root/build/tests/attacks/maps_file
[ -x "$maps_file" ] || { skip "other decoding" "no assembler for 32-bit programs where this was packed"; finish; }
mkfifo "$tmp/wait" "$tmp/in"
exec 9<>"$tmp/wait"
# Before and behind the recorded process in the kernel's order.
map_file() { # NAME
	"$maps_file" "$relative" <"$tmp/wait" >"$tmp/$1" 2>/dev/null 8>&- 9>&- &
	wait_for "$tmp/$1" ready >"$tmp/waited"
}
if ! map_file before; then
	skip "other decoding" "the kernel executes no 32-bit programs"
	finish
fi
for returns in '' --return-probes; do
	what="functions${returns:+ and their returns}"
	if [ -n "$returns" ] && ! kernel_can "return probes"; then
		skip "$what" "this kernel has no return probes"
		continue
	fi
	rm -f "$tmp"/t.* "$tmp/err"
	"$relative" <"$tmp/in" >"$tmp/out" 9>&- &
	target=$!
	exec 8>"$tmp/in"
	wait_for "$tmp/out" ready
	map_file behind
	# shellcheck disable=SC2086
	"$proftrace" -e none $returns -f 'relative_*' -o "$tmp/t" -p $target 2>"$tmp/err" 8>&- 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	for _ in 1 2 3; do echo; done >&8
	exec 8>&-
	wait $target
	equal "$what: the program ends well" $? 0
	kill -INT $recorder 2>/dev/null
	wait $recorder
	equal "$what: it computes what it does alone" "$(sed 1d "$tmp/out" | sort | uniq -c | tr -s ' ')" " 3 right"
	equal "$what: and is recorded" "$(grep -c '"name":"relative_extend".*"ph":"B"' "$tmp/t.json")" 3
done
exec 9>&-
finish
