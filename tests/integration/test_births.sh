#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Thousands of new threads per second: all their marks are in the trace or counted as lost, and their memory is
# bounded.
. "$(dirname "$0")/lib.sh"
need_tracing

# MOST_KB: what neither the recorder nor its broker (nor the program) may ever take.
buffer=8M
births() { # NAME MODE MILLISECONDS MOST_KB [OPTION...]
	named=$1 mode_of_it=$2 milliseconds=$3 most_of_it=$4
	shift 4
	timeout 60 "$programs/peak" "$tmp/peak" "$proftrace" -q "$@" --mode "$mode_of_it" --buffer $buffer -o "$tmp/t" \
		--summary-json "$tmp/s" -- "$programs/births" "$milliseconds" >"$tmp/out" 2>"$tmp/err"
	judge "$named" $? "$most_of_it"
}

# It waits until it is attached to; then all its threads are born.
attached() { # NAME MODE MILLISECONDS MOST_KB [OPTION...]
	named=$1 mode_of_it=$2 milliseconds=$3 most_of_it=$4
	shift 4
	rm -f "$tmp/in" "$tmp/out" "$tmp/err"
	mkfifo "$tmp/in"
	"$programs/births" "$milliseconds" wait <"$tmp/in" >"$tmp/out" &
	target=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	rm -f "$tmp/err"
	timeout 60 "$programs/peak" "$tmp/peak" "$proftrace" -p $target "$@" --mode "$mode_of_it" --buffer $buffer \
		-o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	echo >&9
	exec 9>&-
	wait $recorder
	status=$?
	wait $target
	equal "$named: the program ends well" $? 0
	judge "$named" $status "$most_of_it"
}

judge() { # NAME STATUS MOST_KB
	equal "$1: exit status" "$2" 0
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	# A batch of which nothing was known when its thread ended is malformed, though it may come again; and
	# one that nobody could read is counted as a batch.
	more=$(($(field "$tmp/s" marked) - $(said "$tmp/out" marks)))
	check "$1: every mark is in the account" test $more -le "$(field "$tmp/s" malformed)" -a \
		$((more + 4096 * $(field "$tmp/s" batches_unread))) -ge 0
	equal "$1: written + lost = marked" \
		"$(($(field "$tmp/s" written) + $(field "$tmp/s" lost_total)))" "$(field "$tmp/s" marked)"
	peak=$(said "$tmp/peak" peak) rate=$(said "$tmp/out" rate)
	check "$1: memory stays below $3 KB" test "$peak" -lt "$3"
	echo "# $1: $(said "$tmp/out" threads) threads, $rate a second; $peak KB"
}

for mode in exact batch; do
	# Of batches, half a gigabyte may wait for a thread that has no CPU.
	[ $mode = exact ] && most=131072 || most=655360
	births "$mode, 0.2 s" $mode 200 $most -e none
	before=$peak
	births "$mode, 2 s" $mode 2000 $most -e none
	check "$mode: no more memory for ten times as many" test $((peak - before)) -lt $((most / 2))
	check_agree "$mode" "$tmp/t"
	"$canon" --count "$tmp/t.pftrace" >"$tmp/counts"
	missing=$(($(said "$tmp/out" threads) - $(awk '$1 == "INSTANT" { n += $NF } END { print n + 0 }' "$tmp/counts")))
	check "$mode: each is in the trace, or is counted as lost" \
		test $missing -ge 0 -a $missing -le "$(field "$tmp/s" lost_total)"
	if [ "$rate" -ge 1000 ]; then
		ok "$mode: by the thousand a second"
	else
		skip "$mode: by the thousand a second" "this machine made only $rate a second"
	fi
	# What is lost counts once, though a batch comes again from who gets it next.
	buffer=64K
	births "$mode, little room" $mode 500 $most -e none
	echo "# $mode, little room: $(field "$tmp/s" lost_total) of $(field "$tmp/s" marked) marks are lost"
	buffer=8M
	# Each thread has counters of its own, which the kernel has to open and to close; batches have none.
	if [ $mode = exact ]; then
		births "$mode, with counters" $mode 500 $most
		check_agree "$mode, with counters" "$tmp/t"
		check "$mode, with counters: there are some" grep -q '"counters": \["' "$tmp/s"
		attached "$mode, attached, with counters" $mode 500 $most
		check "$mode, attached, with counters: there are some" grep -q '"counters": \["' "$tmp/s"
	fi
	attached "$mode, attached" $mode 500 $most -e none
	check_agree "$mode, attached" "$tmp/t"
done
finish
