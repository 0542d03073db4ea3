#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counters of the machine in a recording.
. "$(dirname "$0")/lib.sh"
need_tracing

"$proftrace" -q --system cpu,memory,disk,network --system-interval 20ms -o "$tmp/t" \
	--summary-json "$tmp/s" -- sh -c "dd if=/dev/zero of=$tmp/file bs=1M count=64 conv=fsync 2>/dev/null;
		'$programs/every_kind' 2 100 >$tmp/out"
equal "exit status" $? 0
check_account "with counters of the machine" "$tmp/s"
check_agree "with counters of the machine" "$tmp/t"
check "samples are counted by themselves" test "$(field "$tmp/s" samples)" -ge 10
equal "none is lost" "$(field "$tmp/s" samples_lost)" 0

for name in cpu "cpu busy" memory "network receive" "network transmit"; do
	check "there is $name" grep -q "\"name\":\"$name\",\"ph\":\"C\"" "$tmp/t.json"
done

if grep -q '"name":"disk write"' "$tmp/t.json"; then
	check "there is disk busy" grep -q '"name":"disk busy"' "$tmp/t.json"
else
	skip "disk" "this machine has no disk of its own in /sys/block"
fi
check "the machine does not crowd out the program in the table" sh -c \
	"'$proftrace' report '$tmp/t.pftrace' | grep -A1 '^Category  Counter' | tail -1 | grep -q '^default'"
total=$(awk '/^MemTotal/ { print $2 * 1024 }' /proc/meminfo)
equal "memory: never more than there is" "$(sed -nE 's/.*"name":"memory".*"used":([0-9]+).*/\1/p' "$tmp/t.json" |
	awk -v total="$total" '$1 == 0 || $1 > total' | wc -l)" 0
equal "cpu: shares, none above 100 %" "$(grep -E '"name":"cpu( busy)?","ph":"C"' "$tmp/t.json" |
	sed 's/.*"args"//' | grep -oE ':[0-9.]+[,}]' | tr -d ':,}' | awk '$1 > 100.0001' | wc -l)" 0

"$proftrace" -q --system cpu,gpu -- true 2>"$tmp/err"
equal "unknown: exit status" $? 1
check "unknown: named, with those there are" grep -q "gpu" "$tmp/err"
check "unknown: hint" grep -q "^hint: .*network" "$tmp/err"
"$proftrace" -q --system cpu --system-interval 1ms -- true 2>/dev/null
equal "too often: exit status" $? 2
finish
