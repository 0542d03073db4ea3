#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Converting between the formats, and back, keeps everything that both can represent.
. "$(dirname "$0")/lib.sh"

same() { # NAME A B: they hold the same
	"$canon" "$2" >"$tmp/a.canon" 2>"$tmp/a.err" && "$canon" "$3" >"$tmp/b.canon" 2>"$tmp/b.err" ||
		{ not_ok "$1" "$(cat "$tmp/a.err" "$tmp/b.err")"; return; }
	if [ -s "$tmp/a.err" ] || [ -s "$tmp/b.err" ]; then
		not_ok "$1: all of it makes sense" "$(cat "$tmp/a.err" "$tmp/b.err")"
	elif cmp -s "$tmp/a.canon" "$tmp/b.canon"; then
		ok "$1: $(wc -l <"$tmp/a.canon") lines"
	else
		not_ok "$1" "$(diff "$tmp/a.canon" "$tmp/b.canon" | head -6)"
	fi
}

# With what is said of the file, but for its name.
reported() { # FILE
	"$proftrace" report "$1" 2>&1 | sed "s|'$1'||"
}

round_trips() { # NAME BASE
	for from in json pftrace; do
		case $from in json) to=pftrace ;; *) to=json ;; esac
		check "$1: $from to $to" "$proftrace" convert -q -o "$tmp/there.$to" "$2.$from"
		check "$1: and back" "$proftrace" convert -q -o "$tmp/back.$from" "$tmp/there.$to"
		same "$1: $to holds what $from held" "$2.$from" "$tmp/there.$to"
		same "$1: $from again" "$2.$from" "$tmp/back.$from"
		equal "$1: the same report, losses and all" "$(reported "$tmp/there.$to")" "$(reported "$2.$from")"
		equal "$1: $from again says where it comes from" "$(origin_of "$tmp/back.$from")" \
			"$(origin_of "$2.$from")"
	done
}

# Host, boot, kernel, identity, clocks: as the JSON tells them.
origin_of() { # FILE
	"$proftrace" convert -q -o "$tmp/origin.json" "$1"
	head -1 "$tmp/origin.json" | grep -oE '"(trace_uuid|monotonic|boottime|realtime|kernel|host|boot_id|rank)":"[^"]*"'
	grep '"clock_snapshot"' "$tmp/origin.json"
}

# What a trace says of itself: marks that were lost, cut, left out, slices without an end.
told() { # FILE
	"$proftrace" report -q --format json "$1" | sed -n '/"diagnostics"/,$p'
}

expect() { # NAME STATUS PATTERN COMMAND...
	name=$1 wanted=$2 pattern=$3
	shift 3
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	equal "$name: exit status" $? "$wanted"
	if grep -qE -- "$pattern" "$tmp/err"; then ok "$name: says so"; else
		not_ok "$name: says so" "$(cat "$tmp/err")"
	fi
}

cd "$tmp" || exit 1

