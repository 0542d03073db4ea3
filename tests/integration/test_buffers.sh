#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Several ring buffers: the marks of threads that move between CPUs are in all of them, and the result is the same
# as with one buffer.
. "$(dirname "$0")/lib.sh"
need_tracing
hops=$programs/hops
rounds=${ROUNDS:-200} preload=

record() { # NAME OPTION...
	name=$1
	shift
	env LD_PRELOAD="$preload" "$proftrace" -q -o "$tmp/$name" --summary-json "$tmp/$name.account" "$@" -- "$hops" "$rounds" >"$tmp/$name.said"
	equal "$name: exit status" $? 0
	check_account "$name" "$tmp/$name.account"
	equal "$name: marks" "$(field "$tmp/$name.account" written)" "$(said "$tmp/$name.said" marks)"
	# Each of these is an answer to what another thread did, most of them on another CPU.
	for mistake in async_unmatched frees_unknown unfinished open_at_end; do
		equal "$name: $mistake" "$(field "$tmp/$name.account" $mistake)" 0
	done
	check_agree "$name" "$tmp/$name"
}

for n in 1 2 4; do
	record "buffers-$n" --buffers $n
	equal "buffers-$n: there are so many" "$(field "$tmp/buffers-$n.account" buffers)" $n
done

# The default size, as the kernel shows it of the recorder's descriptors.
default_size() { # NAME BYTES OPTION... (27: BPF_MAP_TYPE_RINGBUF)
	name=$1 bytes=$2
	shift 2
	largest=$("$proftrace" -q -e none -o "$tmp/size" "$@" -- sh -c 'exec cat "/proc/$PPID/fdinfo"/*' |
		awk '/^map_type:/ { type = $2 } /^max_entries:/ && type == 27 { print $2 }' | sort -n | tail -1)
	equal "$name: size of the ring buffer" "$largest" "$bytes"
}

cpus=$(getconf _NPROCESSORS_ONLN)
if [ "$cpus" -le 4 ]; then
	marks_alone=$((16 << 20))
	[ "$cpus" -le 2 ] || marks_alone=$((32 << 20))
	default_size "marks alone" $marks_alone
	default_size "marks alone, two rings" $((marks_alone / 2)) --buffers 2
	for options in '--mode batch' '--mode auto' --sched --syscalls '--sample 99' '--stack a' '--offcpu 1s'; do
		# shellcheck disable=SC2086 # an option and its value
		default_size "$options" $((64 << 20)) $options
	done
else
	skip "the size of the ring buffer" "with more than 4 CPUs the default is always 64M"
fi
default_size "--buffer 8M" $((8 << 20)) --buffer 8M --buffers 1

if [ "$(said "$tmp/buffers-4.said" moves)" -gt 0 ]; then
	ok "threads moved $(said "$tmp/buffers-4.said" moves) times"
else
	skip "threads move" "this machine has one CPU"
fi
"$canon" "$tmp/buffers-1.pftrace" | wc -l >"$tmp/one"
"$canon" "$tmp/buffers-4.pftrace" | wc -l >"$tmp/four"
check "one and four: as much in the file" cmp "$tmp/one" "$tmp/four"
record batch --buffers 4 --mode batch-now
record sched --buffers 4 --sched
rounds=20 preload=$programs/later_libbpf.so
record later-libbpf

# What is dead in the programs is removed before the kernel sees them, whichever libbpf there is.
for maps in early late; do
	env $(test $maps = late || echo EARLY_MAPS=1) LOADED="$tmp/$maps" LD_PRELOAD="$preload" \
		"$proftrace" -q -e none -o "$tmp/loaded" -- true 2>/dev/null
	sort "$tmp/$maps" >"$tmp/$maps.sorted"
done
check "programs are loaded" test -s "$tmp/early.sorted"
check "a later libbpf: the programs are as short" cmp "$tmp/early.sorted" "$tmp/late.sorted"

# The recorder is stopped while the program marks: all buffers are full, one after the other.
mkfifo "$tmp/in"
"$programs/every_kind" 4 3000 wait <"$tmp/in" >"$tmp/out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/out" ready
"$proftrace" -q -p $target --buffer 256K --buffers 4 -o "$tmp/full" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
for _ in $(seq 1 200); do
	[ -e "$tmp/full.pftrace" ] && break
	sleep 0.05
done
kill -STOP $recorder
echo go >&9
exec 9>&-
wait_for "$tmp/out" total
kill -CONT $recorder
wait $target
wait $recorder
equal "full: the account adds up" "$(field "$tmp/s" adds_up)" true
equal "full: written + lost = the program's own count" \
	"$(($(field "$tmp/s" written) + $(field "$tmp/s" lost_total)))" "$(said "$tmp/out" total)"
check "full: something was lost" test "$(field "$tmp/s" buffer_full)" -gt 0
check "full: others' buffers were used before" test "$(field "$tmp/s" rescued)" -gt 0
check_agree "full" "$tmp/full"

usage() { # NAME OPTION...
	name=$1
	shift
	"$proftrace" -q "$@" -- true >"$tmp/usage" 2>&1
	equal "$name" $? 2
}
usage "no buffer at all" --buffers 0
usage "too many" --buffers 33
usage "no number" --buffers 4x
usage "so many in so little" --buffers 8 --buffer 256K
usage "where no events are written" --stats-only --buffers 2
finish
