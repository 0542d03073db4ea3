#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user who may run proftrace by sudo, and so sees what any process does, still does not see files of root's by it, nor has them
# opened: a device may do something then. And two such users have jobs of the same name: neither gets a process of the other.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user one && one_uid=$made_uid one_gid=$made_gid || { skip "by sudo" "cannot make users"; finish; }
by_sudo() { # UID GID COMMAND...: as sudo starts it
	sudo_uid=$1 sudo_gid=$2
	shift 2
	SUDO_UID=$sudo_uid SUDO_GID=$sudo_gid "$@"
}
mkdir -m 777 "$tmp/shared" && mkdir -m 700 "$tmp/roots" && chmod 711 "$tmp"
cp "$programs/every_kind" "$tmp/roots/program" && chmod 755 "$tmp/roots/program"
echo 'a-secret-of-root' >"$tmp/roots/secret" && chmod 644 "$tmp/roots/secret"
cp "$tmp/roots/secret" "$tmp/shared/public"

# --- files that are read, whose parts are in messages ---------------------------------------------------

by_sudo "$one_uid" "$one_gid" "$proftrace" serve --check -c "$tmp/shared/public" >"$tmp/said" 2>&1
equal "serve: a file that the user may read is read" "$(grep -c a-secret "$tmp/said")" 1
by_sudo "$one_uid" "$one_gid" "$proftrace" serve --check -c "$tmp/roots/secret" >"$tmp/said" 2>&1
never_else "serve: one of root's is not" "$(grep -c a-secret "$tmp/said")" 0
check "serve: says so" grep -q "cannot read '$tmp/roots/secret': Permission denied" "$tmp/said"
by_sudo "$one_uid" "$one_gid" "$proftrace" list "$programs/every_kind" >"$tmp/said" 2>&1
check "list: a program that the user may read is listed" grep -q 'domain default' "$tmp/said"
by_sudo "$one_uid" "$one_gid" "$proftrace" list "$tmp/roots/program" >"$tmp/said" 2>&1
never_else "list: one of root's is not" "$(grep -c domain "$tmp/said")" 0

# --- options whose answer says whether a path leads somewhere -------------------------------------------

mkdir "$tmp/roots/a-directory" && mkfifo "$tmp/roots/a-fifo"
cgroups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
said_of() { # NAME OPTION...: NAME is not in it
	hidden=$1
	shift
	by_sudo "$one_uid" "$one_gid" timeout 20 "$proftrace" -q -o "$tmp/roots/t" "$@" 2>&1 | sed "s/$hidden/NAME/g"
}
for hidden in a-directory nothing; do
	said_of $hidden --cgroup "$tmp/roots/$hidden/../../../../../../../..$cgroups" >"$tmp/$hidden.through"
	said_of $hidden --cgroup "../../../../../../../..$tmp/roots/$hidden" >"$tmp/$hidden.relative"
done
for way in through relative; do
	never_else "--cgroup: a directory of root's is not told from none ($way)" \
		"$(cat "$tmp/a-directory.$way")" "$(cat "$tmp/nothing.$way")"
done
if [ -n "$cgroups" ]; then
	said_of NAME --cgroup "$cgroups" >"$tmp/said"
	never_else "--cgroup: a cgroup is one" "$(grep -c 'no such cgroup' "$tmp/said")" 0
fi
for hidden in a-fifo nothing; do
	said_of $hidden -o "$tmp/roots/$hidden" -p $$ >"$tmp/$hidden.output"
done
never_else "-o: a FIFO of root's is not told from nothing" "$(cat "$tmp/a-fifo.output")" "$(cat "$tmp/nothing.output")"
if [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 81 ]; then
	said_of NAME --metrics 81 -p $$ >"$tmp/said"
	check "--metrics: a port below 1024 is not for the user" \
		grep -q 'cannot serve metrics: Permission denied' "$tmp/said"
fi

