#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorder that runs out of memory: refused it, it says so and what it wrote loads; killed for it, what
# it recorded goes on, and nothing stays behind.
. "$(dirname "$0")/lib.sh"
need_tracing
cgroup=
trap 'if [ -n "$cgroup" ]; then rmdir "$cgroup"; fi 2>/dev/null; rm -rf "$tmp"' EXIT

# From too little to begin with to enough: somewhere in between it runs out in the midst. Its programs may
# have what they want.
failed=0 succeeded=0 bad=0
short=0
for work in "names 200000" "allocs 200000"; do
	for limit in 16 20 21 22 24 34 512; do
		rm -f "$tmp/t".* "$tmp/s"
		(
			ulimit -c 0 && ulimit -S -v $((limit * 1024)) &&
				exec timeout 60 "$proftrace" -q --buffer 1M -o "$tmp/t" --summary-json "$tmp/s" -- \
					sh -c "ulimit -S -v unlimited && exec $programs/hostile $work"
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
			[ "$(grep -c -e ': Cannot allocate memory$' -e '^hint: .*limit on memory' "$tmp/err")" -eq 2 ] ||
				why="$why, not why"
		fi
		if [ -s "$tmp/s" ]; then
			[ "$(field "$tmp/s" adds_up)" = true ] || why="$why, does not add up"
			[ "$(said "$tmp/out" marks)" = "${work#* }" ] || why="$why, the program did not end well"
		fi
		for file in "$tmp"/t.*; do
			[ ! -e "$file" ] || "$canon" "$file" >/dev/null 2>&1 || why="$why, ${file##*.} does not load"
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

# A control group that kills what takes more than its share.
limit_memory() { # BYTES
	if [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
		cgroup=/sys/fs/cgroup/memory/proftrace-test-$$
		mkdir "$cgroup" && echo "$1" >"$cgroup/memory.limit_in_bytes"
	elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control; then
		cgroup=/sys/fs/cgroup/proftrace-test-$$
		mkdir "$cgroup" && echo "$1" >"$cgroup/memory.max"
	else
		return 1
	fi
} 2>/dev/null
if ! limit_memory 30000000; then
	skip "killed for its memory" "no control group can limit it here"
	finish
fi
mkfifo "$tmp/in"
"$programs/storm" 2 <"$tmp/in" >"$tmp/storm.out" &
storm=$!
exec 9>"$tmp/in"
wait_for "$tmp/storm.out" ready
(
	echo 0 >"$cgroup/cgroup.procs" && exec timeout -s INT 60 "$proftrace" -q -p $storm --buffer 1M \
		--flight-recorder 600s --flight-memory 2G --trigger 'slice:never>1h' -o "$tmp/k" 9>&-
) 2>"$tmp/err"
status=$?
echo "# status $status: $(cat "$tmp/err")"
check "killed for its memory: it was" test $status -gt 128 -o $status -eq 1
exec 9>&-
wait $storm
equal "killed for its memory: the program ends well" $? 0
equal "killed for its memory: its switch is off" "$(said "$tmp/storm.out" switch)" 0
equal "killed for its memory: no file is left half-written" "$(ls -A "$tmp" | grep -c '^\.k')" 0
check_nothing_left "killed for its memory"
for _ in $(seq 1 100); do
	rmdir "$cgroup" 2>/dev/null && break
	sleep 0.05
done
check "killed for its memory: none of its processes is left" test ! -d "$cgroup"
cgroup=
finish
