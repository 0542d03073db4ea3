#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorder without memory: if an allocation fails, a message says so and the files load; if the kernel kills it,
# the recorded program goes on, and nothing stays behind.
. "$(dirname "$0")/lib.sh"
need_tracing
cgroup=
rounds=30000
trap 'if [ -n "$cgroup" ]; then rmdir "$cgroup"; fi 2>/dev/null; rm -rf "$tmp"' EXIT

# From too little to begin with to enough: somewhere in between it runs out in the midst. Its programs may
# have what they want, and compute what they do alone.
"$programs/checksum" 1 500 <&- >"$tmp/alone"
wanted=$(said "$tmp/alone" sum)
check "there is a result" test -n "$wanted"
failed=0 succeeded=0 bad=0
short=0
for work in "names 200000" "allocs 200000"; do
	for limit in 10 11 12 13 16 24 512; do
		rm -f "$tmp/t".* "$tmp/s"
		(
			ulimit -c 0 && ulimit -S -v $((limit * 1024)) &&
				exec timeout 60 "$proftrace" -q --buffer 1M -o "$tmp/t" --summary-json "$tmp/s" -- \
					sh -c "ulimit -S -v unlimited && echo began && $programs/hostile $work && exec $programs/checksum 1 500 <&-"
		) >"$tmp/out" 2>"$tmp/err"
		status=$? why=
		case $status in
		0) succeeded=$((succeeded + 1)) ;;
		1) failed=$((failed + 1)) ;;
		*) why="status $status" ;;
		esac
		[ $status -eq 0 ] || grep -q '^proftrace: ' "$tmp/err" || why="$why, said nothing"
		! grep -v -e '^proftrace: ' -e '^hint: ' "$tmp/err" >"$tmp/other" || why="$why, in other words"
		if grep -q -e 'cannot load' -e "the kernel's buffers" "$tmp/err"; then
			short=$((short + 1))
			[ "$(grep -c -e ': Cannot allocate memory$' -e '^hint: .*memory limits' "$tmp/err")" -eq 2 ] ||
				why="$why, not why"
		fi
		if [ -s "$tmp/s" ]; then
			[ "$(field "$tmp/s" adds_up)" = true ] || why="$why, does not add up"
		fi
		# Where it could not begin the program did not either; else it ends, with or without a recorder.
		if [ "$(head -1 "$tmp/out")" = began ]; then
			wait_for "$tmp/out" sum
			[ "$(said "$tmp/out" marks) $(said "$tmp/out" sum)" = "${work#* } $wanted" ] ||
				why="$why, the program computed $(tr '\n' ' ' <"$tmp/out")"
		elif [ $status -eq 0 ] || [ -s "$tmp/out" ] || [ -e "$tmp/s" ]; then
			why="$why, the program did not run"
		fi
		for file in "$tmp"/t.*; do
			[ -e "$file" ] || continue
			"$proftrace" report "$file" >/dev/null 2>"$tmp/report" || why="$why, ${file##*.} does not load"
			ended=0
			! grep -qE 'truncated|the end is missing|aborted' "$tmp/report" || ended=1
			[ $ended -eq "$(grep -c "^proftrace: cannot write '$file'" "$tmp/err")" ] ||
				why="$why, ${file##*.} says of its end: $(cat "$tmp/report")"
		done
		echo "# $work with $limit MB: status $status: $(head -1 "$tmp/err")"
		[ -z "$why" ] || {
			bad=$((bad + 1))
			echo "# $work with $limit MB: $why: $(head -3 "$tmp/err" | tr '\n' ' ')"
		}
	done
done
equal "refused memory: each time it ends in order" $bad 0
check "refused memory: there were such" test $failed -gt 0
if [ $short -gt 0 ]; then
	ok "refused memory: for the programs, or the buffers, in the kernel, it says so"
else
	skip "refused memory: for the programs, or the buffers, in the kernel" "it had enough for them each time"
fi
check "enough memory: there was such, too" test $succeeded -gt 1

if ! make_memory_group; then
	skip "killed for its memory" "no control group can limit it here"
	finish
fi

# One program computes, another one allocates without end: that the recorder keeps book of. It records both,
# and may have four megabytes more than it has when there are files: that is a tenth of what it would take.
"$programs/checksum" 2 "$rounds" <&- >"$tmp/alone"
mkfifo "$tmp/in" "$tmp/go"
rm -f "$tmp/out"
"$programs/checksum" 2 "$rounds" <"$tmp/in" >"$tmp/out" &
target=$!
exec 9>"$tmp/in"
"$programs/hostile" allocs 400000 wait <"$tmp/go" >"$tmp/allocs" 9>&- &
hungry=$!
exec 8>"$tmp/go"
wait_for "$tmp/out" ready
wait_for "$tmp/allocs" ready
rm -f "$tmp/err"
(
	echo 0 >"$cgroup/cgroup.procs" && exec timeout -s INT 60 "$proftrace" -e none -p $target,$hungry --buffer 1M \
		--dump-period 50ms -o "$tmp/k" 8>&- 9>&-
) 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
for _ in $(seq 1 400); do [ -s "$tmp/k.json" ] && [ -s "$tmp/k.pftrace" ] && break; sleep 0.05; done
echo $(($(cat "$cgroup/$usage") + 4000000)) >"$cgroup/$limit"
echo go >&8
wait $recorder
status=$?
exec 8>&-
echo "# status $status: $(cat "$tmp/err")"
equal "killed for its memory: it was" $status 137
check "killed for its memory: the kernel says that it did" test "$(said "$cgroup/$kills" oom_kill)" -gt 0
wait $hungry
equal "killed for its memory: who was the cause ends well" "$? $(said "$tmp/allocs" marks)" "0 400000"
wait_for "$tmp/out" sum
exec 9>&-
wait $target
equal "killed for its memory: the program ends well" $? 0
never_else "killed for its memory: its result is the same, its semaphore off, its code as before" \
	"$(said "$tmp/out" sum) $(said "$tmp/out" semaphore)$(said "$tmp/out" code)" "$(said "$tmp/alone" sum) 00"
for kind in json pftrace; do
	check "killed for its memory: the $kind loads" "$canon" "$tmp/k.$kind"
	"$canon" --count "$tmp/k.$kind" >"$tmp/count"
	check "killed for its memory: the $kind holds marks of the program" grep -q '^BEGIN round ' "$tmp/count"
	"$proftrace" report "$tmp/k.$kind" >"$tmp/table" 2>"$tmp/report"
	check "killed for its memory: the $kind says that its end is missing" \
		grep -qE 'truncated|the end is missing' "$tmp/report"
done
equal "killed for its memory: no temporary file is left" "$(find "$tmp" -name '.*' | wc -l)" 0
check_nothing_left "killed for its memory"
for _ in $(seq 1 100); do
	rmdir "$cgroup" 2>/dev/null && break
	sleep 0.05
done
check "killed for its memory: none of its processes is left" test ! -d "$cgroup"
cgroup=
finish
