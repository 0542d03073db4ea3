#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Hardware counters, where the emulator has some and counts exactly: arm64, one CPU, two cycles for each
# instruction. What the program executes between two marks is known; what the kernel adds to deliver
# the two is always the same.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
loops=$programs/loops

has() { # COUNTER
	"$proftrace" list --counters | awk -v counter="$1" '$1 == counter { print $2 }'
}

# For each slice: how often it looped, instructions, cycles.
slices() { # FILE
	sed -nE 's/.*"ph":"B".*"n":([0-9]+).*/n \1/p
		s/.*"ph":"E".*"instructions":([0-9]+),"cycles":([0-9]+).*/i \1 \2/p' "$1" |
		awk '$1 == "n" { n = $2 } $1 == "i" { print n, $2, $3 }'
}

equal "cycles are counted" "$(has cycles)" yes
equal "instructions are counted" "$(has instructions)" yes
equal "cache misses are not, and it says so" "$(has cache-misses)" "no:"
"$proftrace" -q -e cache-misses -o "$tmp/no" -- "$loops" 1 1000 2>"$tmp/err"
equal "cache misses: exit status" $? 1

"$proftrace" -q -e instructions,cycles -o "$tmp/t" --summary-json "$tmp/s" -- "$loops" 100 1000
equal "exit status" $? 0
check_account "instructions" "$tmp/s"
check_agree "instructions" "$tmp/t"
slices "$tmp/t.json" >"$tmp/slices"
equal "every slice has them" "$(wc -l <"$tmp/slices")" 100
# The first hits of a site take longer, and so does one that a timer interrupts, perhaps between the
# reading of one counter and the other.
awk '{ print $2 - 4 * $1 }' "$tmp/slices" | sort -n | uniq -c | sort -rn >"$tmp/beyond"
echo "# beyond what the program executes: $(awk '{ print $2 " instructions, " $1 " times"; exit }' "$tmp/beyond")"
check "instructions: exact" test "$(awk '{ print $1; exit }' "$tmp/beyond")" -ge 90
check "cycles: two for each" test "$(awk '$3 == 2 * $2' "$tmp/slices" | wc -l)" -ge 95

# Slices so long that another process gets the CPU in between: its instructions are not theirs.
sh -c 'while :; do :; done' &
busy=$!
"$proftrace" -q -e instructions,cycles,context-switches -o "$tmp/b" --summary-json "$tmp/s" -- \
	"$loops" 40 1500000
equal "beside a busy process: exit status" $? 0
kill $busy
wait $busy 2>/dev/null
slices "$tmp/b.json" >"$tmp/slices"
equal "beside a busy process: every slice has them" "$(wc -l <"$tmp/slices")" 40
check "beside a busy process: it had the CPU in between" \
	test "$(grep -cE '"context_switches":[1-9]' "$tmp/b.json")" -ge 5
echo "# beside a busy process: at most $(awk '{ more = ($2 - 4 * $1) / (4 * $1); if (more > most) most = more }
	END { printf "%.2f %%", 100 * most }' "$tmp/slices") too many"
equal "beside a busy process: within one in a hundred" \
	"$(awk '$2 < 4 * $1 || $2 > 4.04 * $1' "$tmp/slices" | wc -l)" 0
finish
