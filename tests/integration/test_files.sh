#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recording with many files: each file is complete by itself, and together they contain exactly what was marked.
. "$(dirname "$0")/lib.sh"
need_tracing
rounds=${ROUNDS:-400}

# Sums over files of what the program marked: not of what a file says again at its beginning.
sum() { # KIND FILE...
	kind=$1
	shift
	for file in "$@"; do "$canon" "$file"; done | grep -v 'continued=b:true' |
		awk -v k="$kind" '$2 == k || $3 == k { n++ } END { print n + 0 }'
}

"$proftrace" -q -e none -o "$tmp/t" --max-size 64K --summary-json "$tmp/s" --strict -- \
	"$programs/every_kind" 3 "$rounds" >"$tmp/out" 2>"$tmp/err"
equal "rotation: exit status" $? 0
equal "rotation: nothing is said with -q" "$(cat "$tmp/err")" ""
check_account "rotation" "$tmp/s"
equal "rotation: written" "$(field "$tmp/s" written)" "$(said "$tmp/out" total)"
check "rotation: there are many files" test "$(ls "$tmp"/t*.json | wc -l)" -gt 20
equal "rotation: the summary knows them all" "$(grep -c '"path"' "$tmp/s")" "$(ls "$tmp"/t*.json "$tmp"/t*.pftrace | wc -l)"
check "rotation: none is much larger" test "$(find "$tmp" -name 't*' -size +256k | wc -l)" -eq 0
for kind in json pftrace; do
	equal "$kind: BEGINs" "$(sum BEGIN "$tmp"/t*.$kind)" "$(said "$tmp/out" "count begin")"
	equal "$kind: ENDs" "$(sum END "$tmp"/t*.$kind)" "$(said "$tmp/out" "count end")"
	equal "$kind: instants" "$(sum INSTANT "$tmp"/t*.$kind)" "$(said "$tmp/out" "count instant")"
	equal "$kind: async ENDs" "$(sum ASYNC_END "$tmp"/t*.$kind)" "$(said "$tmp/out" "count async_end")"
done

# The same in one compressed file, and what is left of it when its end is missing.
"$proftrace" -q -e none -o "$tmp/z" --compress --dump-period 20ms --summary-json "$tmp/zs" --strict -- \
	"$programs/every_kind" 3 "$rounds" >"$tmp/out" 2>"$tmp/err"
equal "compressed: exit status" $? 0
check_account "compressed" "$tmp/zs"
check_agree "compressed" "$tmp/z"
"$proftrace" convert -q -o "$tmp/plain.pftrace" "$tmp/z.pftrace"
bytes=$(wc -c <"$tmp/z.pftrace")
check "compressed: it is smaller" test "$bytes" -lt $(($(wc -c <"$tmp/plain.pftrace") / 2))
head -c $((bytes / 2)) "$tmp/z.pftrace" >"$tmp/half.pftrace"
"$proftrace" report "$tmp/half.pftrace" >"$tmp/report" 2>&1
equal "compressed, cut: it loads" $? 0
check "compressed, cut: says so" grep -qE 'truncated|cut' "$tmp/report"
"$canon" "$tmp/half.pftrace" 2>/dev/null | grep BEGIN | sort >"$tmp/a"
"$canon" "$tmp/z.pftrace" | grep BEGIN | sort >"$tmp/b"
check "compressed, cut: there is something" test -s "$tmp/a"
equal "compressed, cut: nothing that was not there" "$(comm -23 "$tmp/a" "$tmp/b")" ""
rm "$tmp"/z.*

nested=0 agree=0 n=0
for file in "$tmp"/t*.json; do
	n=$((n + 1))
	[ "$("$canon" --nest "$file" | cut -d, -f1)" = ok ] && nested=$((nested + 1))
	"$canon" "$file" >"$tmp/a" && "$canon" "${file%.json}.pftrace" >"$tmp/b" && cmp -s "$tmp/a" "$tmp/b" &&
		agree=$((agree + 1))
done
equal "every file: slices nest" $nested $n
equal "every file: JSON and Perfetto agree" $agree $n

# A slice that lasts over files, told step by step.
"$proftrace" -q -e page-faults -o "$tmp/{n}of{epoch}-{rank}" --rank 7 --max-size 64K --summary-json "$tmp/s" -- \
	"$programs/scripted" name open "level 5" "async 9" "step 4 0" "ticks 3000" "await 9" close "ticks 10" >"$tmp/out"