# A trace of nothing but what is hard to carry over: every type of number, units, nesting, losses.
cat >hard.json <<'E'
[{"name":"proftrace","ph":"M","pid":0,"tid":0,"args":{"version":"0","clock":"monotonic","base_ns":7000000000,"trace_uuid":"00112233445566778899aabbccddeeff","monotonic":"7000000123","boottime":"9000000000","realtime":"1700000000000000001","host":"node 7","boot_id":"0b1c2d3e-0000-4000-8000-123456789abc","rank":"12"}},
{"name":"process_name","ph":"M","pid":7,"args":{"name":"a \"name\" \u00e9"}},
{"name":"thread_name","ph":"M","pid":7,"tid":8,"args":{"name":"worker"}},
{"name":"counters","ph":"C","ts":1.000,"pid":7,"tid":8,"id":"0x8","args":{"cycles":0,"task_clock":5}},
{"name":"outer","cat":"a,b","ph":"B","ts":1.000,"pid":7,"tid":8,"args":{"i":-1,"u":"18446744073709551615","d":0.1,"s":"tab\\x09 \u20ac","t":true,"p":"0x7f00deadbeef","epoch":3,"batch":4}},
{"name":"inner","ph":"B","ts":2.001,"pid":7,"tid":8},
{"name":"flow","cat":"flow","ph":"s","ts":2.002,"pid":7,"tid":8,"id":"0x63"},
{"name":"now","cat":"c","ph":"i","ts":2.003,"pid":7,"tid":8,"s":"t"},
{"name":"here","ph":"i","ts":2.004,"pid":7,"s":"p"},
{"name":"everywhere","ph":"i","ts":2.005,"pid":0,"s":"g"},
{"name":"loss","ph":"C","ts":2.006,"pid":7,"args":{"train":0.25,"test":-3}},
{"name":"big","ph":"C","ts":2.007,"pid":7,"args":{"value":"18446744073709551615"}},
{"name":"nan","ph":"C","ts":2.008,"pid":7,"args":{"value":"NaN"}},
{"name":"job","cat":"net","ph":"b","ts":2.009,"pid":7,"id2":{"local":"0xabc"},"args":{"k":1}},
{"name":"job","cat":"net","ph":"b","ts":2.010,"pid":7,"id2":{"local":"0xdef"}},
{"name":"events lost","recorder":true,"ph":"i","ts":2.011,"pid":7,"tid":8,"s":"t","args":{"count":1234}},
{"name":"job","cat":"net","ph":"e","ts":2.012,"pid":7,"id2":{"local":"0xabc"},"args":{"r":0}},
{"name":"flow in","recorder":true,"ph":"i","ts":2.013,"pid":7,"tid":9,"s":"t","args":{"id":99}},
{"name":"counters","ph":"C","ts":3.000,"pid":7,"tid":8,"id":"0x8","args":{"cycles":77,"task_clock":9}},
{"ph":"E","ts":3.000,"pid":7,"tid":8,"args":{"cycles":77,"ended":"unfinished"}},
{"name":"counters","ph":"C","ts":3.500,"pid":7,"tid":9,"id":"0x9","args":{"cycles":1}},
{"name":"other","ph":"B","ts":3.500,"pid":7,"tid":9},
{"ph":"E","ts":4.000,"pid":7,"tid":9,"args":{"ended":"lost"}},
{"ph":"E","ts":5.000,"pid":7,"tid":8,"args":{"x":1.5}},
{"name":"clock_snapshot","ph":"M","pid":0,"tid":0,"args":{"monotonic":"7000009000","boottime":"9000008877","realtime":"1700000000000008878"}},
{"name":"open","ph":"B","ts":9.000,"pid":7,"tid":8}
]
E
check "both at once" "$proftrace" convert -q -o hard2 hard.json
same "what is hard: JSON of it" hard.json hard2.json
same "what is hard: Perfetto of it" hard.json hard2.pftrace
round_trips "what is hard" hard2
equal "threads' counters have their units in both" \
	"$("$proftrace" report hard2.pftrace 2>/dev/null | grep '^task_clock')" \
	"$("$proftrace" report hard2.json 2>/dev/null | grep '^task_clock')"
expect "what the recording lost" 0 '1234 +marks were lost while' "$proftrace" convert -o x.json hard.json
expect "slices without an end" 0 '2 +slices are still open' "$proftrace" convert -o x.pftrace hard.json

# What its recording lost by other reasons is nowhere but in its account.
{
	sed '$d' hard.json
	echo ',{"name":"proftrace_account","ph":"M","pid":0,"tid":0,"args":{"marked":48,"written":23,"paused":2,"left_out":8,"unscheduled":1,"unrecorded":4,"lost":{"buffer_full":0,"begin_lost":0,"cut":3,"unmatched":2,"too_deep":5,"no_state":0,"malformed":0,"limit":0,"output":0},"unreadable_names":0,"unreadable_args":1,"open_at_end":2,"unfinished":1,"ends_lost":1,"frees_unknown":6,"late_steps":7,"attached_late":1,"orderly":true}}'
	echo ']'
} >account.json
cp account.json both.json && "$proftrace" convert -q -o both.pftrace account.json
round_trips "an account" both
for file in there.json there.pftrace back.json back.pftrace; do
	equal "an account: $file tells it" "$(told $file)" "$(told account.json)"
