#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Perfetto's own loader takes both traces without an error or a loss. It is not a package of any
# distribution: put trace_processor_shell into PATH or name it in TRACE_PROCESSOR.
. "$(dirname "$0")/lib.sh"
loader=${TRACE_PROCESSOR:-$(command -v trace_processor_shell)}
if [ -z "$loader" ]; then
	skip "Perfetto's own loader" "trace_processor_shell is not in PATH"
	finish
fi
need_tracing

ask() { # FILE SQL: rows without the heading
	"$loader" query "$1" "$2" 2>/dev/null | sed 1d | tr -d '"'
}

bad="select name || ' ' || value from stats where value > 0 and (severity in ('error', 'data_loss')
	or name in ('track_event_parser_errors', 'track_hierarchy_missing_uuid',
	'flow_end_without_start', 'flow_step_without_start', 'compact_sched_switch_skipped')
	or name like 'packet_skipped%')"

check_loads() { # NAME BASE [LOSS]: what is lost, which only the one format can say
	for file in "$2.pftrace" "$2.json"; do
		kind=${file##*.}
		lost=
		[ "$kind" = pftrace ] && lost=${3:-}
		equal "$1: $kind loads without errors or losses" "$(ask "$file" "$bad")" "$lost"
		equal "$1: $kind has no nameless slice" \
			"$(ask "$file" "select count(*) from slice where name is null or category like 'unknown(%'")" 0
	done
}

# "name,count" of everything that is a slice to the loader; and of what we read in the file.
theirs() { # FILE
	ask "$1" "select name, count(*) from slice where name not like 'flow %' group by 1" | sort
}
ours() { # FILE
	"$canon" --count "$1" | awk '/^(BEGIN|INSTANT|ASYNC_BEGIN) / { n = $NF; $1 = $NF = ""
			gsub(/^ | $/, ""); count[$0] += n }
		END { for (name in count) print name "," count[name] }' | sort
}
their_counters() { # FILE
	ask "$1" "select t.name, count(*) from counter c join track t on c.track_id = t.id group by 1" | sort
}
our_counters() { # FILE
	"$canon" --count "$1" | sed -n 's/^COUNTER \(.*\) \([0-9]*\)$/\1,\2/p' | sort
}
their_threads() { # FILE
	ask "$1" "select distinct p.pid, t.tid, t.name from slice s join thread_track k on s.track_id = k.id
		join thread t using (utid) join process p using (upid)" | sort
}
our_threads() { # FILE
	"$canon" "$1" | awk '$1 == "thread" { pid = $2; tid = $3; $1 = $2 = $3 = ""; sub(/^ */, ""); name[pid "," tid] = $0 }
		($3 == "BEGIN" || $3 == "INSTANT") && $2 > 0 { slices[$1 "," $2] = 1 }
		END { for (t in slices) print t "," name[t] }' | sort
}

same() { # NAME GOT WANTED: names of functions of the file at hand
	"$2" "$file" >"$tmp/got"
	"$3" "$file" >"$tmp/wanted"
	if cmp -s "$tmp/got" "$tmp/wanted"; then ok "$1 ($(wc -l <"$tmp/got"))"; else
		not_ok "$1" "$(diff "$tmp/got" "$tmp/wanted" | head -8)"
	fi
}

