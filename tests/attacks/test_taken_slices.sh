#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program of another user begins asynchronous slices with ids that it has chosen such that the kernel's table would
# take them for those of another program: that one's ends would end them, and its durations would be wrong.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user taker || { skip "taken slices" "cannot make a user"; finish; }
mkfifo "$tmp/victim" "$tmp/taker"
"$proftrace" --stats-only --strict --summary-json "$tmp/s" -n taken_slices --wait 2>"$tmp/recorder" &
recorder=$!
wait_for "$tmp/recorder" "proftrace: recording"
"$attacks/taken_slices" <"$tmp/victim" >"$tmp/request" &
victim=$!
exec 8>"$tmp/victim"
wait_for "$tmp/request" began
# The victim must see the end of its input.
(exec 8>&-; as "$made_uid" "$made_gid" "$attacks/taken_slices" "$(said "$tmp/request" began)") <"$tmp/taker" >"$tmp/taken" &
taker=$!
exec 9>"$tmp/taker"
wait_for "$tmp/taken" began
exec 8>&-
wait $victim
exec 9>&-
wait $taker
kill -TERM $recorder
wait $recorder
equal "status" $? 0
check "slices were begun to be taken" test "$(said "$tmp/taken" began)" -ge 100
check "no slice is shorter than it was" \
	test "$(awk -F 'min_ns": ' '/"name": "request"/ { print int($2) }' "$tmp/s")" -ge "$(said "$tmp/request" lasted)"
equal "each slice ends once" "$(field "$tmp/s" async_unmatched) $(field "$tmp/s" open_at_end) $(field "$tmp/s" unfinished)" "0 0 0"
equal "all marks are counted" "$(field "$tmp/s" written)" "$((2 + 2 * $(said "$tmp/taken" began)))"
finish
