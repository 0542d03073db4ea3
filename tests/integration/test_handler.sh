#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Trace handlers of users: they get all events, and their failures harm nothing else.
. "$(dirname "$0")/lib.sh"
need_tracing
handler=$programs/handler.so

record() { # BASE OPTION...: sets $status
	base=$tmp/$1
	shift
	"$proftrace" -q -e none -o "$base" --summary-json "$base.account" "$@" -- \
		"$programs/every_kind" 3 400 >"$base.out" 2>"$base.err"
	status=$?
}
counted() { # KIND...
	sum=0
	for kind; do sum=$((sum + $(said "$base.out" "count $kind"))); done
	echo $sum
}

record a --dump-period 2ms --handler "$handler=$tmp/a.got,count,0"
equal "exit status" $status 0
equal "nothing on standard error" "$(cat "$base.err")" ""
equal "begins" "$(said "$tmp/a.got" begins)" "$(counted begin)"
equal "ends" "$(said "$tmp/a.got" ends)" "$(counted end)"
equal "asynchronous ones" "$(said "$tmp/a.got" asyncs)" "$(counted async_begin async_end)"
equal "instants, and ends of flows" "$(said "$tmp/a.got" instants)" "$(counted instant flow_out flow_in)"
equal "counters, steps and pools" "$(said "$tmp/a.got" counters)" "$(counted counter step alloc free)"
check "strings" test "$(said "$tmp/a.got" strings)" -ge 1200
equal "the last step" "$(said "$tmp/a.got" batch)" \
	"$(sed -nE 's/.*"batch":([0-9]+).*/\1/p' "$tmp/a.json" | tail -1)"
equal "it was flushed" "$(said "$tmp/a.got" flushed)" yes
equal "the account: marks" "$(said "$tmp/a.got" marked)" "$(said "$base.out" total)"
equal "the account: lost" "$(said "$tmp/a.got" lost)" 0
equal "the account: in order" "$(said "$tmp/a.got" orderly)" 1
check_account "with a handler" "$base.account"

# Whatever it does, the files are complete, the other handler goes on, and it is named.
for what in crash fail exit; do
	record $what --handler "$handler=$tmp/bad,$what,500" --handler "$handler=$tmp/good,count,0"
	equal "$what: exit status" $status 1
	equal "$what: the account" "$(field "$base.account" written)" "$(said "$base.out" total)"
	check_agree "$what" "$base"
	equal "$what: the other handler" "$(said "$tmp/good" begins)" "$(counted begin)"
	equal "$what: named once" "$(grep -c "plug-in disabled: '$handler'" "$base.err")" 1
done
check "crash: says how" grep -q "signal 11" "$tmp/crash.err"
check "fail: says what" grep -q "returned: No space left" "$tmp/fail.err"
check "exit: says how" grep -q "status 7" "$tmp/exit.err"

# Each takes five seconds: all at once. One hangs, one says half a word when it is to close, and one does
# not end.
for what in hang half stay; do
	{
		record $what --handler "$handler=$tmp/bad.$what,$what,500"
		echo $status >"$base.status"
	} &
done
wait
for what in hang half stay; do
	equal "$what: exit status" "$(cat "$tmp/$what.status")" 1
	check_agree "$what" "$tmp/$what"
done
check "hang: says so" grep -q "read nothing for 5 seconds" "$tmp/hang.err"
check "half: named" grep -q "plug-in disabled: '$handler'" "$tmp/half.err"
check "stay: says so" grep -q "did not exit within 5 seconds" "$tmp/stay.err"
equal "stay: it was told all" "$(said "$tmp/bad.stay" orderly)" 1
equal "nobody is left" "$(pgrep -cx proftrace-handl)" 0

# One that is slower than the marks come is not waited for: threads that load libraries wait for the
# recorder. Whoever waits for the end need not wait for the handler: they send signals until it comes.
"$proftrace" -q -o "$tmp/late" --summary-json "$tmp/late.account" --handler "$handler=$tmp/late.got,slow,1500" -- \
	"$programs/bursts" "$programs/plugin.so" 15 >"$tmp/late.out" 2>"$tmp/late.err" &
