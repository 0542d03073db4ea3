#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# serve: a configuration is taken as a whole or refused by its line; what it serves and keeps is what the program
# counted; a wrong configuration, a full disk and signals do not end it.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
mkdir kept
port=$((20000 + $$ % 12000))
url=http://127.0.0.1:$port/metrics
cp "$programs/scripted" served

configure() { # LINE...: replaces the whole
	printf '%s\n' "$@" >conf.new
	mv conf.new conf
}
well() { # FOLDER LINE...
	folder=$1
	shift
	configure "# a test" "" "name = served" "metrics=$port" "output = $tmp/$folder/t-{time}.pftrace" "flight-recorder = 60s" \
		"	trigger  =  slice:slow>1ms  " "max-overhead = 100%" "$@"
}

# --- the configuration ----------------------------------------------------------------------------------------
refused() { # LINE MESSAGE TEXT...
	line=$1 message=$2
	shift 2
	configure "$@"
	"$proftrace" serve --config conf --check >out 2>err
	equal "refused: $message: status" $? 2
	equal "refused: $message" "$(head -1 err)" "proftrace: cannot use 'conf${line:+:$line}': $message"
}
refused 2 "'colour' is not a long option of record" "name = x" "colour = red"
refused 1 "'n' is not a long option of record" "n = x"
refused 3 "'soon' is not a time such as 500ms, 10s or 5m" "name = x" "# c" "flight-recorder = soon"
refused 1 "'trigger' needs a value: SPEC" "trigger ="
refused 1 "'sched' takes no value" "sched = yes"
refused 2 "'pid' is not for a service" "" "pid = 1"
refused 3 "'keep' is given twice" "keep = 1" "name = x" "keep = 2"
refused "" "nothing to record: give a name, user, cgroup, unit or container" "metrics = 1"
well kept
check "a right one" "$proftrace" serve --config conf --check
equal "no such file: one line and a hint" "$("$proftrace" serve --config none 2>&1 | cut -d: -f1 | xargs)" "proftrace hint"
chmod o+w conf
check "one that others can write" sh -c "! '$proftrace' serve -c conf --check 2>err && grep -q \"cannot read 'conf': other users may write it\" err"
chmod o-w conf
head -c 70000 /dev/zero | tr '\0' '#' >large
check "a large one" sh -c "! '$proftrace' serve -c large --check 2>err && grep -q 'larger than 64 KiB' err"
mkfifo pipe
check "a pipe" sh -c "! timeout 5 '$proftrace' serve -c pipe --check 2>err && grep -q 'not a regular file' err"

