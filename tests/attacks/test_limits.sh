#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user with a capable proftrace, or root in a container, who may not raise limits, sets one so low that the kernel kills a
# process of proftrace or refuses it something while it attaches: it records, or says why not and what to do. No breakpoint
# stays in the program.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid || { skip "limits" "cannot make users"; finish; }
if ! capable_copy "$tmp/proftrace" || ! command -v prlimit >/dev/null; then
	skip "limits" "needs file capabilities and prlimit"
	finish
fi
begin_recording
mkdir "$tmp/owner" && chown "$owner_uid" "$tmp/owner" && mkfifo "$tmp/in"
cp "$attacks/bystander" "$tmp" && chmod 755 "$tmp/bystander"
exec 9<>"$tmp/in"
(exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups "$tmp/bystander" <"$tmp/in" >"$tmp/target" 9>&-) &
wait_for "$tmp/target" ready
target=$(said "$tmp/target" ready)
inode=$(stat -c %i "$tmp/bystander")
wrong= left= succeeded=0 refused=0
# 24 KiB of stack, not 16: the kernel leaves up to 8 KiB unused, at random, and the environment takes some, so that with 16 the
# dynamic linker crashes now and then.
# In a file whose size is limited nothing could be said.
try() { # OPTION-OF-PRLIMIT COMMAND-OR-PID...
	limit=$1
	shift
	(cd "$tmp/owner" && rm -f r.* && { timeout 20 setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all \
		prlimit "$limit" "$tmp/proftrace" -q -o r -f bystander:main --duration 50ms "$@" 2>&1 9>&-; echo "status $?"; } | cat >"$tmp/said$limit")
	said=$tmp/said$limit
	if [ "$(said "$said" status)" = 0 ]; then
		succeeded=$((succeeded + 1))
	else
		refused=$((refused + 1))
		[ "$(said "$said" status)" = 1 ] && [ "$(grep -c '^proftrace: ' "$said")" -ge 1 ] &&
			[ "$(grep -c '^hint: ' "$said")" = 1 ] || wrong="$wrong $limit($(head -c 200 "$said" | tr '\n' ' '))"
	fi
	for _ in $(seq 1 100); do
		changed=$("$attacks/changed_bytes" "$target" where | grep -c "^at $inode ")
		[ "$changed" = 0 ] && return
		sleep 0.02
	done
	left="$left $limit"
}
for limit in as=20000000 as=60000000 data=1000000 nproc=0 nproc=3 nproc=4 fsize=0 sigpending=0 stack=262144 stack=65536 stack=24576 stack=24576:1000000 memlock=0; do
	try --$limit -p "$target"
done
try --nproc=1 -- true
never_else "it records, or says why not and what to do" "$wrong" ""
never_else "no breakpoint stays in the program" "$left" ""
check "both happen ($succeeded, $refused)" test $succeeded -ge 3 -a $refused -ge 5
check "--nproc=0: the hint names the limit" grep -q '^hint: .*ulimit -u' "$tmp/said--nproc=0"
for limit in 65536 24576; do
	check "--stack=$limit: the hint names the limit" grep -q '^hint: .*ulimit -Hs 256' "$tmp/said--stack=$limit"
done
equal "a soft limit of the stack: it records" "$(said "$tmp/said--stack=24576:1000000" status)" 0
check "--fsize=0: says so" grep -q 'File too large' "$tmp/said--fsize=0"

# At the hard limit of CPU time the kernel kills: the recording ends before. What has its own soft limit, or none, keeps it.
(cd "$tmp/owner" && exec setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all prlimit --cpu=9 --stack=24576: \
	"$tmp/proftrace" -o cpu --summary-json s -- sh -c 'ulimit -Ss; ulimit -St; kill -XCPU $PPID; kill -XCPU $PPID; ulimit -Ht') >"$tmp/cpu.out" 2>"$tmp/cpu.err" 9>&-
