#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The file system of a mapped file does not answer: the recorder does not wait for it.
. "$(dirname "$0")/lib.sh"
need_tracing

servers=
trap '[ -z "$servers" ] || kill -KILL $servers 2>/dev/null; rm -rf "$tmp"' EXIT
mkdir "$tmp/mnt"

# A command runs, which reads what is written to $tmp/CASE.in, and sees the file at $tmp/mnt.
serve() { # CASE OPEN|READ|END FILE COMMAND [ARG...]
	case=$1
	shift
	kind=$1
	file=$2
	shift 2
	mkfifo "$tmp/$case.in"
	"$programs/unanswered" "$kind" "$file" "$tmp/mnt" "$@" \
		<"$tmp/$case.in" >"$tmp/$case.out" 2>"$tmp/$case.server" &
	server=$!
	servers="$servers $server"
}

serves() { # CASE: when its input is open
	for _ in $(seq 1 400); do
		grep -q '^ready' "$tmp/$1.out" && break
		if grep -q '^cannot' "$tmp/$1.out"; then
			skip "a file system that does not answer" "$(cat "$tmp/$1.out")"
			finish
		fi
		sleep 0.05
	done
	target=$(said "$tmp/$1.out" target)
}

record_target() { # CASE OPTION...
	case=$1
	shift
	"$proftrace" -p "$target" -e none -o "$tmp/$case" "$@" 8>&- 9>&- >"$tmp/$case.said" 2>"$tmp/$case.err" &
	recorder=$!
	broker=
	for _ in $(seq 1 1000); do
		broker=$(cat "/proc/$recorder/task/$recorder/children" 2>/dev/null)
		broker=${broker%% *}
		[ -n "$broker" ] && break
		sleep 0.01
	done
}

