#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# In a sticky directory another user takes the names of outputs while these are written. What was recorded or converted is
# not lost: it lies under another name, and the message says which.
. "$(dirname "$0")/lib.sh"
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other && other_uid=$made_uid other_gid=$made_gid ||
	{ skip "taken output" "cannot make users"; finish; }
chmod 711 "$tmp"
cp "$proftrace" "$tmp/proftrace" && chmod 755 "$tmp/proftrace"
mkdir "$tmp/shared" && chmod 1777 "$tmp/shared"
mkfifo "$tmp/in" && chmod 666 "$tmp/in"
cd "$tmp/shared" || exit 1

take() { # NAME...: in as many ways as there are
	for taken; do
		case $taken in
		*.json) as "$other_uid" "$other_gid" mkfifo "$taken" ;;
		*.svg) as "$other_uid" "$other_gid" ln -s /dev/null "$taken" ;;
		*.html | *.gz) as "$other_uid" "$other_gid" mkdir "$taken" ;;
		*) as "$other_uid" "$other_gid" sh -c "echo theirs >'$taken'" ;;
		esac
	done
}
# What the message says of a name: where the output is.
placed() { # NAME
	grep -A 1 "^proftrace: cannot write '$1': " "$tmp/said" | sed -n "s/^hint: the output is in the same directory, as '\(.*\)'$/\1/p"
}
kept() { # NAME-OF-THE-CHECK TAKEN-NAME PATTERN: and the output has its ending
	other=$(placed "$2")
	[ -n "$other" ] || sed 's/^/# /' "$tmp/said"
	never_else "$1: $2: it says under which name it lies, and why" \
		"$(echo "$other" | grep -cE "^$3$") $(grep -cE "^proftrace: cannot write '$2': (the existing file belongs to another user|Is a directory|Operation not permitted)$" "$tmp/said")" "1 1"
	never_else "$1: $2: it is the owner's alone" "$(stat -c '%u %a %F' "$other")" "$owner_uid 600 regular file"
	never_else "$1: $2: the name is the other user's" "$(stat -c %u "$2")" "$other_uid"
}
slices() { # FILE
	"$proftrace" report --format csv "$1" 2>"$tmp/err" | grep -c '^slice,'
}
nothing_hidden() { # NAME
	never_else "$1: no other file is left" "$(ls -A | grep -c '\.tmp$')" 0
	find . -mindepth 1 -delete
}

# --- what reads traces ----------------------------------------------------------------------------------
trace='[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]'
echo "$trace" >"$tmp/t.json"
rewrites() { # NAME TAKEN-NAMES COMMAND...: which waits for its input meanwhile
	name=$1 names=$2
	shift 2
	(exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups timeout 60 "$tmp/proftrace" "$@") <"$tmp/in" >"$tmp/said" 2>&1 &
	process=$!
	exec 9>"$tmp/in"
	for _ in $(seq 400); do
		[ "$(ls -A | grep -c '\.tmp$')" = "$(echo $names | wc -w)" ] && break
		sleep 0.05
	done
	take $names
	echo "$trace" >&9
	exec 9>&-
	wait $process
	equal "$name: exit status" $? 1
}
for verb in convert merge; do
	[ $verb = merge ] && second=$tmp/t.json || second=
	rewrites "$verb" "o.pftrace o.json" $verb -o o - $second
	kept "$verb" o.pftrace 'o\.[a-z2-7]{8}\.pftrace'
	equal "$verb: the Perfetto trace is whole" "$(slices "$other")" 1
	check "$verb: the summary has its name" grep -q "^$other  .*(Perfetto)" "$tmp/said"
	kept "$verb" o.json 'o\.[a-z2-7]{8}\.json'
	equal "$verb: the JSON trace is whole" "$(slices "$other")" 1
	nothing_hidden "$verb"
done
rewrites "convert, compressed" o.json.gz convert -o o.json.gz -
kept "convert, compressed" o.json.gz 'o\.[a-z2-7]{8}\.json\.gz'
check "convert, compressed: both endings stay" gzip -t "$other"
nothing_hidden "convert, compressed"

# --- recordings -----------------------------------------------------------------------------------------
if ! can_trace || ! capable_copy "$tmp/capable"; then
	skip "recordings" "this machine cannot record, or set file capabilities"
	finish
fi
begin_recording
cp "$programs/every_kind" "$tmp/every_kind" && chmod 755 "$tmp/every_kind"
# The names are taken before it has written anything. OPTIONS select what is written when.
dump=
records() { # NAME TAKEN-NAMES OPTION...
	name=$1 names=$2
	shift 2
	rm -f "$tmp/out" "$tmp/said"
	(exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups "$tmp/every_kind" 1 2 wait) <"$tmp/in" >"$tmp/out" &
	process=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	(exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups "$tmp/capable" -v -e none --dump-period 1h --summary-json s -p $process "$@") >"$tmp/said" 2>&1 9>&- &
	recorder=$!
	wait_for "$tmp/said" 'proftrace: recording'
	take $names
	echo >&9
	if [ -n "$dump" ]; then
		kill -USR2 $recorder
		wait_for "$tmp/said" 'proftrace: .*the last .* are in'
	fi
	exec 9>&-
	wait $process
	ends $recorder
	equal "$name: exit status" $? 1
}
records "record" "t.pftrace t.json s" -o t
kept "record" t.pftrace 't\.[a-z2-7]{8}\.pftrace'
check "record: the list of files has its name" grep -q "^$other  " "$tmp/said"
check "record: the Perfetto trace has all" "$proftrace" report -q "$other"
check "record: it ended in order" sh -c "! '$proftrace' report '$other' 2>&1 | grep -E 'truncated|missing'"
ours=$other
kept "record" t.json 't\.[a-z2-7]{8}\.json'
equal "record: both have the same" "$("$canon" "$other" | wc -l)" "$("$canon" "$ours" | wc -l)"
kept "record" s 's\.[a-z2-7]{8}'
never_else "record: the account adds up" "$(field "$other" adds_up)" true
equal "record: every mark is in both" "$(sed -n 's/.*"marks": \([0-9]*\),.*/\1/p' "$other" | sort -u)" "$(said "$tmp/out" total)"
check "record: --summary-json has its name" grep -q "\"path\": \"$ours\"" "$other"
nothing_hidden "record"
# These files are opened when they are written.
dump=yes
records "flight recorder" "t.pftrace" -o t.pftrace --flight-recorder 600s
kept "flight recorder" t.pftrace 't\.[a-z2-7]{8}\.pftrace'
check "flight recorder: it loads" "$proftrace" report -q "$other"
nothing_hidden "flight recorder"
# A name that is taken at the start is refused there.
take t.pftrace
as "$owner_uid" "$owner_gid" "$tmp/capable" -o t.pftrace -- true >"$tmp/said" 2>&1
never_else "taken before the start: refused" "$? $(grep -c "^proftrace: cannot write 't.pftrace': the existing file belongs to another user" "$tmp/said") $(ls -A)" "1 1 t.pftrace"
finish