# It loads, and what the loader has is what we read: names and threads of slices, and counters.
check_seen() { # NAME BASE
	check_loads "$1" "$2"
	for file in "$2.pftrace" "$2.json"; do
		kind=${file##*.}
		same "$1: $kind: slices by their names" theirs ours
		same "$1: $kind: threads with slices" their_threads our_threads
	done
	file=$2.pftrace
	same "$1: counters by their names" their_counters our_counters
}

number() { # FILE NAME: of such slices, as the loader counts them
	ask "$1" "select count(*) from slice where name = '$2'"
}

"$proftrace" -q -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/every_kind" 4 500 >"$tmp/out"
check_seen "every kind" "$tmp/t"
# Counters of slices are called by the id of their thread in JSON.
unlike() { # FILE SQL
	ask "$1" "$2" | sed 's/^counters id: [^ ]* //' | awk -F, '{ n = $1; count[n] += $2 }
		!(n in low) || $3 < low[n] { low[n] = $3 } !(n in high) || $4 > high[n] { high[n] = $4 }
		END { for (n in count) print n, count[n], low[n], high[n] }' | sort
}
for sql in \
	"select name, count(*), sum(dur < 0), 0 from slice where name not like 'flow %' group by 1" \
	"select replace(t.name, ' value', '') as n, count(*), min(value), max(value) from counter c
		join track t on c.track_id = t.id where abs(value) < 1e15 group by 1"; do
	unlike "$tmp/t.pftrace" "$sql" >"$tmp/a"
	unlike "$tmp/t.json" "$sql" >"$tmp/b"
	if cmp -s "$tmp/a" "$tmp/b"; then ok "the loader sees the same in both"; else
		not_ok "the loader sees the same in both" "$(diff "$tmp/a" "$tmp/b" | head -5)"
	fi
done
equal "slices the loader closed" "$(ask "$tmp/t.pftrace" "select count(*) from slice where dur < 0")" 0

"$proftrace" -q -o "$tmp/f" -- "$programs/forks" 50 10 >"$tmp/out"
check_seen "forks" "$tmp/f"
"$proftrace" -q -o "$tmp/x" -- "$programs/executes" 5 "$programs/forks" 3 4 >"$tmp/out"
check_loads "exec" "$tmp/x"
"$proftrace" -q -o "$tmp/o" -- "$programs/objects" 4 20 >"$tmp/out"
check_seen "objects and frames" "$tmp/o"
equal "frames, as the program counted them" "$(number "$tmp/o.pftrace" tick) $(number "$tmp/o.json" tick)" \
	"$(said "$tmp/out" frames) $(said "$tmp/out" frames)"
equal "frames: each has a number" "$(ask "$tmp/o.pftrace" "select count(*) from slice
	where name = 'tick' and extract_arg(arg_set_id, 'debug.frame') is not null")" "$(said "$tmp/out" frames)"

# Files that begin later, with what is known by then.
"$proftrace" -q -o "$tmp/r" --max-size 64K -- "$programs/told" name open "async 1" "level 5" "ticks 3000" close >"$tmp/out"
parts=$(cd "$tmp" && ls r.pftrace r-*.pftrace | sed 's/.pftrace//')
check "there are several files" test "$(echo "$parts" | wc -l)" -ge 2
for part in $parts; do
	check_seen "of many files, $part" "$tmp/$part"
	equal "$part: what was open before is open" "$(number "$tmp/$part.pftrace" "kept open") $(number "$tmp/$part.pftrace" job)" "1 1"
done
equal "all files together have each instant once" \
	"$(for part in $parts; do number "$tmp/$part.pftrace" tick; done | awk '{ n += $1 } END { print n }')" 3000
"$proftrace" -q -o "$tmp/l" --flight-recorder 1h --trigger 'instant:alarm' -- "$programs/told" \
	name open "async 3" "level 7" "step 2 5" "slices 50" alarm "ticks 9" close >"$tmp/out" 2>&1
check_seen "flight recorder" "$tmp/l"
equal "flight recorder: slices before the trigger, and what is still open" \
	"$(number "$tmp/l.pftrace" work) $(ask "$tmp/l.pftrace" "select count(*) from slice where dur < 0")" "50 2"

"$proftrace" -q -o "$tmp/y" --system cpu,memory --system-interval 20ms -- "$programs/told" "slow 100" >"$tmp/out"
check_seen "counters of the machine" "$tmp/y"
(cd "$tmp" && "$proftrace" -q -o i --include-json theirs.json -- "$programs/includes" 20 theirs.json >"$tmp/said")
check_seen "with somebody else's JSON" "$tmp/i"
equal "with somebody else's JSON: theirs and ours" "$(number "$tmp/i.pftrace" theirs) $(number "$tmp/i.pftrace" outer)" "20 20"

"$proftrace" merge -q -o "$tmp/m" "$tmp/t.pftrace" "$tmp/f.json" "$tmp/x.pftrace" "$root/tests/data/chromium.json"
check_loads "a merge" "$tmp/m" 'traced_buf_trace_writer_packet_loss 1' # one of chromium.json has no time
"$proftrace" merge -q -o "$tmp/n" "$tmp/t.pftrace" "$tmp/o.pftrace"
check_seen "a merge of two" "$tmp/n"
equal "a merge of two: of both" "$(number "$tmp/n.pftrace" round) $(number "$tmp/n.pftrace" tick)" \
	"$(number "$tmp/t.pftrace" round) $(number "$tmp/o.pftrace" tick)"
"$proftrace" convert -q -o "$tmp/c" "$root/tests/data/pytorch.json"
check_loads "somebody else's, converted" "$tmp/c"
"$proftrace" convert -q -o "$tmp/v" "$tmp/t.json"
check_seen "converted" "$tmp/v"
equal "the release of the kernel is said" "$(ask "$tmp/t.pftrace" \
	"select str_value from metadata where name = 'system_release'")" "$(uname -r)"
finish
