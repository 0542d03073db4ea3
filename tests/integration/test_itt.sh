#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ITT: a program that is annotated for it, and knows nothing of proftrace, counts its own calls. Both traces hold exactly
# those, late or from the first instruction, and beside another tool, which counts the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/annotations.sh"

# Nobody records.
printf 'begin\nwork\ncount\nend\nbad\nopen\nfini\n' | INTEL_LIBITTNOTIFY64=$annotations "$programs/itt" 4 10 >"$tmp/out" 2>&1
equal "nobody records: exit status" "$? $(tail -1 "$tmp/out")" "0 done"
check_chains INTEL_LIBITTNOTIFY64 PROFTRACE_ITT_CHAIN "$programs/itt" 1 1
need_tracing

series() { # FILE COUNTER: its values, in order, without quotes
	"$canon" "$1" | sed -n "s/.* COUNTER [0-9]* $2 //p" | xargs
}

export INTEL_LIBITTNOTIFY64=$annotations
for mode in $(batch_modes); do
	start_service "$programs/itt" 4 25
	tell count
	check_attached $mode
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		equal "$mode, $kind: ids are arguments" \
			"$(grep -c ' BEGIN [0-9]* early_string early.domain id=n:[0-9]* parent=n:77$' "$tmp/canon")" 200
		equal "$mode, $kind: metadata" "$(grep -c ' INSTANT [0-9]* key itt.domain value=n:-1 1=n:[0-9]* 2=n:1073741824$' "$tmp/canon") $(
			grep -c ' INSTANT [0-9]* key itt.domain value=d:[0-9]*\.5$' "$tmp/canon") $(
			grep -c ' INSTANT [0-9]* texts itt.domain value=s:"not all"$' "$tmp/canon")" "200 200 200"
		equal "$mode, $kind: counters" "$(grep -c ' COUNTER [0-9]* whole n:[0-9]*$' "$tmp/canon") $(
			grep -c ' COUNTER [0-9]* part d:[0-9]*\.5$' "$tmp/canon")" "$(said "$tmp/out" 'counts whole') $(said "$tmp/out" 'counts part')"
		equal "$mode, $kind: markers of the process" "$(awk '$3 == "INSTANT" && $5 == "moment" && $2 == 0' "$tmp/canon" | wc -l)" 200
	done
	equal "$mode: threads have their names" "$(grep -o '"name":"worker [0-3]"' "$tmp/t.json" | sort -u | wc -l)" 4

	# What began before, what never ends; counters go on from what was added while nobody recorded.
	start_service "$programs/itt" 1 1
	tell begin
	tell count
	attach --mode $mode
	tell end
	tell open
	tell count
	tell sync
	tell sync
	tell fini
	end_service "$mode: cut"
	equal "$mode: cut: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$mode: cut: overlapped tasks that began before" "$(field "$tmp/s" async_unmatched)" 16
	equal "$mode: cut: a task that began before" "$(field "$tmp/s" lost_total)" 1
	equal "$mode: cut: what never ended" "$(($(field "$tmp/s" open_at_end) + $(field "$tmp/s" unfinished)))" 2
	for kind in json pftrace; do
		equal "$mode: cut, $kind: counters go on" "$(series "$tmp/t.$kind" added) $(series "$tmp/t.$kind" early_counter) $(
			series "$tmp/t.$kind" whole)" 'n:2000 n:2 s:18446744073709551613 s:18446744073709551608'
		equal "$mode: cut, $kind: locks are counted" "$(counted "$tmp/t.$kind" 'ITT sync_acquired')" 2
	done

	# What no program should do is counted.
	start_service "$programs/itt" 1 1
	attach --mode $mode
	tell bad
	end_service "$mode: bad calls"
	for kind in json pftrace; do
		equal "$mode: bad calls, $kind: each is counted" "$(for what in 'ITT counters that were not created' \
			'ITT events that were not created' 'ITT functions of an unknown name' 'ITT objects of an unsupported kind' \
			'ITT values of an unknown type' 'ITT tasks with times whose beginning is not known' \
			'ITT clocks that were not created' 'ITT times that are impossible' 'ITT histograms that were not created' \
			'ITT tracks that were not created'; do
			counted "$tmp/t.$kind" "$what"; done | xargs)" "3 3 3 6 9 9 3 3 3 3"
	done
done

