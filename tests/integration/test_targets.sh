#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Processes that are recorded because their name or user matches: those that run, and with --wait those that start
# while the recording runs, from their first instruction; and nothing of the processes beside them.
. "$(dirname "$0")/lib.sh"
need_tracing

record() { # OPTION...: in the background, until it is ready
	rm -f "$tmp/err"
	"$proftrace" -v -o "$tmp/t" --summary-json "$tmp/s" "$@" 2>"$tmp/err" &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
}

end() { # NAME
	kill -INT $recorder
	wait $recorder
	equal "$1: exit status" $? 0
	never_else "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
}

pairs() { # FILE: what all programs together say that they marked, in beginnings and ends
	awk '$1 == "pairs" { n += 2 * $2 } END { print n + 0 }' "$1"
}

"$proftrace" -q -n 'no such program' -o "$tmp/t" 2>"$tmp/err"
equal "nothing matches: exit status" $? 1
equal "nothing matches: one line and a hint" "$(cat "$tmp/err")" "proftrace: no process matches
hint: \`--wait\` waits for processes that do not run yet"
"$proftrace" -n "$(printf '%064d' 0)" 2>"$tmp/err"
equal "a name that is too long: exit status" $? 2
"$proftrace" --wait -p 1 2>"$tmp/err"
equal "--wait alone: exit status" $? 2

# Three programs that run, of which two match.
for name in web-a web-b beside; do
	cp "$programs/waits" "$tmp/$name"
	mkfifo "$tmp/$name.in"
	rm -f "$tmp/$name.out"
	"$tmp/$name" 500 <"$tmp/$name.in" >"$tmp/$name.out" &
done
exec 7>"$tmp/web-a.in" 8>"$tmp/web-b.in" 9>"$tmp/beside.in"
for name in web-a web-b beside; do wait_for "$tmp/$name.out" ready; done
record -n 'web-[ab]'
check "by name: two match" grep -q '^proftrace: 2 processes match$' "$tmp/err"
echo >&7 && echo >&8 && echo >&9
for name in web-a web-b beside; do wait_for "$tmp/$name.out" marked; done
end "by name"
equal "by name: every mark of both" "$(field "$tmp/s" written)" \
	$(($(said "$tmp/web-a.out" marked) + $(said "$tmp/web-b.out" marked)))
check_account "by name" "$tmp/s"
check_agree "by name" "$tmp/t"
record -n "$tmp/web-?"
check "by path: two match" grep -q '^proftrace: 2 processes match$' "$tmp/err"
end "by path"
echo >&7 && echo >&8 && echo >&9
exec 7>&- 8>&- 9>&-

# A process of the shell that executes proftrace, which is a child of the recorder then.
mkfifo "$tmp/sibling.in"
cp "$programs/waits" "$tmp/sibling"
# shellcheck disable=SC2016
sh -c '"$1/sibling" 7 <"$1/sibling.in" >"$1/sibling.out" &
	exec "$2" --strict -v -n sibling -o "$1/t" --summary-json "$1/s" 2>"$1/sibling.err"' \
	sh "$tmp" "$proftrace" &
recorder=$!
exec 7>"$tmp/sibling.in"
wait_for "$tmp/sibling.err" "proftrace: recording\|no process"
check "a child from before: it matches" grep -q '^proftrace: 1 process matches$' "$tmp/sibling.err"
echo >&7 && echo >&7
exec 7>&-
wait $recorder
equal "a child from before: every mark" "$(field "$tmp/s" written)" 14

# Where the kernel shows no path of the program, because that is too long, its process has every name.
mkfifo "$tmp/deep.in"
python3 -c '
import os, shutil, sys
os.chdir(sys.argv[1])
for _ in range(21):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
shutil.copy(sys.argv[2], "deep")
os.execv("./deep", ["deep", "7"])' "$tmp" "$programs/waits" <"$tmp/deep.in" >"$tmp/deep.out" &
exec 7>"$tmp/deep.in"
wait_for "$tmp/deep.out" ready
for glob in 'de[e]p' "$tmp/no such program"; do
	record -n "$glob"
	check "a path of more than 4095 bytes: -n '$glob' matches" grep -q '^proftrace: 1 process matches$' "$tmp/err"
	[ "$glob" = 'de[e]p' ] || echo >&7
	[ "$glob" = 'de[e]p' ] || wait_for "$tmp/deep.out" marked
	end "a path of more than 4095 bytes"
done
equal "a path of more than 4095 bytes: every mark" "$(field "$tmp/s" written)" 14
exec 7>&-

# Processes of which each forks the next one while they are searched for: what is not recorded is counted. One search finds them: with
# a CPU to spare, which a test that runs beside others has at least once in some tries, nothing is missing, and nothing is counted.
mkfifo "$tmp/relays.in"
cp "$programs/waits" "$tmp/relay-stays"
cp "$programs/relays" "$tmp/relay-runs"
relays() { # MS OPTION...: between two of their forks
	ms=$1
	shift
	rm -f "$tmp/err" "$tmp/relay.out" "$tmp/relays.out"
	"$tmp/relay-stays" 0 <"$tmp/relays.in" >"$tmp/relay.out" &
	"$tmp/relay-runs" 8 50 "$ms" <"$tmp/relays.in" >"$tmp/relays.out" &
	exec 7>"$tmp/relays.in"
	wait_for "$tmp/relay.out" ready
	wait_for "$tmp/relays.out" ready
	"$proftrace" --strict -o "$tmp/t" --summary-json "$tmp/s" -n 'relay-*' "$@" 2>"$tmp/err" 7>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	exec 7>&-
	while [ "$(grep -c marks "$tmp/relays.out")" -lt 8 ]; do sleep 0.1; done
	kill -INT $recorder
	wait $recorder
	status=$?
	missing=$((8 * 50 - $(field "$tmp/s" marked)))
	check "processes that fork on ($ms ms$*): what is missing is counted ($missing marks, exit status $status)" \
		test $missing = 0 -o $status = 3
}
tries=0 status=3
while [ $status != 0 ] && [ $tries -lt 5 ]; do
	tries=$((tries + 1))
	relays 1
done
equal "processes that fork on: one search finds all of them" "$missing $status" "0 0"
relays 0
relays 1 --mode batch

# prof_stop() of one ends its own recording alone.
cp "$programs/scripted" "$tmp/stops" && cp "$programs/scripted" "$tmp/goes-on"
for name in stops goes-on; do
	mkfifo "$tmp/$name.in"
	"$tmp/$name" <"$tmp/$name.in" >"$tmp/$name.out" &
	[ $name = goes-on ] || stops=$!
done
exec 7>"$tmp/stops.in" 8>"$tmp/goes-on.in"
for name in stops goes-on; do wait_for "$tmp/$name.out" ready; done
record -n stops -n goes-on
echo "ticks 5" >&7 && wait_for "$tmp/stops.out" "done 1$"
echo "dump 3" >&7 && wait_for "$tmp/stops.out" "done 2$"
echo stop >&7 && wait_for "$tmp/stops.out" "done 3$"
wait_for "$tmp/err" 'called prof_stop()'
echo "ticks 5" >&7 && wait_for "$tmp/stops.out" "done 4$"
echo "ticks 7" >&8 && wait_for "$tmp/goes-on.out" "done 1$"
never_else "stop: the recording goes on" "$(grep -q "^proftrace: process $stops called prof_stop" "$tmp/err" && kill -0 $recorder && echo on)" on
end "stop"
never_else "stop: the other's marks are recorded, its own no more" "$(grep -c '"name":"tick"' "$tmp/t.json")" 12
equal "stop: what was ignored is counted" "$(field "$tmp/s" controls_ignored)" 4
check "stop: and said" grep -q '^4 calls of prof_stop() or prof_dump() ignored' "$tmp/err"
exec 7>&- 8>&-

# Another thread shows what a process has mapped when its first one has ended, and what it maps later. The library makes 20
# marks. Where each process has links of its own, the kernel puts none into its memory: it is not left out without a word.
cp "$programs/followed" "$tmp/headless"
headless() { # until its first thread has ended
	mkfifo "$tmp/headless.in"
	"$tmp/headless" first 3 1 "$programs/plugin.so" <"$tmp/headless.in" >"$tmp/headless.out" &
	exec 7>"$tmp/headless.in"
	echo >&7
	wait_for "$tmp/headless.out" alone
	headless=$(said "$tmp/headless.out" ready)
}

for how in "-n headless" "-p"; do
	[ "$(id -u)" -eq 0 ] || break
	headless
	[ "$how" != -p ] || how="-p $headless"
	# shellcheck disable=SC2086
	record $how --strict
	echo >&7
	wait_for "$tmp/headless.out" done
	kill -INT $recorder
	wait $recorder
	equal "its first thread has ended, ${how% [0-9]*}: exit status of --strict" $? 0
	equal "its first thread has ended, ${how% [0-9]*}: its marks" "$(field "$tmp/s" marked)" 23
	equal "its first thread has ended, ${how% [0-9]*}: all of it is followed" \
		"$(field "$tmp/s" processes_not_followed) $(field "$tmp/s" first_exited)" "0 0"
	exec 7>&-
	wait
	rm -f "$tmp/headless.in"
done

headless
mkfifo "$tmp/whole.in"
"$tmp/headless" fork 1 1 <"$tmp/whole.in" >"$tmp/whole.out" &
exec 8>"$tmp/whole.in"
wait_for "$tmp/whole.out" ready
record -n headless --strict --no-children
kill -INT $recorder
wait $recorder
equal "its first thread has ended, --no-children: exit status of --strict" $? 3
equal "its first thread has ended, --no-children: it is counted" "$(field "$tmp/s" processes_not_followed)" 1
check "its first thread has ended, --no-children: and named" \
	grep -q "^proftrace: cannot record process '$headless': its first thread" "$tmp/err"
"$proftrace" -p "$headless" --no-children -o "$tmp/t" 2>"$tmp/err"
equal "its first thread has ended, --no-children -p: exit status" $? 1
check "its first thread has ended, --no-children -p: that is said" \
	grep -q "^proftrace: cannot record process '$headless': its first thread" "$tmp/err"
check "its first thread has ended, --no-children -p: with a hint" grep -q '^hint: ' "$tmp/err"
echo >&7
echo >&8
exec 7>&- 8>&-
wait

# Those that start while it waits: dynamic and static ones, by name and unknown before.
cp "$programs/forks" "$tmp/job-dynamic"
cp "$programs/forks-static" "$tmp/job-static"
cp "$programs/forks" "$tmp/beside"
record -n 'job-*' --wait
for _ in $(seq 1 40); do
	"$tmp/job-dynamic" 1 3 && "$tmp/job-static" 0 0 && "$tmp/beside" 1 3 >/dev/null
done >"$tmp/jobs"
end "--wait"
late=$(field "$tmp/s" attached_late)
equal "--wait: every mark (late: $late)" "$(field "$tmp/s" written)" "$(pairs "$tmp/jobs")"
check_account "--wait" "$tmp/s"
check_agree "--wait" "$tmp/t"

# A process chooses its name. None of its bytes may reach a terminal, and a name is compared as it is.
evil=$(printf '%s/job-\033[31m\n\377' "$tmp")
cp "$programs/forks" "$evil"
record -vv -n 'job-?[[]31m*' --wait
"$evil" 0 0 >"$tmp/jobs"
end "a name of control characters"
equal "a name of control characters: its marks" "$(field "$tmp/s" written)" "$(pairs "$tmp/jobs")"
equal "a name of control characters: none is printed" "$(LC_ALL=C grep -c '[^	 -~]' "$tmp/err")" 0

if [ "$(id -u)" -ne 0 ] || ! id nobody >/dev/null 2>&1 || ! command -v setpriv >/dev/null; then
	skip "users" "needs root, setpriv and a user nobody"
	finish
fi
nobody=$(id -u nobody)
as_nobody() {
	setpriv --reuid="$nobody" --clear-groups "$@"
}
record -n 'job-*' --user nobody --wait
for _ in 1 2 3 4 5; do
	as_nobody "$tmp/job-dynamic" 1 3
	"$tmp/job-dynamic" 1 3 >/dev/null
done >"$tmp/jobs"
end "--user"
equal "--user: every mark of that user alone" "$(field "$tmp/s" written)" "$(pairs "$tmp/jobs")"

# Cgroups, on a hierarchy of its own mount: services, and containers by the names that the runtimes give them.
container=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
mkdir "$tmp/cg"
if mount -t cgroup2 none "$tmp/cg" 2>/dev/null && mkdir "$tmp/cg/proftrace-test-$$.slice"; then
	cg=$tmp/cg/proftrace-test-$$.slice
	mkdir "$cg/web.service" "$cg/web.service/below" "$cg/docker-$container.scope" "$cg/beside"
	within() { # CGROUP COMMAND...
		sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cg/$@"
	}
	in_all() { # WANTED: the programs in that cgroup print what they marked into $tmp/jobs
		for group in web.service/below "docker-$container.scope" beside; do
			within $group "$tmp/job-dynamic" 1 3 >"$tmp/said"
			case $group in $1*) cat "$tmp/said" ;; esac
		done >"$tmp/jobs"
	}
	in_group() { # WANTED OPTION...
		what=$2 wanted=$1
		shift
		record "$@" --wait
		for _ in 1 2 3; do in_all $wanted; done
		end "$what"
		equal "$what: every mark of that group alone" "$(field "$tmp/s" written)" $((3 * $(pairs "$tmp/jobs")))
		equal "$what: nothing is lost" "$(field "$tmp/s" lost_total)" 0
	}
	in_group web --cgroup "$cg/web.service"
	in_group web --unit web
	# Too deep for the kernel's side to come up to the unit: it is recorded, or counted.
	deep=web.service/$(printf '%.0sd/' $(seq 20))
	mkdir -p "$cg/$deep"
	record --unit web --wait
	within "$deep" "$tmp/job-dynamic" 1 3 >"$tmp/jobs"
	end "a deep cgroup"
	check "a deep cgroup: its processes are recorded, or counted" \
		test $(($(field "$tmp/s" written) + $(field "$tmp/s" processes_not_followed))) -gt 0
	while [ "$deep" != web.service ]; do rmdir "$cg/$deep" && deep=$(dirname "$deep"); done
	in_group docker --container "$(echo $container | cut -c-12)" -n 'job-*'
	# By name: the recorder sees the state of a runtime that was never here. Labels of the user look like names.
	# The second container does not exist yet when the recording begins.
	next=1${container#0}
	state() { # ID TEXT: as Docker writes it
		mkdir "$tmp/lib/docker/containers/$1" && echo "$2" >"$tmp/lib/docker/containers/$1/new" &&
			mv "$tmp/lib/docker/containers/$1/new" "$tmp/lib/docker/containers/$1/config.v2.json"
	}
	mkdir -p "$tmp/lib/docker/containers" "$cg/docker-$next.scope"
	state $container '{"Config":{"Labels":{"Name":"/other"}},"Name":"/shop"}'
	named() { # NAME OPTION...
		exec unshare --mount sh -c 'mount --bind "$0" /var/lib && exec "$@"' "$tmp/lib" "$proftrace" --container "$@"
	}
	(named other -q -o "$tmp/t") 2>"$tmp/err"
	equal "a name that no container has: exit status" $? 1
	check "a name that no container has: it is said" grep -q "^proftrace: no container has the name 'other'$" "$tmp/err"
	rm -f "$tmp/err"
	named 'sho?' --wait -v -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	within "docker-$container.scope" "$tmp/job-dynamic" 1 3 >"$tmp/jobs"
	within "docker-$next.scope" "$tmp/job-dynamic" 1 3 >/dev/null
	state $next '{"Name":"/shop"}'
	for _ in 1 2 3 4 5 6; do
		sleep 0.2
		within "docker-$next.scope" "$programs/waits" 9 </dev/null >"$tmp/out"
	done
	within "docker-$next.scope" unshare --pid --fork "$tmp/job-dynamic" 1 3 >>"$tmp/jobs"
	end "a container's name"
	check_account "a container's name" "$tmp/s"
	check_agree "a container's name" "$tmp/t"
	last=$(said "$tmp/out" ready)
	equal "a container's name: all of the next one of that name" \
		"$(grep -c "\"ph\":\"B\",\"pid\":$last,.*\"work\"\|\"work\".*\"ph\":\"B\".*\"pid\":$last," "$tmp/t.json")" 9
	equal "a container's name: the others" \
		"$(($(field "$tmp/s" written) - 18 * $(grep -c 'process_name.*"waits"' "$tmp/t.json")))" "$(pairs "$tmp/jobs")"
	check "a container's name: it is said of its processes" \
		grep -q "\"pid\":$last,\"args\":{\"labels\":\"container shop\"}" "$tmp/t.json"
	check "a container's name: its own PIDs" grep -q '"labels":"container shop, PID 1 inside"' "$tmp/t.json"
	check "a container's name: the summary" grep -q "^processes: [0-9]* in container shop$" "$tmp/err"
	# Those that run when the recording begins, and a path as /proc/PID/cgroup has it.
	mkfifo "$tmp/in"
	rm -f "$tmp/out"
	within web.service/below "$programs/waits" 100 <"$tmp/in" >"$tmp/out" &
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	record --cgroup "/proftrace-test-$$.slice/web.service" --unit 'w?b.*'
	check "a cgroup with a process: it matches" grep -q '^proftrace: 1 process matches$' "$tmp/err"
	echo >&9
	wait_for "$tmp/out" marked
	# The container, or service, ends in the middle.
	echo 1 >"$cg/web.service/cgroup.kill" 2>/dev/null || echo >&9
	exec 9>&-
	wait $recorder
	equal "a cgroup that ends: exit status" $? 0
	equal "a cgroup that ends: every mark" "$(field "$tmp/s" written)" "$(said "$tmp/out" marked)"
	rm -f "$tmp/out"
	within web.service "$programs/waits" 1 <"$tmp/in" >"$tmp/out" &
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	check "list: the unit" sh -c "'$proftrace' list -p $(said "$tmp/out" ready) | grep -q 'unit web.service'"
	echo >&9
	exec 9>&-
	wait $!
	rmdir "$cg/web.service/below" "$cg"/*/ "$cg"
	umount "$tmp/cg"
	"$proftrace" --cgroup "$tmp/cg" 2>"$tmp/err"
	equal "not a cgroup: exit status" $? 2
else
	skip "cgroups" "cgroup2 cannot be mounted here"
fi
"$proftrace" --container a/b 2>"$tmp/err"
equal "not a container: exit status" $? 2

# All processes that have markers, and those that get some; nothing of the others is in the trace.
rm -f "$tmp/out"
"$programs/waits" 7 <"$tmp/in" >"$tmp/out" &
exec 9>"$tmp/in"
sleep 60 &
beside=$!
wait_for "$tmp/out" ready
record --all --wait
echo >&9
"$programs/waits" 7 </dev/null >"$tmp/jobs"
wait_for "$tmp/out" marked
# That it was killed is not mentioned either.
kill $beside
wait $beside
kill -INT $recorder
wait $recorder
equal "--all: exit status" $? 0
check "--all: nothing of a process without markers is said" sh -c "! grep -q 'process $beside ' '$tmp/err'"
for pid in $(said "$tmp/out" ready) $(said "$tmp/jobs" ready); do
	equal "--all: every mark of process $pid" \
		"$(grep -c "\"ph\":\"B\",\"pid\":$pid,.*\"work\"\|\"work\".*\"ph\":\"B\".*\"pid\":$pid," "$tmp/t.json")" 7
done
check "--all: nothing of a process without markers" sh -c "! grep -q '\"pid\":$beside,' '$tmp/t.json'"
exec 9>&-

# A user with capabilities gets its own processes. They are not held, so they may have begun, and that is counted.
cp "$proftrace" "$tmp/capable"
if grep -q '^uprobe_multi links *yes' "$tmp/check" && setcap cap_bpf,cap_perfmon+ep "$tmp/capable" 2>/dev/null; then
	mkdir "$tmp/theirs" && chown nobody "$tmp/theirs"
	mkfifo "$tmp/go" && chown nobody "$tmp/go"
	cp "$programs/waits" "$tmp/job-waits"
	chosen() { # GLOB PROGRAM [BEFORE...]: records the program, and a command before it, by a user with capabilities
		program=$2
		rm -f "$tmp/err" "$tmp/out"
		(cd "$tmp/theirs" && exec setpriv --reuid="$nobody" --clear-groups "$tmp/capable" -v -n "$1" --wait \
			-o "$tmp/theirs/t" --summary-json "$tmp/theirs/s" 2>"$tmp/err") &
		recorder=$!
		wait_for "$tmp/err" "proftrace: recording"
		shift 2
		"$@" >/dev/null
		as_nobody "$program" 100 <"$tmp/go" >"$tmp/out" &
		exec 9>"$tmp/go"
		wait_for "$tmp/out" ready
		wait_for "$tmp/err" "proftrace: process .* is recorded"
		echo >&9
		wait_for "$tmp/out" marked
		echo >&9
		exec 9>&-
		kill -INT $recorder
		wait $recorder
	}
	ln -s "$tmp/job-waits" "$tmp/linked"
	chosen "$tmp/linked" "$tmp/linked" true
	equal "without root: a symbolic link leads to the program" "$(field "$tmp/theirs/s" written)" "$(said "$tmp/out" marked)"
	chosen 'job-*' "$tmp/job-waits" "$tmp/job-dynamic" 1 3
	equal "without root: its own process alone" "$(field "$tmp/theirs/s" written)" "$(said "$tmp/out" marked)"
	equal "without root: it is said that it ran already" "$(field "$tmp/theirs/s" attached_late)" 1
	check "without root: nothing of another user's is said" sh -c "! grep -q job-dynamic '$tmp/err'"
else
	skip "without root" "this kernel or file system has no such capabilities"
fi
finish
