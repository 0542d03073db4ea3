#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Buffered mode gives the same traces as exact mode, and loses nothing, however threads and programs end.
. "$(dirname "$0")/lib.sh"
need_tracing

batch="$proftrace -q --mode batch-now"

# The sum of what the threads of a program counted.
counted() { # FILE
	od -A n -t u8 -v "$1" | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n + 0 }'
}

# Before Linux 6.16 the kernel tells of a thread's end too late to read its buffer. Then all that is missing was in buffers
# that are counted as not read, each with at most 1365 marks (32 KiB, at least 24 bytes for a mark).
late=
! grep -q 'kernel before 6.16' "$tmp/check" || late=yes
unread() { # SUMMARY
	[ -n "$late" ] && field "$1" batches_unread || echo 0
}
whole() { # NAME GOT LEAST MOST [SUMMARY [MARKS, in each buffer at most]]
	unread=$(unread "${5:-$tmp/s}")
	least=$(($3 - ${6:-1365} * unread))
	if [ "$unread" -gt 0 ] && [ "$least" -le 0 ]; then
		skip "$1: all $3 marks" "$unread buffers were not read"
		return
	fi
	less=
	[ "$unread" -eq 0 ] || less=", but for $unread buffers: $2"
	check "$1: all $3 marks$less" test "$2" -ge "$least" -a "$2" -le "$4"
}

# --- every kind of mark, as in exact mode ---------------------------------------------------------------

$batch -e none -o "$tmp/b" --summary-json "$tmp/b.s" --strict -- "$programs/every_kind" 4 "${ROUNDS:-500}" >"$tmp/b.out"
equal "exit status" $? $(($(unread "$tmp/b.s") ? 3 : 0))
check_account "every kind" "$tmp/b.s"
n=$(said "$tmp/b.out" total)
whole "every kind" "$(field "$tmp/b.s" marked)" "$n" "$n" "$tmp/b.s"
check_agree "every kind" "$tmp/b"
"$proftrace" -q -e none -o "$tmp/x" --summary-json "$tmp/x.s" -- "$programs/every_kind" 4 "${ROUNDS:-500}" >/dev/null
"$canon" --count "$tmp/b.pftrace" >"$tmp/b.count"
"$canon" --count "$tmp/x.pftrace" >"$tmp/x.count"
if [ "$(unread "$tmp/b.s")" -gt 0 ]; then
	skip "the same as in exact mode" "this kernel tells of a thread's end when its memory is gone"
elif [ "$(field "$tmp/x.s" lost_total)" -ne 0 ]; then
	skip "the same as in exact mode" "which lost $(field "$tmp/x.s" lost_total) marks"
else
	check "the same as in exact mode" diff "$tmp/b.count" "$tmp/x.count"
fi

# --- marks that enter the kernel one by one, inside of slices that do not --------------------------------

for mode in batch exact; do
	"$proftrace" -q --mode $mode -e none -o "$tmp/i.$mode" --summary-json "$tmp/s" -- "$programs/scripted" \
		open "step 1 1" open name "slices 2" "step 1 2" close "slices 1" close >"$tmp/out"
	check_account "inside of slices, $mode" "$tmp/s"
	n=$(said "$tmp/out" total)
	whole "inside of slices, $mode" "$(field "$tmp/s" written)" "$n" "$n"
	[ $mode = exact ] || unread_inside=$unread
	check_agree "inside of slices, $mode" "$tmp/i.$mode"
	"$canon" --count "$tmp/i.$mode.pftrace" >"$tmp/i.$mode.count"
done
if [ "$unread_inside" -eq 0 ]; then
	check "inside of slices: the same as in exact mode" diff "$tmp/i.batch.count" "$tmp/i.exact.count"
else
	skip "inside of slices: the same as in exact mode" "this kernel tells of a thread's end when its memory is gone"
fi

# --- ends -----------------------------------------------------------------------------------------------

