#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Flame graphs of a program that knows where it spends its time.
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

# The share of samples of each function, beside that of time: within 3 points.
shares() { # FOLDED SAID
	for pair in heavy:heavy light:light "generated code:generated"; do
		echo "$(count "$1" "${pair%:*}") $(said "$2" "${pair#*:}") ${pair%:*}"
	done | awk -v all="$(total "$1")" '
		{ part[NR] = $1; mine[NR] = $2; sum += $2; name[NR] = $3 }
		END {
			for (i = 1; i <= NR; i++) {
				off = all ? part[i] / all - mine[i] / sum : 1
				printf "%s: %.4f of %d samples, %.4f of the time\n", name[i], part[i] / (all ? all : 1),
					all, mine[i] / sum
				bad += off > 0.03 || off < -0.03
			}
			exit bad > 0
		}'
}

# Where the machine is busy, or stands still for a while, the samples are fewer than the time: then once more.
for way in pie static stripped; do
	for try in 1 2 3; do
		"$proftrace" -q --sample 1999 -e none -o $way.pftrace --summary-json $way.account -- \
			"./flames-$way" 1000 >$way.said 2>$way.err
		status=$?
		rm -f "/tmp/perf-$(said $way.said pid).map"
		"$proftrace" report --flame=work -o $way.folded $way.pftrace
		shares $way.folded $way.said >$way.shares && break
		sed "s/^/# try $try of $way: /" $way.shares
	done
	equal "$way: exit status" $status 0
	check_account "$way" $way.account
	check "$way: there are samples in its slices" [ "$(total $way.folded)" -gt 200 ]
	check "$way: functions have their shares within 3 points" shares $way.folded $way.said
	sed 's/^/# /' $way.shares
	equal "$way: what is inlined is within" "$(count $way.folded spin)" "$(count $way.folded 'light;spin')"
	check "$way: what is inlined is known" [ "$(count $way.folded spin)" -gt 0 ]
	equal "$way: no slice, no part of it" "$(count $way.folded outside)" 0
	"$proftrace" report --flame $way.pftrace >$way.all
	check "$way: all samples are more" [ "$(count $way.all outside)" -gt 0 ]
done

# In a container it writes the names of its code elsewhere, and under another number; at the end both are gone.
mkdir inner
cp "$programs/flames" flames
cat >contained.sh <<-'END'
	mount --bind inner /tmp && exec ./flames 500
END
if unshare -mpf true 2>/dev/null; then
	"$proftrace" -q --sample 999 -e none -o contained.pftrace -- unshare -mpf sh contained.sh >contained.said 2>contained.err
	equal "in a container: it is process 1" "$(said contained.said pid)" 1
	"$proftrace" report --flame=work -o contained.folded contained.pftrace
	check "in a container: code that it made has its names" [ "$(count contained.folded "generated code")" -gt 5 ]
	# Names that somebody else may have written are none.
	chown 65534 inner/perf-1.map
	"$proftrace" -q --sample 999 -e none -o others.pftrace -- unshare -mpf sh contained.sh >others.said 2>others.err
	check "somebody else's file: it was written all the same" grep -q "generated code" inner/perf-1.map
	"$proftrace" report --flame=work -o others.folded others.pftrace
	equal "somebody else's file: its names are not taken" "$(count others.folded "generated code")" 0
else
	skip "in a container: code that it made has its names" "no namespaces of one's own"
fi

check "a picture" "$proftrace" report --flame='w*' -o pie.svg pie.pftrace
tr -d , <pie.svg >pie.numbers # 1,234
check "of the same" grep -q "<title>heavy ($(count pie.folded heavy) samples " pie.numbers
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
check "no ending" said_of "must end with .svg" "$proftrace" report --flame -o x.png pie.pftrace
check "no graph to write" said_of "requires --flame" "$proftrace" report -o x.svg pie.pftrace
finish