# --- a set-user-ID program, which the recorder has to open itself ----------------------------------------

for place in shared roots; do
	cp "$programs/every_kind" "$tmp/$place/set-id" && chmod 4755 "$tmp/$place/set-id"
	mkfifo "$tmp/$place.in"
	rm -f "$tmp/said" "$tmp/out"
	"$tmp/$place/set-id" 1 1 wait <"$tmp/$place.in" >"$tmp/out" &
	process=$!
	exec 9>"$tmp/$place.in"
	wait_for "$tmp/out" ready
	(exec 9>&- && by_sudo "$one_uid" "$one_gid" "$proftrace" -q -o "$tmp/shared/t" --summary-json "$tmp/shared/$place" -p $process) >"$tmp/said" 2>&1 &
	recorder=$!
	if [ $place = shared ]; then
		for _ in $(seq 200); do "$proftrace" list -p $process 9>&- | grep -q 'on (exact)' && break; sleep 0.05; done
	else
		wait $recorder
	fi
	exec 9>&-
	wait $process
	[ $place = roots ] || wait $recorder
done
equal "-p: where the user may open the program, it is recorded" "$(field "$tmp/shared/shared" written)" "$(said "$tmp/out" total)"
check "-p: where not, it is said why" grep -q "Permission denied" "$tmp/said"

# --- where the kernel is -------------------------------------------------------------------------------

mkfifo "$tmp/shared/through" "$tmp/shared/end" && chmod 666 "$tmp/shared/through" "$tmp/shared/end"
exec 9<>"$tmp/shared/end"
# shellcheck disable=SC2016
(exec env SUDO_UID="$one_uid" SUDO_GID="$one_gid" "$proftrace" -q --sample 999 -e none -o "$tmp/shared/kernel.pftrace" -- \
	sh -c 'dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null; echo >"$0/through"; read -r _ <"$0/end"' "$tmp/shared") >"$tmp/said" 2>&1 9>&- &
recorder=$!
read -r _ <"$tmp/shared/through"
never_else "--sample: the recorder can read no addresses of the kernel's functions" "$(find "/proc/$recorder/fd" -lname /proc/kallsyms | wc -l)" 0
equal "--sample: but a copy of their names" "$(find "/proc/$recorder/fd" -lname '/memfd:kallsyms*' | wc -l)" 1
echo >&9
wait $recorder
exec 9>&- # what nobody has opened keeps no line
if grep -q '^0*[1-9a-f].* _text$' /proc/kallsyms; then
	check "--sample: the kernel's functions have names" sh -c '"$1" "$2" | grep -q "kernel .*;[a-z_0-9]*syscall"' sh \
		"$root/build/tests/tools/stacks" "$tmp/shared/kernel.pftrace"
fi

# --- the brokers, which know where the kernel is ---------------------------------------------------------

by_sudo "$one_uid" "$one_gid" "$root/build/tests/tools/protected" >"$tmp/said" 2>&1
never_else "brokers: nobody gets their memory, not even by their numbers" "$? $(grep -v 'of the process that was named$' "$tmp/said" | grep '^got' | sort | uniq -c)" "0 "
check "brokers: it was tried with three and what they have forked" test "$(grep -c '^found' "$tmp/said")" -ge 6
equal "brokers: the memory of the process that was named is read" "$(said "$tmp/said" target)" 1

# --- events that the kernel permits to root -------------------------------------------------------------

# The path of a probe is an address, which the user can guess; whether one in the kernel opens tells where the kernel is.
opens_event() { # EVENT COMMAND...
	event=$1
	shift
	"$@" "$proftrace" -q -o "$tmp/shared/event.pftrace" -e "$event" -- true >"$tmp/said" 2>&1
}
for pmu in uprobe kprobe breakpoint; do
	[ -e /sys/bus/event_source/devices/$pmu ] || { skip "-e $pmu" "no such PMU"; continue; }
	opens_event $pmu/config2=1/ by_sudo "$one_uid" "$one_gid"
	never_else "-e $pmu: opens nothing, and says so" "$?: $(grep '^hint' "$tmp/said")" "1: hint: only root without sudo may count this event"
	opens_event $pmu/config2=1/ env
	never_else "-e $pmu: root itself is told what the kernel says" "$?: $(grep -c 'without sudo' "$tmp/said")" "1: 0"
