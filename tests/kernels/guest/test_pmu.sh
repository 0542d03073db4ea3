#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Hardware counters, where the emulator has some and counts exactly: arm64, one CPU, two cycles for each
# instruction. What the program executes between two marks is known; what the kernel adds to deliver
# the two is always the same.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
loops=$programs/loops
# What a slice of `loops` executes of its own besides its loop, from the probe of its begin to that of its
# end: it returns from the one, tests the switch, has its arguments made and calls the other. That is 18
# instructions and the two nops of the probes as one compiler has it, and another one needs a few more.
around=40
# What the kernel executes to deliver the two marks is a thing of some thousand.
entering=10000

has() { # COUNTER
	"$proftrace" list --counters | awk -v counter="$1" '$1 == counter { print $2 }'
}

# For each slice: how often it looped, then what these say of it; - where they say nothing.
slices() { # FILE ARGUMENT...
	file=$1
	shift
	awk -v keys="$*" '
		# A delta that is left out is 0, one that is null is not known; a share that is left out is none.
		function value(key) {
			at = index($0, "\"" key "\":")
			if (!at)
				return key ~ /_share$/ || /"counters":null/ ? "-" : 0
			at += length(key) + 3
			return substr($0, at, 4) == "null" ? "-" : 0 + substr($0, at)
		}
		BEGIN { n_keys = split(keys, key, " ") }
		/"ph":"B"/ { n = value("n") }
		/"ph":"E"/ {
			line = n
			for (i = 1; i <= n_keys; i++)
				line = line " " value(key[i])
			print line
		}' "$file"
}

equal "cycles are counted" "$(has cycles)" yes
equal "instructions are counted" "$(has instructions)" yes
equal "cache misses are not, and it says so" "$(has cache-misses)" "no:"
"$proftrace" -q -e cache-misses -o "$tmp/no" -- "$loops" 1 1000 2>"$tmp/err"
equal "cache misses: exit status" $? 1
check "cache misses: why not" grep -q "cannot count 'cache-misses': this machine does not count it" "$tmp/err"
"$proftrace" -q -e instructiom -o "$tmp/no" -- "$loops" 1 1000 2>"$tmp/err"
check "unknown: the nearest" grep -q '^hint: did you mean instructions' "$tmp/err"
"$proftrace" check >"$tmp/check"
check "check: hardware counters" grep -q '^hardware counters  *yes' "$tmp/check"
check "check: how many at once" grep -qE '^counters at once  *[4-7] ' "$tmp/check"
"$proftrace" -q -e '{r8:u,r8:k,instructions:u,instructions:k,r11:u,r11:k,cycles:u,cycles:k}' -o "$tmp/no" -- \
	"$loops" 1 1000 2>"$tmp/err"
equal "a group too large: exit status" $? 1
check "a group too large: why not" grep -q 'the rest of its group needs all' "$tmp/err"

"$proftrace" -q -e instructions,instructions:u,cycles -o "$tmp/t" --summary-json "$tmp/s" -- "$loops" 100 1000
equal "exit status" $? 0
check_account "instructions" "$tmp/s"
check_agree "instructions" "$tmp/t"
slices "$tmp/t.json" instructions instructions:u cycles >"$tmp/slices"
equal "every slice has them" "$(grep -vc -- - "$tmp/slices")" 100
# How much more than its loop each slice has, the most common number first.
beyond() { # COLUMN
	awk -v c="$1" '{ print $c - 4 * $1 }' "$tmp/slices" | sort -n | uniq -c | sort -rn >"$tmp/beyond"
	read -r times beyond <"$tmp/beyond"
}
beyond 3
echo "# beyond the loop, without the kernel: $beyond instructions, $times times"
equal "without the kernel: what the program executes, in every slice" \
	"$(awk -v most=$around '$3 > 4 * $1 && $3 <= 4 * $1 + most' "$tmp/slices" | wc -l)" 100
check "without the kernel: the same number each time" test "$times" -ge 99
own=$beyond
# The first hits of a site take longer, and so does one that a timer interrupts, perhaps between the
# reading of one counter and the other.
beyond 2
echo "# beyond the loop, with the kernel: $beyond instructions, $times times"
check "instructions: the same number each time" test "$times" -ge 90
check "instructions: that is the program's and what it takes to enter the kernel for the marks" \
	test "$beyond" -gt "$own" -a "$beyond" -le $entering
check "cycles: two for each" test "$(awk '$4 == 2 * $2' "$tmp/slices" | wc -l)" -ge 95

# Slices so long that another process gets the CPU in between: its instructions are not theirs. Those of
# the kernel are, where it works for them and where it switches from one to the other; without the
# kernel's the count is exact.
sh -c 'while :; do :; done' &
busy=$!
"$proftrace" -q -e instructions,cycles,context-switches -o "$tmp/b" --summary-json "$tmp/s" -- \
	"$loops" 40 1500000
