#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorder that was taken over sends the broker requests as fast as it takes them, and reads no reply: the broker must
# not hang with what is attached. Or it reads them, and is killed in the middle of it.
. "$(dirname "$0")/lib.sh"
need_tracing
tool=$root/build/tests/tools/flood_broker
rounds=15000
"$programs/checksum" 2 $rounds <&- >"$tmp/alone"
mkfifo "$tmp/in" "$tmp/go"

has_ended() { # PROCESS: who reaps it is none of ours
	! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null
}
begin_target() {
	rm -f "$tmp/target" "$tmp/said"
	"$programs/checksum" 2 $rounds <"$tmp/in" >"$tmp/target" &
	target=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/target" ready
}
begin_flood() { # KIND LINKS
	rm -f "$tmp/said"
	"$tool" "$1" $target "$programs/checksum" "$2" <"$tmp/go" >"$tmp/said" 9>&- &
	flood=$!
	exec 8>"$tmp/go"
	wait_for "$tmp/said" attached
	broker=$(cat "/proc/$flood/task/$flood/children")
	broker=${broker%% *}
	check "$attack: it is attached" sh -c '"$1" list -p $2 9>&- | grep -q "on (exact)"' sh "$proftrace" $target
}
end_target() {
	check "$attack: the broker has ended" has_ended $broker
	never_else "$attack: everything is detached" "$("$proftrace" list -p $target 9>&- | grep -c 'on (exact)')" 0
	wait_for "$tmp/target" sum
	exec 9>&-
	wait $target
	equal "$attack: the program ends well" $? 0
	never_else "$attack: its result is the same, its semaphores off, its code as before" \
		"$(said "$tmp/target" sum) $(said "$tmp/target" semaphore)$(said "$tmp/target" code)" "$(said "$tmp/alone" sum) 00"
	check_nothing_left "$attack"
}

for links in all own; do
	for kind in identify open attach functions descriptors short large; do
		attack="$kind, links for $links"
		begin_target
		begin_flood $kind $links
		echo go >&8
		exec 8>&-
		wait $flood
		equal "$attack: the flood ended by itself" $? 0
		check "$attack: the broker got many requests ($(said "$tmp/said" requests))" test "$(said "$tmp/said" requests)" -ge 20
		# A reply is waited for 20 ms; all the rest is a busy machine.
		ended=$(said "$tmp/said" ended)
		check "$attack: it gave up soon (${ended:-never} ms)" test "${ended:-99999}" -lt 10000
		end_target
	done
	attack="replies are read, links for $links"
	begin_target
	begin_flood read $links
	echo go >&8
	wait_for "$tmp/said" flooding
	descriptors=$(find "/proc/$broker/fd" -type l | wc -l)
	kill -KILL $flood
	wait $flood 2>/dev/null
	exec 8>&-
	for _ in $(seq 1 400); do has_ended "$broker" && break; sleep 0.05; done
	check "$attack: the broker kept few descriptors ($descriptors)" test "$descriptors" -lt 64
	end_target
done

# Each of these interrupts all CPUs, whoever has them, as the timers do that take samples.
begin_target
for hz in 0 800; do
	attack="counters of who has a CPU, beside $hz samples"
	"$tool" bases $target "$programs/checksum" own $hz >"$tmp/said" 9>&-
	equal "$attack: all was tried" $? 0
	check "$attack: no more than 1000 in a second ($(said "$tmp/said" sent) in $(said "$tmp/said" ms) ms)" \
		test "$(said "$tmp/said" sent)" -ge 2 -a "$(said "$tmp/said" sent)" -le "$(($(said "$tmp/said" ms) * (1000 - hz) / 1000 + 2))"
done
exec 9>&-
wait $target
check_nothing_left "$attack"
finish
