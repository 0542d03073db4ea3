#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Where each process has links of its own, forks and executions are followed after they happened. What was marked
# before is counted: a mark is missing only of a process that is counted as not followed, or earlier than the
# longest time after which one was followed.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ]; then
	skip "follow_user" "needs root to hand out capabilities"
	finish
fi
user=1000 library=
mkdir "$tmp/bin" "$tmp/theirs"
chown $user "$tmp/theirs"
# The build may lie where that user cannot look.
cp "$proftrace" "$programs/followed" "$tmp/bin"
chmod 755 "$tmp/bin"/*
capabilities=bpf,perfmon
grep -qE '^uprobe_multi links +no' "$tmp/check" && capabilities=$capabilities,sys_admin
if ! "$programs/rights" file "$tmp/bin/proftrace" $capabilities 2>"$tmp/err"; then
	skip "follow_user" "$(cat "$tmp/err")"
	finish
fi
summary=$tmp/theirs/s
# Recordings of others on this machine put breakpoints into everybody's C library, but not into this copy.
mkdir "$tmp/lib"
cp "$(ldd "$programs/followed" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')" "$tmp/lib/libc.so.6"
ours=$(stat -c %i "$tmp/bin/followed" "$tmp/lib/libc.so.6" | paste -sd '|')

# Bytes of code that are not as in the file.
changed() { # PID
	"$root/build/tests/attacks/changed_bytes" "$1" where | grep -cE "^at ($ours) "
}

# In place of the shell that it is called in: $! is the program.
as_user() {
	exec "$programs/rights" user $user "" "$@"
}

run() { # NAME RUNNER WAY N AT_ONCE OPTION...
	case=$1 runner=$2 way=$3 n=$4 at_once=$5
	shift 5
	rm -f "$tmp/in" "$tmp/out" "$tmp/err"
	mkfifo "$tmp/in"
	LD_LIBRARY_PATH=$tmp/lib $runner "$tmp/bin/followed" "$way" "$n" "$at_once" $library <"$tmp/in" >"$tmp/out" &
	shell=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	target=$(said "$tmp/out" ready)
	rm -f "$tmp/err"
	$runner "$tmp/bin/proftrace" -p "$target" "$@" -o "$tmp/theirs/t" --summary-json "$summary" 2>"$tmp/err" 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	check "$case: the recorded process has breakpoints" test "$(changed "$target")" -gt 0
	echo >&9
	[ -z "$library" ] || { wait_for "$tmp/out" alone && echo >&9; }
	wait_for "$tmp/out" done
	child=$(said "$tmp/out" child)
	case $* in *--no-children*)
		for _ in ${child:+$(seq 1 200)}; do
			[ "$(changed "$child")" = 0 ] && break
			sleep 0.01
		done
		[ -z "$child" ] ||
			never_else "$case: a child is clean while its parent is recorded" "$(changed "$child")" 0
		;;
	esac
	kill -INT $recorder
	wait $recorder
	equal "$case: exit status" $? 0
}

# After the recording, while the processes still run.
check_clean() { # NAME PID...
	clean=$1
	shift
	for pid; do
		never_else "$clean: the code of process $pid is as in its file" "$(changed "$pid")" 0
	done
}

end() { # NAME SWITCHES
	exec 9>&-
	wait $shell
	never_else "$1: no marker is on" "$(sed -n 's/^semaphore //p' "$tmp/out" | tr '\n' ' ')" "$2"
}

judge() { # NAME MARKS_OF_EACH
	made=$(grep -c '^mark' "$tmp/out")
	missing=$((made - $(field "$summary" marked)))
	late=$(field "$summary" followed_late)
	longest=$(field "$summary" followed_late_ns)
	unfollowed=$(field "$summary" processes_not_followed)
	early=$(awk -v longest="$longest" '/^mark/ && $2 <= longest { n++ } END { print n + 0 }' "$tmp/out")
	echo "# $1: $made marks, $missing missing; $late processes late by up to $longest ns, $unfollowed not followed"
	equal "$1: the account adds up" "$(field "$summary" adds_up)" true
	equal "$1: nothing else is lost" "$(field "$summary" lost_total)" 0
	never_else "$1: nothing was recorded twice" "$((missing < 0))" 0
	check "$1: what is missing ($missing) is counted: $early early marks, $unfollowed processes" \
		test "$missing" -le $((early + $2 * unfollowed))
	check "$1: no more processes are counted than there were" test $((late + unfollowed)) -le $((2 * n + 1))
}

for each in "one at a time|fork|50|1" "many at once|fork|400|40" "executed by another thread|exec|40|4"; do
	case=${each%%|*} rest=${each#*|}
	way=${rest%%|*} rest=${rest#*|}
	run "$case" as_user "$way" "${rest%|*}" "${rest#*|}"
	check_clean "$case" "$target" "$child"
	marks_of_each=1
	[ "$way" = exec ] && marks_of_each=4
	judge "$case" $marks_of_each
	check "$case: processes were followed" test "$late" -gt 0
	check "$case: marks of them were recorded" test "$missing" -lt "$made"
	end "$case" "0 0 "
done

# Children that are forked while the recorder reads the files of their parent, which has no links yet. Those that are not in the trace were
# there before.
run "forked before the first link" as_user early 1000 1
without=$(python3 -c '
import json, sys
events = json.load(open(sys.argv[1]))
events = events if isinstance(events, list) else events["traceEvents"]
seen = {e["pid"] for e in events}
print(len(seen - {e["pid"] for e in events if e.get("name") == "followed"} - {0, int(sys.argv[2])}))' "$tmp/theirs/t.json" "$target")
unfollowed=$(field "$summary" processes_not_followed)
check "forked before the first link: each that is followed has marks, or is counted ($without, $unfollowed)" \
	test "$without" -le "$unfollowed"
check "forked before the first link: most of them are recorded" test "$unfollowed" -lt "$(field "$summary" marked)"
end "forked before the first link" "0 "

as_root() {
	exec "$@"
}

# Where all processes have the same links, another thread shows what the process maps afterwards. The library makes 20 marks.
case="first thread ended, links for all"
library=$programs/plugin.so
run "$case" as_root first 20 1 --strict
library=
equal "$case: nothing is missing" "$(field "$summary" first_exited)" 0
equal "$case: every mark, and those of a later library" "$(field "$summary" marked)" $(($(grep -c '^mark' "$tmp/out") + 20))
end "$case" "0 "

# Links of one process, with and without root.
for runner in as_user as_root; do
	case="itself, by another thread ($runner)"
	run "$case" $runner self 40 1 --no-children
	check_clean "$case" "$target"
	judge "$case" 0
	equal "$case: it is counted" "$late" 1
	check "$case: marks were recorded" test "$missing" -lt "$made"
	end "$case" "0 "

	for mode in exact auto; do
		case="without children ($runner, $mode)"
		run "$case" $runner fork 20 4 --no-children --mode $mode
		check_clean "$case" "$target" "$child"
		equal "$case: no mark of a child" "$(field "$summary" marked)" 0
		end "$case" "0 0 "
	done

	case="first thread ended ($runner)"
	run "$case" $runner first 20 1 --no-children
	made=$(grep -c '^mark' "$tmp/out")
	equal "$case: it is counted" "$(field "$summary" first_exited)" 1
	never_else "$case: the account adds up" "$(field "$summary" adds_up)" true
	equal "$case: every mark of what was mapped before" "$(field "$summary" marked)" "$made"
	end "$case" "0 "
done

# In a user namespace a process may become another user, over whom the caller has no rights: it is let go, which is counted.
cp "$programs/scripted" "$tmp/bin"
chmod 755 "$tmp/bin/scripted"
rm -f "$tmp/in" "$tmp/out"
mkfifo "$tmp/in"
# shellcheck disable=SC2016
(as_user "$tmp/bin/proftrace" -q -e none -o "$tmp/theirs/u" --summary-json "$summary" -- unshare -U sh -c \
	'echo "ready $$"; read -r written; exec setpriv --reuid=500 --regid=500 --clear-groups "$0" "$@"' \
	"$tmp/bin/scripted" "ticks 5" "wait 1500" "ticks 5") <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
recorder=$!
exec 9>"$tmp/in"
if wait_for "$tmp/out" ready; then
	target=$(said "$tmp/out" ready)
	printf '0 %s 1\n500 100500 1\n' $user >"/proc/$target/uid_map"
	printf '0 %s 1\n500 100500 1\n' $user >"/proc/$target/gid_map"
	echo written >&9
	exec 9>&-
	wait $recorder
	equal "another user in a namespace: the program ran" "$(said "$tmp/out" total)" 10
	check "another user in a namespace: it is counted" test "$(field "$summary" processes_not_followed)" -ge 1
else
	exec 9>&-
	wait $recorder
	skip "another user in a namespace" "$(cat "$tmp/err")"
fi
finish
