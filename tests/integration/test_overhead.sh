#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --max-overhead: the cost of markers is measured, and domains that cost too much are turned off: in exact mode, as here, at once.
. "$(dirname "$0")/lib.sh"
need_tracing
mkdir -m 700 "$tmp/run"
export XDG_RUNTIME_DIR=$tmp/run

begin() { # NAME DOMAINS OPTIONS...: a recorded program, until its input ends
	name=$1
	domains=$2
	shift 2
	mkfifo "$tmp/$name.in"
	"$proftrace" -e none --mode exact -o "$tmp/$name" --summary-json "$tmp/$name.s" "$@" -- \
		"$programs/burden" 1 "$domains" <"$tmp/$name.in" >"$tmp/$name.out" 2>"$tmp/$name.err" &
	recorder=$!
	exec 9>"$tmp/$name.in"
}
end() {
	exec 9>&-
	wait $recorder
}
percent() { # FILE FIELD: in thousandths
	sed -n "s/.*\"$2\": \([0-9.]*\).*/\1/p" "$1" | head -1 | awk '{ print int($1 * 1000) }'
}
marks_of() { # CANON DOMAIN-NAMES: how many marks of these names
	awk -v names="$2" 'BEGIN { split(names, n, ","); for (i in n) is[n[i]] } $2 in is { sum += $3 } END { print sum + 0 }' "$1"
}
off_ones() { sed -n 's/.*"domain": "\([a-z]*\)".*/\1/p' "$1" | sort | tr '\n' ','; }

# What one mark costs is the machine's, and changes with its load, so the limit follows from what all of them cost. Ten in
# eleven are chatty's: both sides of the limit are away from it by a factor of about three.
"$proftrace" -q -e none --mode exact -o "$tmp/all" --summary-json "$tmp/all.s" --max-overhead 100% -- \
	"$programs/burden" 1 0 >"$tmp/all.out"
all=$(percent "$tmp/all.s" highest_percent)
limit=$((all * 3 / 10))

# One of three is too much.
begin one 1 --max-overhead "$(echo $limit | awk '{ print $1 / 1000 }')%"
wait_for "$tmp/one.err" "proftrace: domain 'chatty' switched off"
"$proftrace" ctl status -p $recorder >"$tmp/status"
end
equal "one: exit status" $? 0
equal "one: the costly domain is switched off, the others are not" "$(off_ones "$tmp/one.s")" "chatty,"
equal "one: in the program, too" "$(said "$tmp/one.out" on)" 110
check "one: ctl status says so" grep -q "^domain 'chatty' switched off" "$tmp/status"
equal "one: it is said once while it happens, and once at the end" "$(grep -c "'chatty' switched off" "$tmp/one.err")" 2
check "one: it cost more than the limit" test "$(percent "$tmp/one.s" overhead_percent)" -gt $limit
check "one: what is left costs less" test "$(percent "$tmp/one.s" latest_percent)" -lt $limit
check_account one "$tmp/one.s"
check_agree one "$tmp/one"
"$canon" --count "$tmp/one.pftrace" >"$tmp/one.count"
equal "one: every mark of the quiet domain is there" \
	"$(awk '$1 ~ /BEGIN|INSTANT/ && $2 ~ /^(request|session|done)$/ { n += $3 * ($1 == "BEGIN" ? 2 : 1) } END { print n }' "$tmp/one.count")" \
	"$(said "$tmp/one.out" quiet)"
equal "one: and of the busy one" "$(($(sed -n 's/^BEGIN part //p' "$tmp/one.count") * 2))" "$(said "$tmp/one.out" busy)"
others=$(($(said "$tmp/one.out" quiet) + $(said "$tmp/one.out" busy)))
came=$(($(field "$tmp/one.s" marked) - others))
check "one: of the costly one, those from before" \
	test "$came" -ge "$(sed -n 's/.*"domain".*"marks": \([0-9]*\).*/\1/p' "$tmp/one.s" | head -1)" -a "$came" -lt "$(said "$tmp/one.out" chatty)"
equal "one: what was open of it has ended" "$(field "$tmp/one.s" open_at_end)" 0
check "one: there, and that is counted" test "$(field "$tmp/one.s" ended_off)" -ge 3
"$canon" "$tmp/one.json" >"$tmp/one.canon"
equal "one: slices of others end by their own ends" "$(awk '
	$3 == "BEGIN" { open[depth++] = $5 }
	$3 == "END" && $0 ~ / of=s:/ { of = $0; sub(/.* of=s:"/, "", of); sub(/".*/, "", of); bad += open[depth - 1] != of; n++ }
	$3 == "END" { depth-- }
	END { print bad + 0, (n > 300) }' "$tmp/one.canon")" "0 1"
