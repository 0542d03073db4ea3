#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All files that root may write on behalf of a user: the accounting (--summary-json), traces, and the outputs of
# report, convert and merge. They belong to the invoking user, follow no planted link, and replace an older file
# only when they are usable.
. "$(dirname "$0")/lib.sh"
need_tracing

program=$programs/executes
fresh() { # an empty directory, with what must not be touched beside it
	rm -rf "$tmp/d" "$tmp/victim"
	mkdir "$tmp/d"
	echo precious >"$tmp/victim"
}
record() { "$proftrace" -q -e none -o "$tmp/d/t" "$@" 2>"$tmp/err"; }

# --- the account: private, and no less than whole

fresh
record --summary-json "$tmp/d/s" -- "$program" 1
equal "summary: exit status" $? 0
check_account "summary" "$tmp/d/s"
equal "summary: nobody else reads it" "$(stat -c %a "$tmp/d/s")" 600
equal "summary: nothing is left beside it" "$(ls -A "$tmp/d" | tr '\n' ' ')" "s t.json t.pftrace "

fresh
ln -s "$tmp/victim" "$tmp/d/s"
record --summary-json "$tmp/d/s" -- "$program" 1
equal "summary, planted link: exit status" $? 0
equal "summary, planted link: what is behind it is as it was" "$(cat "$tmp/victim")" precious
check "summary, planted link: replaced" test -f "$tmp/d/s" -a ! -L "$tmp/d/s"
check_account "summary, planted link" "$tmp/d/s"

fresh
echo older >"$tmp/d/s"
record --summary-json "$tmp/d/s" -p 99999999
equal "no such process: exit status" $? 1
equal "no such process: the older summary is there" "$(cat "$tmp/d/s")" older
record --summary-json "$tmp/d/s" -- /no/such
equal "no such command: exit status" $? 1
equal "no such command: the older summary is there" "$(cat "$tmp/d/s")" older
equal "neither leaves anything" "$(ls -A "$tmp/d")" s

# A recorder that is killed leaves the older one, and no temporary file.
mkfifo "$tmp/in"
rm -f "$tmp/out"
"$programs/checksum" 1 100 <"$tmp/in" >"$tmp/out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/out" sum
"$proftrace" -o "$tmp/d/t" --summary-json "$tmp/d/s" --dump-period 50ms -p $target 9>&- 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
for _ in $(seq 1 200); do [ -s "$tmp/d/t.json" ] && break; sleep 0.05; done
kill -KILL $recorder
wait $recorder 2>/dev/null
equal "killed recorder: the older summary is there, and nothing beside it" \
	"$(cat "$tmp/d/s") $(ls -A "$tmp/d" | tr '\n' ' ')" "older s t.json t.pftrace "
check_nothing_left "killed recorder"

