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

check_loads() { # NAME BASE
	for file in "$2.pftrace" "$2.json"; do
		kind=${file##*.}
		equal "$1: $kind loads without errors or losses" "$(ask "$file" "$bad")" ""
		equal "$1: $kind has no nameless slice" \
			"$(ask "$file" "select count(*) from slice where name is null or category like 'unknown(%'")" 0
	done
}

"$proftrace" -q -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/every_kind" 4 500 >"$tmp/out"
check_loads "every kind" "$tmp/t"
for sql in \
	"select name, count(*), sum(dur < 0) from slice where name not like 'flow %' group by 1 order by 1" \
	"select tid, name from thread where tid > 0 order by 1" \
	"select replace(t.name, ' value', '') as n, count(*), min(value), max(value) from counter c
		join track t on c.track_id = t.id where abs(value) < 1e15 group by 1 order by 1"; do
	ask "$tmp/t.pftrace" "$sql" >"$tmp/a"
	ask "$tmp/t.json" "$sql" >"$tmp/b"
	if cmp -s "$tmp/a" "$tmp/b"; then ok "the loader sees the same in both"; else
		not_ok "the loader sees the same in both" "$(diff "$tmp/a" "$tmp/b" | head -5)"
	fi
done
equal "slices the loader closed" "$(ask "$tmp/t.pftrace" "select count(*) from slice where dur < 0")" 0

"$proftrace" -q -o "$tmp/f" -- "$programs/forks" 50 10 >"$tmp/out"
check_loads "forks" "$tmp/f"
"$proftrace" -q -o "$tmp/x" -- "$programs/executes" 5 "$programs/forks" 3 4 >"$tmp/out"
check_loads "exec" "$tmp/x"
"$proftrace" -q -o "$tmp/r" --max-size 64K -- "$programs/told" name open "async 1" "level 5" "ticks 3000" close >"$tmp/out"
check_loads "a file that begins later" "$tmp/r-2"
"$proftrace" merge -q -o "$tmp/m" "$tmp/t.pftrace" "$tmp/f.json" "$tmp/x.pftrace" "$root/tests/data/chromium.json"
check_loads "a merge" "$tmp/m"
"$proftrace" convert -q -o "$tmp/c" "$root/tests/data/pytorch.json"
check_loads "somebody else's, converted" "$tmp/c"
finish