equal "CPU time is over: exit status" $? 1
for _ in $(seq 200); do
	[ "$(wc -l <"$tmp/cpu.out")" = 3 ] && break
	sleep 0.05
done
equal "CPU time is over: the command has the limits of the caller" "$(cat "$tmp/cpu.out")" "$(echo 24; echo 9; echo 9)"
check "CPU time is over: it says so" grep -q 'the CPU time limit is reached' "$tmp/cpu.err"
check "CPU time is over: the hint names the limit" grep -q '^hint: .*ulimit -t SECONDS' "$tmp/cpu.err"
equal "CPU time is over: the account adds up" "$(field "$tmp/owner/s" adds_up)" true
# Each site slows down all who execute a program that has the file.
(cd "$tmp/owner" && setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all "$tmp/proftrace" -o functions \
	-f 'libc.so.6:*' --duration 50ms -p "$target") >"$tmp/said" 2>&1 9>&-
never_else "all functions of the C library: left out, and it says why" \
	"$(grep 'left out: too many sites in files of others' "$tmp/said" | grep -c 'narrow the patterns')" 1
kill "$target"
# Linux deadlocks if very many eBPF programs are removed at once, so the broker counts brokers by their name. These processes
# have that name and no eBPF program.
mkfifo "$tmp/many"
exec 8<>"$tmp/many"
cp "$programs/scripted" "$tmp/proftrace-broke"
count_as() { # HOW MANY, UID: so many processes of this user, who has $count of them in the end
	for _ in $(seq "$1"); do
		(exec setpriv --reuid="$2" --clear-groups "$tmp/proftrace-broke" <"$tmp/many" >/dev/null 8>&- 9>&-) &
	done
	for _ in $(seq 200); do
		[ "$(pgrep -cx -U "$2" proftrace-broke)" -ge "$count" ] && break
		sleep 0.05
	done
}
record_once() {
	(cd "$tmp/owner" && owner_proftrace -q -o many -- true) >"$tmp/said" 2>&1 8>&- 9>&-
}
owner_proftrace() {
	setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all "$tmp/proftrace" "$@"
}
count=40 count_as 40 0
count=12 count_as 12 "$owner_uid"
record_once
equal "12 brokers of the user's, and others' do not count: it records" "$? $(grep -c 'too many recordings' "$tmp/said")" "0 0"
count=15 count_as 3 "$owner_uid"
owner_proftrace check >"$tmp/said" 2>&1 8>&- 9>&-
never_else "15: check counts as one" "$? $(grep -c 'too many recordings' "$tmp/said")" "0 0"
count=16 count_as 1 "$owner_uid"
record_once
equal "16: it does not" $? 1
never_else "16: it says so, and why" "$(grep -c '^proftrace: .*too many recordings of this user\|^hint: .*without root' "$tmp/said")" 2
owner_proftrace check >"$tmp/said" 2>&1
never_else "16: check loads nothing either" "$? $(grep -c 'too many recordings' "$tmp/said")" "1 1"
# Only the directory itself can be opened.
setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=-all prlimit --nofile=4:1024 \
	"$tmp/proftrace" check >"$tmp/said" 2>&1 3>&- 8>&- 9>&-
never_else "they cannot be counted: it says so, and loads nothing" "$? $(grep -c "cannot read '/proc'" "$tmp/said")" "1 1"
exec 8>&-
# Root's broker would be a real-time process.
if setpriv --bounding-set=-sys_resource true 2>/dev/null; then
	(cd "$tmp/owner" && setpriv --bounding-set=-sys_resource prlimit --rttime=0 \
		timeout 20 "$proftrace" -q -o r -f 'libc.so.6:[a-c]*' -- true >"$tmp/said" 2>&1)
	equal "root, whose processes may not be real-time ones: it records" "$? $(cat "$tmp/said")" "0 "
else
	skip "root, whose processes may not be real-time ones" "setpriv cannot take CAP_SYS_RESOURCE from it"
fi
finish
