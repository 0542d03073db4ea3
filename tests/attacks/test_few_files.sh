#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A caller leaves proftrace only few descriptors: every verb works, or prints the reason in one line and a hint in
# another.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
echo '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]' >t.json
wrong=
try() { # LIMIT COMMAND...
	limit=$1
	shift
	(ulimit -n "$limit" && exec timeout 30 "$proftrace" "$@") >out 2>err
	status=$?
	[ $status -eq 0 ] && { succeeded=$((succeeded + 1)); return; }
	refused=$((refused + 1))
	[ $status -eq 1 ] && [ "$(grep -c '^proftrace: ' err)" = 1 ] && [ "$(grep -c '^hint: .*ulimit -n' err)" = 1 ] ||
		wrong="$wrong $limit:$1($(head -c 100 err))"
}
succeeded=0 refused=0
for n in 7 8 9 10 12 16 20 24 28 32 40 48 56 63 64 80 128 256; do
	try $n report -q t.json
	try $n convert -q -o c t.json
	try $n merge -q -o m t.json t.json
	try $n list "$programs/every_kind"
done
never_else "reading verbs succeed, or say why" "$wrong" ""
check "reading verbs: both happen" test $succeeded -gt 30 -a $refused -gt 0
# A service that never started has not ended well.
printf 'name = every_kind\n' >serve.conf
wrong= refused=0
for n in 4 5; do try $n serve -c serve.conf; done
never_else "serve says why it cannot start" "$wrong" ""
check "serve: it was refused" test $refused -eq 2
need_tracing
wrong= succeeded=0 refused=0
for n in 7 8 12 16 24 32 48 75 76 80 128 256; do
	try $n record -q -o r -- "$programs/every_kind" 1 5
	try $n check
done
for n in 16 75 128; do try $n bench -q -n 1 --warmup 0 -- "$programs/every_kind" 1 5; done
# Enough for the least recording, but not for what this one needs, until the last.
for n in 64 72 76 80 84 120; do
	try $n record -q --sample 99 --sched --no-children -o r -- "$programs/every_kind" 1 5
done
never_else "recording succeeds, or says why" "$wrong" ""
check "recording: both happen" test $succeeded -ge 9 -a $refused -ge 18
# What the hint says is enough, for options that need many.
(ulimit -n 16 && exec "$proftrace" record -q -- true) 2>err
hinted=$(sed -n 's/.*ulimit -n \([0-9]*\).*/\1/p' err)
succeeded=0
try "$hinted" record -q -f main --sample 99 --sched --no-children -o r -- "$programs/every_kind" 1 5
check "with as many as the hint says, a recording succeeds ($hinted)" test $succeeded -eq 1
# Buffered mode has more programs, but a caller who changes the mode need not raise the limit.
for mode in exact batch auto; do
	succeeded=0
	try 76 record -q --mode $mode -o r -- "$programs/every_kind" 1 5
	check "the least number suffices for --mode $mode" test $succeeded -eq 1
done

mkfifo in
"$programs/storm" 1 1000 <in >ready &
target=$!
exec 9>in
wait_for ready ready
"$proftrace" -q -p $target -o c.json 9>&- 2>recorder &
recorder=$!
for _ in $(seq 1 200); do "$proftrace" ctl status -p $recorder >/dev/null 2>&1 && break; sleep 0.05; done
wrong= succeeded=0 refused=0
for n in 4 5 6 7 8 9 10 12 16; do
	try $n ctl status -p $recorder
done
never_else "ctl finds a recording, or says why it cannot look for it" "$wrong" ""
check "ctl: both happen" test $succeeded -ge 5 -a $refused -ge 1
kill -INT $recorder
wait $recorder
exec 9>&-
wait $target 2>/dev/null

# Here the library of the server cannot be opened, or one that it needs.
wrong= refused=0
for n in 5 6; do
	try $n open --no-browser --port 29471 t.json
done
never_else "open says why it cannot serve" "$wrong" ""
check "open: it was refused" test $refused -eq 2

# None for the time of one system call of the broker's: it starts with everything in its place, or not at all.
need_users
if make_user owner && capable_copy "$tmp/proftrace"; then
	cp "$root/build/tests/tools/limited" "$tmp/limited" && setcap "$needed_capabilities+ep" "$tmp/limited"
	cp "$(command -v sleep)" "$tmp/set-id" && chmod 4755 "$tmp/set-id"
	as "$made_uid" "$made_gid" "$tmp/limited" "$tmp/set-id" >"$tmp/said" 2>&1
	equal "for a moment: all was tried" $? 0
	check "for a moment: $(said "$tmp/said" places) calls failed" test "$(said "$tmp/said" places)" -ge 20
	equal "for a moment: each ended the start" "$(said "$tmp/said" refused)" "$(said "$tmp/said" places)"
	never_else "for a moment: nothing was got, and the reason is said" "$(grep -E '^(got|odd|started [^1])' "$tmp/said")" ""
	equal "without it, it starts, and looks at what a process executes" "$(said "$tmp/said" started)" 1
	# No process or thread for the time of one call: it starts, or says which limit it is.
	as "$made_uid" "$made_gid" "$tmp/limited" "$tmp/set-id" processes >"$tmp/said" 2>&1
	equal "no process for a moment: all was tried" $? 0
	check "no process for a moment: $(said "$tmp/said" places) calls failed, $(said "$tmp/said" refused) ended the start" \
		test "$(said "$tmp/said" places)" -ge 8 -a "$(said "$tmp/said" refused)" -ge 5
	never_else "no process for a moment: nothing was got, and the reason is said" "$(grep -E '^(got|odd)' "$tmp/said")" ""
else
	skip "for a moment" "file capabilities cannot be set here"
fi
finish
