#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# An attacker sends a trace of a few megabytes that unpacks to gigabytes, or has a name of gigabytes.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
event='{"ph":"i","name":"a","ts":1,"pid":1,"tid":1}'
printf '[%s]' "$event" >one.json

# No command may take more than this CPU time in seconds (it is killed then) and 1 GB of address space.
bounded() { # SECONDS COMMAND...
	seconds=$1
	shift
	(
		ulimit -t "$seconds" && ulimit -v 1000000
		exec "$@"
	) >out 2>err </dev/null
}

# Where an eighth of the events is in PART, a command may take as long as for twelve of these, and a second for its start:
# whatever the speed of the machine, no more than it takes to read so many events.
refused() { # NAME FILE REASON [PART]
	for command in report convert merge; do
		case $command in
		report) set -- "$1" "$2" "$3" "${4:-}" report ;;
		convert) set -- "$1" "$2" "$3" "$4" convert -o o.json ;;
		merge) set -- "$1" "$2" "$3" "$4" merge -o o.pftrace one.json ;;
		esac
		seconds=2
		if [ -n "$4" ]; then
			seconds=$(($(cpu_time /dev/null "$proftrace" $(shift 4; echo "$@") "$4") * 12 / 1000 + 2))
			rm -f o.*
			echo "# $1: $command: at most $seconds s"
		fi
		bounded "$seconds" "$proftrace" $(shift 4; echo "$@") "$2"
		equal "$1: $command: exit status" $? 1
		equal "$1: $command: one line and its hint" "$(grep -c "^proftrace: cannot read '$2': at byte [0-9]*: $3$" err) $(grep -c '^hint: ' err) $(wc -l <err)" "1 1 2"
		equal "$1: $command: no output" "$(ls | grep -c '^o\.')" 0
	done
}

barren='compressed data that unpacks to 16 MiB with too few events'
bomb() { # NAME KIND BEGINNING UNIT [REASON]
	"$attacks/bomb" "$2" 10 "$3" "$4" >bomb
	refused "$1 ($2)" bomb "${5:-$barren}" ${6:-}
	rm bomb
}
# The same of 32 MiB of events, each of which has to be read.
full_bomb() { # NAME KIND BEGINNING UNIT
	"$attacks/bomb" plain 1 "$3" "$4" | head -c 4194304 >part
	bomb "$@" "$all_events" part
	rm part
}

bomb "spaces" gzip '[' ' ' 'white space of more than 8 MiB'
bomb "a string" gzip '[{"name":"' a
bomb "a number" gzip '[{"ts":' 1 'a number of more than 1024 digits'
bomb "brackets" gzip '[{"args":{"a":' '[' 'nested too deeply'
bomb "empty objects" gzip '[' '{},'
bomb "empty strings of a list" gzip "[$event,"'{"ph":"i","args":{"a":[' '"",'
bomb "events of no kind" gzip '[' '{"ph":"P"},'
bomb "a key beside the events" gzip "{\"traceEvents\":[$event],\"a\":[" '{},'
bomb "spaces" members '[' ' ' 'white space of more than 8 MiB'
bomb "empty objects" members '[' '{},'
for kind in gzip packets; do
	bomb "empty packets" $kind '' '\x0a\x00'
	bomb "packets with a time" $kind '' '\x0a\x02\x40\x00'
	bomb "events without a time" $kind '' '\x0a\x02\x5a\x00'
done
bomb "packets of zeros" packets '' '\x00' 'malformed compressed packets'

# Nothing here is too much but the number of events, and reading them must not take long before that is known. Slices that
# overlap without nesting take longest.
all_events='compressed data that unpacks to 32 MiB and to 200 times its size'
full_bomb "events that overlap" gzip '[' "$(for i in 0 1 2 3 4 5 6 7 8; do printf '{"ph":"X","ts":%d,"dur":20},' $i; done)"
full_bomb "events without a name" gzip '[' '{"ph":"X","ts":1,"dur":1},'
full_bomb "slices" gzip '' '\x0a\x08\x40\x01\x50\x01\x5a\x02\x48\x01\x0a\x08\x40\x01\x50\x01\x5a\x02\x48\x02'

