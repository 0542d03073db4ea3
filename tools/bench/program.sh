#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/program.sh ROUNDS REQUESTS
#
# What recording does to a real program (program.c): the CPU time of a request without a recorder, in each mode, and with
# other tracers. Every round measures all of them once, every other one in reverse order. Called by `make bench`, with
# 100000 requests. The table comes at the end; meanwhile each figure is on standard error. Nothing is waited for without
# a bound: what does not come ends the script with a message, and a tracer that cannot be measured is left out.
set -eu
cd "$(dirname "$0")/../.."
fail() { # MESSAGE
	echo "program.sh: $*" >&2
	exit 1
}
for count in "${1:-}" "${2:-}"; do
	case $count in
	'' | 0* | *[!0-9]*)
		echo "usage: tools/bench/program.sh ROUNDS REQUESTS (numbers above 0, for example 10 100000)" >&2
		exit 2
		;;
	esac
done
rounds=$1 requests=$2
[ "$(id -u)" -eq 0 ] || fail "recording needs root"
[ -x build/proftrace ] || fail "build/proftrace is not built (make)"
# In seconds: an answer, and a whole run, in which a request takes a millisecond at most.
answer_s=30 run_s=$((60 + requests / 1000))
tmp=$(mktemp -d)
program= tracer=
end_all() {
	for process in $program $tracer; do kill "$process" 2>/dev/null || true; done
	rm -rf "$tmp"
}
trap end_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
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

appears() { # WHAT FILE SECONDS PROCESS: which ends the waiting with its own end
	for _ in $(seq 1 $((20 * $3))); do
		! grep -q "$1" "$2" 2>/dev/null || return 0
		[ -e "/proc/$4/exe" ] || break
		sleep 0.05
	done
	grep -q "$1" "$2" 2>/dev/null
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
	appears ready "$tmp/out" $answer_s $program || fail "$condition: the program did not become ready"
}
go() {
	echo >&9
	appears '^marks' "$tmp/out" $run_s $program || fail "$condition: the program did not make its requests within $run_s s"
}
# What was lost, or `?`. Leaves the recorder running until the program ends.
record_with_proftrace() { # MODE
	timeout -k 5 $((run_s + 2 * answer_s)) build/proftrace --mode "$1" -p $program -o "$tmp/t.pftrace" \
		--summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
	tracer=$!
	appears 'proftrace: recording' "$tmp/err" $answer_s $tracer ||
		fail "$condition: it does not record: $(tail -1 "$tmp/err")"
	go
	exec 9>&-
	wait $tracer || fail "$condition: the recorder failed or did not end: $(tail -1 "$tmp/err")"
	lost=$(number lost_total "$tmp/s")
	[ "$(number marked "$tmp/s")" = "$(number marks "$tmp/out")" ] || lost="$lost, wrong count"
	rm -f "$tmp/t.pftrace"
}
# Something that was late makes the figure that of another condition.
record_with_peer() { # NAME PROGRAM
	rm -f "$tmp/peer.in"
	mkfifo "$tmp/peer.in"
	timeout -k 5 $((run_s + 5 * answer_s)) tools/bench/peers.sh "$1" "$tmp/peer" "$tmp/$2" $program \
		<"$tmp/peer.in" >"$tmp/said" 2>/dev/null 9>&- &
	tracer=$!
	exec 8>"$tmp/peer.in"
	lost=
	if appears '^ready\|^left out\|^late' "$tmp/said" $answer_s $tracer && ! grep -q '^left out\|^late' "$tmp/said"; then
		go
		lost=?
	fi
	exec 8>&- 9>&-
	wait $tracer || echo "late: $1 ended with status $?" >>"$tmp/said"
	marks=$(number marks "$tmp/out") kept=$(number kept "$tmp/said")
	[ -z "$lost" ] || [ -z "$kept" ] || lost=$((marks - kept))
	[ -z "$lost" ] || [ -n "$kept" ] || lost=$(number lost "$tmp/said")
	why=$(sed -n 's/^left out: //p; s/^late: //p' "$tmp/said" | head -1)
	[ -z "$lost" ] && [ -z "$why" ] && why="$1 does not answer"
	return 0
}
measure() { # CONDITION
	why=
	case $1 in
	lttng)
		if [ ! -x "$tmp/lttng" ]; then
			why="no headers of LTTng-UST (package liblttng-ust-dev)"
			return
		fi
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
	program= tracer=
	[ -n "$why" ] || ns=$(number ns "$tmp/out")
}

forwards='off auto exact batch perf lttng' backwards='lttng perf batch exact auto off'
for round in $(seq 1 "$rounds"); do
	[ $((round % 2)) = 0 ] && order=$backwards || order=$forwards
	echo "round $round" >>"$tmp/figures"
	printf 'round %s of %s, ns:' "$round" "$rounds" >&2
	for condition in $order; do
		printf ' %s' "$condition" >&2
		measure "$condition"
		if [ -z "$why" ]; then
			printf ' %s' "$ns" >&2
			echo "$condition $ns ${lost:-0}" >>"$tmp/figures"
		else
			printf ' -' >&2
			echo "why $condition $why" >>"$tmp/figures"
		fi
	done
	echo >&2
done
awk -v order="$forwards" '
	function median(list, n, i, j, t) {
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
		return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
	}
	$1 == "round" { round = $2; next }
	$1 == "why" { why[$2] = $0; sub(/^why [a-z]* /, "", why[$2]); next }
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
			if (!k) { print "| " text[name] " | left out: " why[name] " | | |"; continue }
			m = median(ratio, k)
			printf "| %s | %.2f | %.2f (%.2f-%.2f) | %s |\n", text[name], median(all, k) / 1000, m, ratio[1], ratio[k],
				name == "off" ? "" : lost[name] == "" ? "0" : lost[name]
		}
	}' "$tmp/figures"
