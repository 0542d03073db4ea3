#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program maps too many files, and files with too many markers. What exceeds the limits is left out, counted and
# reported in few lines, and costs neither time nor memory.
. "$(dirname "$0")/lib.sh"
need_tracing

target=
map() { # FILE N: a program that has N copies of the file mapped, until `leave`
	rm -f "$tmp/in" "$tmp/maps.out"
	mkfifo "$tmp/in"
	"$programs/hostile" maps "$1" "$2" <"$tmp/in" >"$tmp/maps.out" &
	target=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/maps.out" ready
}

leave() { # NAME
	exec 9>&-
	wait $target
	equal "$1: the program ends well" $? 0
}

# MOST_KB: what neither the recorder nor its broker may take.
record() { # NAME MOST_KB OPTION...
	recorded=$1 most=$2
	shift 2
	timeout -k 5 60 "$programs/peak" "$tmp/peak" "$proftrace" -p $target -d 500ms "$@" -o "$tmp/t" \
		--summary-json "$tmp/s" 9>&- >"$tmp/out" 2>"$tmp/err"
	equal "$recorded: exit status" $? 0
	check "$recorded: its own marks are recorded" test "$(field "$tmp/s" marked)" -gt 0
	equal "$recorded: the account adds up" "$(field "$tmp/s" adds_up)" true
	check "$recorded: memory stays below $most KB" test "$(said "$tmp/peak" peak)" -lt "$most"
	check "$recorded: it says little of it" test "$(grep -c '' "$tmp/err")" -le 100
}

files=17000
if ! (ulimit -n 18000) 2>/dev/null; then
	skip "$files files" "so many descriptors are not allowed here"
else
	map /dev/null $files
	ulimit -n 18000
	record "$files files" 65536
	check "$files files: those that are too many are counted" test "$(field "$tmp/s" files_refused)" -ge 600
	check "$files files: it says so" grep -q "^proftrace: cannot attach to '.*': too many files are mapped" "$tmp/err"
	check "$files files: and how many" grep -q "^ *$(field "$tmp/s" files_refused)  files could not be attached to" "$tmp/err"
	timeout -k 5 60 "$programs/peak" "$tmp/peak" "$proftrace" list -p $target >"$tmp/out" 2>"$tmp/err" 9>&-
	check "$files files, listed: in order" test $? -le 1 -a "$(grep -c '' "$tmp/err")" -le 50
	check "$files files, listed: memory stays below 65536 KB" test "$(said "$tmp/peak" peak)" -lt 65536
	check "$files files, listed: the program's own markers are there" grep -q '^ *domain default: ' "$tmp/out"
	ulimit -n 1024
	record "$files files, 1024 descriptors" 65536
	check "$files files, 1024 descriptors: those that cannot be opened are counted" \
		test "$(field "$tmp/s" files_refused)" -gt 10000
	check "$files files, 1024 descriptors: it says so" grep -q '^proftrace: .*: Too many open files' "$tmp/err"
	leave "$files files"
fi

# Each copy has some three thousand sites, which is less than one file may have.
copies=90
map "$programs/sites" $copies
record "300,000 sites" 196608
refused=$(field "$tmp/s" files_refused)
check "300,000 sites: files that are too many are counted" test "$refused" -gt 0 -a "$refused" -lt $copies
check "300,000 sites: it says so" grep -q "^proftrace: cannot attach to '.*': there are too many marker sites" "$tmp/err"
leave "300,000 sites"

# What is not too much is all attached to.
map "$programs/storm" 30
record "30 files with markers" 65536 -v
equal "30 files with markers: each is attached to" "$(grep -c "attached to [0-9]* sites of '.*copy'" "$tmp/err")" 30
equal "30 files with markers: none is left out" "$(field "$tmp/s" files_refused)" 0
leave "30 files with markers"
check_nothing_left "many files"
finish
