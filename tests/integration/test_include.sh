#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A trace of another profiler is included in the recording, by --include-json or by the program.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
n=50

# Each of their slices must lie within one of ours, on the same clock.
check_inside() { # NAME FILE
	"$canon" "$2" | awk '$3 == "BEGIN" && $5 ~ /^(outer|theirs)$/ { open[$1 " " $2] = $5; at = $4 + 0
			if ($5 == "outer") from[++m] = at; else begins[++k] = at }
		$3 == "BEGIN" { depth[$1 " " $2]++; name[$1 " " $2, depth[$1 " " $2]] = $5 }
		$3 == "END" { s = name[$1 " " $2, depth[$1 " " $2]]; depth[$1 " " $2]--
			if (s == "outer") to[++t] = $4 + 0; if (s == "theirs") ends[++e] = $4 + 0 }
		END { for (i = 1; i <= k; i++) for (j = 1; j <= m; j++)
				if (from[j] <= begins[i] && ends[i] <= to[j]) { inside++; break }
			print k, inside + 0 }' >inside
	equal "$1: theirs are inside ours" "$(cat inside)" "$n $n"
}

count() { # FILE KIND
	"$canon" --count "$1" | sed -n "s/^$2 \([0-9]*\)$/\1/p"
}

"$proftrace" -q -o option --summary-json option.sum --include-json theirs.json -- \
	"$programs/includes" $n theirs.json >said
equal "--include-json: exit status" $? 0
equal "--include-json: theirs" "$(count option.json 'BEGIN theirs')" $n
equal "--include-json: ours" "$(count option.json 'BEGIN outer')" $n
check_inside "--include-json" option.pftrace
check_agree "--include-json" option
check_account "--include-json" option.sum
pid=$(said said pid)
equal "--include-json: in the same process" \
	"$("$canon" option.json | awk '$5 == "theirs" { print $1 }' | sort -u)" "$pid"
equal "--include-json: on a thread of its own" \
	"$("$canon" option.json | grep -c "^thread $pid [0-9]* thread $pid (theirs.json)$")" 1
equal "--include-json: said in the summary" \
	"$(grep -c '"path": "theirs.json", "events": [0-9]*, "before": [01], "truncated": false, "error": ""' option.sum)" 1

# The program names it, with a path of its own view of things.
mkdir elsewhere
(cd elsewhere && "$proftrace" -q -o ../named --summary-json ../named.sum -- \
	"$programs/includes" $n mine.json mine.json >../said </dev/null)
equal "prof_include_chrome_json: exit status" $? 0
equal "prof_include_chrome_json: theirs" "$(count named.json 'BEGIN theirs')" $n
equal "prof_include_chrome_json: what was before the recording" "$(count named.json 'INSTANT ancient')" ""
equal "prof_include_chrome_json: is counted" "$(grep -c '"before": 1,' named.sum)" 1
check_inside "prof_include_chrome_json" named.json
check_account "prof_include_chrome_json" named.sum
"$proftrace" -q -o absolute -- "$programs/includes" $n "$tmp/abs.json" "$tmp/abs.json" >said </dev/null
equal "an absolute path" "$(count absolute.json 'BEGIN theirs')" $n
# It is still there when the recorder looks.
sleep 1 | "$proftrace" -q -o chdir -- sh -c "cd elsewhere && exec '$programs/includes' $n rel.json rel.json" >said
equal "a path relative to where the program is" "$(count chdir.json 'BEGIN theirs')" $n

# The same an hour later.
"$proftrace" -q -o later --include-offset 1h --include-json theirs.json -- "$programs/includes" 3 theirs.json >said
apart=$("$canon" later.json | awk '$5 == "theirs" { t = $4 } $5 == "outer" { o = $4 } END { printf "%d\n", (t - o) / 3.6e12 + 0.01 }')
equal "--include-offset" "$apart" 1

# Nothing that a program says makes the recording fail.
refused() { # NAME PATTERN PATH
	"$proftrace" -o refused -- "$programs/includes" 2 w.json "$3" >said 2>err </dev/null
	equal "$1: the recording is whole" "$? $(count refused.json 'BEGIN outer')" "0 2"
	if grep -qE "$2" err; then ok "$1: says why"; else not_ok "$1: says why" "$(cat err)"; fi
}
# The user's own do not take the place of the programs'.
"$proftrace" -q -o both --include-json theirs.json -- "$programs/includes" $n "$tmp/abs.json" "$tmp/abs.json" >said </dev/null
equal "both ways at once" "$(count both.json 'BEGIN theirs')" $((n + 3))

