#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The table is the same from the recording and from both of its files, in all formats.
. "$(dirname "$0")/lib.sh"
need_tracing
json_paths=$root/build/tests/tools/json_paths
[ -x "$json_paths" ] || make -s -C "$root" build/tests/tools/json_paths >/dev/null 2>&1
cd "$tmp" || exit 1

report() {
	"$proftrace" report "$@" 2>report.err
}

table() { # FILE: what a recording said, from the table on
	sed -n '/^Category /,$p' "$1"
}

cell() { # FILE NAME COLUMN: of a CSV without quotes, of the first row of that name
	awk -F, -v name="$2" -v column="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$3 == name && NR > 1 { print $at; exit }' "$1"
}

same() { # NAME FILE FILE
	if [ -s "$2" ] && cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$2" "$3" | head -8)"; fi
}

# --- the recording and its files ------------------------------------------------------------------

timeout 60 "$proftrace" -e task-clock,page-faults -o t -o t.json.gz -- "$programs/every_kind" 3 40 >counts 2>live
table live >live.table
check "the recording prints a table" grep -q '^default *round ' live.table
for file in t.json t.pftrace t.json.gz; do
	report -n 15 $file >table
	same "$file: the table of the recording" live.table table
done
for format in table csv json; do
	report --format $format t.json >from.json
	report --format $format t.pftrace >from.pftrace
	sed -i 's/t\.json/t.pftrace/' from.json
	same "$format: JSON and Perfetto agree" from.json from.pftrace
done
report --per-thread --format csv t.json >from.json
report --per-thread --format csv t.pftrace >from.pftrace
same "--per-thread: JSON and Perfetto agree" from.json from.pftrace
equal "--per-thread: a row for each" "$(grep -c '^slice,default,round,' from.json)" 3
equal "--per-thread: named" "$(grep -c '^slice,default,round,.*,worker [123],ns,40,' from.json)" 3

report --format csv t.pftrace >t.csv
equal "count: as the program counted" "$(awk -F, '$1 == "slice" { n += $5 } END { print n }' t.csv)" "$(said counts "count end")"
equal "instants: as the program counted" "$(awk -F, '$1 == "instant" { n += $5 } END { print n }' t.csv)" "$(said counts "count instant")"

# Self is the time inside slices, which here is all in `round`; nesting in itself counts once.
total=$(cell t.csv round total)
equal "self: adds up to the time inside slices" "$(awk -F, '$1 == "slice" { n += $7 } END { print n }' t.csv)" "$total"
check "recursion: counts once" test "$(cell t.csv factorial total)" -lt "$(cell t.csv work total)"
check "percentiles: in their order" awk -F, '$1 == "slice" || $1 == "async" {
	if (!($8 <= $11 && $11 <= $12 && $12 <= $13 && $13 <= $9)) exit 1 }' t.csv
check "counters: what was counted is there" test "$(cell t.csv round task_clock)" -gt 0

# --- memory pools ---------------------------------------------------------------------------------