for how in return exit _exit abort segv; do
	rm -f "$tmp/n"
	$batch -o "$tmp/d" --summary-json "$tmp/s" -- "$programs/batches" dies "$tmp/n" $how >/dev/null 2>&1
	equal "ends by $how: marks made" "$(counted "$tmp/n")" 6
	whole "ends by $how" "$(field "$tmp/s" written)" 6 6
done

rm -f "$tmp/n"
$batch -o "$tmp/c" --summary-json "$tmp/s" -- "$programs/batches" comes "$tmp/n" ${CROWD:-300}
n=$(counted "$tmp/n")
whole "threads that come and go" "$(field "$tmp/s" written)" "$n" "$n" "$tmp/s" 7
check_account "threads that come and go" "$tmp/s"

rm -f "$tmp/n"
$batch -o "$tmp/f" --summary-json "$tmp/s" -- "$programs/batches" forks "$tmp/n" 30
n=$(counted "$tmp/n")
whole "forks" "$(field "$tmp/s" written)" "$n" "$n"
[ "$unread" -eq 0 ] || equal "forks: of each process one" "$unread" 31
check_account "forks" "$tmp/s"
check_agree "forks" "$tmp/f"

rm -f "$tmp/n"
: | $batch -o "$tmp/e" --summary-json "$tmp/s" -- "$programs/batches" exec "$tmp/n" >/dev/null
n=$(counted "$tmp/n")
whole "exec" "$(field "$tmp/s" written)" "$n" "$n"

# Killed in the middle: one mark for each thread may be made and not counted yet.
for i in 1 2 3; do
	rm -f "$tmp/n" "$tmp/out"
	$batch --buffer 256M -o "$tmp/k.pftrace" --summary-json "$tmp/s" -- \
		"$programs/batches" storm "$tmp/n" 2 >"$tmp/out" 2>"$tmp/err" &
	recorder=$!
	wait_for "$tmp/out" ready
	while [ "$(counted "$tmp/n")" -lt "${STORM:-200000}" ]; do :; done
	kill -KILL "$(said "$tmp/out" ready)"
	wait $recorder
	equal "killed: exit status" $? 137
	n=$(counted "$tmp/n")
	whole "killed, in the account" "$(field "$tmp/s" marked)" "$n" $((n + 2))
	equal "killed: the account adds up" "$(field "$tmp/s" adds_up)" true
done

# --- a thread that is silent ----------------------------------------------------------------------------

rm -f "$tmp/n" "$tmp/out"
mkfifo "$tmp/fifo"
exec 9<>"$tmp/fifo"
$batch -o "$tmp/q" --summary-json "$tmp/s" -- "$programs/batches" quiet "$tmp/n" <"$tmp/fifo" >"$tmp/out" 2>"$tmp/err" 9>&- &
recorder=$!
wait_for "$tmp/out" ready
on_disk() { [ "$("$canon" --count "$tmp/q.pftrace" 2>/dev/null | awk '{ n += $NF } END { print n + 0 }')" -ge 3 ]; }
for _ in $(seq 1 200); do
	on_disk && break
	sleep 0.05
done
check "a silent thread's marks are on disk while it lives" on_disk
exec 9>&-
wait $recorder
whole "a silent thread" "$(field "$tmp/s" written)" 4 4

# --- one recording after the other: the thread's batch is there already, and nobody tells of it ----------

rm -f "$tmp/n" "$tmp/out"
exec 9<>"$tmp/fifo"
"$programs/batches" asked "$tmp/n" <"$tmp/fifo" >"$tmp/out" 9>&- &
target=$!
wait_for "$tmp/out" ready
for round in 1 2; do
	made=$((6 * round - 3))
	rm -f "$tmp/err$round"
	"$proftrace" --mode batch-now -p $target -o "$tmp/r$round" --summary-json "$tmp/s" 2>"$tmp/err$round" 9>&- &
	recorder=$!
	wait_for "$tmp/err$round" "proftrace: recording"
	echo >&9
	wait_for "$tmp/out" "made $made"
	if [ $round -eq 1 ]; then
		kill -INT $recorder
	else
		kill -KILL $target
	fi
	wait $recorder
	whole "recording $round of one process" "$(field "$tmp/s" marked)" 3 3
	[ $round -eq 2 ] && break
	# Nobody records these.
	echo >&9
	wait_for "$tmp/out" "made $((made + 3))"
