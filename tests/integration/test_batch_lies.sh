#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program may hand over anything as its buffers: events of the future, backwards, endless, of thousands of
# buffers. This costs only bounded memory and time, and the accounting still adds up.
. "$(dirname "$0")/lib.sh"
need_tracing
need_batches "batches that lie"

lies() { # WHAT N LEAST
	timeout -k 5 60 "$programs/peak" "$tmp/peak" "$proftrace" -q --mode batch-now -e none --buffer 8M \
		-o "$tmp/t.pftrace" --summary-json "$tmp/s" -- "$programs/batch_lies" "$1" "$2" >"$tmp/out" 2>"$tmp/err"
	equal "$1: exit status" "$?$(cat "$tmp/err")" 0
	equal "$1: the program ends well" "$(said "$tmp/out" marks)" 200
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	# Of what is claimed no more is believed than there can be: 65535 events in a batch.
	check "$1: it has $(field "$tmp/s" marked) marks, and no absurd number" \
		test "$(field "$tmp/s" marked)" -ge "$3" -a "$(field "$tmp/s" marked)" -lt $((($2 + 10) * 65536))
	check "$1: memory stays below 128 MB ($(said "$tmp/peak" peak) KB)" test "$(said "$tmp/peak" peak)" -lt 131072
	check "$1: the trace loads" "$canon" --nest "$tmp/t.pftrace"
}

lies future 6000 100
equal "future: nothing in the trace is later than its end" \
	"$("$canon" "$tmp/t.pftrace" | awk -v now="$(cut -d. -f1 /proc/uptime)" '$3 == "INSTANT" && $4 > (now + 1) * 1e9' | wc -l)" 0
lies back 1000 100
lies past 1000 100
lies gaps 500 100
lies left 500 100
lies random 500 100
# The first 8192 of a thread are remembered for its end, its own one among them; the others are counted.
lies many 50000 0
unread=$(field "$tmp/s" batches_unread)
if [ "$unread" -eq $((50001 - 8192)) ]; then
	equal "many: all good marks" "$(field "$tmp/s" marked)" 200
else
	check "many: $unread batches were not read" test "$unread" -gt $((50001 - 8192))
	skip "many: all good marks" "this kernel tells of a thread's end when its memory is gone"
fi
# What a thread's end costs must not grow with what else there is: seconds for each thousand of them.
lies exits 60000 0
check "exits: $(said "$tmp/peak" cpu) ms of processor time" test "$(said "$tmp/peak" cpu)" -lt 4000

mkfifo "$tmp/in"
exec 9<>"$tmp/in"
rm -f "$tmp/out"
"$programs/batch_lies" mapped 300 <"$tmp/in" >"$tmp/out" 9>&- &
target=$!
"$proftrace" -q --mode batch-now -d 300ms -p $target -o "$tmp/c" 9>&-
wait_for "$tmp/out" ready
timeout -k 5 60 "$programs/peak" "$tmp/peak" "$proftrace" -q --mode batch-now -e none -d 100ms -p $target -o "$tmp/c" 9>&- 2>"$tmp/err"
equal "a file that is mapped often: exit status" "$?$(cat "$tmp/err")" 0
check "a file that is mapped often: $(said "$tmp/peak" cpu) ms of processor time" test "$(said "$tmp/peak" cpu)" -lt 5000
kill $target
wait $target 2>/dev/null

# Who never comes holds nobody up for ever, nor lets it pile up.
rm -f "$tmp/out"
timeout -k 5 60 "$programs/peak" "$tmp/peak" "$proftrace" -q --mode batch-now -e none -o "$tmp/h.pftrace" --summary-json "$tmp/s" -- \
	"$programs/batch_lies" closed 8 <"$tmp/in" >"$tmp/out" 2>"$tmp/err" 9>&- &
recorder=$!
size() {
	stat -c %s "$tmp/h.pftrace" 2>/dev/null || echo 0
}
for _ in $(seq 1 400); do
	[ "$(size)" -gt 200000 ] && break
	sleep 0.05
done
check "batches that stay closed: the file grows ($(size) bytes)" test "$(size)" -gt 200000
exec 9>&-
wait $recorder
equal "batches that stay closed: exit status" "$?$(cat "$tmp/err")" 0
equal "batches that stay closed: the account adds up" "$(field "$tmp/s" adds_up)" true
check "batches that stay closed: memory stays below 400 MB ($(said "$tmp/peak" peak) KB)" test "$(said "$tmp/peak" peak)" -lt 409600
finish
