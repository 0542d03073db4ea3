#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Without root: a user with two capabilities, inherited or from the program file, records only its own processes.
# Without the capabilities, the messages name exactly the missing ones.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ]; then
	skip "capabilities" "needs root to hand them out"
	finish
fi
user=1000
bin=$tmp/bin
mkdir "$bin" "$tmp/theirs"
chown $user "$tmp/theirs"
# The build may lie where that user cannot look.
cp "$proftrace" "$programs/storm" "$programs/executes" "$programs/opens" "$programs/plugin.so" \
	"$programs/hostile" "$bin"
chmod 755 "$bin"/*
as() { # CAPABILITIES COMMAND...
	"$programs/rights" user $user "$@"
}
recorder=$bin/proftrace
out=$tmp/theirs/t
summary=$tmp/theirs/s

# What is missing, and what to do.
as "" "$recorder" check >"$tmp/check" 2>&1
equal "check without any: exit status" $? 1
check "check without any: says which" grep -qE '^privileges +no +missing: CAP_BPF, CAP_PERFMON$' "$tmp/check"
check "check without any: says what to do" \
	grep -q "^hint: .*sudo setcap cap_bpf,cap_perfmon+ep $recorder" "$tmp/check"
as perfmon "$recorder" check >"$tmp/check" 2>&1
equal "check with one: exit status" $? 1
check "check with one: says which is missing" grep -qE '^privileges +no +missing: CAP_BPF$' "$tmp/check"
as bpf "$recorder" check >"$tmp/check" 2>&1
check "check with the other: says which is missing" \
	grep -qE '^privileges +no +missing: CAP_PERFMON$' "$tmp/check"
if unshare -Ur setpriv --bounding-set=+all true 2>/dev/null; then
	for bounds in +all -all,+bpf,+perfmon; do
		unshare -Ur setpriv --bounding-set="$bounds" "$recorder" -o "$out" -- "$bin/executes" 1 2>"$tmp/err"
		check "in a user namespace ($bounds): says why" grep -q 'capabilities of a user namespace do not permit it' "$tmp/err"
	done
else
	skip "in a user namespace" "none can be made here, or setpriv is that of BusyBox"
fi
as bpf "$recorder" -o "$out" -- "$bin/executes" 1 2>"$tmp/err"
equal "recording with one: exit status" $? 1
check "recording with one: says which is missing" grep -q 'without CAP_PERFMON' "$tmp/err"

# From the file.
capabilities=bpf,perfmon bits=000000c000000000
if ! "$programs/rights" file "$recorder" $capabilities 2>"$tmp/err"; then
	skip "capabilities of the file" "$(cat "$tmp/err")"
	finish
fi
# CAP_PERFMON alone permits reading the mappings of any process.
as "" "$recorder" list -v -p $$ >"$tmp/said" 2>&1
equal "list: another user's process: exit status" $? 1
never_else "list: says nothing of what it has mapped" "$(grep -c "$(readlink -f /proc/$$/exe)" "$tmp/said")" 0
as "" "$recorder" check >"$tmp/check" 2>&1
status=$?
sed 's/^/# /' "$tmp/check"
[ "$status" -ne 0 ] || check "check with both: says whether records overlap" grep -qE '^ring buffers +(yes +records do not|no +CVE-2024-41009)' "$tmp/check"
# On kernels that can be asked: a process without capabilities asks for a descriptor of its child.
[ "$status" -ne 0 ] || check "check with both: says who may look into a process that exits" \
	grep -qE '^exiting processes +(yes +nobody|no +CVE-2026-46333)' "$tmp/check"
if "$proftrace" check | grep -qE '^uprobe_multi links +no'; then
	equal "two capabilities: check: exit status" $status 1
	check "two capabilities: check says what this kernel wants" \
		grep -q 'before 6.6 require CAP_SYS_ADMIN' "$tmp/check"
	as "" "$recorder" -o "$out" -- "$bin/executes" 1 2>"$tmp/err"
	equal "two capabilities: exit status" $? 1
	check "two capabilities: recording says what this kernel wants" \
		grep -q 'before 6.6 require CAP_SYS_ADMIN' "$tmp/err"
	check "two capabilities: and what to do" grep -q 'setcap cap_bpf,cap_perfmon,cap_sys_admin+ep' "$tmp/err"
	capabilities=$capabilities,sys_admin bits=000000c000200000
	"$programs/rights" file "$recorder" $capabilities
else
	equal "two capabilities: check: exit status" $status 0
	check "two capabilities: check says so" grep -qE '^privileges +yes ' "$tmp/check"
fi

# The dynamic linker takes these from a process of a file with capabilities; the command has none.
equal "the command has the whole environment of its user" "$(LD_LIBRARY_PATH=/nowhere TMPDIR=/elsewhere PATH=$PATH as "" \
	"$recorder" -q -o "$out" -- sh -c 'echo "$LD_LIBRARY_PATH $TMPDIR"' 2>/dev/null)" "/nowhere /elsewhere"

if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ] && [ "$status" -eq 0 ]; then
	check "two capabilities: check says why nothing is counted in hardware" \
		grep -q 'kernel.perf_event_paranoid does not permit cycles' "$tmp/check"
fi

# Interrupts take time from everybody.
for often in "--sample 1001" "--counter-interval 999us" "--sample 500 --counter-interval 1999us"; do
	as "" "$recorder" -o "$out" $often -- "$bin/executes" 1 2>"$tmp/err"
	equal "$often: exit status" $? 1
	check "$often: says what is permitted" grep -q '^hint: .*at most 1000 Hz; or run proftrace with sudo' "$tmp/err"
done

# So does memory of the kernel. The broker refuses, whatever the recorder says.
as "" "$recorder" -o "$out" --buffer 257M -- "$bin/executes" 1 2>"$tmp/err"
equal "--buffer 257M: exit status" $? 1
check "--buffer 257M: says what is permitted" grep -q '^hint: at most 256M, or run proftrace with sudo' "$tmp/err"

# The kernel permits these to whoever has CAP_PERFMON: each hit is a cost for everybody, a probe tells where the kernel is.
for event in tracepoint/config=1/ kprobe/config2=1/ uprobe/config2=1/; do
	as "" "$recorder" -o "$out" -e $event -- "$bin/executes" 1 2>"$tmp/err"
	equal "-e $event: exit status" $? 1
	check "-e $event: says why, or that there is no such PMU" grep -qE '^hint: only root may count events|no such PMU' "$tmp/err"
done

record() { # NAME COMMAND...: as the user, with the file's capabilities
	name=$1
	shift
	as "" "$recorder" -q -o "$out" --summary-json "$summary" "$@" 2>"$tmp/err"
	equal "$name: exit status" $? 0
	# Of a child that was followed late, the END of a slice can come whose BEGIN was missed: that is counted as lost.
	if [ "$(field "$summary" followed_late)" -gt 0 ]; then
		never_else "$name: the account adds up" "$(field "$summary" adds_up)" true
	else
		check_account "$name" "$summary"
	fi
	equal "$name: every file was attached to" "$(field "$summary" files_refused)" 0
	check_agree "$name" "$out"
}

if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	record "as often as is permitted" --sample 500 --counter-interval 2ms -- "$bin/executes" 1
elif ! as "" "$recorder" -o "$out" --sample 1000 -- "$bin/executes" 1 2>"$tmp/err"; then
	check "no perf events: says why" grep -q "^proftrace: not permitted to open perf events 'samples of call stacks': kernel.perf_event_paranoid" "$tmp/err"
	check "no perf events: and what to do" grep -q '^hint: sudo sysctl kernel.perf_event_paranoid=2' "$tmp/err"
fi
record "a command, with as much memory as is permitted" --buffer 256M -- "$bin/executes" 3
equal "a command: every mark" "$(field "$summary" marked)" 13
equal "a command: nothing was attached late" "$(field "$summary" attached_late)" 0
equal "a command: the user's files" "$(stat -c %u%a "$out.json")" ${user}600
# A task of ours, that is root's, and has the CPU meanwhile.
sh -c 'echo not-to-be-told >/proc/$$/comm; while :; do :; done' &
busy=$!
record "with states of threads" --sched -- "$bin/executes" 3
kill $busy
wait $busy 2>/dev/null
equal "states: nobody else's task has a name" "$(grep -c not-to-be-told "$out.json") $(grep -c not-to-be-told "$out.pftrace")" "0 0"
check "states: others had the CPU" grep -q '(other user)' "$out.json"
# A process has forbidden itself the processor's counter, which could end it in buffered mode.
mkfifo "$tmp/off" && cp "$programs/sandboxed" "$bin"
for whose in root:0 user:1; do
	grep -qw nonstop_tsc /proc/cpuinfo || { skip "a process without the counter" "buffered mode does not use it here"; break; }
	named=${whose#*:} whose=${whose%:*}
	rm -f "$tmp/off.out"
	if [ $whose = user ]; then set -- as ""; else set -- env; fi
	"$@" "$bin/sandboxed" counter 1 <"$tmp/off" >"$tmp/off.out" &
	off=$!
	exec 9>"$tmp/off"
	echo >&9
	wait_for "$tmp/off.out" 'marks\|refused'
	as "" "$recorder" -o "$out" --mode batch-now -- "$bin/executes" 3 2>"$tmp/err" 9>&-
	exec 9>&-
	wait $off
	[ $? != 2 ] || { skip "a process without the counter" "this kernel does not forbid it"; break; }
	never_else "a process of $whose without the counter: is named to its user alone" \
		"$(grep -c 'has forbidden itself' "$tmp/err")" "$named"
done
as $capabilities "$bin/proftrace" -q -o "$out" --summary-json "$summary" -- "$bin/executes" 3
equal "capabilities handed on: every mark" "$(field "$summary" marked)" 13

start() { # COMMAND...
	rm -f "$tmp/in" "$tmp/out" # the last one's "ready" is not this one's
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/out" &
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	target=$(said "$tmp/out" ready)
}

end() { # NAME
	exec 9>&-
	wait
	equal "$1: its semaphore is off" "$(said "$tmp/out" semaphore)" 0
}

refused() { # NAME REASON
	as "" "$recorder" -v -p "$target" -d 200ms -o "$out" 9>&- 2>"$tmp/err"
	equal "$1: exit status" $? 1
	check "$1: says why" grep -q "not permitted to trace process '$target': $2" "$tmp/err"
	equal "$1: nothing was attached" "$(grep -c 'attached to' "$tmp/err")" 0
	end "$1"
}

start as "" "$bin/storm" 1 1000
rm -f "$tmp/err"
"$programs/rights" user $user "" "$recorder" -p "$target" -o "$out" --summary-json "$summary" \
	9>&- 2>"$tmp/err" &
pid=$!
wait_for "$tmp/err" "proftrace: recording"
broker=$(cat /proc/$pid/task/$pid/children)
broker=${broker% }
status() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
equal "attached: the recorder has no capability" \
	"$(status $pid CapEff)$(status $pid CapPrm)" 00000000000000000000000000000000
equal "attached: the broker has these" "$(status "$broker" CapEff)$(status "$broker" CapPrm)" $bits$bits
equal "attached: the broker is that user" "$(status "$broker" Uid | tr '\t' ' ')" "$user $user $user $user"
kill -INT $pid
wait $pid
equal "attached: exit status" $? 0
check "attached: marks" test "$(field "$summary" written)" -gt 10
equal "attached: the account adds up" "$(field "$summary" adds_up)" true
check_agree "attached" "$out"
end "attached"

# Who may not be traced.
start "$bin/storm" 1 1000
refused "another user's process" "it belongs to another user"
start as "" "$bin/storm" 1 1000 hidden
refused "a process that hides" "it has more privileges than its user, or is not dumpable"
cp "$bin/storm" "$bin/set-uid" && chmod 4755 "$bin/set-uid"
start as "" "$bin/set-uid" 1 1000
refused "a set-uid process" "it belongs to another user"
cp "$bin/storm" "$bin/set-gid" && chmod 2755 "$bin/set-gid"
start as "" "$bin/set-gid" 1 1000
refused "a set-gid process" "it has more privileges than its user"
cp "$bin/storm" "$bin/able" && "$programs/rights" file "$bin/able" sys_ptrace
start as "" "$bin/able" 1 1000
refused "a process with capabilities" "it has more privileges than its user"
# The broker has the same ones, but its user has not.
start as $capabilities "$bin/storm" 1 1000
refused "a process with the recorder's capabilities" "it has more privileges than its user"
# Not though the file has more capabilities than it needs.
"$programs/rights" file "$recorder" $capabilities,sys_ptrace
start as "" "$bin/set-gid" 1 1000
refused "a set-gid process, with CAP_SYS_PTRACE" "it has more privileges than its user"
"$programs/rights" file "$recorder" $capabilities

# Its children are let go of when they execute such a program, though the same library is attached to.
plugin_calls() { # TRACE
	"$canon" --count "$1.pftrace" | awk '/^BEGIN plugin work / { n = $NF } END { print n + 0 }'
}
cp "$bin/opens" "$bin/set-gid-opens" && chmod 2755 "$bin/set-gid-opens"
cp "$bin/opens" "$bin/secret-opens" && chmod 711 "$bin/secret-opens"
for program in opens set-gid-opens secret-opens; do
	record "$program" -- sh -c "$bin/opens 1 $bin/plugin.so && $bin/$program 1 $bin/plugin.so" >"$tmp/said"
	grep -v '^loaded\|^disturbed' "$tmp/said"
	wanted=1
	[ $program = opens ] && wanted=2
	calls=$(plugin_calls "$out")
	late=$(($(field "$summary" followed_late) + $(field "$summary" processes_not_followed) + $(field "$summary" attached_late)))
	check "$program: no calls of others (each time)" test "$calls" -le $wanted
	check "$program: the recorder waits for what the broker counts" [ "$(field "$summary" detach_requests)" -gt 0 ]
	# A child can be followed, or a library attached to, so late that the call is over; that is counted.
	check "$program: calls recorded: $calls of $wanted, late: $late ($(field "$summary" attached_late) libraries)" test $((calls + late)) -ge $wanted
done

# Nor is it recorded for a moment, or has a breakpoint that stays, when it executes one while the broker is asked to trace
# it, or to attach to it; nor is what gets its number just then, and has more rights. One error is that of who may not (EPERM), the other that of a process that is not traced (ESRCH).
cp "$programs/alternates" "$root/build/tests/tools/let_go" "$bin"
cp "$bin/alternates" "$bin/set-uid-alternates" && chmod 4755 "$bin/set-uid-alternates"
cp "$bin/alternates" "$bin/set-gid-alternates" && chmod 2755 "$bin/set-gid-alternates"
for rights in set-uid set-gid; do
	as $capabilities,sys_ptrace,checkpoint_restore "$bin/let_go" "$bin/alternates" "$bin/$rights-alternates" "$bin/plugin.so" >"$tmp/said"
	equal "$rights, executing while it is asked for: exit status" $? 0
	while read -r order error is_traced; do
		never_else "$rights, executing while it is asked for: $order" \
			"$(said "$tmp/said" $order) $(said "$tmp/said" ${order}_traced)" "$error $is_traced"
	done <<-END
		ordinary 0 1
		looked 1 0
		put 1 0
		put_and_back 1 0
		opened 3 0
		opened_and_back 3 0
		attach 0 1
		attach_looked 1 0
		attach_put 3 0
		attaching 3 0
		attaching_and_back 3 0
		attached 3 0
		attached_and_back 3 0
		traced_and_reused 1 0
		paused_and_reused 1 0
	END
done

# What has no name any more can be opened with one capability more; the program itself without.
cp "$bin/storm" "$bin/gone"
start as "" "$bin/gone" 1 1000
rm "$bin/gone"
record "a deleted program" -p "$target" -d 100ms 9>&-
end "a deleted program"
cp "$bin/plugin.so" "$bin/gone.so"
start as "" "$bin/hostile" maps "$bin/gone.so"
cp "$bin/plugin.so" "$bin/new.so" && mv "$bin/new.so" "$bin/gone.so"
as "" "$recorder" -p "$target" -d 100ms -o "$out" --summary-json "$summary" 9>&- 2>"$tmp/err"
equal "a replaced library: is counted" "$(field "$summary" files_refused)" 1
check "a replaced library: is named" \
	grep -q "cannot open '$bin/gone.so': deleted or replaced since it was mapped" "$tmp/err"
"$programs/rights" file "$recorder" $capabilities,checkpoint_restore
as "" "$recorder" -v -p "$target" -d 100ms -o "$out" --summary-json "$summary" 9>&- 2>"$tmp/err"
equal "a replaced library: with CAP_CHECKPOINT_RESTORE" "$(field "$summary" files_refused)" 0
check "a replaced library: attached to" grep -q "attached to .*'$bin/gone.so'" "$tmp/err"
exec 9>&-
wait
check_nothing_left "capabilities"
finish
