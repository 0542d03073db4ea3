#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --where, --from, --to and --by: the same condition selects the same in the table, among the slowest, in diff, in the
# page, in a flame graph and in a smaller trace, and it is what a program of twenty lines selects from the JSON.
. "$(dirname "$0")/lib.sh"
if ! command -v python3 >/dev/null; then
	skip "conditions" "there is no python3 to count another way"
	finish
fi
cd "$tmp" || exit 1
other="python3 $root/tests/tools/select.py"

# Lines of a name, a tab and what is wrong.
verify() {
	while IFS="$(printf '\t')" read -r name problem; do
		equal "$name" "$problem" ""
	done
}

$other make all.json || exit 1
"$proftrace" convert -q -o all.pftrace all.json
$other list >conditions
n=0
while IFS= read -r condition; do
	mkdir $n
	for format in json pftrace; do
		"$proftrace" report -q --where "$condition" --format json all.$format >$n/$format.table
	done
	"$proftrace" convert -q --where "$condition" -o $n/cut.json -o cut.pftrace all.pftrace 2>convert.err
	"$canon" $n/cut.json >json.canon && "$canon" cut.pftrace >pf.canon
	check "both formats of the smaller trace agree: $condition" cmp json.canon pf.canon
	"$proftrace" report -q --slowest 3 '*' --where "$condition" --format json all.pftrace >$n/slow
	if ! "$proftrace" diff -q --where "$condition" --format json all.pftrace all.json -- all.json all.pftrace >$n/diff 2>diff.err; then
		grep -q 'nothing is selected' diff.err && echo '{"names": []}' >$n/diff
	fi
	"$proftrace" report -q --html --where "$condition" -o $n/page.html all.pftrace
	n=$((n + 1))
done <conditions
$other check all.json . >checked
equal "everything is checked for each condition" "$(wc -l <checked)" $((n * 8))
verify <checked

# --- a part of the time ---------------------------------------------------------------------------
mkdir range
"$proftrace" report -q --from 20ms --to '45.000 ms' --format json all.json >range/table
"$proftrace" convert -q --from 20ms --to 45ms -o range/cut.json all.json
$other check-range all.json range >checked
equal "a part of the time: everything is checked" "$(wc -l <checked)" 3
verify <checked

# --- arrows ----------------------------------------------------------------------------------------
"$proftrace" convert --where 'name == "take"' -o cut.json all.json 2>err
equal "arrows that have lost an end are counted" \
	"$(sed -n 's/ *\([0-9]*\)  flows lost one of their ends.*/\1/p' err)" "$($other nest cut.json)"

# --- merge -----------------------------------------------------------------------------------------
"$proftrace" merge -q --align none --where 'name == "parse"' -o both.json all.json all.pftrace
equal "merge: twice as many of two files" "$($other count both.json | cut -f2,3)" \
	"$($other count all.json 0 | awk -F '\t' '{ print $2 "\t" 2 * $3 }')"

# --- by --------------------------------------------------------------------------------------------
"$proftrace" report -q --by kind --where 'name == "request"' --format json all.json >by.json
equal "--by an argument" "$($other by by.json)" "$($other kinds all.json)"
equal "--by thread" "$("$proftrace" report -q --by thread --format csv all.json |
	awk -F, '$1 == "slice" && $3 == "take" { print $4 }')" sink

# --- what is wrong is shown where it is --------------------------------------------------------------
wrong() { # CONDITION COLUMN MESSAGE
	"$proftrace" report --where "$1" all.json >out 2>err
	equal "refused: $1" "$? $(wc -l <out)" "2 0"
	check "says why: $1" grep -qF -- "$3" err
	equal "points at it: $1" "$(sed -n 3p err | awk '{ print index($0, "^") - 2 }')" "$2"
}
wrong 'dur > 5' 7 'a time needs a unit'
wrong 'name == 5ms' 9 'a string is compared with a time'
wrong 'dur > "x"' 7 'a time is compared with a string'
wrong 'name < "x"' 1 'they have no order'
wrong 'nme == "x"' 1 "'nme' is not a field"
wrong 'dur > 5ms && (name == "x"' 26 ') is expected here'
wrong 'dur > 5ms name' 11 '&& or || is expected here'
wrong 'name =~ "("' 9 'not a regular expression'
wrong 'dur > 5parsecs' 8 'not a unit'
wrong 'name = "x"' 6 'write == to compare'
wrong 'name == "x' 9 'not closed'
wrong '' 1 'the condition ends where a value is expected'
wrong "$(printf '(%.0s' $(seq 100))" 61 'nested deeper than 64'
"$proftrace" report --from 5ms --to 2ms all.json >out 2>err
equal "an empty range is refused" "$?" 2
"$proftrace" report --from yesterday all.json >out 2>err
check "a time that is none is refused" grep -q "'yesterday' is not a time" err
"$proftrace" report -q --to 0.05 --format csv all.json >seconds
"$proftrace" report -q --to 50ms --format csv all.json >with-unit
check "a time without a unit is in seconds, as for all options" cmp seconds with-unit

# --- samples within what is selected ----------------------------------------------------------------
if can_trace; then
	"$proftrace" -q --sample 1999 -e none -o sampled -- "$root/build/samples/service-cpp" 2000 >/dev/null
	"$root/build/tests/tools/stacks" --times sampled.pftrace >times
	total() { awk '{ sum += $NF } END { print sum + 0 }'; }
	$other ranges >ranges
	mkdir sampled
	n=0
	while read -r from to condition; do
		set -- "--where=$condition" "--from=$from" "--to=$to"
		[ "$condition" != - ] || set -- "--from=$from" "--to=$to"
		[ "$from" != - ] || set -- "--where=$condition"
		echo "$*" >sampled/$n.name
		"$proftrace" report -q --flame "$@" sampled.pftrace | total >sampled/$n.flame
		"$proftrace" convert -q "$@" -o part.pftrace sampled.pftrace
		"$proftrace" report -q --flame part.pftrace | total >sampled/$n.part
		"$proftrace" report -q --html "$@" -o sampled/$n.html sampled.pftrace
		n=$((n + 1))
	done <ranges
	$other samples sampled.json times sampled >bounds
	equal "all ranges are checked" "$(wc -l <bounds)" $n
	n=0
	while read -r least most of_page; do
		name=$(cat sampled/$n.name) flame=$(cat sampled/$n.flame) part=$(cat sampled/$n.part)
		check "$flame samples, at least $least and at most $most: $name" [ "$flame" -ge "$least" -a "$flame" -le "$most" ]
		check "there are some" [ "$least" -gt 0 ]
		equal "in the smaller trace: $name" "$part" "$flame"
		equal "in the page: $name" "$of_page" "$flame"
		n=$((n + 1))
	done <bounds
else
	skip "samples" "this machine cannot record"
fi
finish