# A link that leads out of where the program is.
mkdir jail
cp "$programs/includes" jail/
for library in $(ldd "$programs/includes" | grep -o '/[^ ]*'); do
	mkdir -p "jail${library%/*}" && cp "$library" "jail$library"
done
ln -s "$tmp/abs.json" jail/link.json
if [ "$(chroot jail /includes 1 alone.json </dev/null | wc -l)" -eq 0 ]; then
	skip "a link out of its root" "the program does not run in another root"
else
	sleep 1 | "$proftrace" -o jailed -- chroot jail /includes 2 w.json link.json >said 2>err
	equal "a link out of its root: nothing of what it leads to" "$? $(count jailed.json 'BEGIN theirs')" "0 "
	check "a link out of its root: says so" grep -q "cannot include 'link.json'" err
	# On a machine that is busy it may have ended before the recorder looks.
	for lives in 1 10; do
		sleep $lives | "$proftrace" -q -o jailed -- chroot jail /includes 2 w.json w.json >said
		[ "$(count jailed.json 'BEGIN theirs')" = 2 ] && break
	done
	equal "a file within its root" "$(count jailed.json 'BEGIN theirs')" 2
	# It has ended when the recorder looks, which cannot see its root then: the recorder is stopped before it names the file.
	mkfifo jail/w.fifo
	"$proftrace" -o jailed --include-offset 1h -- chroot jail /includes 2000 w.fifo "$tmp/abs.json" >said 2>err </dev/null &
	recorder=$!
	exec 7<jail/w.fifo
	# That the program was executed has been read when it answers for the second time.
	for _ in 1 2; do "$proftrace" ctl status -p $recorder >answer 2>&1; done
	kill -STOP $recorder
	cat <&7 >/dev/null
	exec 7<&-
	until ps --ppid $recorder -o stat=,comm= | grep -q "^Z.*includes"; do sleep 0.1; done
	kill -CONT $recorder
	wait $recorder
	equal "a file out of its root, of one that is gone: nothing" "$? $(count jailed.json 'BEGIN theirs')" "0 "
	check "a file out of its root, of one that is gone: says so" grep -q "cannot include '.*': its program has ended, and may have had another root" err
fi

