#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Perfetto's own loader takes both traces without an error or a loss.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/loader.sh"

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
"$proftrace" -q -o "$tmp/r" --max-size 64K -- "$programs/scripted" name open "async 1" "level 5" "ticks 3000" close >"$tmp/out"
parts=$(cd "$tmp" && ls r.pftrace r-*.pftrace | sed 's/.pftrace//')
check "there are several files" test "$(echo "$parts" | wc -l)" -ge 2
for part in $parts; do
	check_seen "of many files, $part" "$tmp/$part"
	equal "$part: what was open before is open" "$(number "$tmp/$part.pftrace" "kept open") $(number "$tmp/$part.pftrace" job)" "1 1"
done
equal "all files together have each instant once" \
	"$(for part in $parts; do number "$tmp/$part.pftrace" tick; done | awk '{ n += $1 } END { print n }')" 3000
"$proftrace" -q -o "$tmp/l" --flight-recorder 1h --trigger 'instant:alarm' -- "$programs/scripted" \
	name open "async 3" "level 7" "step 2 5" "slices 50" alarm "ticks 9" close >"$tmp/out" 2>&1
check_seen "flight recorder" "$tmp/l"
equal "flight recorder: slices before the trigger, and what is still open" \
	"$(number "$tmp/l.pftrace" work) $(ask "$tmp/l.pftrace" "select count(*) from slice where dur < 0")" "50 2"

"$proftrace" -q -o "$tmp/y" --system cpu,memory --system-interval 20ms -- "$programs/scripted" "slow 100" >"$tmp/out"
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