is_over() { # PROCESS: who reaps it is none of ours
	for _ in $(seq 1 400); do
		grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

# What is said, and how it ends; while the broker, which can do nothing about it, waits.
gives_up() { # CASE NAME FILE [REASON]
	wait "$recorder"
	equal "$2: exit status" $? 1
	check "$2: it says why" grep -q "^proftrace: cannot attach to '.*$3': ${4:-its file system does not answer}$" "$tmp/$1.err"
	check "$2: it says what helps" grep -q '^hint: .*umount' "$tmp/$1.err"
	check "$2: the broker is nobody's zombie" grep -q '^State:.[SD]' "/proc/$broker/status"
	equal "$2: it keeps no pipe open" "$(readlink "/proc/$broker/fd/1" "/proc/$broker/fd/2" | sort -u)" /dev/null
}

no_file() { # CASE NAME
	equal "$2: no file is left" "$(ls -A "$tmp" | grep -cE "^\.?$1\.(pftrace|json)")" 0
}

if ! [ -c /dev/fuse ]; then
	skip "a file system that does not answer" "no /dev/fuse"
	finish
fi

# Plug-ins, each linked with a library that the program finds alone elsewhere. They are older than ten seconds when they are used.
mkdir "$tmp/users"
for i in 1 2 3; do
	mkdir -p "$tmp/used/$i"
	cp "$programs/opened.so" "$tmp/used/$i/used$i.so"
	gcc -shared -o "$tmp/users/$i.so" -Wl,--no-as-needed -L"$tmp/used/$i" -l:"used$i.so" -Wl,-rpath,"$tmp/mnt" || exit 1
done
made=$(date +%s)

# The server does not even look at requests. This ends without being told to, in ten seconds: meanwhile
# there is time for the others.
serve silent OPEN "$programs/storm" "$tmp/mnt/storm" 1 1000
exec 8>"$tmp/silent.in"
serves silent
kill -STOP "$server"
record_target silent
silent_server=$server
silent_target=$target
silent_recorder=$recorder
silent_broker=$broker

# To be read, when it is opened (END) or attached to (READ): told to end, we do, and what was attached is
# gone when the server goes on.
for kind in END READ; do
	told="$kind, and Ctrl-C"
	serve $kind $kind "$programs/storm" "$tmp/mnt/storm" 1 1000
	exec 9>"$tmp/$kind.in"
	serves $kind
	record_target $kind
	wait_for "$tmp/$kind.out" left
	kill -INT "$recorder"
	waits=
	[ $kind = END ] || waits='its file system does not answer, or the kernel waits for a process that has mapped it'
	gives_up $kind "$told" storm "$waits"
	no_file $kind "$told"
	kill -USR1 "$server"
	check "$kind: answered late, the broker ends" is_over "$broker"
	exec 9>&-
	wait "$server"
	equal "$kind: the program ends well" $? 0
	equal "$kind: its semaphore is off" "$(said "$tmp/$kind.out" semaphore)" 0
done

# Only the broker asks the server for what stat() says, since nothing can interrupt that; the recorder does with what the kernel has.
serve attributes ATTR "$programs/storm" "$tmp/mnt/storm" 1 1000
exec 9>"$tmp/attributes.in"
serves attributes
record_target attributes --summary-json "$tmp/attributes.summary"
wait_for "$tmp/attributes.err" "proftrace: recording"
kill -INT "$recorder"
wait "$recorder"
equal "stat() is not answered: the program is recorded" $? 0
equal "stat() is not answered: the account adds up" "$(field "$tmp/attributes.summary" adds_up)" true
equal "stat() is not answered: nobody has asked" "$(grep -c '^left' "$tmp/attributes.out")" 0
kill -USR1 "$server"
exec 9>&-
wait "$server"
equal "stat() is not answered: the program ends well" $? 0

# A library that is opened while it is recorded. Nothing is said to be more than it is: what was marked
# until then is there.
serve library OPEN "$programs/plugin.so" "$programs/scripted"
exec 9>"$tmp/library.in"
serves library
record_target library --summary-json "$tmp/library.summary"
wait_for "$tmp/library.err" "proftrace: recording"
echo "ticks 100" >&9
echo "load $tmp/mnt/plugin.so" >&9
wait_for "$tmp/library.out" left
wait_for "$tmp/library.out" "done 2"
ok "a library: the program is not held"
kill -INT "$recorder"
gives_up library "a library" plugin.so
check "a library: the recording ended there" grep -q "the recording ends here" "$tmp/library.err"
equal "a library: not in order" "$(field "$tmp/library.summary" orderly)" false
equal "a library: the account adds up" "$(field "$tmp/library.summary" adds_up)" true
equal "a library: all marks before it" "$("$canon" --count "$tmp/library.pftrace" | sed -n 's/^INSTANT tick //p')" 100
check_agree "a library" "$tmp/library"
check "a library: report reads it" "$proftrace" report "$tmp/library.pftrace"
echo "ticks 10" >&9
wait_for "$tmp/library.out" "done 3"
ok "a library: the program goes on"
kill -KILL "$server"
check "a library: the server killed, the broker ends" is_over "$broker"
exec 9>&-
wait_for "$tmp/library.out" "total 110"
equal "a library: the program ends well" "$(said "$tmp/library.out" total)" 110

recorder=$silent_recorder
broker=$silent_broker
gives_up silent "a silent server" storm
no_file silent "a silent server"
kill -USR1 "$silent_server"
kill -CONT "$silent_server"
check "a silent server goes on: the broker ends" is_over "$broker"
target=$silent_target
record_target again -d 300ms --summary-json "$tmp/again.summary"
wait "$recorder"
equal "a silent server goes on: then it is recorded" $? 0
equal "a silent server goes on: the account adds up" "$(field "$tmp/again.summary" adds_up)" true
exec 8>&-
wait "$silent_server"
equal "a silent server goes on: the program ends well" $? 0
equal "a silent server goes on: its semaphore is off" "$(said "$tmp/silent.out" semaphore)" 0

# Where plug-ins say that their libraries are, nobody is asked for them.
while [ $(($(date +%s) - made)) -le 10 ]; do sleep 0.1; done
serve searched LOOKUP "$programs/plugin.so" "$proftrace" record -q -e none -o "$tmp/searched" -- \
	env LD_LIBRARY_PATH="$tmp/used/1:$tmp/used/2" "$programs/scripted"
exec 9>"$tmp/searched.in"
serves searched
for i in 1 2; do
	echo "load $tmp/users/$i.so" >&9
	wait_for "$tmp/searched.out" "done $i"
done
for i in 3 4 5; do
	echo "ticks 10" >&9
	wait_for "$tmp/searched.out" "done $i"
done
exec 9>&-
wait "$server"
equal "where plug-ins say that their libraries are: the program is recorded" $? 0
equal "where plug-ins say that their libraries are: nobody has asked" "$(grep -c '^left' "$tmp/searched.out")" 0
equal "where plug-ins say that their libraries are: all marks" \
	"$("$canon" --count "$tmp/searched.pftrace" | sed -n 's/^INSTANT tick //p')" 30
servers=
finish
