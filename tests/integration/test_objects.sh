#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every operation of every object, in C and C++, from several threads: both traces contain exactly what the programs
# print, on the right tracks and with the right categories.
. "$(dirname "$0")/lib.sh"
need_tracing

# events FILE: "BEGIN name category thread 12", for all that begins or happens, and "COUNTER name 3"
events() {
	"$canon" "$1" >"$tmp/lines" && awk '
		$3 == "BEGIN" || $3 == "INSTANT" || $3 == "ASYNC_BEGIN" {
			n[$3 " " $5 " " $6 " " ($1 == 0 ? "global" : $2 == 0 ? "process" : "thread")]++
		}
		END { for (i in n) print i, n[i] }' "$tmp/lines"
	"$canon" --count "$1" | grep '^COUNTER ' | grep -v '^COUNTER task_clock '
}

# numbers FILE NAME: the frames of that name, in the order they began
numbers() {
	"$canon" "$1" | sed -n "s/^[0-9]* 0 ASYNC_BEGIN \([0-9]*\) $2 .* frame=n:\([0-9]*\).*/\1 \2/p" |
		sort -n | awk '$2 != NR { wrong = 1 } END { print wrong ? "wrong" : NR }'
}

check_program() { # PROGRAM THREADS ROUNDS FRAME
	# With a counter, since it makes marks of objects longer.
	"$proftrace" -q -e task-clock -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/$1" "$2" "$3" >"$tmp/out"
	equal "$1: exit status" $? 0
	equal "$1: marks the kernel counted" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$1: nothing is open at the end" "$(field "$tmp/s" open_at_end)" 0
	check_agree "$1" "$tmp/t"
	sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
	for kind in json pftrace; do
		events "$tmp/t.$kind" | sort >"$tmp/got"
		check "$1: what happened, in $kind" diff "$tmp/wanted" "$tmp/got"
		equal "$1: frames are numbered, in $kind" "$(numbers "$tmp/t.$kind" "$4")" \
			"$(said "$tmp/out" frames)"
	done
	equal "$1: asynchronous slices end" "$(field "$tmp/s" async_unmatched)" 0
}

check_program objects 4 50 tick
n=200
equal "markers started twice" "$(field "$tmp/s" started_twice)" $n
equal "ends of markers that were not started, PROF_ENDs inside of objects" \
	"$(field "$tmp/s" unmatched)" $((2 * n))
equal "and nothing else is lost" "$(field "$tmp/s" lost_total)" $((2 * n))
equal "no slice ends but by its own end" "$(field "$tmp/s" unfinished)" 0
"$canon" "$tmp/t.json" >"$tmp/lines"
equal "marks of a task name it" "$(grep -c 'INSTANT [0-9]* plain app task=s:"part"$' "$tmp/lines")" $n
equal "marks of a marker name it" "$(grep -c 'INSTANT [0-9]* plain app marker=s:"full"$' "$tmp/lines")" $n
equal "what was started twice is named" \
	"$(grep -c 'INSTANT [0-9]* marker started twice app marker=s:"forgotten"$' "$tmp/lines")" $n
equal "overlapping frames are numbered" "$(numbers "$tmp/t.pftrace" mine)" 50
# Whoever changed it last made it 300.
equal "a counter's samples reach its value" \
	"$(sed -n 's/^[0-9]* COUNTER [0-9]* queue n://p' "$tmp/lines" | sort -n | tail -1 | awk '{ print ($1 >= 300) }')" 1
# Allocations, frees and leaks of each pool.
"$proftrace" report "$tmp/t.pftrace" | awk '$1 == "app" && $NF ~ /^[0-9]+$/ && / (load|blocks)/ {
	print $2, $3, $4, $NF }' | sort >"$tmp/pools"
printf '%s\n' "blocks $n $n 0" "load/parse:blocks $n $n 0" "load/parse:kept $n 0 $n" \
	"load:blocks $n $n 0" | sort >"$tmp/wanted"
check "memory belongs to the pool of its scope" diff "$tmp/wanted" "$tmp/pools"

# Read back and written once more, by whoever converts or reports.
for kind in json pftrace; do
	other=$([ $kind = json ] && echo pftrace || echo json)
	check "convert: from $kind" "$proftrace" convert -o "$tmp/back.$other" "$tmp/t.$kind"
	"$canon" "$tmp/t.$kind" >"$tmp/a" && "$canon" "$tmp/back.$other" >"$tmp/b"
	check "convert: $kind to $other and it is the same" cmp "$tmp/a" "$tmp/b"
done

check_program objects-cpp 3 40 frame
check_account objects-cpp "$tmp/s"
equal "objects-cpp: nobody starts twice" "$(field "$tmp/s" started_twice)" 0
finish