# What cannot be created is refused before the program is touched.
rm -f "$tmp/d"/*
record -v -p $target --summary-json "$tmp/none/s" 9>&-
equal "no such directory: exit status" $? 1
check "no such directory: says so" grep -q "cannot write '$tmp/none/s': No such file" "$tmp/err"
equal "no such directory: nothing was attached, nothing is left" \
	"$(grep -c attached "$tmp/err")$(ls -A "$tmp/d")" 0
record --summary-json "$tmp/none/s" -- touch "$tmp/ran"
equal "no such directory: the command does not run" "$?$(ls "$tmp/ran" 2>/dev/null)" 1
record --summary-json "$tmp" -- touch "$tmp/ran"
equal "a directory: refused" "$?$(ls "$tmp/ran" 2>/dev/null)$(grep -c "'$tmp': Is a directory" "$tmp/err")" 11
exec 9>&-
wait $target
equal "the program's semaphore is off" "$(said "$tmp/out" semaphore)" 0

# --- no file of its own

fresh
record --summary-json - -- "$program" 1 >"$tmp/s"
equal "standard output: exit status" $? 0
grep -v '^[a-z]' "$tmp/s" >"$tmp/json"
check_account "standard output" "$tmp/json"
before=$(readlink /dev/stderr)
record --summary-json /dev/stderr -- "$program" 1 >"$tmp/out"
equal "standard error: exit status" $? 0
check_account "standard error" "$tmp/err"
equal "standard error: its link is as it was" "$(readlink /dev/stderr)" "$before"
mkfifo "$tmp/d/pipe"
cat "$tmp/d/pipe" >"$tmp/s" &
reader=$!
record --summary-json "$tmp/d/pipe" -- "$program" 1 >"$tmp/out"
equal "a pipe: exit status" $? 0
wait $reader
check_account "a pipe" "$tmp/s"
record -o - --summary-json - -- touch "$tmp/ran" >"$tmp/out"
equal "both on standard output: usage" "$?$(wc -c <"$tmp/out")" 20
record --summary-json "$tmp/d/t" -o "$tmp/d/t" -- touch "$tmp/ran"
equal "both in one file: usage" $? 2
record --summary-json /dev/full -- "$program" 1 >"$tmp/out"
equal "a full device: exit status" $? 1
equal "a full device: one line" "$(cat "$tmp/err")" "proftrace: cannot write '/dev/full': No space left on device"

# --- as root

if [ "$(id -u)" -ne 0 ] || ! id nobody >/dev/null 2>&1; then
	skip "a full disk, other users" "needs root and a user nobody"
	finish
fi

# The older one is worth more than a part of the next.
fresh
mkdir "$tmp/full"
if mount -t tmpfs -o size=64k none "$tmp/full" 2>/dev/null; then
	echo older >"$tmp/full/s"
	dd if=/dev/zero of="$tmp/full/fill" bs=4k 2>/dev/null
	record --summary-json "$tmp/full/s" -- "$program" 1 >"$tmp/out"
	equal "full disk: exit status" $? 1
	equal "full disk: one line" "$(cat "$tmp/err")" \
		"proftrace: cannot write '$tmp/full/s': No space left on device"
	equal "full disk: the older summary is there, and nothing beside it" \
		"$(cat "$tmp/full/s") $(ls -A "$tmp/full" | tr '\n' ' ')" "older fill s "
	check "full disk: the trace is whole" "$canon" --nest "$tmp/d/t.json"
	umount "$tmp/full"
else
	skip "full disk" "no permission to mount a small one"
fi

# Under sudo all of it is done as the user who called it, and belongs to that user.
fresh
nobody=$(id -u nobody) group=$(id -g nobody)
cp "$proftrace" "$programs/executes" "$tmp"
as_sudo() { SUDO_UID=$nobody SUDO_GID=$group "$tmp/proftrace" "$@" 2>"$tmp/err"; }
chown nobody "$tmp/d"
ln -s "$tmp/victim" "$tmp/d/all.json"
as_sudo -q -e none -o "$tmp/d/t" --summary-json "$tmp/d/s" -- "$tmp/executes" 1 >"$tmp/out"
equal "sudo: recorded" $? 0
as_sudo convert -q -o "$tmp/d/again" "$tmp/d/t.pftrace"
equal "sudo: converted" $? 0
as_sudo merge -q -o "$tmp/d/all" "$tmp/d/t.pftrace" "$tmp/d/again.json"
equal "sudo: merged" $? 0
equal "sudo: all files are that user's alone" "$(stat -c '%u %g %a' "$tmp/d"/* | sort | uniq -c | xargs)" \
	"7 $nobody $group 600"
equal "sudo: what is behind a planted link is as it was" "$(cat "$tmp/victim")" precious
check_account "sudo" "$tmp/d/s"
as_sudo report -q "$tmp/d/t.pftrace" >"$tmp/out"
equal "sudo: the report" $? 0
chmod 600 "$tmp/victim"
for what in "report" "convert -o $tmp/d/x.json" "merge -o $tmp/d/x.json"; do
	as_sudo $what "$tmp/victim" >"$tmp/out"
	equal "sudo: ${what%% *} does not read what that user may not" \
		"$?$(grep -c "'$tmp/victim': Permission denied" "$tmp/err")" 11
done
mkdir "$tmp/roots"
for option in "--summary-json $tmp/roots/x -o $tmp/d/x" "-o $tmp/roots/x"; do
	as_sudo -q $option -- touch "$tmp/ran"
	equal "sudo: a directory of root's is refused, ${option%% *}" \
		"$?$(grep -c "cannot write '$tmp/roots/x.*': Permission denied" "$tmp/err")$(ls "$tmp/ran" 2>/dev/null)" 11
done

# A link that somebody else planted, to a device: root itself does not follow it.
fresh
ln -s /dev/null "$tmp/d/s"
chown nobody "$tmp/d"
chown -h nobody "$tmp/d/s"
record --summary-json "$tmp/d/s" -- touch "$tmp/ran"
equal "a planted link to a device: refused" \
	"$?$(grep -c "cannot write '$tmp/d/s': the existing file belongs to another user" "$tmp/err")$(ls "$tmp/ran" 2>/dev/null)" 11
chown -h root "$tmp/d/s"
record --summary-json "$tmp/d/s" -- "$program" 1 >"$tmp/out"
equal "our own link to a device: followed" "$?$(readlink "$tmp/d/s")" "0/dev/null"
check_nothing_left "all of it"
finish
