#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs that attack their tracer. They cost only bounded memory and time: recorders here may use 1.5 GB of
# address space and some seconds. Unit tests and fuzzers test the parsers; this tests the whole.
. "$(dirname "$0")/lib.sh"
need_tracing
memory=1500000

limited() { # COMMAND...
	(ulimit -v $memory && ulimit -c 0 && exec timeout -k 5 60 "$@")
}

# One line, and nothing that a terminal would act on.
clean() { # FILE
	! tr -d '\n\t' <"$1" | LC_ALL=C grep -q '[[:cntrl:]]'
}

check_marks() { # NAME SUMMARY MARKS
	equal "$1: the account adds up" "$(field "$2" adds_up)" true
	equal "$1: every mark is in the account" "$(field "$2" marked)" "$3"
	equal "$1: written + lost = marked" \
		"$(($(field "$2" written) + $(field "$2" lost_total)))" "$(field "$2" marked)"
}

run() { # NAME ARGUMENTS...
	name=$1
	shift
	limited "$proftrace" --buffer 16M --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/hostile" "$@" \
		>"$tmp/out" 2>"$tmp/err"
	equal "$name: exit status" $? 0
	check_marks "$name" "$tmp/s" "$(said "$tmp/out" marks)"
	check_agree "$name" "$tmp/t"
	check "$name: the terminal is left alone" clean "$tmp/err"
}

# It is the kernel that looks behind a program's pointers, wherever these lead: whatever it marks with the program goes
# on. Names that are not in the file the program reads itself in buffered mode, as most markers do in every mode.
for mode in auto exact; do
	run "strings, $mode" strings 2000
	equal "strings, $mode: those that are not there are counted" "$(field "$tmp/s" unreadable_args)" 6000
	check "strings, $mode: those that are cut are counted" test "$(field "$tmp/s" cut_strings)" -ge 4000
	check "strings, $mode: those that are no UTF-8 are counted" test "$(field "$tmp/s" repaired_strings)" -ge 2000
done
run "pointers to nowhere" pointers 2000
check "pointers to nowhere: names that are not there are counted" test "$(field "$tmp/s" unreadable_names)" -ge 2000
run "100,000 names" names 100000
check "100,000 names: those that are too many are (other)" test "$(field "$tmp/s" other_names)" -gt 0
run "slices whose names are made" slices 2000
run "pools whose names are made" pools 2000
run "4,000 threads" threads 4000
run "400,000 live allocations" allocs 400000
check "400,000 live allocations: those not followed are counted" \
	test "$(field "$tmp/s" allocs_not_followed)" -gt 0

# Claims of the file. What is good in it is recorded all the same.
damaged() { # NAME KIND [N]: a program that says what is not so
	cp "$programs/hostile" "$tmp/damaged"
	"$programs/damage" "$2" "$tmp/damaged" ${3:-} || not_ok "$1: damage" "$2"
	limited "$proftrace" -v --buffer 1M -o "$tmp/d" --summary-json "$tmp/s" -- "$tmp/damaged" threads 200 \
		>"$tmp/out" 2>"$tmp/err"
	status=$?
	lines=$(grep -c 'malformed probe sites\|cannot read the markers' "$tmp/err")
}

damaged "20,000 notes" notes 20000
equal "20,000 notes: exit status" $status 0
equal "20,000 notes: one line" "$lines" 1
check_marks "20,000 notes" "$tmp/s" "$(said "$tmp/out" marks)"
damaged "a million notes" notes 1000000
equal "a million notes: exit status" $status 0
equal "a million notes: one line" "$lines" 1
check_marks "a million notes" "$tmp/s" "$(said "$tmp/out" marks)"
damaged "notes of an exabyte" huge
equal "notes of an exabyte: exit status" $status 0
equal "notes of an exabyte: one line" "$lines" 1
damaged "overlapping notes" overlap
equal "overlapping notes: exit status" $status 0
check_marks "overlapping notes" "$tmp/s" "$(said "$tmp/out" marks)"
damaged "semaphores in code" semaphore
equal "switches in code: exit status" $status 0
equal "switches in code: one line" "$lines" 1
check "switches in code: the program ends well" grep -q '^marks 400' "$tmp/out"

# The same of probes of others.
probes() { # NAME KIND [N]
	cp "$programs/probes" "$tmp/damaged"
	"$programs/damage" "$2" "$tmp/damaged" ${3:-} || not_ok "$1: damage" "$2"
	limited "$proftrace" -e none --buffer 1M -u 'probes:*' -o "$tmp/d" --summary-json "$tmp/s" -- "$tmp/damaged" 50 \
		>"$tmp/out" 2>"$tmp/err"
	equal "$1: exit status" $? 0
	equal "$1: the program computes the same" "$(said "$tmp/out" rounds)" 50
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	check "$1: what is left out is counted" test "$(field "$tmp/s" sites_refused)" -gt 0
	check "$1: it says little of it" test "$(grep -c '' "$tmp/err")" -le 60
}
probes "a million probes" probes 1000000
probes "sixty thousand sections with the same notes" sections
for at in 1 64 200 1000 5000; do
	head -c $at "$programs/hostile" >"$tmp/cut"
	limited "$proftrace" list "$tmp/cut" >"$tmp/out" 2>"$tmp/err"
	check "cut at $at: listed or refused in one line" test $? -le 1 -a "$(grep -c '' "$tmp/err")" -le 2