bytes() { # NUMBER: as the table says it
	[ "$1" -lt 1000 ] && echo "$1 B" || awk -v n="$1" 'BEGIN { printf "%.3f KB", n / 1000 }'
}
for again in "" exec; do
	timeout 60 "$proftrace" -e none -o pools -- "$programs/pools" 4 $again >counts 2>live
	table live >live.table
	for format in json pftrace; do
		report -n 15 pools.$format | sed '/^Diagnostic/,$d' | sed '$d' >table
		same "pools${again:+, with exec}: $format: the table of the recording" live.table table
	done
	twice=${again:+2}
	report --format csv pools.json >pools.csv
	for column in allocations:count frees:frees leaks:leaks leaked:leaked; do
		equal "pools${again:+, with exec}: ${column%:*} as the program counted" \
			"$(cell pools.csv blocks "${column#*:}")" "$(($(said counts "${column%:*}") * ${twice:-1}))"
	done
	equal "pools${again:+, with exec}: the peak" "$(cell pools.csv blocks peak)" "$(said counts peak)"
	equal "pools${again:+, with exec}: what is live" "$(cell pools.csv blocks live)" 0
done
check "pools: a leak, and where" grep -qE '^blocks +0x[0-9a-f]+ +300 B +[0-9]+ +[0-9]+ +forgetful$' table
check "pools: a leak outside of slices" grep -qE '^blocks +0x[0-9a-f]+ +50 B +[0-9]+ +[0-9]+ +-$' table
check "pools: frees of what was not told" sh -c "'$proftrace' report pools.json | grep -qE '^frees of memory allocated before the recording +2$'"
for file in pools.json pools.pftrace; do
	"$proftrace" convert -q -o "again-$file" "$file" 2>convert.err || cat convert.err
	report "$file" >table
	report "again-$file" >again
	same "pools: $file converted is the same" table again
done

# --- objects, and what a program does wrong -------------------------------------------------------

timeout 60 "$proftrace" -e none -o objects -- "$programs/objects" >counts 2>live
table live >live.table
for format in json pftrace; do
	report -n 15 objects.$format | sed '/^Diagnostic/,$d' | sed '$d' >table
	same "objects: $format: the table of the recording" live.table table
done
check "objects: frames stand apart" grep -qE '^Category +Frame +Count ' table
report objects.json >from.json
report objects.pftrace >from.pftrace
same "objects: JSON and Perfetto agree on what went wrong" from.json from.pftrace
check "objects: markers started twice" grep -qE '^markers started twice without a finish +[1-9]' from.json

# --- options --------------------------------------------------------------------------------------

order() { # OPTIONS...: the names of slices, in their order
	report --format csv "$@" t.json | awk -F, '$1 == "slice" { printf "%s ", $3 }'
}
values() { # COLUMN OPTIONS...
	column=$1
	shift
	report --format csv "$@" t.json | awk -F, -v column="$column" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$1 == "slice" { print $at }'
}
for column in total self avg min max count p50 p95 p99 share task_clock task_clock:self task_clock/call page_faults/s; do
	values $column --columns $column --sort $column >sorted
	sort -rn sorted >wanted
	same "--sort $column" sorted wanted
	values $column --columns $column --sort $column --ascending >sorted
	sort -n sorted >wanted
	same "--sort $column --ascending" sorted wanted
done
equal "--sort name" "$(order --sort name)" "encode factorial reply request round work "
equal "--limit" "$(order --limit 2 --sort name)" "encode factorial "
report -n 1 t.json >out
check "--limit: says what is left out" grep -q '^and 5 more$' out
equal "--domain" "$(order --sort name -D 'net.*')" "encode request "
equal "--domain: excludes" "$(order --sort name --domain '!net.*')" "factorial reply round work "
equal "--name" "$(order --sort name --name 're*' --name '!request')" "reply "
report --columns count,p99,task-clock:self t.json >out
check "--columns" grep -qE '^Category +Slice +Count +p99 +task_clock:self$' out
for unit in ns us ms s; do
	report --format csv --unit $unit t.json >unit.csv
	exact=$(awk -v ns="$total" -v unit=$unit 'BEGIN {
		split("ns us ms s", names, " ")
		for (i = 1; i <= 4; i++) if (names[i] == unit) printf "%.*f", 3 * (i - 1), ns / 10 ^ (3 * (i - 1)) }')
	equal "--unit $unit" "$(cell unit.csv round total)" "$exact"
	report --unit $unit t.json >out
	check "--unit $unit: in the titles" grep -q "Total $unit " out
done
report - <t.pftrace >from.stdin
report t.pftrace >table
same "standard input" from.stdin table

refused() { # NAME STATUS PATTERN OPTIONS...
	name=$1 wanted=$2 pattern=$3
	shift 3
	report "$@" >out
	equal "$name: exit status" $? "$wanted"
	check "$name: says why" grep -q -- "$pattern" report.err
}
refused "no such column" 1 "unknown column 'cycles'" --columns cycles t.json
check "no such column: says which there are" grep -q '^hint: .*task_clock, page_faults' report.err
refused "no such column to sort by" 1 "unknown column 'frobs'" --sort frobs t.json
refused "no such format" 2 "'yaml' is not a format" --format yaml t.json
refused "no such unit" 2 "'min' is not a unit" --unit min t.json
refused "no rows" 2 "'0' is not a number of rows" --limit 0 t.json
refused "one of several is missing" 1 "cannot open 'none'" t.json none

# --- on a terminal --------------------------------------------------------------------------------

on_terminal() { # COLUMNS COMMAND...: what it prints to a terminal of that width
	columns=$1
	shift
	TERM=xterm script -qec "stty cols $columns rows 24 -onlcr; $*" /dev/null </dev/null
}
widest() { # of lines on standard input; wide and combining characters are not in these
	sed 's/\x1b\[[0-9;]*m//g' | awk '{ if (length > n) n = length } END { print n + 0 }'
}
if command -v script >/dev/null 2>&1 && on_terminal 70 true; then
	for columns in 40 60 80 100 200; do
		on_terminal $columns "'$proftrace' report t.json" >out
		check "terminal of $columns columns: no line is wider" test "$(widest <out)" -le $columns
		check "terminal of $columns columns: names and counts stay" grep -q 'round .* 120' out
	done
	check "terminal: colour" grep -q "$(printf '\033')\[1m" out
	on_terminal 80 "NO_COLOR=1 '$proftrace' report t.json" >out
	equal "terminal: no colour with NO_COLOR" "$(grep -c "$(printf '\033')" out)" 0
	on_terminal 60 "'$proftrace' report --columns count,total,self,min,max,avg,p50 t.json" >out
	check "terminal: says which columns have no room" grep -q 'columns not shown: the terminal' out
	on_terminal 70 "'$proftrace' -e task-clock -o small -- '$programs/every_kind' 1 2" >out
	equal "terminal: no line of a recording's table is wider" \
		"$(sed -n '/^.*Category /,$p' out | widest | awk '{ print $1 <= 70 }')" 1
else
	skip "on a terminal" "no script(1), or no terminal to be had"
fi

# --- several traces -------------------------------------------------------------------------------

# Everything doubles but what is a single one's, and processes of the same number stay apart.
report --format csv --columns count,total,self,min,max,task_clock,task_clock:self t.json t.pftrace >twice.csv
report --format csv --columns count,total,self,min,max,task_clock,task_clock:self t.json |
	awk -F, -v OFS=, '$1 == "slice" || $1 == "async" { for (i = 5; i <= 11; i++) if ($i != "" && i != 8 && i != 9) $i *= 2 }
		$1 == "instant" || $1 == "pool" { $5 *= 2 } $1 != "counter" { print }' | sed 's/\.0*,/,/' >wanted
grep -v '^counter' twice.csv >got
same "the same trace twice" got wanted
equal "several traces: threads of the same number are different ones" \
	"$(report --per-thread --format csv t.json t.pftrace | grep -c '^slice,default,round,')" 6

# --- files of others ------------------------------------------------------------------------------

cat >other.json <<END
{"traceEvents":[
{"name":"outer","ph":"X","ts":10,"dur":100,"pid":1,"tid":1,"cat":"a,b"},
{"name":"in \"quotes\", and commas","ph":"X","ts":20,"dur":30,"pid":1,"tid":1},
{"name":"bad\\u001b[31m\\nname","ph":"X","ts":120,"dur":10,"tid":7},
{"name":"late","ph":"B","ts":200,"pid":2},
{"name":"c","ph":"C","ts":1,"pid":1,"args":{"x":1,"y":2.5}}
]}
END
report --format csv other.json >other.csv
check "others: complete events nest" grep -q '^slice,"a,b",outer,ns,1,100000,70000,' other.csv
check "others: CSV is quoted" grep -q '^slice,,"in ""quotes"", and commas",ns,1,30000,30000,' other.csv
report other.json >out
equal "others: no control characters" "$(tr -d '\n\t -~' <out | wc -c)" 0
check "others: what is open is said" grep -qE '^slices still open at the end +1$' out

# --- what the manual page says of the JSON --------------------------------------------------------

if [ -x "$json_paths" ]; then
	schema() { # FILE: what occurs in it, the names of counters aside
		"$json_paths" <"$1" | sed 's/\.counters\.[^.]*\./.counters.NAME./' | sort -u
	}
	# "slices[].ipc number or null" becomes a line for each; "as slices[]" stays what it is.
	sed -n '/^# JSON/,/^# CSV/{/^```/,/^```/{/^```/d;p;};}' "$root/tools/man/proftrace-report.1.scd" |
		sed 's/[,:;].*or null/ or null/; s/[,:].*//' |
		awk '$2 == "as" { next }
		{ print $1, $2; if ($2 == "number") print $1, "integer"; if ($4 == "null") print $1, "null" }' >documented
	awk '/^slices/ && !/self_ns|blocked_in|(running|runnable|blocked|unknown)_ns|counters|ipc|tid|thread/ { sub(/slices/, "async_slices"); print; sub(/async_slices/, "frames"); print }' \
		documented >more
	for file in pools.json objects.pftrace; do report --format json --per-thread $file | "$json_paths"; done | sort -u >others
	sort -u documented more >wanted
	"$json_paths" <other.json >/dev/null
	equal "JSON: the check can read JSON" $? 0
	echo '{"a":[1,}' | "$json_paths" >/dev/null
	equal "JSON: the check can tell what is none" $? 1
	for options in "" "--per-thread" "--sort count --limit 3"; do
		report --format json $options t.json other.json >out.json
		schema out.json >got
		equal "JSON: it is some${options:+ ($options)}" "$([ "$(wc -l <got)" -gt 40 ] && echo yes)" yes
		equal "JSON: all of it is documented${options:+ ($options)}" "$(comm -23 got wanted)" ""
	done
	report --format json --per-thread t.json >out.json
	report --format json --by n t.json other.json objects.pftrace >by.json
	{ schema out.json; schema by.json; } | sort -u - others | sed 's/ .*//' | sort -u >got
	equal "JSON: all of pools and objects is documented" "$(comm -23 others wanted)" ""
	sed 's/ .*//' wanted | grep -vE '^waits|blocked_in|\.other$|ipc$|(running|runnable|blocked|unknown)_ns$' | sort -u >all
	equal "JSON: all that is documented is there" "$(comm -13 got all)" ""
else
	skip "JSON: the schema" "$json_paths is not built"
fi
if command -v python3 >/dev/null 2>&1; then
	report --format json t.json >out.json
	check "JSON: another parser takes it" python3 -c 'import json, sys; json.load(open("out.json"))'
	check "CSV: another parser takes it" python3 -c '
import csv
rows = list(csv.reader(open("other.csv")))
assert len({len(row) for row in rows}) == 1
assert ["slice", "", "in \"quotes\", and commas"] in [row[:3] for row in rows]'
fi
finish
