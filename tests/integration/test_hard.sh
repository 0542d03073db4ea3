#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Failures: a full disk, a closed pipe, the TID of a thread, a caller that ignores its children, and a program with
# wrongly nested slices. Every mark is accounted for, and proftrace ends.
. "$(dirname "$0")/lib.sh"
need_tracing

check_adds_up() { # NAME SUMMARY
	equal "$1: the account adds up" "$(field "$2" adds_up)" true
	equal "$1: written + lost = marked" \
		"$(($(field "$2" written) + $(field "$2" lost_total)))" "$(field "$2" marked)"
}

# One file may have taken all of the room before anything of the other one was written.
check_what_is_there() { # NAME BASE
	check "$1: there is a file" test -e "$2.json" -o -e "$2.pftrace"
	for file in "$2".*; do
		check "$1: the ${file##*.} that was written loads" "$canon" "$file"
		check_cut "$1" "$file"
	done
}

mkdir "$tmp/small"
if mount -t tmpfs -o size=1m none "$tmp/small" 2>/dev/null; then
	"$proftrace" -q -o "$tmp/small/t" --summary-json "$tmp/s" -- "$programs/every_kind" 2 2000 >"$tmp/out" 2>"$tmp/err"
	equal "full disk: exit status" $? 1
	check "full disk: says so" grep -q "cannot write '$tmp/small/t.json': No space left" "$tmp/err"
	check_adds_up "full disk" "$tmp/s"
	check "full disk: what does not fit is lost" test "$(field "$tmp/s" output)" -gt 0
	check "full disk: what fits is not" test "$(field "$tmp/s" written)" -gt 0
	equal "full disk: written is what the fuller file holds" "$(field "$tmp/s" written)" \
		"$(sed -n 's/.*"marks": \([0-9]*\).*/\1/p' "$tmp/s" | sort -n | tail -1)"
	check_what_is_there "full disk" "$tmp/small/t"
	rm "$tmp/small"/*

	# Attached to a program that goes on: the recording ends by itself, and it computes what it does alone.
	mkfifo "$tmp/in" "$tmp/sum.in"
	"$programs/checksum" 2 5000 <&- >"$tmp/alone"
	rm -f "$tmp/sum.out"
	"$programs/checksum" 2 5000 <"$tmp/sum.in" >"$tmp/sum.out" &
	target=$!
	exec 8>"$tmp/sum.in"
	wait_for "$tmp/sum.out" ready
	rm -f "$tmp/storm.out"
	"$programs/storm" 1 <"$tmp/in" >"$tmp/storm.out" &
	storm=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/storm.out" ready
	timeout 30 "$proftrace" -q -p $storm,$target -o "$tmp/small/a" --summary-json "$tmp/s" 8>&- 9>&- 2>"$tmp/err"
	equal "full disk, attached: exit status" $? 1
	equal "full disk, attached: a line for each file" "$(grep -c '^proftrace: cannot write' "$tmp/err")" 2
	equal "full disk, attached: and what helps" "$(grep -c "^hint: limit the output with --max-size" "$tmp/err")" 1
	equal "full disk, attached: no other" "$(grep -c '' "$tmp/err")" 3
	check_adds_up "full disk, attached" "$tmp/s"
	check_what_is_there "full disk, attached" "$tmp/small/a"
	check_nothing_left "full disk, attached"
	(ulimit -f 400 && exec timeout 30 "$proftrace" -q -p $storm -o "$tmp/limit" --summary-json "$tmp/s" 8>&- 9>&-) 2>"$tmp/err"
	equal "a limit on files: exit status" $? 1
	check "a limit on files: says so" grep -q "cannot write '$tmp/limit.json': File too large" "$tmp/err"
	check_adds_up "a limit on files" "$tmp/s"
	check_what_is_there "a limit on files" "$tmp/limit"

	# What cannot be created is refused before anything is attached.
	mount -o remount,ro "$tmp/small"
	timeout 30 "$proftrace" -v -p $storm -o "$tmp/small/r" 8>&- 9>&- 2>"$tmp/err"
	equal "read-only directory: exit status" $? 1
	check "read-only directory: says so" \
		grep -q "cannot write '$tmp/small/r.pftrace': Read-only file system" "$tmp/err"
	equal "read-only directory: nothing was attached" "$(grep -c 'attached' "$tmp/err")" 0
	wait_for "$tmp/sum.out" sum
	exec 8>&- 9>&-
	wait $storm
	equal "its program's semaphore is off" "$(said "$tmp/storm.out" semaphore)" 0
	wait $target
	never_else "full disk, attached: the result is the same, the semaphore off, the code as before" \
		"$(said "$tmp/sum.out" sum) $(said "$tmp/sum.out" semaphore)$(said "$tmp/sum.out" code)" "$(said "$tmp/alone" sum) 00"
	umount "$tmp/small"
else
	skip "full disk" "no permission to mount a small one"
fi

"$proftrace" -q -o - --summary-json "$tmp/s" -- sh -c "$programs/every_kind 2 2000 >/dev/null" 2>"$tmp/err" |
	head -c 1000 >/dev/null
check "closed pipe: says so" grep -q "cannot write '-': Broken pipe" "$tmp/err"
check_adds_up "closed pipe" "$tmp/s"

rm -f "$tmp/in" "$tmp/storm.out"
mkfifo "$tmp/in"
"$programs/storm" 1 <"$tmp/in" >"$tmp/storm.out" &
storm=$!
exec 9>"$tmp/in"
wait_for "$tmp/storm.out" ready
thread=$(ls /proc/$storm/task | grep -vx $storm | head -1)
timeout 20 "$proftrace" -q -p "$thread" -d 1s -o "$tmp/x" 9>&- 2>"$tmp/err"
equal "a thread's number: exit status" $? 1
check "a thread's number: says so" grep -q "is a thread of another process" "$tmp/err"
"$proftrace" -q -p $storm -d 200ms --strict -o "$tmp/x" 9>&-
equal "--strict is content with slices that began before" $? 0
"$proftrace" -q -p $storm -d 200ms -D 'no.such.*' -o "$tmp/y" 9>&- 2>"$tmp/err"
equal "-D that fits nothing: exit status" $? 1
exec 9>&-
wait $storm

(
	trap '' CHLD
	exec timeout 20 "$proftrace" -q -o "$tmp/z" -- "$programs/executes" 1
) 9>&-
equal "a caller that ignores its children" $? 0

"$proftrace" -q -o "$tmp/m" --summary-json "$tmp/s" -- "$programs/mess" >"$tmp/out"
check_adds_up "mess" "$tmp/s"
check_agree "mess" "$tmp/m"
equal "mess: every good slice after it" \
	"$("$canon" --count "$tmp/m.json" | awk '$1 == "BEGIN" && $2 == "good" { print $3 }')" "$(said "$tmp/out" good)"
equal "mess: no loss is blamed" "$(field "$tmp/s" ends_lost)" 0
finish