# --- the service ------------------------------------------------------------------------------------------------
need_tracing
if ! command -v curl >/dev/null || ! ls /usr/lib/*/libmicrohttpd.so.12 >/dev/null 2>&1; then
	skip "serve" "there is no curl or no libmicrohttpd"
	finish
fi
manager() { # SOCKET: a manager's side of sd_notify; prints a line for each message, and whether it can be heard
	exec 8>&-
	exec python3 -u -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace("@", "\0"))
print("listens")
while True: print(s.recv(999).decode().split("\n")[0])' "$1"
}
start() { # SOCKET
	rm -f told err
	manager "$1" >told 2>/dev/null &
	manager=$!
	wait_for told listens
	NOTIFY_SOCKET=$1 "$proftrace" serve --config conf 2>err 8>&- &
	service=$!
	wait_for told READY=1 && ok "it is ready: $1" || not_ok "it is ready: $1" "$(cat err)"
}
program() {
	rm -f in said
	mkfifo in
	./served <in >said 8>&- &
	target=$!
	exec 8>in
	wait_for said ready
}
value() { # METRIC NAME
	curl -s $url | sed -n "s/^$1{category=\"[a-z]*\",name=\"$2\"[^ ]*process=\"served\"[^ ]*} //p"
}
recorder() {
	for child in $(cat /proc/$service/task/$service/children); do echo "$child"; done | head -1
}
reload() { # MESSAGES: SIGHUP, and the answer to it
	answers=$(grep -c READY=1 told)
	kill -HUP $service
	for _ in $(seq 1 200); do
		[ "$(grep -c READY=1 told)" -gt "$answers" ] && return 0
		sleep 0.05
	done
}

well kept
program
start "$tmp/manager"
# The events in memory are the recorder's alone: a copy in each child would be kept beside what replaces it.
largest=$(for child in $(cat /proc/$(recorder)/task/$(recorder)/children); do
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$child/status
done | sort -n | tail -1)
check "no other process has the flight recorder's 64 MiB: the largest has $largest KiB" test "$largest" -lt 50000
printf '%s\n' "slices 1000" "slow 5" "ticks 20" >&8
wait_for said "done 3"
equal "slices" "$(value proftrace_slice_duration_seconds_count work)" 1000
equal "instants" "$(value proftrace_instants_total tick)" 20
wait_for err "proftrace: slice:slow>1ms"
equal "the slow one is kept, with all that came before it" "$("$canon" --count kept/*.pftrace | awk '$1 == "BEGIN" { n += $NF } END { print n }')" 1001
check "ctl finds it by the number that systemd knows" "$proftrace" ctl status -p $service

configure "name = served" "metrics = x"
reload
equal "a wrong configuration: its line" "$(grep -c "cannot use 'conf:2': 'x' is not an address" err)" 1
rm conf
reload
equal "none at all" "$(grep -c "cannot read 'conf': No such file" err)" 1
well none
reload
equal "one that cannot begin" "$(grep -c "cannot write '$tmp/none/" err)" 1
equal "after all three the old one stays" "$(grep -c 'the configuration stays as it was' err)" 3
printf '%s\n' "slices 10" >&8
wait_for said "done 4"
equal "and it counts, since the last one" "$(value proftrace_slice_duration_seconds_count work)" 10
configure "name = served*" "metrics = $port" "stats-only"
reload
printf '%s\n' "slices 7" >&8
wait_for said "done 5"
cp served served-two
./served-two "slices 5" >/dev/null
equal "another process has its own series, and keeps it after its exit" \
	"$(curl -s $url | sed -n 's/^proftrace_slice_duration_seconds_count{.*name="work",.*process="\([^"]*\)"} /\1 /p' | sort | xargs)" "served 7 served-two 5"
cgroups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
slice=$cgroups/proftrace-test-$$.slice
users=$slice/user@1003.service/own.service
if [ -n "$cgroups" ] && mkdir -p "$users" 2>/dev/null; then
	(cd "$tmp" && sh -c 'echo $$ >"$1/cgroup.procs" && exec ./served-two "slices 3"' sh "$users" >/dev/null)
	find "$slice" -depth -type d -exec rmdir {} +
	equal "the unit of a user's own service manager is one label" \
		"$(curl -s $url | sed -n 's/^proftrace_slice_duration_seconds_count{.*name="work",.*\(unit="user.*\)} /\1 /p')" \
		'unit="user@1003.service/own.service",container="",process="served-two" 3'
else
	skip "the unit of a user's own service manager is one label" "no cgroup can be made"
fi
equal "a right one is used" "$(value proftrace_slice_duration_seconds_count work)" 7
equal "what the manager was told" "$(sort told | uniq -c | awk '{ print $2, $1 }' | xargs)" "READY=1 5 RELOADING=1 4 listens 1"
kill $service
wait $service
equal "SIGTERM: status" $? 0
wait_for told STOPPING=1
kill $manager

well kept
start "@proftrace-test-$$"
recorder=$(recorder)
kill -KILL $service
wait $service 2>/dev/null
for _ in $(seq 1 200); do
	kill -0 "$recorder" 2>/dev/null || break
	sleep 0.05
done
check "a killed service: its recorder ends" sh -c "! kill -0 $recorder"
check_nothing_left "a killed service"
kill $manager
start "$tmp/manager2"
kill -KILL "$(recorder)"
wait $service
equal "a killed recorder: the service fails" $? 1
check "and says so" grep -q "the recorder was killed by signal 9" err
kill $manager
check_nothing_left "a killed recorder"

# --- the quota, and a full disk ----------------------------------------------------------------------------------
dump() { # N
	for _ in $(seq "$1"); do
		next=$(($(grep -c '^done' said) + 1))
		printf '%s\n' "slices 3000" >&8
		wait_for said "done $next"
		"$proftrace" ctl dump -p $service >/dev/null || echo "# not everything was written"
	done
}
kept_bytes() {
	cat kept/t-*.pftrace 2>/dev/null | wc -c
}
metric() { # NAME
	curl -s $url | sed -n "s/^$1 //p"
}
rm -f kept/*
well kept "quota = 300K"
start "$tmp/manager3"
dump 2
first=$(ls kept | head -1)
printf 'mine' >mine
mv mine "kept/$first"
printf 'mine' >kept/t-foreign.pftrace
dump 6
next=$(($(grep -c '^done' said) + 1))
before=$(ls kept)
printf '%s\n' "dump 200" "slices 10" >&8
wait_for said "done $((next + 1))"
"$proftrace" ctl status -p $service >/dev/null
equal "a program makes it write nothing" "$(metric proftrace_requests_ignored_total)" 200
equal "and deletes nothing" "$(ls kept)" "$before"
check "the quota holds" [ "$(kept_bytes)" -le 300000 ]
check "and is used" [ "$(kept_bytes)" -gt 150000 ]
equal "what is kept can be scraped" "$(metric proftrace_files_bytes)" "$(($(kept_bytes) - 8))"
check "what was deleted, too" [ "$(metric proftrace_files_deleted_total)" -ge 3 ]
equal "files of others stay, also one in the place of ours" "$(cat "kept/$first" kept/t-foreign.pftrace)" minemine
timeout 20 "$proftrace" -p $target --flight-recorder 1s --quota 1M -o kept/u 2>second
equal "one recording holds a directory" "$?$(grep -c "cannot keep --quota beside 'kept/u': another recording" second)" 11
kill $service
wait $service
kill $manager
cp kept/.proftrace-kept list
printf '%s\n' '1 2' 'x' "$(stat -c '%d %i' conf) ../conf" "$(stat -c '%d %i' kept/t-foreign.pftrace) ../kept/t-foreign.pftrace" \
	"$(head -c 9000 /dev/zero | tr '\0' 1)" >>kept/.proftrace-kept
well kept "quota = 1K"
start "$tmp/manager4"
equal "after a restart, traces from before are deleted, and nothing else" "$(cat kept/t-*)$(wc -c <conf | wc -l)" minemine1
kill $service
wait $service
kill $manager
if mkdir small && mount -t tmpfs -o size=256k none small 2>/dev/null; then
	well small
	start "$tmp/manager5"
	dump 4 >/dev/null 2>&1
	check "a full disk: counted" [ "$(metric proftrace_dumps_failed_total)" -ge 1 ]
	check "and said" grep -q "cannot write '$tmp/small/.*No space left" err
	rm -f small/*
	dump 1
	equal "it goes on when there is space again" "$(grep -c 'proftrace: requested: the last .* are in' err)" \
		"$(($(metric proftrace_dumps_total) - $(metric proftrace_dumps_failed_total)))"
	head -c 300K /dev/zero >small/full 2>/dev/null
	reload
	dump 1 2>/dev/null
	equal "it can reload while the disk is full" "$(grep -c 'recording with the new configuration' err)/$(value proftrace_slice_duration_seconds_count work)" 1/3000
	kill $service
	wait $service
	equal "a full disk: status" $? 0
	kill $manager
	umount small
else
	skip "a full disk" "a file system cannot be mounted here"
fi

# As the journal: standard error is the file that the variable names.
JOURNAL_STREAM=$(stat -c %d:%i err) "$proftrace" serve -c none 2>>err
equal "priorities for the journal" "$(sed -n 's/^\(<[0-9]>[a-z]*\).*/\1/p' err | xargs)" "<3>proftrace <6>hint"
exec 8>&-
wait $target
finish
