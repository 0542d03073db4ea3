#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# diff: what it finds between runs of a simulated service, and what it does not find where nothing changed.
# All runs are generated from fixed numbers, so the results are always the same.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
service=$root/build/tests/tools/noisy_service

runs() { # PREFIX FIRST-SEED COUNT REQUESTS [NAME FACTOR]
	prefix=$1 seed=$2 count=$3
	shift 3
	for i in $(seq "$count"); do
		"$service" $((seed + i)) "$@" >"$prefix$i.json"
	done
}
diff_json() { # OUT ARGUMENT...
	out=$1
	shift
	"$proftrace" diff -q --per request --format json "$@" >"$out"
}
# A name's decision, and what of it is decided.
decision() { # FILE NAME
	sed -n "s/.*\"name\": \"$2\", \"decision\": \"\([a-z_]*\)\".*/\1/p" "$1" | head -1
}
decided() { # FILE NAME METRIC
	sed -n "s/.*\"name\": \"$2\", \"decision\".*\"$3\": {[^}]*\"decided\": \([a-z]*\).*/\1/p" "$1"
}
path() { # FILE NAME
	sed -n "s/.*\"name\": \"$2\", \"decision\".*\"path\": \[\([^]]*\)\].*/\1/p" "$1" | head -1
}

# --- nothing changed ---------------------------------------------------------------------------------
wrong=0
for pair in 1 2 3 4 5 6 7 8; do
	runs a $((pair * 1000)) 10 200
	runs b $((pair * 1000 + 500)) 10 200
	diff_json same.json a*.json -- b*.json
	grep -q '"decision": "\(slower\|faster\|changed\)"' same.json && wrong=$((wrong + 1))
done
equal "8 pairs of 10 runs of the same program: no difference" "$wrong" 0
equal "the same runs on both sides" \
	"$(diff_json same.json a*.json -- a*.json; grep -o '"decision": "[a-z]*"' same.json | sort -u)" '"decision": "none"'

