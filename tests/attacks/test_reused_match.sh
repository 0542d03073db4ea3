#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A process that matches what root or a user selects (-n, --user, --unit, --container, --wait) is found and ends, and before it
# is attached to, its number is that of a process that does not match. That one is not recorded, and has no breakpoint. The
# recorder is stopped in between, so that this happens each time.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid || { skip "reused match" "cannot make users"; finish; }
sh -c : &
gone=$!
wait $gone
if ! "$programs/again" $gone true 2>"$tmp/err"; then
	skip "reused match" "the kernel does not let us choose numbers: $(cat "$tmp/err")"
	finish
fi
begin_recording
chmod 711 "$tmp"
for program in again hostile storm waits; do
	cp "$programs/$program" "$tmp/$program" && chmod 755 "$tmp/$program"
done
# The first one that is attached to, the last one that began, has so many files mapped that the recorder can be stopped meanwhile.
cp "$tmp/hostile" "$tmp/match-first"
cp "$tmp/waits" "$tmp/match-second"
mkdir "$tmp/owner" && chown "$owner_uid" "$tmp/owner"
mkfifo "$tmp/first.in" "$tmp/second.in" "$tmp/new.in"
cgroup=
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
remove_cgroup() {
	for _ in $(seq 100); do
		[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null && break
		sleep 0.05
	done
	cgroup=
}
trap 'remove_cgroup; remove_test_users; rm -rf "$tmp"' EXIT

run_as() { # UID COMMAND...
	as_whom=$1
	shift
	if [ "$as_whom" = 0 ]; then exec "$@"; fi
	exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all "$@"
}
# Starts the process NAME with its input; its number is in $started.
begin() { # NAME UID COMMAND...
	in=$1 whose=$2
	shift 2
	rm -f "$tmp/$in.out"
	(
		[ -z "$cgroup" ] || [ "$in" = new ] || echo 0 >"$cgroup/cgroup.procs" || exit 1
		run_as "$whose" "$@"
	) <"$tmp/$in.in" >"$tmp/$in.out" 7>&- 8>&- 9>&- &
	started=$!
}
# Another process gets the number of the second one. Only root may choose numbers.
begin_new() { # UID
	of_next=$1
	set -- "$tmp/storm" 1 500
	[ "$of_next" = 0 ] || set -- setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups "$@"
	begin new 0 "$tmp/again" "$second" "$@"
	again=$started
	exec 9>"$tmp/new.in"
	wait_for "$tmp/new.out" ready
}
records() { # UID OPTION...
	whose=$1
	shift
	rm -f "$tmp/said"
	[ "$whose" = 0 ] && tracer=$proftrace || tracer=$tmp/capable
	rm -f "$tmp"/owner/t.* "$tmp/owner/s"
	(cd "$tmp/owner" && run_as "$whose" "$tracer" -v -e none -o t --summary-json s "$@") >"$tmp/said" 2>&1 7>&- 8>&- 9>&- &
	recorder=$!
}
ended_name() { # NAME: what of the number's two processes is in the trace, and the accounts
	equal "$1: exit status" "$status" 0
	never_else "$1: nothing of the other process is recorded" "$("$canon" "$tmp/owner/t.pftrace" 2>/dev/null | grep -c outer)" 0
	never_else "$1: the account adds up" "$(field "$tmp/owner/s" adds_up)" true
	equal "$1: the other process: its semaphore is off" "$(said "$tmp/new.out" semaphore)" 0
}

# Found in /proc.
swap() { # NAME UID-OF-THE-RECORDER UID-OF-THE-MATCHING UID-OF-THE-NEXT OPTION...
	name=$1 of_recorder=$2 of_match=$3 of_next=$4
	shift 4
	held=no
	for _ in 1 2 3 4 5; do
		begin second "$of_match" "$tmp/match-second" 1000
		second=$started
		exec 8>"$tmp/second.in"
		begin first "$of_match" "$tmp/match-first" maps /dev/null 6000
		first=$started
		exec 7>"$tmp/first.in"
		wait_for "$tmp/first.out" ready && wait_for "$tmp/second.out" ready
		records "$of_recorder" "$@"
		wait_for "$tmp/said" "proftrace: attached to .*match-first"
		kill -STOP $recorder
		kill -KILL $second
		wait $second 2>/dev/null
		begin_new "$of_next"
		grep -q "attached to .*match-second\|^proftrace: recording" "$tmp/said" || held=yes
		kill -CONT $recorder
		wait_for "$tmp/said" "proftrace: recording"
		breakpoints=$("$attacks/changed_bytes" "$second" where 2>/dev/null | grep -c "^at $(stat -c %i "$tmp/storm") ")
		exec 7>&-
		kill -INT $recorder
		wait $recorder
		status=$?
		exec 8>&- 9>&-
		wait $again $first 2>/dev/null
		[ $held = no ] || break
	done
	equal "$name: it happened in between" $held yes
	equal "$name: the number is the other one's" "$(said "$tmp/new.out" ready)" "$second"
	never_else "$name: the other process has no breakpoint" "$breakpoints" 0
	ended_name "$name"
}
swap "-n" 0 0 0 -n 'match-*'
swap "--user" 0 "$owner_uid" 0 --user "$owner_uid"
if capable_copy "$tmp/capable"; then
	swap "-n, without root" "$owner_uid" "$owner_uid" "$owner_uid" -n 'match-*'
else
	skip "-n, without root" "file capabilities cannot be set here"
fi
container=$(printf '%064d' $$)
for what in "--unit taken-$$.service" "--container $container"; do
	cgroup=$cgroups/taken-$$.service
	[ "${what% *}" = --unit ] || cgroup=$cgroups/docker-$container.scope
	if [ -z "$cgroups" ] || ! mkdir "$cgroup" 2>/dev/null; then
		cgroup=
		skip "${what% *}" "no control group of version 2 can be made here"
		continue
	fi
	swap "${what% *}" 0 0 0 $what
	remove_cgroup
done

# Told by the kernel, which sees what is executed: the recorder is stopped before the process begins.
waits() { # NAME UID
	begin first "$2" "$tmp/match-first" maps /dev/null 1
	first=$started
	exec 7>"$tmp/first.in"
	wait_for "$tmp/first.out" ready
	records "$2" --wait -n 'match-*'
	wait_for "$tmp/said" "proftrace: recording"
	kill -STOP $recorder
	begin second "$2" "$tmp/match-second" 1000
	second=$started
	exec 8>"$tmp/second.in"
	wait_for "$tmp/second.out" ready
	kill -KILL $second
	wait $second 2>/dev/null
	begin_new "$2"
	kill -CONT $recorder
	# It has read what came while it was stopped when it has seen the end of the first one.
	exec 7>&-
	wait $first
	kill -INT $recorder
	wait $recorder
	status=$?
	exec 8>&- 9>&-
	wait $again
	equal "$1: the number is the other one's" "$(said "$tmp/new.out" ready)" "$second"
	ended_name "$1"
}
waits "--wait" 0
[ ! -e "$tmp/capable" ] || waits "--wait, without root" "$owner_uid"
check_nothing_left "reused match"
finish