# Tasks and markers that come with their times, by the clock of a device; begun while nobody records, or ended then.
for mode in $(batch_modes); do
	start_service "$programs/itt" 1 1
	tell begintimed
	attach --mode $mode
	tell endtimed
	tell timed
	tell relate
	tell histogram
	tell begintimed
	end_service "$mode: times of a device"
	equal "$mode: times of a device: the account adds up" "$(field "$tmp/s" adds_up)" true
	sed -n 's/^timed //p' "$tmp/out" | sort >"$tmp/wanted"
	equal "$mode: times of a device: there are some" "$(wc -l <"$tmp/wanted")" 7
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		sed -nE 's/^[0-9]+ 0 (SLICE|INSTANT)_AT ([0-9]+) (outer|inner|late|moment|whole|\(function\)) itt.domain /\3 \2 /p' "$tmp/canon" |
			sed -E 's/until=([0-9]+) /\1 /' | sort >"$tmp/got"
		# The clock was read a moment beside ours, on a busy machine.
		equal "$mode, $kind: times of a device: each is where it was" "$(paste -d' ' "$tmp/wanted" "$tmp/got" | awk '
			function near(a, b) { return a - b <= 1000000 && b - a <= 1000000 }
			$1 == $5 && near($2, $6) && near($3, $7) && $7 - $6 >= $3 - $2 - 1 && $7 - $6 <= $3 - $2 + 1 && index($0, "on=\"" $4 "\"") { n++ }
			END { print n + 0, NR }')" "7 7"
		equal "$mode, $kind: times of a device: ids and functions" "$(grep -c ' outer itt.domain .*id=n:11 parent=n:10$' "$tmp/canon") $(
			grep -c ' (function) itt.domain .*function=s:"0x1234"$' "$tmp/canon") $(
			grep -c ' moment itt.domain .*id=n:11$' "$tmp/canon")" "1 1 1"
		equal "$mode, $kind: a counter's value with its time" "$(grep -c ' INSTANT_AT [0-9]* whole itt.domain .*value=n:4096$' "$tmp/canon") $(
			series "$tmp/t.$kind" whole)" "1 n:4096"
		equal "$mode, $kind: relations" "$(sed -nE 's/.* INSTANT [0-9]+ (is .*|key) itt.domain (.*)/\1 \2/p' "$tmp/canon" | sort | tr '\n' ';')" \
			"is dependent on tail=n:21;is parent of tail=n:22;is predecessor to head=n:21 tail=n:22;is related to head=n:21 tail=n:22;key id=n:21;"
		# From the parent to its child, and from the task to the one that depends on it; the last task's arrow has no end.
		equal "$mode, $kind: arrows" "$(sed -nE 's/.* (FLOW_[A-Z]+) [0-9]+ (id=.*)/\2 \1/p' "$tmp/canon" | sort |
			awk '{ all[$1] = all[$1] " " $2 } END { for (i in all) print all[i] }' | sort | xargs)" \
			"FLOW_IN FLOW_OUT FLOW_IN FLOW_OUT FLOW_OUT"
		equal "$mode, $kind: histograms" "$(sed -nE 's/.* COUNTER [0-9]+ (early_)?(histogram .*)/\1\2/p' "$tmp/canon" | sort | tr '\n' ';')" \
			"early_histogram 0 n:5;early_histogram 1 n:-6;histogram -1 n:10;histogram 2 n:20;histogram 40 n:1099511627776;"
		equal "$mode, $kind: tasks with times that began before, or never ended, are counted" \
			"$(counted "$tmp/t.$kind" 'ITT tasks with times whose beginning is not known') $(
			counted "$tmp/t.$kind" 'ITT tasks with times that never ended')" "3 3"
	done
done

# Frames that have passed come with their times: exactly, or by the clock of another tool, converted.
for other in "" "$programs/collector.so"; do
	PROFTRACE_ITT_CHAIN=$other start_service "$programs/itt" 1 1
	attach --mode exact
	tell submit
	tell work
	tell submit
	end_service "frames ${other:+and another clock}"
	equal "frames ${other:+and another clock}: the account adds up" "$(field "$tmp/s" adds_up)" true
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" | sed -n 's/.* SLICE_AT \([0-9]*\) itt.domain itt.domain until=\([0-9]*\) .*/\1 \2/p' | sort -k2n >"$tmp/got"
		# Times of another clock have been read a moment apart, on a busy machine.
		equal "frames ${other:+and another clock}, $kind: two, at their times" "$(sed -n 's/^submitted //p' "$tmp/out" | awk -v near="${other:+1000000}" -v got="$tmp/got" '
			{ from = near ? $3 : $1; to = near ? $4 : $2 }
			function is(a, b) { return a - b <= near + 0 && b - a <= near + 0 }
			END {
				half = from + int((to - from) / 2)
				while ((getline line < got) > 0) { split(line, t, " "); n++; good += is(t[1], from) && is(t[2], n == 1 ? half : to) }
				print n, good
			}')" "2 2"
	done
	[ -n "$other" ] || equal "frames: one that ends before it begins is counted" "$(counted "$tmp/t.json" 'ITT times that are impossible')" 1
done

# The program pauses its recording.
start_service "$programs/itt" 1 10
attach --mode exact
tell pause
tell work
tell resume
tell work
tell pausehost
tell work
tell resumehost
tell work
end_service "paused"
equal "paused: half of it is there" "$(events "$tmp/t.pftrace" | sed -n 's/^BEGIN outer itt.domain //p')" 20

# Another tool is called as well, and counts the same.
export COLLECTOR_OUT=$tmp/called
for mode in $(batch_modes); do
	INTEL_LIBITTNOTIFY64=$programs/collector.so check_with_other_tool $mode --itt "$programs/itt"
	equal "$mode: another tool: it was called for each" \
		"$(called itt_task_begin itt_task_begin_fn itt_event_start) $(called itt_task_end itt_event_end) $(
		called itt_task_begin_overlapped itt_region_begin itt_frame_begin_v3) $(
		called itt_task_end_overlapped itt_region_end itt_frame_end_v3) $(
		called itt_marker itt_metadata_add itt_metadata_str_add)" \
		"$(number_of "$tmp/t.pftrace" BEGIN) $(number_of "$tmp/t.pftrace" END) $(number_of "$tmp/t.pftrace" ASYNC_BEGIN) $(
		number_of "$tmp/t.pftrace" ASYNC_END) $(number_of "$tmp/t.pftrace" INSTANT)"
	rm -f "$tmp/called"
done
finish
