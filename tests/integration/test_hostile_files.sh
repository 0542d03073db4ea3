#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Trace files with a million items that a reader has to remember. Items beyond the limits are counted, and take no
# more memory.
. "$(dirname "$0")/lib.sh"

hostile=$root/build/tests/tools/hostile_trace

# MOST_KB: what it may take. No line but its own, and few of those.
bounded() { # NAME MOST_KB VERB ARGUMENT...
	verb="$1, $3" most=$2
	shift 2
	timeout -k 5 100 "$programs/peak" "$tmp/peak" "$proftrace" "$@" >"$tmp/out" 2>"$tmp/err"
	equal "$verb: exit status" $? 0
	check "$verb: memory stays below $most KB ($(said "$tmp/peak" peak) KB)" test "$(said "$tmp/peak" peak)" -lt "$most"
	check "$verb: it says little" test "$(grep -c '' "$tmp/err")" -le 20
}

# What the last report has counted of such rows; of diagnostics, NAME is one.
counted() { # PART NAME
	awk -F , -v part="$1" -v name="${2:-}" '$1 == part && (!name || $3 == name) { n += $5 } END { print n + 0 }' "$tmp/out"
}

trace() { # KIND N MOST_KB
	"$hostile" "$1" "$2" >"$tmp/h.json"
	bounded "$2 $1" "$3" report --format csv "$tmp/h.json"
}

adds_up() { # NAME N COUNT...: each is somewhere
	kind=$1 wanted=$2 sum=0
	shift 2
	for count; do sum=$((sum + count)); done
	equal "$kind: each is in a row, or is counted" $sum "$wanted"
}

# Of threads, those that are too many share tracks.
trace threads 500000 163840
adds_up threads 500000 "$(counted slice)" "$(counted async)"
# What a slice is of those that are too many are two marks.
trace processes 300000 327680
adds_up processes 600000 $((2 * $(counted async))) "$(counted diagnostic lost.limit)" "$(counted diagnostic async_unmatched)"
trace asyncs 600000 81920
adds_up asyncs 600000 "$(counted diagnostic lost.limit)" "$(counted diagnostic open_at_end)"
trace open 300000 245760
adds_up open 300000 "$(counted diagnostic lost.limit)" "$(counted diagnostic open_at_end)"
bounded "open" 245760 convert -o "$tmp/o.pftrace" "$tmp/h.json"
bounded "open, with Perfetto" 327680 merge -o "$tmp/m.pftrace" "$tmp/h.json" "$tmp/o.pftrace"
trace deep 1000000 65536
adds_up deep 1000000 "$(counted diagnostic lost.too_deep)" "$(counted diagnostic open_at_end)"
trace flows 1000000 65536
bounded "flows" 65536 convert -o "$tmp/f.pftrace" "$tmp/h.json"
bounded "flows, Perfetto" 65536 report --format csv "$tmp/f.pftrace"
trace names 300000 196608
adds_up names 300000 "$(counted instant)"
bounded "names" 131072 convert -o "$tmp/n.pftrace" "$tmp/h.json"
bounded "names, Perfetto" 196608 report --format csv "$tmp/n.pftrace"
adds_up "names, Perfetto" 300000 "$(counted instant)"
trace counters 200000 196608
adds_up counters 200000 "$(counted counter)"
finish
