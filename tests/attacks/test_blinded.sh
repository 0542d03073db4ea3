#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user maps the program that root is going to record, and spoils the semaphores in memory of its own, so that the
# kernel refuses to attach to all processes of this file. Each process that is recorded is recorded all the same.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user stranger || { skip "blinded" "cannot make a user"; finish; }
mkfifo "$tmp/in" "$tmp/blinds"
cp "$programs/every_kind" "$tmp/target"
marks() { said "$1" total; }

as "$made_uid" "$made_gid" "$root/build/tests/attacks/blind" "$tmp/target" <"$tmp/blinds" >"$tmp/blind" &
blind=$!
exec 8>"$tmp/blinds"
wait_for "$tmp/blind" ready
start_recorder -n target --wait --strict --summary-json "$tmp/s.json" 8>&-
"$tmp/target" 1 10 8>&- >"$tmp/1"
"$tmp/target" 2 20 8>&- >"$tmp/2" &
second=$!
"$tmp/target" 1 30 8>&- >"$tmp/3"
wait $second
kill -TERM $recorder
ends $recorder
never_else "processes that begin later are recorded, or it is said that they are not" \
	"$(($(field "$tmp/s.json" marked) >= $(marks "$tmp/1") + $(marks "$tmp/2") + $(marks "$tmp/3")))$(field "$tmp/s.json" files_refused)" 10
check "and it is said why each is attached to by itself" grep -q "target' is attached to for each process by itself" "$tmp/said"
exec 8>&-
wait $blind
finish
