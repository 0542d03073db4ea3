#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A full ring buffer loses marks, and each of them is accounted for.
. "$(dirname "$0")/lib.sh"
need_tracing
rounds=${ROUNDS:-3000}

# The recorder is stopped while the program marks: the buffer must overflow.
mkfifo "$tmp/in"
"$programs/every_kind" 4 "$rounds" wait <"$tmp/in" >"$tmp/out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/out" ready
"$proftrace" -q -p $target --buffer 64K -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
for _ in $(seq 1 200); do
	[ -e "$tmp/t.pftrace" ] && break
	sleep 0.05
done
check "the recording has begun" test -e "$tmp/t.pftrace"
kill -STOP $recorder
echo go >&9
exec 9>&-
wait_for "$tmp/out" total
kill -CONT $recorder
wait $target
wait $recorder
equal "the account adds up" "$(field "$tmp/s" adds_up)" true
equal "written + lost = the program's own count" \
	"$(($(field "$tmp/s" written) + $(field "$tmp/s" lost_total)))" "$(said "$tmp/out" total)"
check "something was lost" test "$(field "$tmp/s" buffer_full)" -gt 0
check_agree "flooded" "$tmp/t"
check "the trace says where" grep -q 'events lost' "$tmp/t.json"

"$proftrace" -q --strict --buffer 64K -o "$tmp/u" --summary-json "$tmp/s" -- \
	sh -c "kill -STOP \$PPID; (sleep 0.3; kill -CONT \$PPID) & $programs/every_kind 1 $((7 * rounds)) >/dev/null; wait" 2>/dev/null
equal "--strict: exit 3 when something is lost" $? 3
finish