# An event every 3 MiB is no excuse for what lies between: the same piece of a file 40 times.
few_events() { # NAME EVENT UNIT list|packets
	{
		printf "$2"
		"$attacks/bomb" plain 1 '' "$3" | head -c 3000000
	} >piece
	{
		[ "$4" = list ] && printf '['
		for _ in $(seq 1 40); do cat piece; done
	} | gzip -9 >bomb
	refused "$1, and few events" bomb "$barren"
	rm bomb piece
}
few_events "empty objects" "$event," '{},' list
few_events "empty packets" '\n\016\100\200\200\001\120\001\132\006\110\001\130\001\120\001' '\x0a\x00' packets

# Nothing is compressed here: a pipe with 5 GiB of one name.
endless() { # NAME BEGINNING UNIT REASON
	"$attacks/bomb" plain 5 "$2" "$3" | (ulimit -t 2 && ulimit -v 1000000 && exec "$proftrace" report -) >out 2>err
	equal "$1: exit status" $? 1
	equal "$1: one line and its hint" "$(grep -c "^proftrace: cannot read '-': at byte [0-9]*: $4$" err) $(grep -c '^hint: ' err) $(wc -l <err)" "1 1 2"
}
endless "a name" '[{"name":"' a 'a string of more than 256 MiB'
endless "a key" '[{"' a 'a string of more than 256 MiB'
endless "a name of escape sequences" '[{"name":"' '\\u0061' 'a string of more than 256 MiB'
endless "line feeds" '[' '\x0a' 'white space of more than 8 MiB'

# What compresses well without being a bomb is read: as many events as the limit of 32 MiB allows, at 300:1.
n=700000
yes "$event," | head -n $n | { printf '['; cat; } | gzip -9 >small.json.gz
bounded 60 "$proftrace" report --format json small.json.gz
# How far the reading is, is shown where somebody looks, if it takes long; it is gone at the end.
if command -v script >/dev/null 2>&1 && script -qec true /dev/null </dev/null >/dev/null; then
	gunzip -c small.json.gz | head -c 2000000 >piece
	for quiet in '' -q; do
		script -qec "{ head -c 1000000 piece; sleep 0.6; tail -c +1000001 piece; } | '$proftrace' report $quiet - >/dev/null" \
			/dev/null </dev/null | tr '\r' '\n' >shown
		equal "on a terminal${quiet:+, $quiet}: how far the reading is" \
			"$(grep -c '^proftrace: reading -: [0-9]* MB' shown | sed 's/[1-9][0-9]*/some/') $(grep -c '^.\[K' shown)" \
			"$([ -n "$quiet" ] && echo "0 0" || echo "some 1")"
	done
fi
equal "many equal events are read" "$(sed -n 's/.*"count": \([0-9]*\).*/\1/p' out | head -1)" $n

if can_trace; then
	begin_recording
	"$attacks/bomb" gzip 10 '[' '{},' >bomb.gz
	"$proftrace" -q -o recorded --include-json bomb.gz -- "$programs/every_kind" 1 1 >out 2>err
	equal "--include-json: exit status" $? 1
	equal "--include-json: one line and its hint" "$(grep -c "^proftrace: cannot read 'bomb.gz': at byte [0-9]*: $barren$" err) $(grep -c '^hint: ' err) $(wc -l <err)" "1 1 2"
	check "--include-json: the recording is complete" "$proftrace" report -q recorded.pftrace
	"$proftrace" -q -o named -- "$programs/includes" 1 own.json "$tmp/bomb.gz" >out 2>err </dev/null
	equal "prof_include_chrome_json: one line and its hint" "$(grep -c "^proftrace: cannot read '$tmp/bomb.gz': at byte [0-9]*: $barren$" err) $(grep -c '^hint: ' err) $(wc -l <err)" "1 1 2"
	check "prof_include_chrome_json: the recording is complete" "$proftrace" report -q named.pftrace
else
	skip "bombs that are included" "this machine cannot record"
fi
finish
