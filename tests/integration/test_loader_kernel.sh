#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Perfetto's own loader reads events of the kernel from both outputs: thread states, which agree with the slices;
# samples and call stacks, which agree with our reader; functions, USDT probes, buffered marks, and merged traces.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/loader.sh"
cd "$tmp" || exit 1

both() { # NAME GOT-OF-PERFETTO GOT-OF-JSON
	if [ "$2" = "$3" ] && [ -n "$2" ]; then ok "$1 ($(echo "$2" | wc -l))"; else
		echo "$2" >a
		echo "$3" >b
		not_ok "$1" "$(diff a b | head -8)"
	fi
}

args="select s.name, s.category, replace(replace(a.flat_key, 'debug.', ''), 'args.', '') as k, count(*),
	sum(a.int_value * 1.0), min(a.string_value), max(a.string_value), sum(a.real_value)
	from slice s join args a using (arg_set_id) where s.name not in ('flow out', 'flow in', 'switches lost')
	and k not like 'legacy_event%' and a.flat_key <> 'debug.id' group by 1, 2, 3 order by 1, 2, 3"
check_args() { # NAME BASE
	both "$1: the same arguments in both" "$(ask "$2.pftrace" "$args")" "$(ask "$2.json" "$args")"
}

# --- switches ------------------------------------------------------------------------------------

# Some kernels do not tell all switches: then the loader says so, and nothing else.
check_switches() { # NAME BASE
	lost=$(field "$2.sum" sched_lost)
	for file in "$2.pftrace" "$2.json"; do
		ask "$file" "$bad" >said
		[ "$lost" = 0 ] || [ "${file##*.}" = json ] ||
			sed -i '/^ftrace_cpu_has_data_loss /d; /^mismatched_sched_switch_tids /d' said
		equal "$1: ${file##*.} loads without errors, or losses but of $lost switches" "$(cat said)" ""
		equal "$1: ${file##*.}: who has a CPU has a name" "$(ask "$file" "select distinct t.tid
			from sched join thread t using (utid) join process p using (upid)
			where t.tid > 1 and t.tid = p.pid and (p.name is null or t.name is null)")" ""
	done
	both "$1: the same switches in both" "$(switches "$2.pftrace")" "$(switches "$2.json")"
}
# JSON has nothing for a CPU that idles. Times are relative to the first slice: the files have different
# zeros. Nobody knows how long the last ones are, nor what was not told.
switches() { # FILE
	ask "$1" "select t.tid, s.cpu, s.ts - (select min(ts) from slice where name in ('spin', 'step')) as since, s.dur
		from sched s join thread t using (utid)
		join (select cpu, max(ts) as latest from sched join thread using (utid) where tid > 0
			group by 1) l on l.cpu = s.cpu
		where t.tid > 0 and s.dur > 0 and s.ts < l.latest order by s.ts, s.cpu"
}

# What the viewer shows below each slice is what the slice says: in each file, to the nanosecond.
during="(select ifnull(sum(iif(w.dur < 0, s.ts + s.dur, min(w.ts + w.dur, s.ts + s.dur)) - max(w.ts, s.ts)), 0)
	from thread_state w where w.utid = k.utid and w.ts < s.ts + s.dur
	and (w.dur < 0 or w.ts + w.dur > s.ts) and w.state in"
