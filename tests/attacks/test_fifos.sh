#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user puts FIFOs, and links to them, in a sticky directory under the names of outputs.
. "$(dirname "$0")/lib.sh"
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other || { skip "FIFOs" "cannot make users"; finish; }
cp "$proftrace" "$attacks/fifo_reader" "$programs/every_kind" "$tmp" && chmod 755 "$tmp/proftrace" "$tmp/fifo_reader" "$tmp/every_kind"
# The group may write: with mode 1777, protected_fifos of the kernel would help some of the victims.
mkdir "$tmp/shared" && chmod 1777 "$tmp/shared"
cd "$tmp/shared" || exit 1
printf '[{"ph":"X","name":"secret","pid":1,"tid":1,"ts":1,"dur":2}]' >"$tmp/t.json"
mkfifo "$tmp/hold"
as "$made_uid" "$made_gid" "$tmp/fifo_reader" o.pftrace o.json c.json r.svg s.json m.pftrace <"$tmp/hold" >"$tmp/reader" 2>&1 &
reader=$!
exec 9>"$tmp/hold"
wait_for "$tmp/reader" ready || finish
as "$made_uid" "$made_gid" ln -s o.json link.json

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
	# -o refuses what is no regular file; the default name and --summary-json are chosen otherwise.
	"$proftrace" -q --sample 997 -o "$tmp/sampled.pftrace" -- "$programs/sampled" >/dev/null
	chmod 644 "$tmp/sampled.pftrace"
	refused "report --flame" "$owner_uid" "$owner_gid" "$tmp/proftrace" report --flame -o r.svg "$tmp/sampled.pftrace"
	refused "--summary-json" 0 0 "$tmp/proftrace" -q -o here.json --summary-json s.json -- "$tmp/every_kind" 1 1
	"$tmp/every_kind" 1 100000000 >/dev/null 2>&1 &
	pid=$!
	as "$made_uid" "$made_gid" ln -s o.pftrace "proftrace-every_kind-$pid.pftrace"
	refused "the default name" 0 0 "$tmp/proftrace" -q -d 100ms -p $pid
	kill $pid
else
	skip "the default name" "this machine cannot record"
fi
mkfifo own.json
"$tmp/proftrace" convert -q -o own.json "$tmp/t.json" &
check "one's own FIFO is written to" grep -q secret own.json
wait $!
exec 9>&-
wait $reader
never_else "nothing arrived, and nobody opened them" "$(said "$tmp/reader" bytes)" 0
finish
