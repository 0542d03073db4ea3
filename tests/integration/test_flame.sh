#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Flame graphs: what they say of a program that knows where it spends its time.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

objcopy --only-keep-debug "$programs/flames" flames.debug &&
	objcopy -S --add-gnu-debuglink=flames.debug "$programs/flames" flames-stripped || exit 1
ln -s "$programs/flames" flames-pie
ln -s "$programs/flames-static" flames-static

# Samples whose stack has a frame of that name, and all.
count() { # FOLDED NAME
	awk -v name="$2" '{
		n = $NF
		sub(/ [0-9]+$/, "")
		if (index(";" $0 ";", ";" name ";"))
			sum += n
	} END { print sum + 0 }' "$1"
}
total() { # FOLDED
	awk '{ sum += $NF } END { print sum + 0 }' "$1"
}

# The share of samples is that of time: within 3 points and what so few samples can be off by.
check_share() { # NAME FOLDED FUNCTION SAID WORD
	part=$(count "$2" "$3")
	all=$(total "$2")
	mine=$(said "$4" "$5")
	sum=$(($(said "$4" heavy) + $(said "$4" light) + $(said "$4" generated)))
	check "$1: $3 has its share ($part of $all samples)" awk -v part="$part" -v all="$all" \
		-v mine="$mine" -v sum="$sum" 'BEGIN {
			if (!all) { print "no samples"; exit 1 }
			real = mine / sum
			off = part / all - real
			beyond = (off < 0 ? -off : off) - 0.03
			printf "%.4f of the samples, %.4f of the time, of %d\n", part / all, real, all
			exit beyond > 0 && beyond * beyond > 16 * real * (1 - real) / all
		}'
}

for way in pie static stripped; do
	"$proftrace" -q --sample 499 -e none -o $way.pftrace --summary-json $way.account -- \
		"./flames-$way" 1200 >$way.said 2>$way.err
	equal "$way: exit status" $? 0
	rm -f "/tmp/perf-$(said $way.said pid).map"
	check_account "$way" $way.account
	check "$way: the graph of its slices as text" "$proftrace" report --flame=work -o $way.folded $way.pftrace
	check "$way: there are samples in them" [ "$(total $way.folded)" -gt 60 ]
	check_share $way $way.folded heavy $way.said heavy
	check_share $way $way.folded light $way.said light
	check_share $way $way.folded "generated code" $way.said generated
	equal "$way: what is inlined is within" "$(count $way.folded spin)" "$(count $way.folded 'light;spin')"
	check "$way: what is inlined is known" [ "$(count $way.folded spin)" -gt 0 ]
	equal "$way: no slice, no part of it" "$(count $way.folded outside)" 0
	"$proftrace" report --flame $way.pftrace >$way.all
	check "$way: all samples are more" [ "$(count $way.all outside)" -gt 0 ]
done

check "a picture" "$proftrace" report --flame='w*' -o pie.svg pie.pftrace
check "of the same" grep -q "<title>heavy ($(count pie.folded heavy) samples, " pie.svg
check "and of several" "$proftrace" report --flame -o all.txt pie.pftrace static.pftrace
equal "together" "$(count all.txt heavy)" $(($(count pie.all heavy) + $(count static.all heavy)))
"$proftrace" convert -o again.pftrace pie.pftrace 2>/dev/null
"$proftrace" report --flame again.pftrace >again.all
check "convert keeps them" cmp again.all pie.all

said_of() { # PATTERN COMMAND...: fails, and says so
	pattern=$1
	shift
	"$@" >out 2>err && return 1
	grep -q "$pattern" err
}
check "no such slice" said_of "none of the" "$proftrace" report --flame=nothing -o no.svg pie.pftrace
check "no file then" [ ! -e no.svg ]
"$proftrace" -q -e none -o bare -- "$programs/flames" 20 >bare.said
rm -f "/tmp/perf-$(said bare.said pid).map"
check "no samples" said_of "hint: record with --sample" "$proftrace" report --flame bare.pftrace
check "no ending" said_of "ends in .svg" "$proftrace" report --flame -o x.png pie.pftrace
check "no graph to write" said_of "where --flame goes" "$proftrace" report -o x.svg pie.pftrace
finish
