#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs, files and fake recorders want to control the terminal of whoever reads about them: control characters,
# control sequences of 8-bit terminals, marks that turn text round, through the output of every verb.
. "$(dirname "$0")/lib.sh"
evil=$(printf 'a\033[2Jb\233c\302\233d\342\200\256e\342\200\250f\342\201\246g\330\234h\177')
mkdir "$tmp/work" && cd "$tmp/work" || exit 1

# What must be nowhere: C0 but tab and newline, DEL, C1 as a code point, any byte that is no UTF-8, separators, directions.
visible() { # FILE...
	for file; do
		LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c' "$file" && return 1
		iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1 || return 1
	done
}
shown() { # NAME COMMAND...: whatever it returns
	name_of_check=$1
	shift
	timeout 20 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	never_else "$name_of_check: nothing for the terminal" "$(visible "$tmp/out" "$tmp/err" || cat -v "$tmp/out" "$tmp/err" | head -5)" ""
}

printf '%s\n' "$evil" >"$tmp/evil"
check "the check refuses the text itself" test "$(visible "$tmp/evil" && echo clean)" = ""
# In a trace, both as they are and escaped.
printf '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"%s"}},{"ph":"X","name":"%s","cat":"%s","pid":1,"tid":1,"ts":1,"dur":2,"args":{"%s":"%s"}},{"ph":"C","name":"%s","pid":1,"ts":2,"args":{"%s":1}},{"ph":"i","name":"\\u202e\\u001b\\u009b","pid":1,"tid":1,"ts":3}]' \
	"$evil" "$evil" "$evil" "$evil" "$evil" "$evil" "$evil" >"$evil.json"
cp "$evil.json" plain.json
for format in table json csv; do
	shown "report, $format" "$proftrace" report --format $format "$evil.json"
	shown "report, $format: the file's name" "$proftrace" report --format $format plain.json "./$evil.json"
done
shown "report --slowest" "$proftrace" report --slowest 1 '*' plain.json
shown "convert" "$proftrace" convert -o "out-$evil" "$evil.json"
shown "convert: what it wrote" "$proftrace" report "out-$evil.pftrace"
shown "merge" "$proftrace" merge -o merged "$evil.json" plain.json
printf '%s' "$evil" >"bad-$evil"
for verb in report list "convert -o x" "merge -o x" open; do
	shown "$verb of what is no trace" "$proftrace" $verb "bad-$evil"
	shown "$verb of a missing file" "$proftrace" $verb "none-$evil"
done
shown "a verb" "$proftrace" "$evil"
shown "an option" "$proftrace" record "--$evil"
shown "a value" "$proftrace" record --mode "$evil" -p 1
cp "$programs/hostile" "elf-$evil"
shown "list of a file" "$proftrace" list "elf-$evil"
if can_trace; then
	records=1
	held_before=$(held)
	cp "$programs/every_kind" "run-$evil"
	shown "record" "$proftrace" -o recorded -- "./run-$evil" 1 5
	shown "record, -v" "$proftrace" -vv -o again -- "./run-$evil" 1 5
	shown "--stats-only" "$proftrace" --stats-only -- "./run-$evil" 1 5
	shown "its report" "$proftrace" report recorded.pftrace
	shown "no markers" "$proftrace" -o none -- true "$evil"
else
	skip "record" "this machine cannot record"
fi

# A recorder that another user has put there.
need_users
make_user faker || { skip "a fake recorder" "cannot make a user"; finish; }
place=/tmp/proftrace-$made_uid
trap 'remove_test_users; rm -rf "$tmp" "$place"' EXIT
rm -rf "$place"
mkdir -m 700 "$place" && chown "$made_uid:$made_gid" "$place"
cp "$attacks/fake_recorder" "$tmp/evil" "$tmp/" 2>/dev/null
chmod 755 "$tmp/fake_recorder"
as "$made_uid" "$made_gid" "$tmp/fake_recorder" "$place" "$evil" >"$tmp/fake" 2>&1 &
wait_for "$tmp/fake" ready || finish
pid=$(sed -n 's/^ready //p' "$tmp/fake")
shown "ctl status of a fake recorder" "$proftrace" ctl status -p "$pid"
check "the fake recorder was heard" grep -q 'of user' "$tmp/out"
kill "$pid"
finish