check_account "across files" "$tmp/s"
last=$(ls "$tmp" | sed -n 's/^\([0-9]*\)of4-7.json$/\1/p' | sort -n | tail -1)
check "across files: the names have their fields" test "$last" -gt 2
check_agree "across files: the last" "$tmp/${last}of4-7"
"$canon" "$tmp/2of4-7.pftrace" >"$tmp/second"
"$canon" --count "$tmp/2of4-7.pftrace" >>"$tmp/second"
check "across files: the second knows the process" grep -q 'PROCESS_NAME.*scripted' "$tmp/second"
check "across files: and the thread" grep -q 'THREAD_NAME.*marker' "$tmp/second"
check "across files: the open slice" grep -q 'BEGIN .*kept open.*continued=b:true' "$tmp/second"
check "across files: the asynchronous one" grep -q 'ASYNC_BEGIN .*job.*continued=b:true' "$tmp/second"
check "across files: the counter" grep -q 'COUNTER .*level n:5' "$tmp/second"
equal "across files: no END before the last" "$(for i in $(seq 1 $((last - 1))); do "$canon" "$tmp/${i}of"?-7.json; done | grep -c ' END ')" 0
begin() { "$canon" "$1" | awk '$3 == "BEGIN" || $2 == "BEGIN" { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/ && $i > 1e9) print $i }' | head -1; }
equal "across files: it began when it began" "$(begin "$tmp/${last}of4-7.json")" "$(begin "$tmp/1of0-7.json")"
"$canon" "$tmp/${last}of4-7.json" >"$tmp/last.canon"
check "across files: the END has its counters" grep -q ' END .*page_faults' "$tmp/last.canon"

for kind in json pftrace; do
	"$proftrace" report -q "$tmp"/*of?-7.$kind >"$tmp/table"
	equal "across files: the table of all $kind counts nothing twice" \
		"$(awk '/kept open|job|tick|level/ { n = NF; print /kept open/ ? $4 : $3 }' "$tmp/table" | xargs)" "1 1 3010 1"
done

# --keep, and what it must not touch.
mkdir "$tmp/k"
(cd "$tmp/k" && echo mine >x-3.json && "$proftrace" -q -e none -o x --max-size 64K --keep 2 --summary-json s -- \
	"$programs/scripted" "ticks 6000" >out)
equal "--keep: so many of each format are left" "$(cd "$tmp/k" && ls x*.json x*.pftrace | wc -l)" 4
check "--keep: others are deleted" test "$(field "$tmp/k/s" files_deleted)" -gt 4
equal "--keep: the summary has those that are there" "$(grep -c '"path"' "$tmp/k/s")" 4
check_account "--keep" "$tmp/k/s"
for file in $(sed -n 's/.*"path": "\([^"]*\)".*/\1/p' "$tmp/k/s"); do check "--keep: $file" test -s "$tmp/k/$file"; done

# Refused before anything is attached.
"$proftrace" -q -o "$tmp/a{nothing}" -- true 2>"$tmp/err"
equal "unknown field: usage" $? 2
check "unknown field: which there are" grep -q "'{nothing}'.*{epoch} {batch} {cycle} {rank} {pid} {host} {time} {n}" "$tmp/err"
"$proftrace" -q -o "$tmp/a{n" -- true 2>"$tmp/err"
equal "a field that is not closed" "$?$(grep -c "the { in '$tmp/a{n' is not closed" "$tmp/err")" 21
"$proftrace" -q -o "$tmp/none/{n}" --max-size 1M -- touch "$tmp/ran" 2>"$tmp/err"
equal "no such directory: exit status" $? 1
check "no such directory: said" grep -q "cannot write '.*/none/1.pftrace': No such file" "$tmp/err"
check "no such directory: the command did not run" test ! -e "$tmp/ran"
"$proftrace" -q -o - --max-size 1M -- true 2>"$tmp/err" >/dev/null
equal "several files to standard output: refused" $? 1
for option in "--flight-recorder 1s" "--max-size 1M"; do
	"$proftrace" -q -o - $option -- true 2>"$tmp/err" >/dev/null
	check "several files to standard output ($option): says what to do" grep -q '^hint: -o NAME' "$tmp/err"
done

# A disk that becomes full.
if [ "$(id -u)" -eq 0 ] && mkdir "$tmp/full" && mount -t tmpfs -o size=600k none "$tmp/full" 2>/dev/null; then
	"$programs/checksum" 2 3000 <&- >"$tmp/alone"
	"$proftrace" -q -e none -o "$tmp/full/t" --max-size 64K --summary-json "$tmp/s" -- \
		"$programs/checksum" 2 3000 <&- >"$tmp/out" 2>"$tmp/err"
	equal "disk full: exit status" $? 1
	check "disk full: said" grep -q "cannot write '.*': No space left on device" "$tmp/err"
	check "disk full: in a few lines" test "$(wc -l <"$tmp/err")" -le 4
	equal "disk full: the account adds up" "$(field "$tmp/s" adds_up)" true
	for file in "$tmp/full/t.json" "$tmp/full/t-2.pftrace"; do
		check "disk full: ${file##*/} can be read" "$canon" --nest "$file"
	done
	# Of each format the last one, as far as there was room for any of it.
	sed -n "s/^proftrace: cannot write '\(.*\)': No space.*/\1/p" "$tmp/err" >"$tmp/cut.files"
	while read -r file; do
		[ ! -e "$file" ] || check_cut "disk full" "$file"
	done <"$tmp/cut.files"
	wait_for "$tmp/out" sum
	never_else "disk full: the program's result is the same" "$(said "$tmp/out" sum)" "$(said "$tmp/alone" sum)"
	check_nothing_left "disk full"
	umount "$tmp/full"
else
	skip "disk full" "cannot mount a small file system"
fi
finish
