#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The broker is killed (SIGKILL) while it detaches, alone or together with every other process of proftrace. The kernel
# gives up detaching in a process that is killed in the middle of it, and leaves breakpoints and counted semaphores in the
# program. (closing.c says why it does not here.)
. "$(dirname "$0")/lib.sh"
need_tracing
mkfifo "$tmp/in"
# Other recordings on this machine put breakpoints into everybody's C library and dynamic linker: the program has a copy of
# the one, and the other is not looked at.
mkdir "$tmp/lib"
cp "$(ldd "$attacks/bystander" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')" "$tmp/lib/libc.so.6"
linker=$(stat -L -c %i "$(ldd "$attacks/bystander" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\).*/\1/p')")
LD_LIBRARY_PATH=$tmp/lib "$attacks/bystander" <"$tmp/in" >"$tmp/target" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/target" ready

left() { # what is changed in the program's code, and whether its markers are on
	echo "$("$attacks/changed_bytes" $target where | grep '^at' | grep -cv "^at $linker ") $("$proftrace" list -p $target 9>&- | grep -c 'on (exact)')"
}
# Polled: those that detach end when they have.
becomes_clean() { # NAME
	for _ in $(seq 1 100); do
		[ "$(left)" = "0 0" ] && break
		sleep 0.02
	done
	never_else "$1" "$(left)" "0 0"
}
# All processes below one, which are looked for again until there are no others.
family() { # PID
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		echo "$child"
		family "$child"
	done
}

killed=0
for whom in broker all; do
	for delay in ${DELAYS:-0 1 2 4 6 9 13 18 25 35}; do
		attack="$whom killed $delay ms after the end"
		: >"$tmp/err"
		"$proftrace" -e none -p $target -f 'libc.so.6:getppid' -o "$tmp/r" 9>&- 2>"$tmp/err" &
		recorder=$!
		# Killed while it attaches, the broker leaves things behind: proftrace(7) says so.
		wait_for "$tmp/err" 'proftrace: recording'
		check "$attack: it was attached" test "$(left)" != "0 0"
		broker=$(cat /proc/$recorder/task/$recorder/children)
		broker=${broker%% *}
		# At the end of a process the kernel releases the highest descriptor first.
		equal "$attack: what follows processes would end last" "$(for fd in $(ls "/proc/$broker/fdinfo" | sort -n); do
			sed -n 's/^tp_name:[[:space:]]*//p; s/^link_type:[[:space:]]*\(uprobe_multi\|perf_event\)/probe/p' "/proc/$broker/fdinfo/$fd"
		done | head -4 | tr '\n' ' ')" "sched_process_fork sched_process_exec sched_process_exit probe "
		kill -INT $recorder
		[ "$delay" = 0 ] || sleep "$(printf 0.%03d "$delay")"
		if [ $whom = all ]; then victims="$recorder $broker $(family "$broker")"; else victims=$broker; fi
		# It may have ended already.
		if kill -KILL $victims 2>/dev/null || kill -0 $recorder 2>/dev/null; then killed=$((killed + 1)); fi
		wait $recorder 2>/dev/null
		becomes_clean "$attack: nothing is left in the program"
	done
done
check "some were killed before they had ended ($killed)" test $killed -ge 5
exec 9>&-
wait $target
equal "the program ends well" $? 0
check_nothing_left "brokers killed"
finish
