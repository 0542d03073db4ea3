#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user with capabilities, who chooses processes by name, cgroup or container, while programs of two users start a hundred
# times a second: the user gets its own alone, and each process of which a mark is missing is counted.
. "$(dirname "$0")/lib.sh"
need_tracing
each=${TARGETS_OF_A_USER:-50} # programs of each user; 500 are started in ten seconds
marks=40
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	skip "programs of two users" "needs root and setpriv"
	finish
fi
cp "$proftrace" "$programs/waits" "$tmp"
if ! grep -q '^uprobe_multi links *yes' "$tmp/check" || ! setcap cap_bpf,cap_perfmon+ep "$tmp/proftrace" 2>/dev/null; then
	skip "programs of two users" "this kernel or file system has no such capabilities"
	finish
fi
mkdir "$tmp/theirs" "$tmp/cg" "$tmp/lib"
chown 1000 "$tmp/theirs"
touch "$tmp/said-1000" "$tmp/said-1001"
chmod 666 "$tmp"/said-*
as_user() { # UID COMMAND...
	uid=$1
	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}

# Every second program marks at once, the others a moment later.
cat >"$tmp/starts" <<-'END'
	n=0
	while [ $n -lt $1 ]; do
		n=$((n + 1))
		if [ $((n % 2)) = 0 ]; then "$2" $3 </dev/null; else sleep 2 | "$2" $3; fi >>"$4" &
		[ $((n % 5)) != 0 ] || sleep 0.1
	done
	wait
END
container=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
group=
if mount -t cgroup2 none "$tmp/cg" 2>/dev/null; then
	group=$tmp/cg/proftrace-test-$$
	mkdir "$group" "$group/docker-$container.scope"
	mkdir -p "$tmp/lib/docker/containers/$container"
	echo '{"Name":"/shop"}' >"$tmp/lib/docker/containers/$container/config.v2.json"
fi
start_programs() { # UID
	: >"$tmp/said-$1"
	sh -c '[ -z "$1" ] || echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "${group:+$group/docker-$container.scope}" \
		setpriv --reuid="$1" --regid="$1" --clear-groups sh "$tmp/starts" $each "$tmp/waits" $marks "$tmp/said-$1" &
}

# A recorder for each choice, all at once.
choose() { # NAME OPTION...: sets $recorder
	choice=$1
	shift
	rm -f "$tmp/$choice.err"
	unshare --mount sh -c 'mount --bind "$0" /var/lib && cd "$1" && shift && exec "$@"' "$tmp/lib" "$tmp/theirs" \
		setpriv --reuid=1000 --regid=1000 --clear-groups "$tmp/proftrace" -v -e none -o "$tmp/theirs/$choice" \
		--summary-json "$tmp/theirs/$choice.s" "$@" --wait 2>"$tmp/$choice.err" &
	recorder=$!
	wait_for "$tmp/$choice.err" "proftrace: recording" || cat "$tmp/$choice.err"
}

chosen() { # NAME
	what="by $1" s=$tmp/theirs/$1.s
	never_else "$what: the account adds up" "$(field "$s" adds_up)" true
	# By cgroup and container, the shell that starts them is chosen, too, and they are followed; a name chooses each by itself.
	counted=$(($(field "$s" attached_late) + $(field "$s" processes_not_followed) + $(field "$s" followed_late)))
	# Of each process how many slices began.
	"$canon" "$tmp/theirs/$1.json" | awk '$3 == "BEGIN" { n[$1]++ } END { for (pid in n) print pid, n[pid] }' >"$tmp/begun"
	never_else "$what: no mark of another user, and none twice" "$(awk -v most=$marks '
		FILENAME ~ /said/ { if ($1 == "ready") own[$2] = 1; next }
		!($1 in own) || $2 > most { print $1, $2 }' "$tmp/said-1000" "$tmp/begun")" ""
	whole=$(awk -v all=$marks '$2 == all { n++ } END { print n + 0 }' "$tmp/begun")
	never_else "$what: each process of which marks are missing is counted" \
		"$([ $((each - whole)) -le $counted ] && echo yes || echo "$((each - whole)) of $each, $counted counted")" yes
	check "$what: some are complete ($whole of $each)" test $whole -gt 0
}

choose name -n waits
recorders=$recorder choices=name
if [ -n "$group" ]; then
	choose cgroup --cgroup "$group"
	recorders="$recorders $recorder"
	choose container --container shop
	recorders="$recorders $recorder" choices="name cgroup container"
else
	skip "by cgroup and container" "cgroup2 cannot be mounted here"
fi
start_programs 1000
first=$!
start_programs 1001
wait $first $!
equal "all programs have run" "$(sed -n 's/^ready //p' "$tmp/said-1000" | sort -u | wc -l)" "$each"
kill -INT $recorders
for recorder in $recorders; do
	wait $recorder
	equal "recorder: exit status" $? 0
done
for choice in $choices; do
	chosen $choice
done
if [ -n "$group" ]; then
	rmdir "$group/docker-$container.scope" "$group"
	umount "$tmp/cg"
fi
finish