done

# Debug information that would be a hundred and fifty times as large, in each of its parts, as the file.
cp "$programs/births" "$tmp/damaged"
"$programs/damage" inflate "$tmp/damaged" 1000
timeout 60 "$programs/peak" "$tmp/peak" "$proftrace" -e none --stack birth --buffer 1M -o "$tmp/d" \
	--summary-json "$tmp/s" -- "$tmp/damaged" 20 >"$tmp/out" 2>"$tmp/err"
equal "inflated debug information: exit status" $? 0
check_marks "inflated debug information" "$tmp/s" "$(said "$tmp/out" marks)"
check "inflated debug information: memory stays below 700,000 KB" test "$(said "$tmp/peak" peak)" -lt 700000
check "inflated debug information: names are those of the symbol table" grep -qaF live "$tmp/d.pftrace"

# A name with a newline, and one that a terminal would obey.
odd=$tmp/$(printf 'new\nline\033[31m')
cp "$programs/hostile" "$odd"
limited "$proftrace" -v -o "$tmp/odd" --summary-json "$tmp/s" -- "$odd" threads 200 >"$tmp/out" 2>"$tmp/err"
equal "odd path: exit status" $? 0
check_marks "odd path" "$tmp/s" "$(said "$tmp/out" marks)"
check "odd path: the terminal is left alone" clean "$tmp/err"
mkfifo "$tmp/in"
rm -f "$tmp/maps.out"
"$odd" maps "$odd" <"$tmp/in" >"$tmp/maps.out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/maps.out" ready
limited "$proftrace" -v -p $target -d 100ms -o "$tmp/odd" 9>&- 2>"$tmp/err"
equal "odd path, attached: exit status" $? 0
check "odd path, attached: is named" grep -q "attached to .*new.*line?\[31m" "$tmp/err"
check "odd path, attached: the terminal is left alone" clean "$tmp/err"
exec 9>&-
wait $target
rm "$tmp/in"

# A file that changes while it is read, again and again; then it is cut off.
cp "$programs/storm" "$tmp/changing"
rm -f "$tmp/maps.out"
mkfifo "$tmp/in"
"$programs/hostile" maps "$tmp/changing" <"$tmp/in" >"$tmp/maps.out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/maps.out" ready
"$programs/damage" flip "$tmp/changing" 100000000 9>&- &
flipper=$!
bad=
for i in 1 2 3; do
	limited "$proftrace" -q -p $target -d 100ms -o "$tmp/f" --summary-json "$tmp/s" 9>&- 2>"$tmp/err"
	[ $? -le 1 ] && [ "$(field "$tmp/s" adds_up)" = true ] || bad="$bad $i"
done
kill $flipper
wait $flipper 2>/dev/null
equal "a changing file: three recordings end in order" "$bad" ""
: >"$tmp/changing"
limited "$proftrace" -q -p $target -d 100ms -o "$tmp/f" --summary-json "$tmp/s" 9>&- 2>"$tmp/err"
equal "a file that was emptied: exit status" $? 0
exec 9>&-
wait $target
equal "a changing file: the program ends well" $? 0

# Who may connect to a recorder need not speak its language.
rm "$tmp/in"
mkfifo "$tmp/in"
"$programs/storm" 1 1000 <"$tmp/in" >"$tmp/storm.out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/storm.out" ready
mkdir -m 700 "$tmp/run"
rm -f "$tmp/err"
XDG_RUNTIME_DIR=$tmp/run
export XDG_RUNTIME_DIR
"$proftrace" -p $target -o "$tmp/ctl" --summary-json "$tmp/s" 9>&- 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
timeout 60 "$programs/clients" "$tmp/run/proftrace/$recorder.control" 1000 >"$tmp/out" 2>&1
equal "odd clients: all came in" "$(said "$tmp/out" clients)" 1000
equal "odd clients: none got an odd answer" "$(said "$tmp/out" answers)" 0
check "odd clients: others are heard" timeout 20 "$proftrace" ctl status -p $target
check "odd clients: it can be stopped" timeout 20 "$proftrace" ctl stop -p $target
wait $recorder
equal "odd clients: the recording ends well" $? 0
check_account "odd clients" "$tmp/s"
exec 9>&-
wait $target

# Processes that end while they are attached to: their numbers may be another's by then.
bad=
for i in 1 2 3; do
	"$programs/hostile" threads $((i * 1000)) >/dev/null &
	target=$!
	limited "$proftrace" -q -p $target -o "$tmp/r" 2>"$tmp/err"
	[ $? -le 1 ] && clean "$tmp/err" || bad="$bad $i"
	wait $target || bad="$bad target $i"
done
equal "processes that end while attached to" "$bad" ""
check_nothing_left "hostile"
finish
