#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs, files and fake recorders want to control the terminal of whoever reads about them: control characters,
# control sequences of 8-bit terminals, marks that turn text round, lines that look like ours, through the output of
# every verb. Each command has to print the hostile text, so that none passes by printing nothing.
. "$(dirname "$0")/lib.sh"
export LC_ALL=C
# ESC, a byte that begins a control sequence on 8-bit terminals, the same as U+009B, marks of direction, separators, DEL,
# and a line feed; and U+200D, which joins letters and is nobody's enemy.
evil=$(printf 'a\342\200\215\033[2Jb\233c\302\233d\342\200\256e\342\200\250f\342\201\246g\330\234h\177\nforged')
joined=$(printf 'a\342\200\215')
# As messages show it, as names do, and both in JSON.
asked="$joined?[2Jb?c?d?e?f?g?h??forged"
escaped="$joined\\x1b[2Jb$(printf '\357\277\275')c\\x9bd\\u202ee\\u2028f\\u2066g\\u061ch\\x7f\\x0aforged"
json_asked="$joined\\u001b[2Jb\\ufffdc\\u009bd\\u202ee\\u2028f\\u2066g\\u061ch\\u007f\\u000aforged"
json_escaped=$(printf '%s' "$escaped" | sed 's/\\/\\\\/g')
mkdir "$tmp/work" && cd "$tmp/work" || exit 1

# What must be nowhere: C0 but the line feed, DEL, C1 as a code point, separators, directions, any byte that is not UTF-8,
# and a line that a name begins.
clean() { # FILE...
	for file; do
		grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c|^forged' "$file" && return 1
		iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1 || return 1
	done
}
judge() { # NAME TEXT FILE...
	judged=$1 text=$2 faults=
	shift 2
	cat "$@" | grep -qF -e "$text" || faults="'$text' is not there"
	clean "$@" || faults="$faults; not clean"
	never_else "$judged: the hostile text is shown, and harmless" "$faults$([ -z "$faults" ] || cat -v "$@" | head -8)" ""
}
shows() { # NAME STATUS TEXT COMMAND...
	name_of_check=$1 wanted=$2 text_of_check=$3
	shift 3
	timeout 60 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	[ $status -eq "$wanted" ] || echo "exit status $status, not $wanted" >>"$tmp/err"
	judge "$name_of_check" "$text_of_check" "$tmp/out" "$tmp/err"
	[ $status -eq "$wanted" ] || not_ok "$name_of_check: exit status" "got $status, wanted $wanted"
}

printf '%s\n' "$evil" >"$tmp/evil"
check "the check refuses the text itself" test "$(clean "$tmp/evil" && echo clean)" = ""

