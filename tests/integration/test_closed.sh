#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Least privilege: while they record, recorder and broker can make no system call that they do not need.
. "$(dirname "$0")/lib.sh"
need_tracing

status() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }

start_storm() {
	rm -f "$tmp/in" "$tmp/storm.out"
	mkfifo "$tmp/in"
	RANK=7 "$programs/storm" 1 1000 <"$tmp/in" >"$tmp/storm.out" &
	storm=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/storm.out" ready
}

if ! kernel_can "system call filters"; then
	check "check: says that there are no filters" grep -q '^system call filters *no' "$tmp/check"
	"$proftrace" -v -o "$tmp/v" -- "$programs/executes" 1 >"$tmp/out" 2>"$tmp/err"
	check "-v says so" grep -q 'no filter of system calls for the recorder' "$tmp/err"
	skip "filters" "this kernel has no seccomp"
	finish
fi
ok "check: filters of system calls"

start_storm
rm -f "$tmp/err"
"$proftrace" -v -p $storm -o "$tmp/t" --summary-json "$tmp/s" 9>&- 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
broker=$(cat /proc/$recorder/task/$recorder/children)
broker=${broker%% *}
equal "the recorder has a filter" "$(status $recorder Seccomp)" 2
equal "the broker has a filter" "$(status "$broker" Seccomp)" 2
equal "the recorder gets no new privileges" "$(status $recorder NoNewPrivs)" 1
equal "the broker gets no new privileges" "$(status "$broker" NoNewPrivs)" 1
# Of root's: dac_override, dac_read_search, fowner, sys_ptrace, and sys_nice for its own priority.
equal "the recorder keeps no capability that it does not need" \
	$((0x$(status $recorder CapPrm) & ~0x88000e)) 0
# In a container this shell may have some already.
own=$(status self Seccomp_filters)
equal "the recorder's is one more than ours" "$(status $recorder Seccomp_filters)" $((own + 1))
equal "the broker's is one more than ours" "$(status "$broker" Seccomp_filters)" $((own + 1))
# Not just any: what the kernel runs is, instruction by instruction, what ours are built as.
multi=$(sed -n 's/^uprobe_multi links *\([a-z]*\).*/\1/p' "$tmp/check")
has_filter() { # NAME PID WHICH
	"$root/build/tests/tools/filters" "$2" "$3" >"$tmp/filter" 2>&1
	case $? in
	0) ok "$1" ;;
	2) skip "$1" "$(cat "$tmp/filter")" ;;
	*) not_ok "$1" "$(cat "$tmp/filter")" ;;
	esac
}
has_filter "the recorder's is the recorder's" $recorder recorder
case $multi in
yes) has_filter "the broker's is the broker's" "$broker" broker ;;
*) has_filter "the broker's is the broker's, with perf events" "$broker" broker-perf ;;
esac
equal "the target has no more than we" "$(status $storm Seccomp_filters)" "$own"
check "no missing filter is told" sh -c "! grep -q 'no filter' '$tmp/err'"
kill -INT $recorder
wait $recorder
equal "recorded inside of them" $? 0
check_account "inside of them" "$tmp/s"
check_agree "inside of them" "$tmp/t"
exec 9>&-
wait $storm
equal "the program's semaphore is off again" "$(said "$tmp/storm.out" semaphore)" 0

# In which order: each system call by which one of ours opens or reads what is the target's comes later
# than its filter. Without -o its name and its environment are read, too.
start_storm
(cd "$tmp" && exec "$root/build/tests/tools/foreign" "/proc/$storm" "/proc/$storm/" "$programs/storm" -- \
	"$proftrace" -q -p $storm -d 200ms --summary-json "$tmp/s" 9>&-) >"$tmp/calls" 2>"$tmp/err"
status=$?
exec 9>&-
wait $storm
if grep -q '^cannot trace' "$tmp/calls"; then
	skip "what comes first" "$(grep '^cannot trace' "$tmp/calls")"
else
	equal "what comes first: exit status" $status 0
	check_account "what comes first" "$tmp/s"
	# Where the kernel answers questions about mappings, their list is not read as a text.
	for what in "task/$storm/environ" "comm" "maps"; do
		check "what comes first: the recorder reads ${what##*/}" \
			grep -q "^proftrace \(p*read[64]*\|ioctl\) /proc/$storm/$what: filtered" "$tmp/calls"
	done
	check "what comes first: the recorder reads the program" \
		grep -q "^proftrace pread64 $programs/storm: filtered" "$tmp/calls"
	check "what comes first: the broker opens files" \
		grep -q "^proftrace-broke openat /proc/$storm/.*: filtered" "$tmp/calls"
	equal "what comes first: nothing of it is read without a filter" "$(said "$tmp/calls" open)" 0
	[ "$(said "$tmp/calls" open)" = 0 ] || grep ': open ' "$tmp/calls" | head -5 | sed 's/^/#   /'
	kept=0
	for capabilities in $(sed -n 's/^proftrace [a-z].*: filtered //p' "$tmp/calls" | sort -u); do
		kept=$((kept | 0x$capabilities))
	done
	equal "what comes first: nor with a capability that the recorder does not need" $((kept & ~0x88000e)) 0
	check "what comes first: the target's rank" grep -q '"rank":"7"' "$tmp/proftrace-storm-$storm.json"
fi

# A command is nobody's to restrict: it may want sudo.
"$proftrace" -q -o "$tmp/c" -- sh -c 'cat /proc/self/status' >"$tmp/out" 2>"$tmp/err"
equal "a command: no filter" "$(sed -n 's/^Seccomp:[[:space:]]*//p' "$tmp/out")" \
	"$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)"
equal "a command: privileges as before" "$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' "$tmp/out")" \
	"$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status)"
check_nothing_left "closed"
finish
