#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs that keep the recorder busy scanning them without end. The recorder still obeys signals. Each program
# runs for a minute, longer than its recorder.
. "$(dirname "$0")/lib.sh"
need_tracing

mkfifo "$tmp/in"
begin() { # COMMAND...
	rm -f "$tmp/out"
	"$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	begun=$!
	exec 9>"$tmp/in"
}

end() {
	exec 9>&-
	wait $begun 2>/dev/null
}

still_there() { # NAME: the program that said `ready`
	check "$1: the recorder ends first" kill -0 "$(said "$tmp/out" ready)"
}

# Threads that open libraries wait for the recorder, and open the next ones before it is done.
begin "$programs/busy" hold 24 30000 "$programs/library.so"
wait_for "$tmp/out" ready
rm -f "$tmp/said"
"$proftrace" -o "$tmp/d" -p $begun --summary-json "$tmp/s" >"$tmp/said" 2>"$tmp/said" 9>&- &
recorder=$!
wait_for "$tmp/said" "proftrace: recording"
is_real_time() { # as sched_setscheduler(2) has it: 1 is SCHED_FIFO
	for _ in $(seq 1 200); do
		[ "$(sed 's/.*) //' "/proc/$recorder/stat" | cut -d' ' -f39)" = 1 ] && return 0
		sleep 0.05
	done
	return 1
}
if [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 23 & 1)) -eq 1 ]; then
	check "libraries without end: the recorder is a real-time process" is_real_time
else
	skip "libraries without end: the recorder's priority" "CAP_SYS_NICE is missing here"
fi
sleep 1 # of looking at what it has mapped
kill -INT $recorder
wait $recorder
equal "libraries without end: exit status" $? 0
still_there "libraries without end"
equal "libraries without end: the account adds up" "$(field "$tmp/s" adds_up)" true
end

# Addresses that are nowhere could be in code that was mapped since.
begin "$proftrace" -q --sample=999 -o "$tmp/f" --summary-json "$tmp/s" -- "$programs/busy" frames 10 60000
wait_for "$tmp/out" ready
sleep 1 # of samples
kill -TERM $begun
wait $begun
equal "frames that are nowhere: exit status" $? 0
still_there "frames that are nowhere"
check "frames that are nowhere: stacks were taken" test "$(field "$tmp/s" stacks)" -gt 0
end
finish
