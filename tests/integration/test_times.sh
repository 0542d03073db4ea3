#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Slices with times of their own: those of two devices, whose clocks differ and drift, told out of order and
# overlapping. Each is where it was within a microsecond, on lanes that hold one at a time, in both outputs, after a
# conversion and a merge, and with an arrow from its launch.
. "$(dirname "$0")/lib.sh"
need_tracing

# "NUMBER NAME TRACK FLOW" of each slice in a file that is off by more than 1000 ns, missing, or not the program's;
# and how many were right.
compare() { # FILE
	"$canon" "$1" | awk '$3 == "SLICE_AT" {
		gsub(/(until|on|number|flow)=(n:)?|"/, "")
		print $9, $10, $4, $7, $5, $8
	}' >"$tmp/got"
	awk -v program="$tmp/out" '
		function off(a, b) { return a > b ? a - b : b - a }
		BEGIN {
			while ((getline line < program) > 0)
				if (split(line, f, " ") == 7 && f[1] == "slice") {
					want[f[2]] = f[3] " " f[4] " " f[7]; begin[f[2]] = f[5]; end[f[2]] = f[6]; n++
				}
		}
		{
			if (want[$1] != $5 " " $6 " " $2 || off($3, begin[$1]) > 1000 || off($4, end[$1]) > 1000)
				print "not so:", $0, "but", want[$1], begin[$1], end[$1]
			else
				right++
			delete want[$1]
		}
		END { print right + 0, "of", n }' "$tmp/got"
}

# Lanes of the JSON on which a slice begins before another one ends; and how many lanes there are.
shared_lanes() { # FILE
	sed -n 's/.*"ph":"b","ts":\([0-9.]*\),.*"local":"\(0x[0-9a-f]*\)"},"dur":\([0-9.]*\),"track".*/\2 \1 \3/p' "$1" |
		sort -k1,1 -k2,2n | awk '
			$1 "" == lane "" && $2 * 1000 < until - 0.5 { shared++ }
			$1 "" != lane "" { lanes++; until = 0 }
			{ lane = $1; if (($2 + $3) * 1000 > until) until = ($2 + $3) * 1000 }
			END { print shared + 0, lanes }'
}

check_slices() { # NAME BASE
	n=$(said "$tmp/out" slices)
	for kind in json pftrace; do
		equal "$1: each slice is where it was, in $kind" "$(compare "$2.$kind" | tail -4)" "$n of $n"
		equal "$1: launches, in $kind" "$("$canon" --count "$2.$kind" | sed -n 's/^BEGIN launch //p')" "$n"
		equal "$1: arrows, in $kind" "$("$canon" "$2.$kind" | grep -c ' FLOW_OUT ')" "$n"
	done
	check_agree "$1" "$2"
	shared_lanes "$2.json" >"$tmp/lanes"
	equal "$1: no lane has two at once" "$(cut -d' ' -f1 "$tmp/lanes")" 0
	check "$1: as few lanes as overlap demands" test "$(cut -d' ' -f2 "$tmp/lanes")" -le 120
}

modes=exact
if has_batches; then
	modes="exact batch"
fi
for mode in $modes; do
	"$proftrace" record -q -e none --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/device" 500 >"$tmp/out"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: no reading of a clock contradicts the others" "$(field "$tmp/s" readings_refused)" 0
	check_slices "$mode" "$tmp/t"
done

# What is read from a file is what was in it.
"$proftrace" convert -q -o "$tmp/c" "$tmp/t.pftrace" && "$proftrace" convert -q -o "$tmp/j" "$tmp/t.json"
equal "convert: exit status" $? 0
check_slices "converted from Perfetto" "$tmp/c"
check_slices "converted from JSON" "$tmp/j"
for of in t c j; do
	for kind in json pftrace; do "$proftrace" report "$tmp/$of.$kind" 2>/dev/null | sha1sum; done
