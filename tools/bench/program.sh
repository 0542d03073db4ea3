#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/program.sh ROUNDS REQUESTS
#
# What recording does to a real program (program.c): the CPU time of a request without a recorder, in each mode, and with
# other tracers. Every round measures all of them once, every other one in reverse order. Called by `make bench`.
set -eu
cd "$(dirname "$0")/../.."
rounds=$1 requests=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build() { # NAME OPTION...: nothing if there are no headers for it
	name=$1
	shift
	${CC:-cc} -D_GNU_SOURCE -O2 -g -Wall -Wextra -Iinclude -Itools/bench tools/bench/program.c -o "$tmp/$name" "$@" 2>"$tmp/why" ||
		rm -f "$tmp/$name"
}
build program -lsqlite3
if [ ! -x "$tmp/program" ]; then
	echo "left out: no headers of SQLite (package libsqlite3-dev)"
	exit 0
fi
build lttng -DBENCH_LTTNG -lsqlite3 -llttng-ust -ldl -lpthread

appears() { # WHAT FILE
	for _ in $(seq 1 600); do
		! grep -q "$1" "$2" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}
number() { # NAME FILE
	sed -n "s/^ *\"\{0,1\}$1\"\{0,1\}:\{0,1\} \([0-9]*\),\{0,1\}$/\1/p" "$2" | head -1
}

start() { # PROGRAM
	rm -f "$tmp/in" "$tmp/out"
	mkfifo "$tmp/in"
	"$tmp/$1" "$requests" <"$tmp/in" >"$tmp/out" 2>/dev/null &
	program=$!
	exec 9>"$tmp/in"
	appears ready "$tmp/out"
}
go() {
	echo >&9
	appears marks "$tmp/out"
}
# What was lost, or `?`. Leaves the recorder running until the program ends.
record_with_proftrace() { # MODE
	build/proftrace --mode "$1" -p $program -o "$tmp/t.pftrace" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
	tracer=$!
	appears 'proftrace: recording' "$tmp/err"
	go
	exec 9>&-
	wait $tracer
	lost=$(number lost_total "$tmp/s")
	[ "$(number marked "$tmp/s")" = "$(number marks "$tmp/out")" ] || lost="$lost, wrong count"
	rm -f "$tmp/t.pftrace"
}
record_with_peer() { # NAME PROGRAM
	rm -f "$tmp/peer.in"
	mkfifo "$tmp/peer.in"
	tools/bench/peers.sh "$1" "$tmp/peer" "$tmp/$2" $program <"$tmp/peer.in" >"$tmp/said" 2>/dev/null 9>&- &
	tracer=$!
	exec 8>"$tmp/peer.in"
	if ! appears '^ready\|^left out' "$tmp/said" || grep -q '^left out' "$tmp/said"; then
		lost=
	else
		go
		lost=?
	fi
	exec 8>&- 9>&-
	wait $tracer || true
	marks=$(number marks "$tmp/out") kept=$(number kept "$tmp/said")
	[ -z "$lost" ] || [ -z "$kept" ] || lost=$((marks - kept))
	[ -z "$lost" ] || [ -n "$kept" ] || lost=$(number lost "$tmp/said")
}
measure() { # CONDITION
	case $1 in
	lttng)
		[ -x "$tmp/lttng" ] || return 0
		start lttng
		;;
	*) start program ;;
	esac
	case $1 in
	off)
		go
		lost=
		exec 9>&-
		;;
	perf) record_with_peer perf-slices program ;;
	lttng) record_with_peer lttng lttng ;;
	*) record_with_proftrace "$1" ;;
	esac
	wait $program || true
	ns=$(number ns "$tmp/out")
	[ -z "$ns" ] || echo "$1 $ns ${lost:-0}" >>"$tmp/figures"
}

forwards='off auto exact batch perf lttng' backwards='lttng perf batch exact auto off'
for round in $(seq 1 "$rounds"); do
	[ $((round % 2)) = 0 ] && order=$backwards || order=$forwards
	echo "round $round" >>"$tmp/figures"
	for condition in $order; do
		measure "$condition"
	done
done
awk -v order="$forwards" '
	function median(list, n, i, j, t) {
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
		return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
	}
	$1 == "round" { round = $2; next }
	{ ns[$1, round] = $2; if ($3 > lost[$1] || $3 !~ /^[0-9]*$/) lost[$1] = $3; rounds = round }
	END {
		text["off"] = "nobody records"; text["auto"] = "proftrace --mode auto"
		text["exact"] = "proftrace (--mode exact)"; text["batch"] = "proftrace --mode batch"
		text["perf"] = "perf record, on the same probes"; text["lttng"] = "LTTng-UST, a library in the program"
		print "| SQLite, twelve marks a request | CPU time of a request, us | ratio | events lost |"
		print "| --- | --- | --- | --- |"
		n = split(order, conditions, " ")
		for (c = 1; c <= n; c++) {
			name = conditions[c]; k = 0
			for (r = 1; r <= rounds; r++)
				if ((name, r) in ns) { k++; all[k] = ns[name, r]; ratio[k] = ns[name, r] / ns["off", r] }
			if (!k) { print "| " text[name] " | left out | | |"; continue }
			m = median(ratio, k)
			printf "| %s | %.2f | %.2f (%.2f-%.2f) | %s |\n", text[name], median(all, k) / 1000, m, ratio[1], ratio[k],
				name == "off" ? "" : lost[name] == "" ? "0" : lost[name]
		}
	}' "$tmp/figures"