done
for number in '"paused":2' '"left_out":8' '"unscheduled":1,"unrecorded":4' '"marked":48,"written":23' '"orderly":true'; do
	check "an account: $number" grep -q "$number" there.json
done
"$proftrace" merge -q -o twice.json account.json hard.json
equal "an account: a merge adds up" "$(told twice.json | grep -E 'lost_(cut|too_deep|buffer_full)' | tr -d ' \n')" \
	'"lost_buffer_full":1234,"lost_cut":3,"lost_too_deep":5,'

head -c 2000 hard.json >cut.json
expect "a cut trace" 0 'truncated at byte' "$proftrace" convert -o x.json cut.json
gzip -k hard.json
check "gzip to gzip" "$proftrace" convert -q -o packed.json.gz hard.json.gz
same "gzip to gzip" hard.json packed.json.gz
"$proftrace" convert -o - - <hard.json >piped.pftrace 2>err
same "from a file to standard output" hard.json piped.pftrace
check "compressed" "$proftrace" convert -q --compress -o bundles hard.json
same "compressed: the Perfetto file" hard.json bundles.pftrace
same "compressed: the JSON is what it always is" hard.json bundles.json
check "compressed: it is no gzip file" test "$(head -c 1 bundles.pftrace | od -An -tx1 | tr -d ' ')" = 0a
check "compressed, from compressed" "$proftrace" convert -q --compress -o again.pftrace bundles.pftrace
same "compressed, from compressed" hard.json again.pftrace
"$proftrace" merge -q -o plain.pftrace bundles.pftrace
check "compressed: a merge" "$proftrace" merge -q --compress -o merged.pftrace bundles.pftrace
same "compressed: a merge" plain.pftrace merged.pftrace
# shellcheck disable=SC2002
cat hard.json | "$proftrace" convert -q -o piped.json -
same "from a pipe" hard.json piped.json
cp hard.json self.json
check "over itself" "$proftrace" convert -q -o self.json self.json
same "over itself" hard.json self.json

expect "no output named" 2 'o OUT' "$proftrace" convert hard.json
expect "two traces" 2 'merge' "$proftrace" convert -o y hard.json hard.json
expect "no trace" 1 'looks like text' "$proftrace" convert -o y /etc/passwd
expect "no such file" 1 'No such file' "$proftrace" convert -o y nothing.json
expect "no such directory" 1 "cannot write 'no/y.pftrace'" "$proftrace" convert -o no/y hard.json
ln -s /dev/full full.json
expect "a full disk" 1 "cannot write 'full.json': No space" "$proftrace" convert -o full.json hard.json
# Large enough that it fails on the way. What can be written is, all of it; nothing in part takes the place of a
# file that was there.
"$root/build/tests/tools/many_events" 2 >many.json 2>/dev/null
for verb in convert merge; do
	expect "$verb: one of two outputs fails" 1 "cannot write 'full.json': No space" \
		"$proftrace" $verb -o full.json -o many.pftrace many.json
	equal "$verb: one of two outputs fails: said in a line" "$(grep -c 'cannot' err)" 1
	check "$verb: one of two outputs fails: the other is said" grep -q '^many.pftrace' err
	"$proftrace" $verb -q -o plain.pftrace many.json
	same "$verb: one of two outputs fails: the other is whole" plain.pftrace many.pftrace
	"$proftrace" convert -q -o plain.json many.pftrace
	check "$verb: one of two outputs fails: the other says that it is" grep -q '"orderly":true' plain.json
	expect "$verb: both fail" 1 "cannot write 'full.json': No space" \
		"$proftrace" $verb -o full.json -o full-too.json many.json
	cp hard.json older.json
	expect "$verb: no room" 1 "cannot write 'older.json': File too large" \
		sh -c "ulimit -f 100; exec '$proftrace' $verb -o older.json many.json"
	check "$verb: no room: the older file stays" cmp hard.json older.json
