#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A thread has a buffer for each file in which it marks. However many there are, their contents at the end of the
# thread are recorded, also those of buffers from before the recording. What exceeds the limits is counted.
. "$(dirname "$0")/lib.sh"
need_tracing
need_batches "many batches"
many=$programs/many_batches
libraries=${LIBRARIES:-24}
batches=${BATCHES:-3000}
most=8192 # of one thread: BATCHES_MOST in bpf/event.h
# Each takes some of the room that the C library keeps for what is loaded late.
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536

# Before Linux 6.16 the kernel tells of a thread's end when its memory is gone, before 6.10 of an exec, too:
# then what is missing is not more than what was counted as not read, two marks of each batch.
whole() { # NAME MADE
	marked=$(field "$tmp/s" marked) unread=$(field "$tmp/s" batches_unread)
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	if [ "$marked" -lt "$2" ] && [ $((marked + 2 * unread)) -ge "$2" ]; then
		skip "$1: all marks" "this kernel told of the end when the memory was gone: $marked of $2"
		return
	fi
	check_account "$1" "$tmp/s"
	equal "$1: all marks" "$marked" "$2"
	equal "$1: all are written" "$(field "$tmp/s" written)" "$2"
	check_agree "$1" "$tmp/t"
}

ends() { # HOW N LIBRARY...
	"$proftrace" -q --mode batch-now -o "$tmp/t" --summary-json "$tmp/s" -- "$many" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
	status=$?
	made=$(($(said "$tmp/out" made) + $(said "$tmp/out" again)))
}

ends return 100
equal "a thread ends: exit status" $status 0
equal "a thread ends: marks" "$made" 200
whole "a thread ends" 200
ends exec 100
whole "a thread executes a program" "$made"
ends return "$batches"
whole "a thread with $batches" "$made"

# Of a program that has marks in so many libraries, killed.
for i in $(seq "$libraries"); do
	cp "$programs/part.so" "$tmp/part$i.so"
done
ends kill 100 "$tmp"/part*.so
equal "$libraries libraries: exit status" $status 137
equal "$libraries libraries: marks" "$made" $((2 * (100 + libraries)))
whole "$libraries libraries" "$made"

# --- more than are remembered -----------------------------------------------------------------------------

ends return $((most + 500))
equal "too many: the account adds up" "$(field "$tmp/s" adds_up)" true
check "too many: $(field "$tmp/s" marked) of $made marks" test "$(field "$tmp/s" marked)" -le "$made"
if [ "$(field "$tmp/s" batches_unread)" -gt 500 ]; then
	skip "too many: they are counted" "this kernel tells of a thread's end when its memory is gone"
else
	equal "too many: they are counted" "$(field "$tmp/s" batches_unread)" 500
	check "too many: the others have all their marks" test "$(field "$tmp/s" marked)" -ge $((2 * most))
	check "too many: the trace says so" grep -q '"batches_unread":500' "$tmp/t.json"
fi

# --- those that were there before -------------------------------------------------------------------------

record() { # COMMAND: what is done meanwhile
	rm -f "$tmp/err"
	"$proftrace" --mode batch-now -p "$target" -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	"$@"
	wait $recorder
}

make_them() {
	echo >&9
	wait_for "$tmp/out" made
	kill -INT $recorder
}

# Recorded twice: the second time its thread has all its batches already, one in each library, and ends soon
# after.
n=$libraries
twice() { # NAME COMMAND...
	name=$1
	shift
	rm -f "$tmp/in" "$tmp/out"
	mkfifo "$tmp/in"
	exec 9<>"$tmp/in"
	"$@" "$many" kill 0 "$tmp"/part*.so <"$tmp/in" >"$tmp/out" 2>/dev/null 9>&- &
	shell=$!
	wait_for "$tmp/out" ready
	target=$(innermost $shell)
	record make_them
	equal "$name: the first time, marks" "$(field "$tmp/s" written)" "$n"
	equal "$name: the first time, all are read" "$(field "$tmp/s" batches_unread)" 0
	record eval "echo >&9"
	exec 9>&-
	wait $shell
}

twice "recorded twice"
whole "recorded twice" "$n"
if unshare --pid --fork true 2>/dev/null; then
	twice "recorded twice in a container" unshare --pid --fork
	whole "recorded twice in a container" "$n"
else
	skip "recorded twice in a container" "unshare is not permitted here"
fi
check_nothing_left "many batches"
finish