done
exec 9>&-
wait $target 2>/dev/null

# --- a program that is not position-independent: its buffers are below 4 GiB --------------------------------

exec 9<>"$tmp/fifo"
rm -f "$tmp/out" "$tmp/err"
"$programs/waits-static" 5 <"$tmp/fifo" >"$tmp/out" 9>&- &
target=$!
wait_for "$tmp/out" ready
"$proftrace" --mode batch-now -p $target -o "$tmp/low" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
echo >&9
wait_for "$tmp/out" marked
kill -INT $recorder
wait $recorder
whole "buffers below 4 GiB, in memory" "$(field "$tmp/s" written)" 10 10
echo >&9
exec 9>&-
wait $target

# --- begun and ended in the midst of it: nothing of what lies before or behind is a loss ------------------

exec 9<>"$tmp/fifo"
rm -f "$tmp/out"
"$programs/storm" 2 <"$tmp/fifo" >"$tmp/out" 9>&- &
target=$!
wait_for "$tmp/out" ready
short=0 missed=
for round in 1 2 3 4 5 6 7 8; do
	$batch --buffer 256M -d 50ms -p $target -o "$tmp/o.pftrace" --summary-json "$tmp/s" 9>&-
	[ "$(field "$tmp/s" buffer_full)" -eq 0 ] || continue
	short=$((short + 1))
	unread=$(field "$tmp/s" batches_unread)
	[ -z "$late" ] || unread=0 # some threads exit
	[ "$(field "$tmp/s" begin_lost) $unread" = "0 0" ] ||
		missed="$missed $(field "$tmp/s" begin_lost) $unread"
done
exec 9>&-
wait $target
if [ $short -ge 3 ]; then
	equal "short recordings of busy threads: nothing lost" "$missed" ""
else
	skip "short recordings of busy threads" "the machine was too busy for them: $short of 8 without a full buffer"
fi

# --- signal handlers ------------------------------------------------------------------------------------

rm -f "$tmp/n"
$batch --buffer 256M -o "$tmp/g.pftrace" --summary-json "$tmp/s" -- "$programs/batches" signals "$tmp/n" 1
n=$(counted "$tmp/n")
left=$(od -A n -t u8 -j 16 -N 8 "$tmp/n" | tr -d ' ')
made=$((n - left))
marked=$(field "$tmp/s" marked)
whole "signal handlers and longjmp" "$marked" "$made" $((made + left))
equal "signal handlers: the account adds up" "$(field "$tmp/s" adds_up)" true

# --- too little room: counted ----------------------------------------------------------------------------

rm -f "$tmp/n" "$tmp/out"
$batch --buffer 64K -o "$tmp/l.pftrace" --summary-json "$tmp/s" -- \
	"$programs/batches" storm "$tmp/n" 2 >"$tmp/out" 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/out" ready
while [ "$(counted "$tmp/n")" -lt $((${STORM:-200000} * 15)) ]; do :; done
kill -KILL "$(said "$tmp/out" ready)"
wait $recorder
equal "a small buffer: the account adds up" "$(field "$tmp/s" adds_up)" true
marked=$(field "$tmp/s" marked)
n=$(counted "$tmp/n")
whole "a small buffer, in the account" "$marked" "$n" $((n + 2))

# --- the processor's counter against the kernel's clock ---------------------------------------------------

clock_error=$root/build/tests/tools/clock_error
[ -x "$clock_error" ] || make -s -C "$root" build/tests/tools/clock_error >/dev/null 2>&1
if [ -x "$clock_error" ]; then
	for try in 1 2 3; do
		"$clock_error" 2 >"$tmp/clock"
		status=$?
		sed 's/^/# /' "$tmp/clock"
		[ $status -ne 1 ] && break
	done
	equal "placed by the counter, no time is 1 us off" $status 0
else
	skip "the counter against the clock" "$clock_error is not built"
fi

check_nothing_left "batches"
finish