recorder=$!
wait_for "$tmp/late.out" total
tries=0
while kill -INT $recorder 2>/dev/null && [ $tries -lt 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
[ $tries -lt 100 ] || kill -9 $recorder
wait $recorder
equal "slow: exit status" $? 1
check "slow: signals end it" test $tries -lt 100
check "slow: libraries are loaded meanwhile" test "$(said "$tmp/late.out" median)" -lt 400
check "slow: says so" grep -q "plug-in disabled: .*: it is too slow: [0-9]* events were " "$tmp/late.err"
check_account "slow: the files" "$tmp/late.account"
check "slow: the files have all" test "$(field "$tmp/late.account" written)" -ge "$(said "$tmp/late.out" total)"

# Refused before the program runs.
refused() { # NAME HANDLER PATTERN
	record refused --handler "$2"
	equal "$1: exit status" $status 1
	check "$1: says why" grep -q "cannot load.*$3" "$base.err"
	equal "$1: the command did not run" "$(cat "$base.out")" ""
}
refused "no such file" "$tmp/none.so" "No such file"
refused "no handler" "$programs/plugin.so" "does not define proftrace_get_handler"
refused "does not want to" "$handler=nonsense" "open() returned NULL"

# A trace that the program names, of events as long as any: 32 keys of control characters, which become
# four times as long, and as many strings.
awk '{
	ts = ($1 + 60) * 1e6
	for (i = 0; i < 767; i++) key = key "\\u0001"
	for (i = 0; i < 1536; i++) text = text "x"
	printf "[{\"ph\":\"M\",\"pid\":77,\"name\":\"process_name\",\"args\":{\"name\":\"other\"}}"
	for (n = 0; n < 40; n++) {
		printf ",\n{\"ph\":\"i\",\"s\":\"t\",\"ts\":%.0f,\"pid\":77,\"tid\":77,\"name\":\"%s\",\"cat\":\"%s\",\"args\":{", ts + n, key, key
		for (k = 0; k < (n % 4 == 2 ? 15 : 32); k++)
			printf "%s\"%s%c\":\"%s\"", k ? "," : "", key, 97 + k % 26, text
		printf "}}"
	}
	print "]"
}' /proc/uptime >"$tmp/long.json"
"$proftrace" -q -e none -o "$tmp/longs" --summary-json "$tmp/long.sum" --handler "$handler=$tmp/long.got,count,0" -- \
	"$programs/includes" 2 "$tmp/w.json" "$tmp/long.json" >"$tmp/long.out" 2>"$tmp/long.err" </dev/null
equal "long events: exit status" $? 0
equal "long events: all come" "$(said "$tmp/long.got" instants)" 41
equal "long events: with their arguments" "$(said "$tmp/long.got" strings)" $((30 * 32 + 10 * 15 + 1))
check "long events: names that are cut are counted" test "$(field "$tmp/long.sum" cut_strings)" -gt 0

# The sample that people copy.
"$proftrace" -q -o "$tmp/slow" --handler "$root/build/samples/slow_slices.so=5" -- \
	"$root/build/samples/hello" >"$tmp/slow.out"
equal "slow_slices: exit status" $? 0
equal "slow_slices: each of 100 sleeps took more than 5 ms" "$(grep -c ' tick took ' "$tmp/slow.out")" 100
equal "slow_slices: its last word" "$(tail -1 "$tmp/slow.out")" "100 of 100 slices were slow; 0 marks were lost"
# Traces of other profilers are announced, those of the command line and those that programs name.
"$proftrace" -q -o "$tmp/joined" --include-json "$tmp/other.json" --handler "$handler=$tmp/joined.out,count,0" -- \
	sh -c '"$1" 3 "$2" "$2" </dev/null; cp "$2" "$3"' - "$programs/includes" "$tmp/named.json" "$tmp/other.json" >/dev/null 2>"$tmp/joined.err"
equal "traces that join: recorded" $? 0
equal "traces that join: each is announced once, in order, before its events" \
	"$(sed -n 's/^json \(.*\) after.*/\1/p' "$tmp/joined.out" | tr '\n' ' ')" "$tmp/named.json $tmp/other.json "
check "traces that join: their events follow" awk '/^json/ { n[++i] = $4 } END { exit !(n[1] > 0 && n[2] > n[1]) }' "$tmp/joined.out"

finish