done
if id=$(cat /sys/kernel/tracing/events/sched/sched_switch/id 2>/dev/null); then
	opens_event "tracepoint/config=$id/" by_sudo "$one_uid" "$one_gid"
	equal "-e tracepoint: is counted" $? 0
else
	skip "-e tracepoint" "no tracefs at /sys/kernel/tracing"
fi

# --- a rank that hands its process over -----------------------------------------------------------------

cd "$tmp/shared" || exit 1
export RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 SLURM_JOB_ID=$$
mkfifo "$tmp/in" && chmod 666 "$tmp/in"
first() { # UID GID COMMAND...
	first_uid=$1 first_gid=$2
	shift 2
	rm -f "$tmp/first"
	(exec env SUDO_UID="$first_uid" SUDO_GID="$first_gid" "$proftrace" -v -o job -- "$@") >"$tmp/first" 2>&1 &
	recorder=$!
	exec 9>"$tmp/in"
}
second() { # UID GID COMMAND...
	second_uid=$1 second_gid=$2
	shift 2
	(exec 9>&- env RANK=1 SUDO_UID="$second_uid" SUDO_GID="$second_gid" timeout 30 "$proftrace" -v -o job -- "$@") >"$tmp/second" 2>&1 &
	rank=$!
}
# The commands wait for what comes through the pipe. (A pipe that nobody may write to any more cannot be opened.)
end_both() { # HOW MANY open the pipe
	for _ in $(seq 200); do
		[ "$(find /proc/[0-9]*/fd -lname "$tmp/in" ! -name 9 2>/dev/null | wc -l)" -lt "$1" ] || break
		sleep 0.05
	done
	exec 9>&-
	wait $recorder $rank
}
# shellcheck disable=SC2016
for user in one:1 other:0; do
	handed_over=${user#*:} user=${user%:*}
	rm -f began
	first "$one_uid" "$one_gid" sh -c 'echo "rank $RANK" >>began; chmod 666 began; exec cat "$0"' "$tmp/in"
	if [ "$user" = one ]; then made_uid=$one_uid made_gid=$one_gid; else make_user other; fi
	second "$made_uid" "$made_gid" sh -c 'echo "rank $RANK" >>began; chmod 666 began; exec cat "$0"' "$tmp/in"
	wait_for began 'rank 1'
	end_both 2
	never_else "two ranks, the second of $user: a process is handed over" \
		"$(cat "$tmp/first" "$tmp/second" | grep -c 'of the same job')" "$handed_over"
done

# The name of the command leads elsewhere for the second rank.
ln -s "$(command -v cat)" command
first "$one_uid" "$one_gid" ./command "$tmp/in"
ln -sfn "$tmp/roots/secret" command
second "$one_uid" "$one_gid" ./command "$tmp/in"
wait_for "$tmp/first" 'proftrace: process .* of the same job'
equal "another file: the second rank hands its process over" $? 0
never_else "another file: the recorder has not got it" "$(find "/proc/$recorder/fd" -lname "$tmp/roots/*" | wc -l)" 0
end_both 1
cd / || exit 1
check "the name of a job's socket has its user" test -n \
	"$(find /run/proftrace /run/user/0/proftrace -name "job-$one_uid-*" -newer "$tmp/shared/public" 2>/dev/null)"
# The recorder, which is the user now, cannot remove its socket from root's directory; the next of that name does.
find /run/proftrace /run/user/0/proftrace -name 'job-*' -user root -newer "$tmp/shared/public" -delete 2>/dev/null
check_nothing_left "by sudo"
finish
