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

counts() { # FILE
	cut -f1-3 "$1"
}

$other make all.json || exit 1
"$proftrace" convert -q -o all.pftrace all.json
$other list >conditions
n=0
while IFS= read -r condition; do
	$other count all.json $n >wanted
	for from in all.json all.pftrace; do
		"$proftrace" report -q --where "$condition" --format json $from >table.json
		$other table table.json >table
		equal "the table of $from: $condition" "$(counts table)" "$(counts wanted)"
	done
	"$proftrace" convert -q --where "$condition" -o cut.json -o cut.pftrace all.pftrace 2>convert.err
	$other all cut.json >cut
	equal "the smaller trace: $condition" "$(cat cut)" "$(cat wanted)"
	check "the smaller trace nests: $condition" $other nest cut.json
	"$canon" cut.json >json.canon && "$canon" cut.pftrace >pf.canon
	check "both formats of it agree: $condition" cmp json.canon pf.canon
	"$proftrace" report -q --slowest 3 '*' --where "$condition" --format json all.pftrace >slow.json
	# A slice inside one of its own name is a part of that one.
	equal "the slowest: $condition" "$($other slowest slow.json)" "$($other outermost all.json $n)"
	if ! "$proftrace" diff -q --where "$condition" --format json all.pftrace all.json -- all.json all.pftrace >diff.json 2>diff.err; then
		grep -q 'nothing is selected' diff.err && echo '{"names": []}' >diff.json
	fi
	equal "what diff compares: $condition" "$($other diff diff.json)" "$(counts wanted)"
	"$proftrace" report -q --html --where "$condition" -o page.html all.pftrace
	PYTHONDONTWRITEBYTECODE=1 python3 "$root/tests/browser/page_data.py" page.html 'json.dumps(d)' >page.json
	equal "the page: $condition" "$($other page page.json)" "$(counts wanted; $other kinds_of wanted)"
	n=$((n + 1))
done <conditions

# --- a part of the time ---------------------------------------------------------------------------
$other count all.json $n >wanted
"$proftrace" report -q --from 20ms --to '45.000 ms' --format json all.json >table.json
$other table table.json >table
equal "--from and --to: the table" "$(counts table)" "$(counts wanted)"
"$proftrace" convert -q --from 20ms --to 45ms -o cut.json all.json
$other all cut.json >cut
equal "--from and --to: the smaller trace" "$(cat cut)" "$(cat wanted)"
check "it nests" $other nest cut.json

# --- arrows ----------------------------------------------------------------------------------------
"$proftrace" convert --where 'name == "take"' -o cut.json all.json 2>err
equal "arrows that have lost an end are counted" \
	"$(sed -n 's/ *\([0-9]*\)  flows lost one of their ends.*/\1/p' err)" "$($other nest cut.json)"

# --- merge -----------------------------------------------------------------------------------------
"$proftrace" merge -q --align none --where 'name == "parse"' -o both.json all.json all.pftrace
equal "merge: twice as many of two files" "$($other all both.json | cut -f2,3)" \
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

# --- samples within what is selected ----------------------------------------------------------------
if can_trace; then
	"$proftrace" -q --sample 1999 -e none -o sampled -- "$root/build/samples/service-cpp" 2000 >/dev/null
	"$root/build/tests/tools/stacks" --times sampled.pftrace >times
	total() { awk '{ sum += $NF } END { print sum + 0 }'; }
	n=0
	$other ranges >ranges
	while read -r from to condition; do
		set -- "--where=$condition" "--from=$from" "--to=$to"
		[ "$condition" != - ] || set -- "--from=$from" "--to=$to"
		[ "$from" != - ] || set -- "--where=$condition"
		wanted=$("$proftrace" report -q --flame "$@" sampled.pftrace | total)
		bounds=$($other samples sampled.json times $n)
		check "$wanted samples, at least ${bounds% *}: $*" [ "$wanted" -ge "${bounds% *}" ]
		check "at most ${bounds#* }" [ "$wanted" -le "${bounds#* }" ]
		check "there are some" [ "${bounds% *}" -gt 0 ]
		"$proftrace" convert -q "$@" -o part.pftrace sampled.pftrace
		# A sample that interrupts a mark may be on either side of it.
		part=$("$proftrace" report -q --flame part.pftrace | total)
		check "$part of them in the smaller trace: $*" [ "$part" -ge "${bounds% *}" -a "$part" -le "${bounds#* }" ]
		"$proftrace" report -q --html "$@" -o page.html sampled.pftrace
		equal "in the page: $*" "$(PYTHONDONTWRITEBYTECODE=1 python3 "$root/tests/browser/page_data.py" page.html \
			'd["flames"][0]["graph"]["total"]')" "$wanted"
		n=$((n + 1))
	done <ranges
else
	skip "samples" "this machine cannot record"
fi
finish