equal "beside a busy process: exit status" $? 0
"$proftrace" -q -e '{instructions,cycles}:u,context-switches' -o "$tmp/u" -- "$loops" 40 1500000
equal "beside a busy process, without the kernel: exit status" $? 0
kill $busy
wait $busy 2>/dev/null
slices "$tmp/b.json" instructions context_switches >"$tmp/slices"
equal "beside a busy process: every slice has them" "$(grep -vc -- - "$tmp/slices")" 40
check "beside a busy process: it had the CPU in between" test "$(awk '$3' "$tmp/slices" | wc -l)" -ge 5
echo "# beside a busy process: at most $(awk '{ more = ($2 - 4 * $1) / (4 * $1); if (more > most) most = more }
	END { printf "%.2f %%", 100 * most }' "$tmp/slices") too many"
equal "beside a busy process: within one in a hundred" \
	"$(awk '$2 < 4 * $1 || $2 > 4.04 * $1' "$tmp/slices" | wc -l)" 0
slices "$tmp/u.json" instructions:u cycles:u context_switches >"$tmp/slices"
echo "# beside a busy process, without the kernel: $(awk '{ print $2 - 4 * $1 }' "$tmp/slices" | sort -n | uniq -c | tr '\n' ';')"
check "beside a busy process, without the kernel: the other one had the CPU in between" \
	test "$(awk '$4' "$tmp/slices" | wc -l)" -ge 5
equal "beside a busy process, without the kernel: what the program executes, in every slice" \
	"$(awk -v most=$around '$2 > 4 * $1 && $2 <= 4 * $1 + most' "$tmp/slices" | wc -l)" 40
equal "beside a busy process, without the kernel: two cycles for each" "$(awk '$3 == 2 * $2' "$tmp/slices" | wc -l)" 40

# More than the hardware has counters for: all have their turns. What was counted in a share of a slice
# stands for all of it, and the slice says how large that was.
many='instructions:u,r8:u,{cycles:u,r8:k},r11:u,{instructions:k,r11},r8'
"$proftrace" -e "$many" -o "$tmp/m" --summary-json "$tmp/s" -- "$loops" 30 5000000 2>"$tmp/said"
equal "turns: exit status" $? 0
check_account "turns" "$tmp/s"
check_agree "turns" "$tmp/m"
equal "turns: said once" "$(grep -cE 'multiplexed.* instructions:u [1-9][0-9]? %' "$tmp/said")" 1
equal "turns: for machines" \
	"$(sed -nE 's/.*"counter_shares": \{(.*)\}.*/\1/p' "$tmp/s" | tr ',' '\n' | grep -cE '"[^"]*": 0\.[0-9]+$')" 8
slices "$tmp/m.json" instructions:u instructions:u_share r11:u cycles:u_share r8:k_share >"$tmp/slices"
echo "# turns: in $(awk '{ sum += $3 } END { printf "%.0f", 100 * sum / NR }' "$tmp/slices") % of the time;" \
	"off by at most $(awk '{ off = $2 / (4 * $1) - 1; if (off < 0) off = -off; if (off > most) most = off }
	END { printf "%.2f", 100 * most }' "$tmp/slices") %"
equal "turns: all of it is estimated, within 5 %" \
	"$(awk '$2 > 3.8 * $1 && $2 < 4.2 * $1 && $4 > 7.6 * $1 && $4 < 8.4 * $1' "$tmp/slices" | wc -l)" 30
equal "turns: in a share" "$(awk '$3 > 0 && $3 < 1' "$tmp/slices" | wc -l)" 30
equal "turns: what is in a group is counted at the same times" "$(awk '$5 - $6 > 0.001 || $6 - $5 > 0.001' "$tmp/slices" | wc -l)" 0

# Slices shorter than a turn: most were counted from begin to end, and are exact; others were not at all,
# and have no value rather than a zero.
"$proftrace" -q -e "$many" -o "$tmp/short" -- "$loops" 3000 2000
equal "short: exit status" $? 0
slices "$tmp/short.json" instructions:u instructions:u_share >"$tmp/slices"
equal "short: those counted all of the time say no share, and are exact" \
	"$(awk -v most=$around '$3 == "-" && ($2 <= 4 * $1 || $2 > 4 * $1 + most)' "$tmp/slices" | wc -l)" 0
check "short: most are" test "$(awk '$3 == "-"' "$tmp/slices" | wc -l)" -ge 1500
check "short: some were not counted" test "$(awk '$3 == "0"' "$tmp/slices" | wc -l)" -ge 100
equal "short: these have no value" "$(awk '$3 == "0" && $2 != "-"' "$tmp/slices" | wc -l)" 0
equal "short: all others have one" "$(awk '$3 != "0" && $2 == "-"' "$tmp/slices" | wc -l)" 0

# Read every millisecond, in one slice of 400 ms, in which as many instructions are executed all along:
# half a million each time, less what the kernel does meanwhile.
"$proftrace" -q -e instructions:u,r8:u --counter-interval 1ms -o "$tmp/often" -- "$loops" 1 50000000
equal "often: exit status" $? 0
check_agree "often" "$tmp/often"
sed -nE 's/.*"ph":"C".*"instructions:u":([0-9]+),"r8:u":([0-9]+).*/\1 \2/p' "$tmp/often.json" >"$tmp/readings"
echo "# often: $(wc -l <"$tmp/readings") readings"
check "often: readings" test "$(wc -l <"$tmp/readings")" -ge 300
check "often: as many instructions each time" \
	test "$(awk 'NR > 1 && $1 - last > 400000 && $1 - last <= 510000 { n++ } { last = $1 } END { print n }' "$tmp/readings")" -ge 300
finish