states() { # FILE PREFIX: slices, and those of them that differ
	ask "$1" "select count(*), sum($during ('Running')) <> extract_arg(s.arg_set_id, '$2running_ns')
		or $during ('R', 'R+')) <> extract_arg(s.arg_set_id, '$2runnable_ns')
		or $during ('S', 'D', 'I')) <> extract_arg(s.arg_set_id, '$2blocked_ns')) as wrong
		from slice s join thread_track k on k.id = s.track_id
		where extract_arg(s.arg_set_id, '$2running_ns') is not null
		and extract_arg(s.arg_set_id, '$2unknown_ns') is null"
}
timeout 60 "$proftrace" -q --sched -e none -o states --summary-json states.sum -- "$programs/states" 3 >states.said
check_switches "--sched" states
# Where a switch to the thread was not told, its marks still say that it runs: to us, not to the loader.
for kind in pftrace json; do
	[ $kind = json ] && prefix=args. || prefix=debug.
	check "--sched: states in $kind, as the slices say" \
		sh -c "echo $(states states.$kind $prefix),$(field states.sum sched_lost) | awk -F, '
			{ print \$1 \" slices, \" \$2 \" differ, \" \$3 \" switches lost\" }
			{ exit \$2 > \$3 || \$1 + \$3 < 12 }'"
done
check_args "--sched" states
"$proftrace" convert -q -o back.pftrace states.json
"$proftrace" convert -q -o back.json states.pftrace
both "--sched: the same switches, converted both ways" "$(switches back.pftrace)" "$(switches back.json)"

# --- samples and call stacks ---------------------------------------------------------------------

# What was executing, and how often, by the loader and by ourselves. Frames without a name are [].
their_samples() { # FILE
	ask "$1" "select coalesce(y.name, f.name, '[]') as n, count(*) from perf_sample p
		join stack_profile_callsite c on c.id = p.callsite_id
		join stack_profile_frame f on f.id = c.frame_id
		left join (select symbol_set_id, name, min(id) from stack_profile_symbol
			where symbol_set_id > 0 group by 1) y using (symbol_set_id) group by 1" | sort
}
our_samples() { # FILE
	"$root/build/tests/tools/stacks" "$1" | awk '/^sample / { sub(/^sample [^ ]* [^ ]* [^ ]* /, "")
			n = split($0, frames, ";"); count[frames[n] ~ /^\[/ ? "[]" : frames[n]]++ }
		END { for (name in count) print name "," count[name] }' | sort
}
build_id() { # FILE
	readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}
"$proftrace" -q --sample 997 -e none -o sampled --summary-json sampled.sum -- "$programs/sampled" 2 0.2 \
	>sampled.said 2>sampled.err
if [ "$(field sampled.sum stacks)" -gt 0 ]; then
	check_loads "--sample" sampled
	file=sampled.pftrace
	same "--sample: what was executing, and how often" their_samples our_samples
	equal "--sample: all samples, with their stacks" "$(ask $file "select count(callsite_id) from perf_sample")" \
		"$(field sampled.sum stacks)"
	equal "--sample: the program's file is known by its build ID" "$(ask $file \
		"select distinct build_id from stack_profile_mapping where name like '%/sampled'")" \
		"$(build_id "$programs/sampled")"
	equal "--sample: who calls whom, and in which line" "$(ask $file "select distinct y.name, z.name,
		replace(y.source_file, rtrim(y.source_file, replace(y.source_file, '/', '')), ''), y.line_number > 0
		from stack_profile_callsite c join stack_profile_frame f on f.id = c.frame_id
		join stack_profile_symbol y using (symbol_set_id)
		join stack_profile_callsite d on d.id = c.parent_id join stack_profile_frame g on g.id = d.frame_id
		join stack_profile_symbol z on z.symbol_set_id = g.symbol_set_id where y.name = 'alpha'")" \
		"alpha,work,sampled.c,1"
else
	skip "--sample" "$(head -1 sampled.err)"
fi

"$proftrace" -q --stack '*' --offcpu 10ms -e none -o blocked --summary-json blocked.sum -- "$programs/blocked" 10 \
	>blocked.said
check_seen "--stack and --offcpu" blocked
equal "--offcpu: where it slept for long, each time" "$(ask blocked.pftrace "select count(*) >= $(said blocked.said longer)
	from slice where name = 'blocked'")" 1
if [ -n "$(ask blocked.pftrace "select 1 from sqlite_master where name = '__intrinsic_track_event_callstacks'")" ]; then
	equal "--stack and --offcpu: each has its stack" "$(ask blocked.pftrace "select count(*)
		from __intrinsic_track_event_callstacks where callsite_id is not null")" "$(field blocked.sum stacks)"
else
	skip "--stack: stacks of slices" "this loader has no table of them"
fi

# --- where the events come from ------------------------------------------------------------------

"$proftrace" -q -e none -o probes -u 'probes:work__begin~probes:work__end/{arg0:s}' -u 'probes:registers' \
	-u 'probes:request__start~probes:request__done@arg0' -u 'probes:memory' -- "$programs/probes" 20 >probes.said
check_seen "-u" probes
check_args "-u" probes
"$proftrace" -q -e none -o calls -f '*' -- "$programs/functions" 5 >calls.said
check_seen "-f" calls
check_args "-f" calls
if "$proftrace" -q --mode batch-now -o batch -- "$programs/every_kind" 2 200 >batch.said 2>batch.err; then
	check_seen "batches" batch
else
	skip "batches" "$(head -1 batch.err)"
fi
"$proftrace" -q --compress -e none -o small -o small.json.gz -- "$programs/every_kind" 2 50 >small.said
check_seen "compressed" small
equal "compressed JSON is the same" "$(file=small.json.gz theirs small.json.gz)" "$(theirs small.json)"

# --- put together --------------------------------------------------------------------------------

truncate -s 4096 together
for rank in 0 1; do
	RANK=$rank "$proftrace" -q --sched -e none -o rank$rank --summary-json rank$rank.sum -- \
		"$programs/ranks" together 2 10 >rank$rank.said &
done
wait
"$proftrace" merge -q -o ranks rank0.pftrace rank1.json
awk '/"sched_lost"/ { gsub(/[^0-9]/, ""); n += $0 } END { print "\"sched_lost\": " n }' rank?.sum >ranks.sum
check_switches "ranks" ranks
# Nothing is told twice, and nothing is missing between what the one tells and what the other goes on with.
equal "ranks: no more is missing than in the recordings" "$(ask ranks.pftrace "select ifnull(max(value), 0) <= $(field ranks.sum sched_lost)
	from stats where name = 'mismatched_sched_switch_tids'")" 1
for kind in pftrace json; do
	equal "ranks: $kind: each has its steps" "$(ask ranks.$kind "select substr(p.name, 1, 7), count(*) from slice s
		join thread_track k on k.id = s.track_id join thread using (utid) join process p using (upid)
		where s.name = 'step' group by 1 order by 1")" "rank 0:,10
rank 1:,10"
done
finish