for format in json pftrace; do
	"$canon" "$tmp/one.$format" | grep 'domain switched off' >"$tmp/note"
	equal "one: $format says when, which, at what cost" \
		"$(grep -c 'INSTANT.*domain=s:"chatty".*overhead_percent=.*marks=' "$tmp/note")" 1
done
equal "one: memory of the costly domain is not called leaked" \
	"$("$proftrace" report --format csv "$tmp/one.pftrace" | grep -c '^pool.*heap')" "$(grep -c heap "$tmp/one.count")" 

# Two of them are, in a flight recorder, which is asked for what it has after that. What is left is a greater share of the
# CPU time that is left: of busy and quiet a tenth of all / (100 - all), of quiet a hundredth.
begin two 2 --max-overhead "$(echo $all | awk '{ print 3 * $1 / (100000 - $1) }')%" --flight-recorder 600s
wait_for "$tmp/two.err" "proftrace: domain 'chatty' switched off"
wait_for "$tmp/two.err" "proftrace: domain 'busy' switched off"
"$proftrace" ctl dump -p $recorder >/dev/null
end
equal "two: both are switched off" "$(off_ones "$tmp/two.s")" "busy,chatty,"
equal "two: in the program, too" "$(said "$tmp/two.out" on)" 100
check_account two "$tmp/two.s"
check_agree two "$tmp/two"
equal "two: the trace says it of both" "$(grep -c 'domain switched off' "$tmp/two.json")" 2
equal "two: what is open in the file is quiet's" "$("$proftrace" report -q "$tmp/two.json" 2>&1 | grep -c 'chatty.*open')" 0

equal "two: the costlier one first" \
	"$(sed -n 's/.*"domain": "\([a-z]*\)".*/\1/p' "$tmp/two.s" | xargs)" "chatty busy"
equal "two: and it is said in that order" \
	"$(sed -n "s/^proftrace: domain '\([a-z]*\)' switched off.*/\1/p" "$tmp/two.err" | xargs)" "chatty busy"

# What it says the marks cost is what the same work takes longer with them: by the program's own clock of its CPU
# time, within a factor that a busy machine may add. One try of several has to be clean.
for try in 1 2 3 4 5; do
	"$programs/burden" work 60000 >"$tmp/plain.out"
	"$proftrace" -q -e none --mode exact -o "$tmp/work" --summary-json "$tmp/work.s" --max-overhead 100% -- \
		"$programs/burden" work 60000 >"$tmp/work.out"
	measured=$(percent "$tmp/work.s" highest_percent)
	really=$(awk -v alone="$(said "$tmp/plain.out" cpu)" -v traced="$(said "$tmp/work.out" cpu)" \
		'BEGIN { print int(100000 * (traced - alone) / traced) }')
	echo "# try $try: said $measured, really $really thousandths of a percent"
	[ "$really" -gt 1000 ] && [ $((measured * 5)) -ge $((really * 2)) ] && [ $((measured * 2)) -le $((really * 5)) ] && break
done
equal "the same work: the same result" "$(said "$tmp/work.out" result)" "$(said "$tmp/plain.out" result)"
check "the same work: what it is said to cost is what it costs, within a factor of 2.5" \
	test "$really" -gt 1000 -a $((measured * 5)) -ge $((really * 2)) -a $((measured * 2)) -le $((really * 5))

# None, though there is much of it, in processes that live for a moment each.
"$proftrace" -q -e none --mode exact -o "$tmp/none" --summary-json "$tmp/none.s" --max-overhead 100% -- \
	sh -c "for i in \$(seq 200); do '$programs/burden' 0 >>'$tmp/none.out'; done"
equal "none: nothing is switched off" "$?$(off_ones "$tmp/none.s")" 0
check_account none "$tmp/none.s"
equal "none: all is there" "$(field "$tmp/none.s" written)" \
	"$(awk '$1 != "on" { n += $2 } END { print n }' "$tmp/none.out")"
highest=$(percent "$tmp/none.s" highest_percent)
check "none: short lives count ($highest)" test "$highest" -gt 1000 -a "$highest" -lt 60000

for share in 0 -1 '' % abc 5%% 100.1 101% 1e1 nan 0x5 ' 5' '5 %' 5.5.5; do
	"$proftrace" --max-overhead "$share" -- true >/dev/null 2>"$tmp/err"
	equal "'$share' is refused" "$?$(grep -c 'is not a share' "$tmp/err")" 21
done
"$proftrace" --max-overhead 5% --stats-only -- true 2>/dev/null
equal "not with --stats-only" $? 2
"$proftrace" --max-overhead 5% --schedule active=1 -- true 2>/dev/null
equal "not with --schedule" $? 2
finish
