#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program chooses its name and its environment, a container its host's name: whatever they hold, files are
# written in the directory that -o names and nowhere else.
. "$(dirname "$0")/lib.sh"
need_tracing
outside=/tmp/p$$
rm -rf "$outside"
trap 'rm -rf "$tmp" "$outside"*' EXIT
# What leads out of the directory leads to one that is there: a name whose slashes stayed would be a file of it.
box=$tmp/a/b/c/d
mkdir -p "$box/cwd/proftrace-" "$box/cwd/proftrace-.." "$box/out/0" "$box/out/7" "$box/out/_." "$box/out/x-_." "$box/evil" "$tmp/in"
mkfifo "$tmp/fifo"
escape=$(printf 'a\n\033]0;x\007\001')
long=$(printf '%0300d' 7)

# All files that are elsewhere.
strangers() {
	find "$tmp" -path "$tmp/in" -prune -o -path "$box/$1" -prune -o -type f ! -name 'check*' -print
	find /tmp -maxdepth 1 -name "${outside##*/}*"
}
written() {
	find "$box/$1" -type f | wc -l
}
clear() {
	find "$box" -type f -exec rm -f {} +
}

record_renamed() { # ATTACK DIRECTORY NAME RANK OPTION...
	attack=$1 directory=$2 comm=$3 rank=$4
	shift 4
	rm -f "$tmp/in/target"
	RANK=$rank "$attacks/renamed" "$comm" <"$tmp/fifo" >"$tmp/in/target" &
	target=$!
	exec 9>"$tmp/fifo"
	wait_for "$tmp/in/target" ready
	(cd "$box/cwd" && exec timeout -k 2 20 "$proftrace" -q -e none -p $target "$@" 9>&-) >"$tmp/in/out" 2>"$tmp/in/err"
	equal "$attack: recorded $(head -c 200 "$tmp/in/err")" $? 0
	exec 9>&-
	wait $target
	check "$attack: there are files" test "$(written "$directory")" -ge 1
	never_else "$attack: none is elsewhere" "$(strangers "$directory")" ""
	never_else "$attack: no name has control characters" "$(find "$box" -type f | LC_ALL=C grep -c '[^ -~]')" 0
	never_else "$attack: as many names as lines" "$(find "$box" -type f | wc -l)" "$(find "$box" -type f -printf x | wc -c)"
	clear
}

n=0
for comm in ../../evil ../../../evil /../../evil .. . /evil "$outside" "$escape" '{host}/../..' '{rank}{' '%s%n%s' AAAAAAAAAAAAAAAAAAAA ''; do
	n=$((n + 1))
	record_renamed "name $n" cwd "$comm" 1 -d 50ms
done
n=0
for rank in ../../evil ../../../evil .. "$outside" "$escape" "$long" 1/../../../evil '{pid}' 7; do
	n=$((n + 1))
	record_renamed "rank $n" out every "$rank" -d 50ms \
		-o "$box/out/{epoch}-{batch}-{rank}-{host}-{pid}" -o "$box/out/{rank}/t.json"
done
# Several files, with what the program says of its steps.
record_renamed "steps" out ../x ../x -d 300ms --max-size 64K -o "$box/out/{epoch}.{batch}.{rank}.{host}.{pid}.json"

# A host's name is its administrator's, or a container's.
for host in ../../evil ../../../evil .. . "$outside" "$escape"; do
	mkdir -p "$box/out/_" "$box/out/_." "$box/out/x-.."
	check "host $(printf %s "$host" | tr -c 'a-z./0-9' _): recorded, or refused" timeout -k 2 20 \
		unshare --uts sh -c 'printf %s "$1" >/proc/sys/kernel/hostname || exit 0
			"$2" -q -e none -o "$3/out/{host}/t.json" -o "$3/out/x-{host}.json" -- "$4" 1 5
			[ $? -le 1 ]' sh "$host" "$proftrace" "$box" "$programs/every_kind"
	never_else "host $(printf %s "$host" | tr -c 'a-z./0-9' _): nothing is elsewhere" \
		"$(strangers out)" ""
	clear
done
finish
