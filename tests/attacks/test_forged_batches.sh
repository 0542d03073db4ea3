#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program says that marks of it, which the kernel counts as lost, have come all the same: millions more than there are.
# What another user's program loses would seem to be written, or never made.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
need_batches "forged batches"
make_user forger || { skip "forged batches" "cannot make a user"; finish; }
mkfifo "$tmp/in"
start_recorder --mode batch --buffer 64K -e none -n forged_batches --wait --strict --summary-json "$tmp/s"
as "$made_uid" "$made_gid" "$attacks/forged_batches" 60 >"$tmp/forged" &
wait $!
"$attacks/forged_batches" 0 3000000 <"$tmp/in" >"$tmp/out" &
victim=$!
exec 9>"$tmp/in"
wait_for "$tmp/out" ready
exec 9>&-
wait $victim
kill -TERM $recorder
wait $recorder
status=$?
equal "batches were forged" "$(said "$tmp/forged" marked)" 60
if [ "$(field "$tmp/s" written)" -ge "$(said "$tmp/out" marked)" ]; then
	skip "what is lost is counted" "nothing was lost"
else
	equal "a recording with losses is not complete" $status 3
	check "what is lost is counted" test "$(field "$tmp/s" marked)" -ge "$(said "$tmp/out" marked)"
	equal "the account adds up" "$(field "$tmp/s" adds_up)" true
fi
# What it claims to have marked is nowhere.
check "what is forged is malformed" test "$(field "$tmp/s" malformed)" -ge 60
finish