mkfifo fifo
refused "a FIFO" "cannot include 'fifo': it is not a regular file" fifo
refused "a directory" "cannot include 'elsewhere': Is a directory" elsewhere
refused "no such file" "cannot include 'nothing.json': No such file" nothing.json
refused "no trace" "cannot read '.*': not a trace" /etc/passwd
refused "through /proc" "cannot include '/proc/self/fd/0'" /proc/self/fd/0
refused "what the kernel makes up" "cannot include '/proc/version': it is empty, or not a file on a disk" /proc/version
refused "a device" "cannot include '/dev/zero': it is not a regular file" /dev/zero
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
	chmod 777 .
	cp "$programs/includes" copied
	echo '[{"name":"secret","ph":"X","ts":1e9,"dur":1,"pid":1,"tid":1}]' >secret.json
	chmod 600 secret.json
	"$proftrace" -o asked -- setpriv --reuid nobody --clear-groups ./copied 2 w2.json secret.json >said 2>err </dev/null
	equal "what the program may not read: the recording is whole" "$(count asked.json "BEGIN outer")" 2
	check "what the program may not read: is not read for it" grep -q "cannot include 'secret.json': Permission denied" err

	# Nor if the program says that root has named the file.
	path=$tmp/secret.json
	while [ ${#path} -lt 128 ]; do path=/$path; done
	LC_ALL=C sed "s|X\{128\}|$path|" "$programs/forged_include" >forged && chmod 755 forged
	"$proftrace" -o forged.json -- setpriv --reuid nobody --clear-groups ./forged >said 2>err </dev/null
	equal "another user is said to have named it: the recording is whole" "$(count forged.json "INSTANT here")" 1
	check "another user is said to have named it: is not read for it" grep -q "cannot include '/*$tmp/secret.json': Permission denied" err

	# Nor what everybody may read, in a directory where the program may not go.
	mkdir -p closed/inside theirs
	cp w2.json closed/plain.json
	cp w2.json closed/inside/plain.json
	cp w2.json theirs/plain.json
	chmod 644 closed/plain.json closed/inside/plain.json theirs/plain.json
	chmod 700 closed theirs && chown nobody theirs
	ln -s closed/plain.json over_a_link.json
	# Those that the copies hold are from before: with an offset they are not.
	as_nobody() { # LIVES PATH: prints how many events of that trace were included
		sleep "$1" | "$proftrace" -q -o way --include-offset 1h -- setpriv --reuid nobody --clear-groups "$tmp/copied" 2 "$tmp/w2.json" "$2" >said 2>err
		echo "$? $(count way.json 'BEGIN theirs')"
	}
	lives=1
	for way in "$tmp/closed/plain.json" closed/plain.json over_a_link.json theirs/../closed/plain.json; do
		equal "a closed directory ($way): nothing of what is in it" "$(as_nobody $lives "$way")" "0 "
		lives=0
		check "a closed directory ($way): says so" grep -q "cannot include '$way': the program's user may not search a directory" err
	done
	check "a closed directory: says what helps" grep -q "^hint: --include-json FILE" err
	# On a machine that is busy it may have ended before the recorder looks.
	lives_on() { # PATH
		said_so=$(as_nobody 1 "$1")
		[ "$said_so" = "0 2" ] || said_so=$(as_nobody 10 "$1")
		echo "$said_so"
	}
	equal "its user's own directory" "$(lives_on "$tmp/theirs/plain.json")" "0 2"
	if setpriv --bounding-set=-all --inh-caps=-all cat theirs/plain.json >read 2>&1; then
		skip "root without its capabilities" "it may read what is another's"
	else
		for lives in 1 10; do
			sleep $lives | "$proftrace" -q -o way --include-offset 1h -- setpriv --bounding-set=-all --inh-caps=-all \
				"$tmp/copied" 2 "$tmp/w3.json" "$tmp/theirs/plain.json" >said 2>err
			grep -q "cannot include" err && break
		done
		equal "root without its capabilities: nothing of what it may not read" "$(count way.json 'BEGIN theirs')" ""
		check "root without its capabilities: says so" grep -q "cannot include '.*': the program's user may not search a directory" err
	fi
	equal "where it was started, and could not go itself" "$(cd closed/inside && lives_on plain.json)" "0 2"
	# Nor what everybody may but its group, or all but whom a list of users excludes.
	mkdir but_group && cp w2.json but_group/plain.json && chmod 705 but_group
	cp w2.json but_listed.json
	chmod 644 but_group/plain.json but_listed.json
	python3 - but_listed.json "$(id -u nobody)" <<-'END'
		import os, struct, sys
		entries = (1, 6, -1), (2, 0, int(sys.argv[2])), (4, 4, -1), (16, 4, -1), (32, 4, -1)
		os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries))
	END
	for excluded in but_group/plain.json but_listed.json; do
		if setpriv --reuid nobody --clear-groups cat $excluded >read 2>&1; then
			skip "$excluded: nothing of it" "there are no lists of users here"
		else
			equal "$excluded: nothing of it" "$(as_nobody 1 $excluded)" "0 "
		fi
	done
	# It becomes root by what it executes, before the recorder looks or after.
	cp "$(command -v sleep)" becomes && chmod 4755 becomes
	chmod 644 secret.json && mv secret.json closed/
	"$proftrace" -q -o way --include-offset 1h -- setpriv --reuid nobody --clear-groups \
		"$tmp/copied" 2 "$tmp/w2.json" "$tmp/closed/secret.json" "$tmp/becomes" 0 >said 2>err
	equal "one that becomes root: the recording is whole" "$? $(count way.json 'BEGIN outer')" "0 2"
	check "one that becomes root: what it named before is not root's to read" \
		grep -q "cannot include '.*/secret.json': the program's user may not search a directory" err
	# What root named is root's to read, whatever it executes.
	"$proftrace" -q -o way --include-offset 1h -- "$tmp/copied" 2 "$tmp/w2.json" "$tmp/closed/plain.json" \
		"$tmp/becomes" 0 >said 2>err
	equal "one of root that executes something: what it named is read" "$? $(count way.json 'BEGIN theirs')" "0 2"
	# It has ended when the recorder looks.
	equal "a closed directory, of one that is gone" "$(as_nobody 0 "$tmp/closed/plain.json")" "0 "
	equal "an open directory, of one that is gone" "$(as_nobody 0 "$tmp/w2.json")" "0 2"
	for mode in exact auto; do
		equal "a directory of our own, of our own that is gone ($mode)" \
			"$("$proftrace" -q --mode $mode -o way --include-offset 1h -- ./copied 2 w2.json "$tmp/closed/plain.json" </dev/null >said 2>err; echo "$?")$(count way.json 'BEGIN theirs')" 02
	done