done
{ "$proftrace" convert -q -o - many.json 2>err || echo "exit status $?" >>err; } | head -c 100 >/dev/null
check "a reader that has gone: says so" grep -q "cannot write '-': Broken pipe" err
check "a reader that has gone: exit status" grep -q 'exit status 1' err

# Ended from outside, while it waits for its source.
mkfifo source
for signal in 1 2 15; do
	cp hard.json older.json
	env --default-signal=HUP,INT "$proftrace" convert -o older.json -o ended.pftrace - <source &
	ended=$!
	exec 8>source
	until [ "$(ls -A | grep -cE '^\.(older|ended)\..*\.tmp$')" -eq 2 ] || ! kill -0 $ended; do sleep 0.02; done
	kill -$signal $ended
	wait $ended 2>/dev/null
	equal "signal $signal: it ends of it" $? $((128 + signal))
	equal "signal $signal: nothing is left" "$(ls -A | grep -E '^\.|ended')" ""
	check "signal $signal: the older file stays" cmp hard.json older.json
	exec 8>&-
done
equal "nothing is left of what failed" "$(ls -A | grep -E '^(y|\.)')" ""

need_tracing
"$proftrace" -q -e task-clock,page-faults -o kinds -- "$programs/every_kind" 4 200 >/dev/null
round_trips "a recording" kinds
"$proftrace" -q -o objects -- "$programs/objects" 2 20 >/dev/null
round_trips "a recording of objects" objects
"$proftrace" -q -o forks -- "$programs/forks" 20 10 >/dev/null
round_trips "a recording of many processes" forks

# --- a file of which something was removed -------------------------------------------------------

# The packets FIRST to LAST of a file, and with "without" all but these.
packets() { # with|without FIRST LAST <FILE
	python3 -c '
import sys
data, at, n = sys.stdin.buffer.read(), 0, 0
inside, first, last = sys.argv[1] == "with", int(sys.argv[2]), int(sys.argv[3])
while at < len(data):
    start, size, shift, at, n = at, 0, 0, at + 1, n + 1
    while True:
        byte, at = data[at], at + 1
        size, shift = size | (byte & 127) << shift, shift + 7
        if byte < 128:
            break
    at += size
    if (first <= n <= last) == inside:
        sys.stdout.buffer.write(data[start:at])
' "$@"
}

damaged() { # NAME FILE MISSING: what the readers say
	missing="'$2': $3 of [0-9]* [a-z]* that were written are missing from this file: it is damaged"
	"$proftrace" report "$2" >/dev/null 2>err
	equal "$1: report reads it" $? 0
	check "$1: report says what is missing" grep -q "$missing" err
	"$proftrace" convert -o of-damaged.json "$2" 2>err
	check "$1: convert says what is missing" grep -q "$missing" err
	"$proftrace" report of-damaged.json >/dev/null 2>err
	check "$1: what it was converted to is not whole" grep -q 'aborted' err
}

for whole in kinds objects forks; do
	for file in $whole.json $whole.pftrace; do
		"$proftrace" report $file >/dev/null 2>err
		equal "whole: nothing is missing of $file" "$(grep -c missing err)" 0
	done
done
sed 301,500d kinds.json >cut.json
damaged "200 lines removed" cut.json 200
sed 301d kinds.json >cut.json
damaged "one line removed" cut.json 1
if command -v python3 >/dev/null; then
	packets without 401 500 <kinds.pftrace >cut.pftrace
	damaged "100 packets removed" cut.pftrace 100
	packets without 1 1 <kinds.pftrace >cut.pftrace
	damaged "the first packet removed" cut.pftrace 1
	for n in 1 2 3 4; do
		packets with 1 $n <kinds.pftrace >cut.pftrace
		"$proftrace" report cut.pftrace >/dev/null 2>err
		check "the first $n packets: the end is missing" grep -q 'the end is missing' err
	done
else
	skip "packets removed" "no python3"
fi
finish
