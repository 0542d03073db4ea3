#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report --critical: paths add up to the slices, and name the thread that everybody waits for.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

# The sum of a field in the list `path` of all slices; with a third argument, only of lines that match.
sum() { # JSON FIELD [PATTERN]
	sed -n '/^  "path"/,/^  \]/p' "$1" | grep -E "${3:-.}" | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" |
		awk '{ s += $1 } END { printf "%.0f", s }'
}
# "all", "median", "slowest": total_ns. "median_slice", "slowest_slice": duration_ns
total() { # JSON KEY
	sed -n "s/^  \"$2\": {.*\"\(total\|duration\)_ns\": \([0-9]*\).*/\2/p" "$1"
}
chain() { # JSON KEY: the sum of its parts; "holes" where they do not follow each other
	sed -n "/^  \"$2\"/,/^  \]/p" "$1" | sed -n 's/.*"from_ns": \([0-9]*\), "duration_ns": \([0-9]*\).*/\1 \2/p' |
		awk '$1 != s { print "holes" } { s += $2 } END { printf "%.0f", s }'
}
# The durations of slices in JSON, added up.
durations() { # JSON NAME
	sed -n "s/^{\"name\":\"$2\".*\"ph\":\"\([be]\)\",\"ts\":\([0-9]*\)\.\([0-9]*\),.*\"local\":\"\([^\"]*\)\".*/\1 \2\3 \4/p
		s/^{\"name\":\"$2\".*\"ph\":\"B\",\"ts\":\([0-9]*\)\.\([0-9]*\),\"pid\":[0-9]*,\"tid\":\([0-9]*\).*/b \1\2 \3/p
		s/^{\"name\":\"hold\".*\"ph\":\"B\".*\"tid\":\([0-9]*\).*/skip 0 \1/p
		s/^{\"ph\":\"E\",\"ts\":\([0-9]*\)\.\([0-9]*\),\"pid\":[0-9]*,\"tid\":\([0-9]*\).*/e \1\2 \3/p" "$1" |
		awk '
			$1 == "b" { begin[$3] = $2 }
			$1 == "skip" { delete begin[$3] }
			$1 == "e" && $3 in begin { s += $2 - begin[$3]; delete begin[$3] }
			END { printf "%.0f", s }'
}
exact() { # NAME JSON
	for key in all median slowest; do
		field=$([ $key = all ] && echo total_ns || echo ${key}_ns)
		equal "$1: the path of $key adds up, to the nanosecond" "$(sum "$2" $field)" "$(total "$2" $key)"
	done
	for key in median_slice slowest_slice; do
		equal "$1: the path of $key has no holes" "$(chain "$2" $key)" "$(total "$2" $key)"
	done
}
share() { # JSON PATTERN PERCENT: at least so much of all is on lines that match
	awk -v part="$(sum "$1" total_ns "$2")" -v all="$(total "$1" all)" -v least="$3" \
		'BEGIN { print part, all; exit !(part >= all * least / 100) }'
}

timeout 60 "$proftrace" -q --wait-reasons -e none -o p --summary-json s -- "$programs/critical" pipeline 20 >said
equal "pipeline: exit status" $? 0
check_account "pipeline" s
equal "pipeline: marks" "$(field s written)" "$(said said marks)"
"$proftrace" report --critical request --format json p.pftrace >p.json1
"$proftrace" report --critical request --format json p.json >p.json2
check "pipeline: both files say the same" sh -c "sed 1,5d p.json1 >a; sed 1,5d p.json2 >b; cmp a b"
exact pipeline p.json1
equal "pipeline: all requests" "$(total p.json1 all)" "$(durations p.json request)"
check "pipeline: as long as the program says, within 5 %" awk -v all="$(total p.json1 all)" '
	$1 == "took" { s += $2 } END { print s, all; exit !(all <= s && all > s * 0.95) }' said
check "pipeline: the second stage is what requests wait for" share p.json1 '"thread": "stage2"' 75
check "pipeline: each stage has its part" share p.json1 '"thread": "stage1", "slice": "prepare"' 1
check "pipeline: each stage has its part, the third too" share p.json1 '"thread": "stage3", "slice": "finish"' 1
equal "pipeline: nothing is unknown" "$([ "$(field s sched_lost)" -ne 0 ] || grep '"doing": "unknown"' p.json1)" ""
"$proftrace" report --critical request p.pftrace >table
check "pipeline: a table" grep -qE '^stage2 +middle +sleep ' table

# The longest of them as --slowest finds it: asynchronous slices, too.
longest=$(sed -n 's/^  "slowest_slice": .*"duration_ns": \([0-9]*\).*/\1/p' p.json1)
for file in p.pftrace p.json; do
	"$proftrace" report --slowest 1 request --format json $file >slow.json
	check "pipeline: --slowest, $file" \
		grep -q "\"name\": \"request\".*\"thread\": \"stage3\".*\"duration_ns\": $longest," slow.json
done

# The paths as tracks of a trace: each nanosecond of each request once, and all that was there before.
"$proftrace" convert -q --critical request -o t p.pftrace
equal "convert --critical: exit status" $? 0
parts() { # JSON: the durations of all parts, added up
	sed -n 's/^{"name":"[^"]*","cat":"critical","ph":"\([be]\)","ts":\([0-9]*\)\.\([0-9]*\),.*"track":"critical path of request[^"]*".*/\1 \2\3/p' "$1" |
		awk '{ s += $1 == "e" ? $2 : -$2 } END { printf "%.0f", s }'
}
"$proftrace" convert -q -o back.json t.pftrace
equal "convert --critical: the tracks add up" "$(parts t.json)" "$(total p.json1 all)"
equal "convert --critical: the tracks of the Perfetto file add up" "$(parts back.json)" "$(total p.json1 all)"
check "convert --critical: they name threads and slices" \
	grep -q '"name":"stage2: sleep","cat":"critical","ph":"b".*"thread":"stage2","tid":[0-9]*,"slice":"middle"' t.json
"$proftrace" report --critical request --format json t.pftrace >t.json1
check "convert --critical: the rest is what it was" sh -c "sed 1,5d t.json1 >a; sed 1,5d p.json1 >b; cmp a b"
"$proftrace" convert --critical x --from 1s -o u p.pftrace 2>err
equal "convert --critical with --from: exit status" $? 2

# The tracks that it adds are no slices to find the critical paths of, also where they have a fitting name.
awk 'BEGIN {
	for (i = 0; i < 3000; i++)
		printf "%s{\"name\":\"n%d\",\"ph\":\"X\",\"ts\":%d,\"dur\":5,\"pid\":1,\"tid\":1}", i ? ",\n" : "[", i, i * 10
	print "]"
}' >many.json
MALLOC_PERTURB_=165 "$proftrace" convert --critical '*' -o paths.json many.json 2>err
equal "convert --critical '*': exit status" $? 0
check "convert --critical '*': the slices of the trace" grep -q '^critical paths: 3000 of slices' err

timeout 60 "$proftrace" -q --wait-reasons -e none -o c --summary-json s -- "$programs/critical" convoy 15 >said
equal "convoy: exit status" $? 0
"$proftrace" report --critical enter --format json c.pftrace >c.json1
exact convoy c.json1
equal "convoy: all slices" "$(total c.json1 all)" "$(durations c.json enter)"
check "convoy: what others do while they hold the lock" share c.json1 '"slice": "hold"' 80

# Without thread states nothing is guessed.
timeout 60 "$proftrace" -q -e none -o n -- "$programs/critical" convoy 5 >said
"$proftrace" report --critical enter --format json n.pftrace >n.json1
exact "without --sched" n.json1
equal "without --sched: all is unknown" "$(sum n.json1 total_ns '"doing": "unknown"')" "$(total n.json1 all)"
"$proftrace" report --critical nothing n.pftrace >table
equal "no slice: says so" "$(head -1 table)" "no slice matches"
"$proftrace" report --critical x --where 'dur > 1ms' n.pftrace 2>err
equal "with --where: exit status" $? 2
finish
