#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# bench: runs of two commands in turn are recorded and compared; what is left behind, and what a mistake looks like.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
works=$programs/works

can_trace || { skip "bench" "recording is not possible here"; finish; }
mkdir kept-nothing
export TMPDIR="$tmp/kept-nothing"

bench() { # ARGUMENT...
	"$proftrace" bench "$@" >out 2>err
}
decision() { # NAME
	sed -n "s/.*\"name\": \"$1\", \"decision\": \"\([a-z_]*\)\".*/\1/p" out | head -1
}

# --- two commands -------------------------------------------------------------------------------------
# Far more than what a busy machine does to a run.
bench -n 8 --per request --format json --fail-over 10% --warmup 0 -o kept \
	--against "$works 20; echo a >>order" -- sh -c "$works 200; echo b >>order"
equal "a slice with ten times the work: --fail-over gives the exit status" "$?" 4
equal "it is found" "$(decision parse)" slower
equal "and the slice that it is in" "$(decision request)" slower
# On a busy machine, it may be faster: the longer slice is the one that waits for a CPU.
check "another one is not" sh -c "case '$(decision render)' in none | faster) ;; *) exit 1 ;; esac"
check "the name is in the message" grep -q "'parse': .* regressed" err
equal "the order is A B, B A" "$(tr '\n' ' ' <order)" "a b b a a b b a a b b a a b b a "
equal "the traces are kept" "$(ls kept | tr '\n' ' ')" \
	"$(for i in 1 2 3 4 5 6 7 8; do printf 'run-a-00%s.pftrace ' $i; done; for i in 1 2 3 4 5 6 7 8; do printf 'run-b-00%s.pftrace ' $i; done)"
for side in a b; do
	equal "each has the marks of one run ($side)" "$("$proftrace" report --format json kept/run-$side-003.pftrace |
		sed -n 's/.*"name": "parse".*"count": \([0-9]*\).*/\1/p' | head -1)" 200
done
bench -n 6 -o kept --against "$works" -- "$works"
equal "earlier traces are not mixed with new ones" "$? $(ls kept | wc -l)" "1 16"
check "it says so" grep -q "the directory exists and is not empty" err

# --- one command --------------------------------------------------------------------------------------
bench -n 3 --format json -- "$works" 20
equal "one command: the table of all runs" "$? $(sed -n 's/.*"name": "request".*"count": \([0-9]*\).*/\1/p' out | head -1)" "0 600"
equal "what it prints is discarded" "$(grep -c '^requests' out)" 0
bench -n 2 --warmup 1 --show-output -- "$works" 20
equal "--show-output: it is not, the warm-up's neither" "$(grep -c '^requests 200' out)" 3

# --- failures -----------------------------------------------------------------------------------------
bench -n 3 -- "$works" 20 0 7
equal "a command that fails ends it" "$?" 1
check "the message has its status" grep -q "cannot measure '$works': warm-up ended with status 7" err
bench -n 3 --ignore-failure -- "$works" 20 0 7
equal "--ignore-failure measures it" "$?" 0
bench -n 3 -- "$tmp/missing"
equal "a command that does not exist" "$?" 1
for wrong in "--mode fast" "--per request" "--runs 0" "--format markdown" "--where dur>>5"; do
	bench $wrong -- touch touched
	equal "wrong usage: $wrong" "$?" 2
done
bench --fail-over much --against "$works" -- touch touched
equal "wrong usage: a share" "$?" 2
equal "nothing was run by then" "$(ls touched 2>/dev/null)" ""

# A signal to bench alone ends the run, and the benchmark.
"$proftrace" bench -n 100 -- sh -c "echo begun >>begun; sleep 60" >out 2>err &
pid=$!
wait_for begun begun
kill -TERM "$pid"
wait "$pid"
equal "a signal ends it" "$?" 1
check "it says that" grep -q '^proftrace: interrupted' err
equal "no temporary directory is left by any of these" "$(ls "$TMPDIR")" ""

# Under sudo the command and the traces are the invoking user's.
if id nobody >/dev/null 2>&1; then
	mkdir theirs && chmod 777 theirs
	SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) SUDO_USER=nobody \
		"$proftrace" bench -q -n 1 --warmup 0 -o theirs/runs --show-output -- sh -c "id -un; $works" >out 2>err
	equal "sudo: the command runs as the user" "$(grep -c '^nobody$' out)" 1
	equal "sudo: directory and trace are the user's" "$(stat -c %U theirs/runs theirs/runs/run-b-001.pftrace | sort -u)" nobody
else
	skip "sudo: the command runs as the user" "there is no user nobody"
fi

# --- tools/bench: what cannot be measured is said at once ------------------------------------------------
for wrong in "" "7" "7 4k" "0 4000"; do
	"$root/tools/bench/program.sh" $wrong >out 2>err
	equal "program.sh: wrong usage: '$wrong'" "$? $(wc -c <out) $(cut -d' ' -f1 err)" "2 0 usage:"
done
# Here is no build/bench/timed: no tracer is started, and none is waited for.
equal "peers.sh: without its helper it leaves a tracer out" \
	"$("$root/tools/bench/peers.sh" perf-slices "$tmp/peer" "$works" $$ </dev/null)" \
	"left out: build/bench/timed is not built (make bench-programs)"
finish
