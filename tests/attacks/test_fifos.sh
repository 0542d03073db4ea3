#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user puts FIFOs, and links to them, in a sticky directory under the names of outputs.
. "$(dirname "$0")/lib.sh"
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other || { skip "FIFOs" "cannot make users"; finish; }
cp "$proftrace" "$attacks/fifo_reader" "$programs/every_kind" "$programs/storm" "$tmp" && chmod 755 "$tmp"/*
# The group may write: with mode 1777, protected_fifos of the kernel would help some of the victims.
mkdir "$tmp/here-0" "$tmp/here-$owner_uid" && chown "$owner_uid" "$tmp/here-$owner_uid"
mkdir "$tmp/shared" && chmod 1777 "$tmp/shared"
cd "$tmp/shared" || exit 1
printf '[{"ph":"X","name":"secret","pid":1,"tid":1,"ts":1,"dur":2}]' >"$tmp/t.json"
# The programs that are recorded later, without -o: the attacker knows the names of the outputs from their numbers.
mkfifo "$tmp/hold" "$tmp/stays"
exec 8<>"$tmp/stays"
targets=
for victim in "$owner_uid $owner_gid" "0 0"; do
	for _ in fifo link; do
		(exec setpriv --reuid="${victim% *}" --regid="${victim#* }" --clear-groups "$tmp/storm" 1 1000 <"$tmp/stays" >/dev/null 2>&1) &
		targets="$targets $!"
	done
done
trap 'kill $targets 2>/dev/null; remove_test_users; rm -rf "$tmp"' EXIT
set -- $targets
as "$made_uid" "$made_gid" "$tmp/fifo_reader" o.pftrace o.json c.json r.svg s.json m.pftrace \
	"proftrace-storm-$1.pftrace" "proftrace-storm-$3.pftrace" <"$tmp/hold" >"$tmp/reader" 2>&1 &
reader=$!
exec 9>"$tmp/hold"
wait_for "$tmp/reader" ready || finish
as "$made_uid" "$made_gid" ln -s o.json link.json
for target in $2 $4; do
	as "$made_uid" "$made_gid" ln -s o.pftrace "proftrace-storm-$target.pftrace"
done

# The control: what a program gives away that opens its output, which protected_fifos does not prevent without O_CREAT.
mkfifo "$tmp/other"
as "$made_uid" "$made_gid" "$tmp/fifo_reader" plain.json <"$tmp/other" >"$tmp/control" 2>&1 &
control=$!
exec 7>"$tmp/other"
wait_for "$tmp/control" ready || finish
for victim in "$owner_uid $owner_gid" "0 0"; do
	as $victim dd of=plain.json conv=nocreat,notrunc <"$tmp/t.json" 2>/dev/null 7>&- 8>&- 9>&-
done
exec 7>&-
wait $control
check "a program that opens the FIFO of another user gives its output away" test "$(said "$tmp/control" bytes)" -gt "$(stat -c %s "$tmp/t.json")"

refused() { # NAME UID GID COMMAND...
	what=$1 uid=$2 gid=$3
	shift 3
	as "$uid" "$gid" timeout 20 "$@" >"$tmp/out" 2>"$tmp/err"
	equal "$what: exit status" $? 1
	check "$what: says why" grep -qE "cannot write .*: the existing file belongs to another user" "$tmp/err"
}
for victim in "$owner_uid $owner_gid" "0 0"; do
	refused "convert ($victim)" $victim "$tmp/proftrace" convert -o c.json "$tmp/t.json"
	refused "merge ($victim)" $victim "$tmp/proftrace" merge -o m.pftrace "$tmp/t.json" "$tmp/t.json"
	refused "through a link ($victim)" $victim "$tmp/proftrace" convert -o link.json "$tmp/t.json"
done
if can_trace; then
	begin_recording
	"$proftrace" -q --sample 997 -o "$tmp/sampled.pftrace" -- "$programs/sampled" >/dev/null
	chmod 644 "$tmp/sampled.pftrace"
	capable_copy "$tmp/capable" || { capable= && skip "a recording without root" "file capabilities cannot be set here"; }
	# -o refuses what is no regular file; the default name and --summary-json are chosen otherwise.
	for victim in "$owner_uid $owner_gid" "0 0"; do
		refused "report --flame ($victim)" $victim "$tmp/proftrace" report --flame -o r.svg "$tmp/sampled.pftrace"
		[ "$victim" = "0 0" ] || [ -n "${capable-yes}" ] || continue
		[ "$victim" = "0 0" ] && recorder=$tmp/proftrace || recorder=$tmp/capable
		refused "--summary-json ($victim)" $victim "$recorder" -q -o "$tmp/here-${victim% *}/t.json" \
			--summary-json s.json -- "$tmp/every_kind" 1 1
		refused "the default name ($victim)" $victim "$recorder" -q -d 100ms -p $1
		refused "the default name, a link ($victim)" $victim "$recorder" -q -d 100ms -p $2
		shift 2
	done
else
	skip "the default name" "this machine cannot record"
fi
kill $targets
mkfifo own.json
"$tmp/proftrace" convert -q -o own.json "$tmp/t.json" &
check "one's own FIFO is written to" grep -q secret own.json
wait $!
exec 9>&-
wait $reader
never_else "nothing arrived, and nobody opened them" "$(said "$tmp/reader" bytes)" 0
finish