# The same bytes in place of a word of the same length, which compilers and writers of traces let through.
word=hostile_text_of_thirty_seven_bytes__x
equal "the text is as long as what it replaces" "$(printf %s "$evil" | wc -c)" ${#word}
replacement=$(printf '%s' "$evil" | sed -e 's/[[\\/&]/\\&/g' -e '$!s/$/\\/')
replaced() { # FILE COPY
	sed "s/$word/$replacement/g" "$1" >"$2" && chmod 755 "$2"
}

# --- traces ---------------------------------------------------------------------------------------------------------

# JSON has no bytes that are not UTF-8, and no control characters but as escapes. %s: an event of another kind.
in_json=$(printf '%s' "$evil" | sed -e "s/$(printf '\033')/\\\\u001b/" -e "s/$(printf 'b\233c')/bc/" | sed -z 's/\n/\\n/')
printf '[{"ph":"M","name":"proftrace","pid":0,"tid":0,"args":{"version":"%s","base_ns":0,"host":"%s","rank":"%s","trace_uuid":"0123456789abcdef0123456789abcdef"}},
{"ph":"M","name":"process_name","pid":1,"args":{"name":"%s"}},{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"%s"}},
{"ph":"X","name":"%s","cat":"%s","pid":1,"tid":1,"ts":1,"dur":2,"args":{"%s":"%s"}},{"ph":"X","name":"%s","cat":"%s","pid":1,"tid":1,"ts":5,"dur":9,"args":{"%s":"%s"}},
{"ph":"b","name":"%s","cat":"%s","id":"%s","pid":1,"tid":1,"ts":2},{"ph":"C","name":"%s","pid":1,"ts":2,"args":{"%s":1}},
{"ph":"i","name":"%s","pid":1,"tid":1,"ts":3}]' $word $word $word $word $word $word $word $word $word $word $word $word $word $word $word $word $word $word $word >word.json
"$proftrace" convert -q -o word.pftrace word.json
equal "the word is in both formats" "$(grep -c $word word.json word.pftrace | xargs)" "$(echo word.json:5 word.pftrace:"$(grep -c $word word.pftrace)")"
replaced word.pftrace names.pftrace
sed "s/$word/$(printf '%s' "$in_json" | sed 's/[[\\/&]/\\&/g')/g" word.json >names.json
for trace in names.json names.pftrace; do
	# What JSON cannot hold is not in its names.
	tail=${escaped#*"$(printf '\357\277\275')"}
	json_tail=${json_escaped#*"$(printf '\357\277\275')"}
	for how in '' --per-thread '--slowest 1 *'; do
		# The globs are for proftrace.
		set -f
		shows "report $how, $trace" 0 "$tail" "$proftrace" report $how $trace
		shows "report $how, $trace, csv" 0 "$tail" "$proftrace" report --format csv $how $trace
		shows "report $how, $trace, json" 0 "$json_tail" "$proftrace" report --format json $how $trace
		set +f
	done
	ending=${trace#names}
	cp $trace "$evil$ending"
	shows "report, a path" 0 "$json_asked" "$proftrace" report --format json "./$evil$ending"
	shows "report, a path in a column" 0 '?[2Jb?c?d' "$proftrace" report -q --slowest 1 '*' "$evil$ending" names.json
	shows "report of a recording twice" 0 "the same recording as '$asked$ending'" "$proftrace" report "$evil$ending" "$trace"
	shows "convert" 0 "out-$asked.json  " "$proftrace" convert -o "out-$evil.json" "$evil$ending"
	check "convert: what it wrote" clean "out-$evil.json"
	shows "merge" 0 "out-$asked.pftrace  " "$proftrace" merge -o "out-$evil.pftrace" "$evil$ending" names.json
done
shows "merge, a label" 0 "names.json (rank $joined\\x1b[2J): " "$proftrace" merge -o merged names.json names.json
printf '[{"ph":"X","name":"ab","pid":1,"tid":1,"ts":1,"dur":9},{"ph":"X","name":"ac","pid":1,"tid":1,"ts":11,"dur":1},{"ph":"X","name":"ac","pid":1,"tid":1,"ts":13,"dur":1}]' >two.json
shows "a pattern as a title" 0 'Slice a[b?c]' "$proftrace" report --slowest 1 "a[b$(printf '\033')c]" two.json
head -c -3 names.pftrace >"cut-$evil"
shows "report of a part" 0 "'cut-$asked': truncated" "$proftrace" report "cut-$evil"
shows "convert of a part" 0 "'cut-$asked': truncated" "$proftrace" convert -o part.json "cut-$evil"
printf '[{"ph":"P","name":"a","pid":1,"tid":1,"ts":1},{"ph":"i","name":"a","pid":1,"tid":1,"ts":1}]' >"kinds-$evil"
shows "kinds that nobody knows" 0 "'kinds-$asked': 1" "$proftrace" report "kinds-$evil"

# --- what fails, and wrong usage --------------------------------------------------------------------------------------

printf '%s' "$evil" >"bad-$evil"
for verb in report list "convert -o x" "merge -o x" open; do
	shows "$verb of what is no trace" 1 "'bad-$asked'" "$proftrace" $verb "bad-$evil"
	shows "$verb of a missing file" 1 "'none-$asked'" "$proftrace" $verb "none-$evil"
done
for arguments in "--sort" "--columns"; do
	shows "report $arguments" 1 "$asked" "$proftrace" report $arguments "$evil" names.json
done
shows "convert to a missing directory" 1 "$asked" "$proftrace" convert -o "none-$evil/x" names.json
shows "merge to a missing directory" 1 "$asked" "$proftrace" merge -o "none-$evil/x" names.json names.json
shows "merge --offset" 1 "$asked" "$proftrace" merge -o x --offset "$evil=1s" names.json names.json
shows "report --flame" 1 "'$asked.json'" "$proftrace" report --flame "$evil.json"
while read -r usage; do
	shows "usage: $usage" 2 "$asked" "$proftrace" $usage "$evil"
done <<-END
	check
	ctl
	ctl -p
	list -p
	merge -o x --align
	merge -o x --offset
	open --port
	record --mode
	record -p
	record -p 1 --buffer
	record -p 1 --max-overhead
	record -p 1 --schedule
	record -p 1 --flight-recorder 1s --trigger
	report --format
	report --unit
	report --slowest
	top --sort
	top -p
END
for option in counters handler system; do
	shows "record --$option" 1 "'$asked'" "$proftrace" record -p 1 --$option "$evil"
done
shows "a verb" 2 "'$asked'" "$proftrace" "$evil"
shows "an option" 2 "'--$asked'" "$proftrace" record "--$evil"
mkdir "$evil "
cp "$proftrace" "$evil /$evil"
shows "its own name, wrong usage" 2 "proftrace" "./$evil /$evil" --none
shows "its own name, help" 0 "proftrace" "./$evil /$evil" record --help

# --- files that are listed --------------------------------------------------------------------------------------------

equal "the word is in the program" "$(grep -c $word "$attacks/hostile_names" >/dev/null && echo yes)" yes
replaced "$attacks/hostile_names" "elf-$evil"
shows "list" 0 "elf-$asked: x86-64" "$proftrace" list "elf-$evil"
shows "list: a domain" 0 "domain $escaped: begin" "$proftrace" list "elf-$evil"
shows "list: a probe" 0 "probe $escaped:$escaped (" "$proftrace" list -v "elf-$evil"
shows "list -f" 0 "elf-$asked: " "$proftrace" list -f "elf-$evil"
shows "list -f: a function" 0 "function $asked" "$proftrace" list -f "elf-$evil"
cp /bin/true "true-$evil"
shows "list: nothing found" 1 "searched true-$asked" "$proftrace" list "true-$evil"
shows "list: several files" 0 "true-$asked: no markers" "$proftrace" list "true-$evil" "elf-$evil"

# --- the viewer -------------------------------------------------------------------------------------------------------

port=$((20000 + $$ % 10000))
rm -f "$tmp/out"
"$proftrace" open --no-browser --port $port "$evil.json" >"$tmp/out" 2>"$tmp/err" </dev/null &
viewer=$!
wait_for "$tmp/out" https
shows "open: a port in use" 1 "127.0.0.1:$port" "$proftrace" open --no-browser --port $port names.json
kill -INT $viewer
wait $viewer
judge "open: nobody came" "'$asked.json'" "$tmp/err"

# --- a recorder that another user has put there -------------------------------------------------------------------------

if [ "$(id -u)" -eq 0 ] && make_user faker; then
	place=/tmp/proftrace-$made_uid
	trap 'remove_test_users; rm -rf "$tmp" "$place"' EXIT
	rm -rf "$place"
	mkdir -m 700 "$place" && chown "$made_uid:$made_gid" "$place"
	cp "$attacks/fake_recorder" "$tmp/" && chmod 755 "$tmp/fake_recorder"
	rm -f "$tmp/fake"
	as "$made_uid" "$made_gid" "$tmp/fake_recorder" "$place" "$evil" >"$tmp/fake" 2>&1 &
	wait_for "$tmp/fake" ready || finish
	fake=$(sed -n 's/^ready //p' "$tmp/fake")
	shows "ctl status of a fake recorder" 0 "of user faker-$$: $joined?[2Jb?c?d?e?f?g?h?" "$proftrace" ctl status -p "$fake"
	kill "$fake"
else
	skip "a fake recorder" "cannot make a user"
fi

# --- recordings -------------------------------------------------------------------------------------------------------

can_trace || { skip "recordings" "this machine cannot record"; finish; }
begin_recording
mv "elf-$evil" "run-$evil"
cp "$programs/plugin.so" "library-$evil.so"
printf '1\n' >line
# The name of a file that is mapped is the kernel's, which has a form of its own for a line feed.
mapped="${asked%?forged}\\012forged"
record() { # NAME STATUS TEXT OPTION...: of one line of the program's input
	name=$1 wanted=$2 text=$3
	shift 3
	shows "record: $name" "$wanted" "$text" sh -c '"$@" <line' sh "$proftrace" -e none "$@" -- "./run-$evil" "$evil" "$tmp/work/none-$evil"
}
record "outputs" 0 "rec-$asked.json  " -o "rec-$evil" --summary-json "summary-$evil"
judge "record: --summary-json" "rec-$json_asked.json" "summary-$evil"
check "record: the JSON" clean "rec-$evil.json"
shows "report of a recording" 0 "$escaped" "$proftrace" report --per-thread "rec-$evil.pftrace"
record "its table" 0 "$escaped" -o table
record "-vv" 0 "run-$asked" -vv -o verbose -u '*:*' -f 'a*'
record "-vv: a function" 0 "$escaped" -vv -o verbose -f 'a*'
shows "record: --stats-only" 0 "$escaped" sh -c '"$@" <line' sh \
	"$proftrace" --stats-only --summary-json "stats-$evil" -- "./run-$evil" "$evil"
judge "record: --stats-only --summary-json" "$json_escaped" "stats-$evil"
record "a summary that cannot be written" 1 "'none-$asked/x'" -o none --summary-json "none-$evil/x"
record "an output that cannot be opened" 1 "'none-$asked/x.pftrace'" -o "none-$evil/x"
record "a trace that the program names" 0 "none-$escaped" -o included
record "a trace that an option names" 1 "'bad-$asked'" -o included --include-json "bad-$evil"
record "a trace that is included" 0 "$asked.json  " -o included --include-json "$evil.json"
record "a flight recorder" 0 "flight-$asked" --flight-recorder 10s --trigger "instant:$escaped" -o "flight-$evil"
record "a domain that is switched off" 0 "$escaped" --max-overhead 0.0001 -o over
record "no function" 0 "-f 'none-$asked'" -o none -f "none-$evil"
record "no probe" 0 "-u '$asked:x'" -o none -u "$evil:x"
shows "record: no markers" 0 "'./true-$asked'" "$proftrace" -o none -- "./true-$evil"
shows "record: no such command" 1 "'./none-$asked'" "$proftrace" -o none -- "./none-$evil"
shows "record: a library" 0 "library-$mapped" sh -c '"$@" <line' sh \
	env LD_PRELOAD="./library-$evil.so" "$proftrace" -vv -e none -o library -- "./run-$evil" "$evil"
shows "record: --sample" 0 "$escaped" sh -c '"$@" <line' sh "$proftrace" -e none --sample 999 -o "samples-$evil" -- "./run-$evil" "$evil"
shows "report --flame, folded" 0 "$escaped" "$proftrace" report --flame "samples-$evil.pftrace"
check "report --flame, a picture" "$proftrace" report --flame -o "flame-$evil.svg" "samples-$evil.pftrace"
tr -d '\t' <"flame-$evil.svg" >picture
judge "report --flame, its title" "samples-$asked" picture
shows "report --flame, no slice" 1 "'$asked'" "$proftrace" report --flame="$evil" "samples-$evil.pftrace"
shows "record: a container's host name" 0 "$escaped" unshare --uts sh -c 'printf "%s" "$1" >/proc/sys/kernel/hostname
	shift; "$@" <line' sh "$evil" "$proftrace" -e none -o host.json -- "./run-$evil" "$evil"
judge "record: a container's host name in JSON" "${asked%??forged}" host.json

# A program that goes on: its own recorder is asked, and slices are open at the end.
mkfifo "$tmp/in"
"./run-$evil" "$evil" <"$tmp/in" >"$tmp/target" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/target" ready
shows "list -p" 0 "run-$mapped: x86-64" "$proftrace" list -p $target
"$proftrace" -e none -p $target -o "long-$evil" >"$tmp/long" 2>"$tmp/long.err" 9>&- &
recorder=$!
wait_for "$tmp/long.err" 'proftrace: recording'
echo line >&9
wait_for "$tmp/target" 'done 1'
shows "ctl status" 0 "long-$asked" "$proftrace" ctl status -p $target
shows "ctl dump" 0 "long-$asked" "$proftrace" ctl dump -p $target
(wait_for "$tmp/top" '[0-9.]* s,' && echo line >&9) &
timeout 60 "$proftrace" top -p $target -i 500ms -n 3 >"$tmp/top" 2>"$tmp/top.err" 9>&-
judge "top" "$escaped" "$tmp/top" "$tmp/top.err"
wait_for "$tmp/target" 'done 2'
kill -INT $recorder
wait $recorder
equal "a long recording: exit status" $? 0
judge "a long recording: what is open" "open: $escaped, 3 times" "$tmp/long" "$tmp/long.err"
exec 9>&-
wait $target
finish