# --- one slice of eleven is 5 % slower ----------------------------------------------------------------
rm ./*.json
found=0 named=0
for pair in 1 2 3; do
	runs a $((pair * 1000)) 10 2000
	runs b $((pair * 1000 + 500)) 10 2000 parse 1.05
	diff_json slow$pair.json a*.json -- b*.json
	[ "$(decided slow$pair.json parse p50)" = true ] && found=$((found + 1))
	[ "$(path slow$pair.json parse)" = '"request", "parse"' ] && named=$((named + 1))
done
equal "5 % in one of eleven slices is found" "$found" 3
equal "and named as a part of the request" "$named" 3
equal "nothing else is slower" "$(grep -ho '"name": "[a-z]*", "decision": "slower"' slow*.json | sort -u |
	grep -cv '"parse"\|"request"')" 0
"$proftrace" diff -q --per request --fail-over 3% a*.json -- b*.json >out 2>err
equal "--fail-over: the exit status" "$?" 4
equal "and who it was" "$(sed -n "s/^proftrace: '\([a-z]*\)': .* regressed by .*/\1/p" err)" parse
said=$(sed -n "s/^proftrace: 'parse': \([a-z0-9]*\) regressed by \([0-9.]*\) %/\1 \2/p" err)
"$proftrace" diff -q --per request --format json a*.json -- b*.json >why.json
equal "by how much, and what of it: as in the table" "$(sed -n "s/.*\"name\": \"parse\", \"decision\".*\"${said% *}\": {[^}]*\"change\": \([0-9.]*\).*/\1/p" why.json |
	awk '{ printf "%.1f", 100 * $1 }')" "${said#* }"
"$proftrace" diff -q --per request --fail-over 20% a*.json -- b*.json >out 2>err
equal "--fail-over above the change" "$? $(cat err)" "0 "
"$proftrace" diff -q --per request --fail-over 3% b*.json -- a*.json >out 2>err
equal "faster is no failure" "$? $(cat err)" "0 "
check "and is said" grep -q '^parse *faster' out
check "the table says why" grep -q '% \[.*\] \*' out
"$proftrace" diff -q --per request --format markdown a*.json -- b*.json >markdown
equal "Markdown: all lines of the table have the same columns" \
	"$(grep '^|' markdown | sed 's/\\|//g' | tr -dc '|\n' | sort -u | wc -l)" 1

sed 's/"name":"render"/"name":"[a](b) <c>"/' a1.json >odd-a.json
sed 's/"name":"render"/"name":"[a](b) <c>"/' b2.json >odd-b.json
"$proftrace" diff -q --per '[a](b) <c>' --format markdown odd-a.json -- odd-b.json |
	sed '/^```/,/^```/d' >markdown
equal "Markdown: names are text everywhere" "$(grep -cF '[a](b) <c>' markdown) $(grep -cF '\[a\](b) \<c\>' markdown | sed 's/[2-9]/some/')" "0 some"

# --- a lock for which one waits longer ------------------------------------------------------------------
rm ./[ab]*.json
runs a 7000 5 1000
runs b 7500 5 1000 lock 1.2
diff_json lock.json a*.json -- b*.json
equal "five runs: a slower lock" "$(decision lock.json lock)" slower
equal "it shows as waiting, not as work" \
	"$(decided lock.json lock waiting) $(decided lock.json lock on-cpu)" "true false"
equal "the way there" "$(path lock.json query)" '"request", "query", "lock"'

# --- saved tables -------------------------------------------------------------------------------------
for i in 1 2 3 4 5; do
	"$proftrace" report -q --format json a$i.json >a$i.saved
	"$proftrace" report -q --format json b$i.json >b$i.saved
done
diff_json saved.json a*.saved -- b*.saved
equal "saved reports: a slower lock" "$(decision saved.json lock)" slower
"$proftrace" diff -q --per request a*.saved -- b*.saved >out
check "it is said what these do not tell" grep -q '^saved reports say neither' out
diff_json mixed.json a*.saved -- b*.json
equal "saved reports and traces: a slower lock" "$(decision mixed.json lock)" slower

# --- fewer runs ------------------------------------------------------------------------------------------
diff_json one.json a1.json -- b1.json
equal "one trace on each side: compared in blocks" "$(grep -o '"samples_are": "[a-z]*"' one.json)" '"samples_are": "blocks"'
equal "a slower lock" "$(decision one.json lock)" slower
"$proftrace" diff a[123].json -- b[123].json >few 2>&1
check "too few runs: nothing is decided, and how many would do" \
	grep -q 'needs at least 5 runs on each side' few
equal "nothing is marked" "$(grep -c '\*' few)" 0
"$proftrace" diff --per request a*.json -- b*.json >out
check "a change within the noise: how many runs would tell" \
	grep -qE 'cannot be told from noise with 5 and 5 runs; about [0-9]+ of each would tell' out

# --- conditions ------------------------------------------------------------------------------------------
diff_json where.json --where 'name == "lock" || name == "request"' a*.json -- b*.json
equal "--where: only these names" "$(grep -o '"name": "[a-z]*", "decision"' where.json | sort | tr -d '\n')" \
	'"name": "lock", "decision""name": "request", "decision"'
equal "and the lock is inside" "$(decision where.json lock)" slower

# --- a picture ---------------------------------------------------------------------------------------------
"$proftrace" diff --flame --per request -o change.svg a*.json -- b*.json
check "the lock is red, and says how much it grew" grep -qE '<title>lock \([0-9,]+ ns, [0-9.]+%, \+(1[5-9]|2[0-5])\.[0-9]%\)</title><rect [^>]*class="g3"' change.svg
"$proftrace" diff --flame --per request a*.json -- b*.json >folded
check "folded: before and after" grep -qE '^request;query;lock [0-9]+ [0-9]+$' folded

if can_trace; then
	# The second of three functions takes three times as long on side B, which is sampled at half the rate.
	for i in 1 2 3 4 5; do
		"$proftrace" -q --sample 1998 -o a$i.pftrace -- "$programs/sampled" 1 0.1 >>a.said
		"$proftrace" -q --sample 999 -o b$i.pftrace -- "$programs/sampled" 1 0.1 3 >>b.said
	done
	spent() { # SIDE: in the function, of each slice
		awk '$1 == "beta" { ns += $2 } END { printf "%.0f", ns / 50 }' $1.said
	}
	"$proftrace" diff -q --format json a*.pftrace -- b*.pftrace >functions.json
	# On a busy machine perhaps only the counter of CPU time tells it.
	check "samples on both sides: the slice has changed" \
		grep -qE '"name": "work", "decision": "(slower|changed)"' functions.json
	set -- $(sed -n 's/.*"functions": \[{"name": "\([a-z_]*\)", "caller": "\([a-z_]*\)".* "change_ns": \([0-9]*\).*/\1 \2 \3/p' \
		functions.json | head -1)
	equal "the function that grew, and its caller" "$1 $2" "beta work"
	more=$(($(spent b) - $(spent a)))
	check "by the time that the program measured ($more ns), within a quarter: $3 ns" \
		test $(($3 * 4)) -gt $((more * 3)) -a $(($3 * 4)) -lt $((more * 5))
	"$proftrace" diff a*.pftrace -- b*.pftrace >out 2>err
	check "the table names it, too" \
		grep -qE '^    \+[0-9.]+ [mu]s in the function beta, called by work: [0-9]+ and [0-9]+ of [0-9]+ and [0-9]+ samples' out
	"$proftrace" -q -o none.pftrace -- "$programs/sampled" 1 0.1 >/dev/null
	"$proftrace" diff a1.pftrace -- none.pftrace >out 2>err
	check "samples on one side only" grep -q 'only side A has samples of call stacks' err
	"$proftrace" diff --flame --per work a1.pftrace -- b1.pftrace >folded
	check "a graph of the samples" grep -qE ';alpha [1-9][0-9]* [1-9][0-9]*$' folded
	"$proftrace" diff --flame --per work --where 'dur > 0ns' a1.pftrace -- b1.pftrace >folded
	check "with a condition: of slices" grep -qE '^work [0-9]+ [0-9]+$' folded
else
	skip "samples" "this machine cannot record"
fi

# --- a name on one side, and what cannot be compared ---------------------------------------------------------
sed 's/"parse"/"scan"/' b1.json >renamed.json
"$proftrace" diff a1.json -- renamed.json >out 2>err
check "a name on side A only" grep -q '^parse *only in A' out
check "a name on side B only" grep -q '^scan *only in B' out
refused() { # NAME STATUS MESSAGE ARGUMENT...
	name=$1 status=$2 message=$3
	shift 3
	"$proftrace" diff "$@" >out 2>err
	equal "refused: $name" "$? $(wc -l <out)" "$status 0"
	check "says: $message" grep -qF -- "$message" err
}
sed 's/"name":"[a-z]*","cat"/"name":"other","cat"/' b1.json >strange.json
echo '[]' >empty.json
head -c 100000 a1.saved | sed 's/"slices"/"slices":[[[[[[[[[[[[[[[[[[[[,"x"/' >deep.saved
head -c 300 a1.saved >cut.saved
refused "an empty side B" 2 "side B has no traces" a1.json --
refused "an empty side A" 2 "side A has no traces" -- a1.json
refused "no --" 2 "side B has no traces" a1.json b1.json
refused "an option behind --" 2 "'--quiet' is behind --" a1.json -- b1.json --quiet
refused "no name in common" 1 "the two sides have no name in common" a1.json -- strange.json
refused "a trace without slices" 1 "nothing in it has ended" a1.json -- empty.json
refused "a trace without the unit of work" 1 "it has no slice of the name of --per" --per nothing a1.json -- b1.json
refused "a condition on a saved report" 1 "a saved report has no single slices" --where 'dur > 1ms' a1.saved -- b1.json
refused "a string compared with a time" 2 "a time is compared with a string" --where 'dur > "x"' a1.json -- b1.json
refused "a saved report that is nested deeply" 1 "nested too deeply" deep.saved -- b1.json
refused "a saved report that was cut off" 1 "cannot read 'cut.saved'" cut.saved -- b1.json
refused "a confidence that is none" 2 "--confidence is not between" --confidence 10% a1.json -- b1.json
sed 's/"name":"service"/"name":"another"/' b1.json >program.json
"$proftrace" diff a1.json -- program.json >out 2>err
equal "another program is one line" "$(cat err)" "proftrace: 'program.json': is of another program than 'a1.json'"
sed '1s/^\[/[{"ph":"M","name":"process_name","pid":9,"tid":9,"args":{"name":"sh"}},{"ph":"M","name":"thread_name","pid":9,"tid":9,"args":{"name":"sh"}},/' b1.json >shell.json
"$proftrace" diff a1.json -- shell.json >out 2>err
equal "a shell that starts it is not another program" "$(cat err)" ""
head -c 200000 b1.json >short.json
"$proftrace" diff a1.json -- short.json >out 2>err
equal "a trace that was cut off is one line" "$(grep -c "'short.json': truncated at byte" err)" 1
finish