done | sort -u >"$tmp/tables"
equal "all of them have the same table" "$(wc -l <"$tmp/tables")" 1
grep -c '"track":"GPU-0/stream-1"' "$tmp/t.json" >"$tmp/a"
grep -c '"track":"GPU-0/stream-1"' "$tmp/c.json" >"$tmp/b"
check "the lanes of a converted file are the same" diff "$tmp/a" "$tmp/b"
"$proftrace" merge -q -o "$tmp/m" "$tmp/t.pftrace" "$tmp/t.json" 2>/dev/null
equal "merged: slices" "$("$canon" --count "$tmp/m.pftrace" | awk '$1 == "SLICE_AT" { n += $3 } END { print n }')" \
	$((2 * $(said "$tmp/out" slices)))

# A source that knows nothing of proftrace: the same by its own probes.
kernels='device:kernel(number=arg5)/{arg0:s}{start=arg1,end=arg2,clock,track=GPU-arg3/stream-arg4,flow=arg5}'
"$proftrace" record -q -e none -u "$kernels" -u 'device:clock()/{ticks=arg1,time=arg2,track=GPU-arg0}' \
	-o "$tmp/t" --summary-json "$tmp/s" -- "$programs/device" 300 probes | awk '{ $2 += $1 == "slice"; print }' >"$tmp/out"
check_account "probes of others" "$tmp/s"
check_slices "probes of others" "$tmp/t"
for bad in 'd:k/{start=arg1,end=arg2,dur=arg3}' 'd:k/{end=arg2}' 'd:k/{start=arg12}' 'd:k/{start=arg1,track=}' \
	'd:k~d:l/{start=arg1}' 'd:k/{ticks=arg1}' 'd:k/{start=arg1,clock}' 'd:k/{start=arg1,what=arg2}'; do
	"$proftrace" record -u "$bad" -- true 2>"$tmp/err"
	equal "'$bad' is refused with its column" "$(grep -c '(column [0-9]*)$' "$tmp/err")" 1
done

# The clocks were set before somebody attaches.
mkfifo "$tmp/in"
rm -f "$tmp/out"
"$programs/device" 200 wait <"$tmp/in" >"$tmp/out" &
program=$!
exec 3>"$tmp/in"
wait_for "$tmp/out" ready
rm -f "$tmp/err"
"$proftrace" record -q -e none -o "$tmp/t" --summary-json "$tmp/s" -p $program 2>"$tmp/err" &
recorder=$!
while ! "$proftrace" ctl status -p $program >/dev/null 2>&1 && kill -0 $recorder 2>/dev/null; do sleep 0.05; done
echo >&3
wait_for "$tmp/out" "done"
echo >&3
wait $program
wait $recorder
equal "attached late: exit status" $? 0
exec 3>&-
check_account "attached late" "$tmp/s"
check_slices "attached late" "$tmp/t"

# Two recordings after each other. The program tells the second one of its clock with the 16th slice only.
for mode in $modes; do
	rm -f "$tmp/all"
	"$programs/device" 50 again <"$tmp/in" >"$tmp/all" &
	program=$!
	exec 3>"$tmp/in"
	wait_for "$tmp/all" ready
	for nth in 1 2; do
		rm -f "$tmp/err"
		"$proftrace" record -e none --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -p $program 2>"$tmp/err" 3>&- &
		recorder=$!
		wait_for "$tmp/err" "proftrace: recording"
		echo >&3
		wait_for "$tmp/all" "done $((nth * 50))"
		"$proftrace" ctl stop -p $program >/dev/null
		wait $recorder
		equal "$mode, recording $nth: exit status" $? 0
		awk -v nth=$nth '/^done/ { n++ } n == nth - 1' "$tmp/all" >"$tmp/out"
		check_account "$mode, recording $nth" "$tmp/s"
		check_slices "$mode, recording $nth" "$tmp/t"
	done
	exec 3>&-
	wait $program
done
finish