else
	skip "what the program may not read" "not root, or no user nobody"
fi

# Nor does it make the recorder read for ever: neither what is not there,
printf '[{"ph":"i","ts":1,"name":"a","pid":1,"tid":1},\n' >sparse.json
if truncate -s 100G sparse.json 2>/dev/null; then
	timeout 60 "$proftrace" -o whole1 --summary-json sparse.sum -- "$programs/includes" 2 w.json sparse.json >said 2>err </dev/null
	equal "a sparse file: the recording is whole" "$? $(count whole1.json 'BEGIN outer')" "0 2"
	equal "a sparse file: said in the summary" \
		"$(grep -c '"events": 0, "before": 1, "truncated": true, "error": "", "left_out": ""' sparse.sum)" 1
else
	skip "a sparse file" "no file of 100 GB here"
fi

# nor what is too much: 512 events of random names and 4 MiB of blanks, again and again.
{
	head -c 8192 /dev/urandom | od -An -v -tx1 -w16 | sed 's/.*/{"ph":"i","name":"&","pid":1,"tid":1,"ts":1},/'
	head -c 4194304 /dev/zero | tr '\0' ' '
} | gzip -1 >block.gz
times_8() { # FILE
	cat "$1" "$1" "$1" "$1" "$1" "$1" "$1" "$1"
}
times_8 block.gz >blocks.gz
times_8 blocks.gz >many.gz
printf '[' | gzip >much.json
times_8 many.gz >>much.json
"$proftrace" --strict -o whole2 --summary-json much.sum -- "$programs/includes" 2 w.json much.json >said 2>err </dev/null
equal "more than is read: the recording is whole, and not all" "$? $(count whole2.json 'BEGIN outer')" "3 2"
check "more than is read: says so" grep -q "cannot include the rest of 'much.json': .*programs name" err
check "more than is read: says what helps" grep -q "^hint: --include-json FILE" err
check "more than is read: in the summary" grep -q '"left_out": "\(size\|time\)"' much.sum

# It can be told not to go on; what was recorded is there before.
cp much.json long.json
times_8 many.gz >>long.json
"$proftrace" --dump-period 1h -o whole3 --summary-json long.sum -- "$programs/includes" 2 w.json long.json >said 2>err </dev/null &
recorder=$!
i=0
while [ ! -e whole3.json ] && [ $((i += 1)) -lt 600 ]; do sleep 0.1; done
kill -INT $recorder
kill -TERM $recorder
wait $recorder
equal "told to stop: the recording is whole" "$? $(count whole3.json 'BEGIN outer')" "0 2"
check "told to stop: says so" grep -q "cannot include the rest of 'long.json': a signal ended it" err
check "told to stop: in the summary" grep -q '"left_out": "signal"' long.sum

# What the command line names is part of what was asked for.
"$proftrace" -q -o missing --include-json nothing.json -- "$programs/includes" 2 w.json >said 2>err
equal "--include-json of no file: exit status" $? 1
equal "--include-json of no file: the recording is whole" "$(count missing.json 'BEGIN outer')" 2
check "--include-json of no file: says so" grep -q "cannot include 'nothing.json': No such file" err
"$proftrace" --include-offset soon -- true 2>err
equal "--include-offset of no time" $? 2
"$proftrace" --include-json x.json --flight-recorder 1s -- true 2>err
equal "--include-json with a flight recorder" $? 2
# A trace that cannot be read is missing, and --strict says so.
echo nonsense >bad.json
"$proftrace" -q --strict -o whole4 -- "$programs/includes" 2 w.json bad.json >said 2>err </dev/null
equal "--strict and a file that is no trace: the recording is whole, and not all" "$? $(count whole4.json 'BEGIN outer')" "3 2"
check "--strict and a file that is no trace: says so" grep -q "bad.json" err
finish
