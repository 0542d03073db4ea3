#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program names files of root's by executing them, by the directories of its libraries and by the name of its debug
# file. Root's recorder looks at what a program names before the program maps it, but opens only what the program's user could
# open. To open some files of the kernel has effects.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user one && one_uid=$made_uid one_gid=$made_gid || { skip "named by programs" "cannot make users"; finish; }
begin_recording
chmod 711 "$tmp"
mkdir -m 755 "$tmp/shared" && mkdir -m 700 "$tmp/roots"
cp "$programs/every_kind" "$tmp/roots/program"
cp "$programs/every_kind" "$tmp/shared/no-program"
cp "$programs/every_kind" "$tmp/shared/of-group" && chgrp "$one_gid" "$tmp/shared/of-group"
chmod 755 "$tmp/roots/program" && chmod 644 "$tmp/shared/no-program" && chmod 750 "$tmp/shared/of-group"
ln -s "$tmp/roots/program" "$tmp/shared/link"
cp "$programs/library.so" "$tmp/roots/libc.so.6"

# The directory of the libraries is overwritten with another one, and slashes that fill it up.
linked() { # FILE DIRECTORY
	length=$(grep -ao '/placeholder/[x/]*' "$attacks/names_files" | head -1 | tr -d '\n' | wc -c)
	filled=$2
	while [ ${#filled} -lt "$length" ]; do filled=$filled/; done
	LC_ALL=C sed "s|/placeholder/[x/]*|$filled|" "$attacks/names_files" >"$1" && chmod 755 "$1"
}

# Records a program of the user, and sets `opened`: how often somebody has opened FILE.
mkfifo "$tmp/in"
opened_while() { # FILE OPTION... -- PROGRAM...
	rm -f "$tmp/opens"
	"$attacks/opens" "$1" <"$tmp/in" >"$tmp/opens" &
	watcher=$!
	shift
	exec 9>"$tmp/in"
	wait_for "$tmp/opens" watching
	before= after=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do before="$before $1"; shift; done
	shift
	# shellcheck disable=SC2086
	"$proftrace" -q $before -o "$tmp/t" -- setpriv --reuid="$one_uid" --regid="$one_gid" --clear-groups \
		--inh-caps=-all "$@" >"$tmp/said" 2>&1 9>&-
	exec 9>&-
	wait $watcher
	opened=$(sed -n 's/^opens //p' "$tmp/opens")
}
marks() { "$proftrace" report --format csv "$tmp/t.pftrace" | grep -c "$1"; }

linked "$tmp/shared/plain" /nowhere
opened_while "$programs/every_kind" -- "$tmp/shared/plain" "$programs/every_kind"
check "a program that the user may execute is opened ($opened)" test "$opened" -ge 2
check "and its marks are there" test "$(marks request)" -ge 1

opened_while "$tmp/shared/of-group" -- "$tmp/shared/plain" "$tmp/shared/of-group"
check "so is one that the user's group may execute ($opened)" test "$opened" -ge 2
for file in roots/program shared/link shared/no-program; do
	watched=$tmp/$file
	[ $file = shared/link ] && watched=$tmp/roots/program
	opened_while "$watched" -- "$tmp/shared/plain" "$tmp/$file"
	never_else "executed: $file is not opened" "$opened" 0
	check "executed: $file, and the marks are there" test "$(marks tried)" -ge 1
done

tracing=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
instance=$tracing/instances/proftrace-test-$$
if [ -n "$tracing" ] && mkdir "$instance" 2>/dev/null; then
	trap 'rmdir "$instance"; remove_test_users; rm -rf "$tmp"' EXIT
	for _ in $(seq 200); do echo "a line of another's recording" >"$instance/trace_marker"; done
	before=$(grep -c another "$instance/trace")
	"$proftrace" -q -o "$tmp/t" -- setpriv --reuid="$one_uid" --regid="$one_gid" --clear-groups --inh-caps=-all \
		"$tmp/shared/plain" "$instance/free_buffer" >"$tmp/said" 2>&1
	never_else "executed: a file of tracefs keeps its effect for itself" "$(grep -c another "$instance/trace")" "$before"
	# Root may execute it: what it is decides then.
	"$proftrace" -q -o "$tmp/t" -- "$tmp/shared/plain" "$instance/free_buffer" >"$tmp/said" 2>&1
	never_else "executed by root: so does it" "$(grep -c another "$instance/trace")" "$before"
else
	skip "a file of tracefs" "no instance can be made"
fi

linked "$tmp/shared/linked" "$tmp/roots"
opened_while "$tmp/roots/libc.so.6" -- "$tmp/shared/plain" "$tmp/shared/linked"
never_else "linked: a library that the user may not open is not opened" "$opened" 0
mkdir -m 755 "$tmp/shared/libraries" && cp "$programs/library.so" "$tmp/shared/libraries/libc.so.6"
linked "$tmp/shared/linked" "$tmp/shared/libraries"
opened_while "$tmp/shared/libraries/libc.so.6" -- "$tmp/shared/plain" "$tmp/shared/linked"
check "linked: one that the user may open is ($opened)" test "$opened" -ge 1
# A directory that is relative to that of the process is found by a magic link, the only one that is followed.
linked "$tmp/shared/relative" libraries
(cd "$tmp/shared" && exec "$proftrace" -v -o "$tmp/t" -- setpriv --reuid="$one_uid" --regid="$one_gid" --clear-groups \
	--inh-caps=-all "$tmp/shared/plain" "$tmp/shared/relative") >"$tmp/said" 2>&1
check "linked: one in a relative directory is found before it is mapped" \
	grep -q "attached to .* of '/proc/[0-9]*/task/[0-9]*/cwd/libraries/*libc.so.6'" "$tmp/said"

if command -v objcopy >/dev/null 2>&1; then
	mkdir -m 755 "$tmp/shared/.debug"
	objcopy --only-keep-debug "$attacks/names_files" "$tmp/roots/names.debug"
	objcopy --strip-all --add-gnu-debuglink="$tmp/roots/names.debug" "$tmp/shared/plain" "$tmp/shared/stripped"
	chown "$one_uid" "$tmp/shared/stripped" && chmod 755 "$tmp/shared/stripped"
	ln -s "$tmp/roots/names.debug" "$tmp/shared/.debug/names.debug"
	opened_while "$tmp/roots/names.debug" --stack tried -- "$tmp/shared/stripped" /bin/true
	never_else "debug file: one that the program's owner may not open is not opened" "$opened" 0
	rm "$tmp/shared/.debug/names.debug"
	install -m 644 "$tmp/roots/names.debug" "$tmp/shared/.debug/names.debug"
	opened_while "$tmp/shared/.debug/names.debug" --stack tried -- "$tmp/shared/stripped" /bin/true
	check "debug file: one that everybody may open is ($opened)" test "$opened" -ge 1

	# The program executes a script that puts a link to a file of root's in the program's place. Its debug file belongs to the user.
	mkdir -m 755 "$tmp/own" "$tmp/own/.debug"
	cp "$tmp/shared/stripped" "$tmp/own/stripped"
	install -m 644 "$tmp/roots/names.debug" "$tmp/own/.debug/names.debug"
	printf '#!/bin/sh\nrm "%s" && ln -s "%s" "%s"\n' "$tmp/own/stripped" "$programs/every_kind" "$tmp/own/stripped" >"$tmp/own/swap"
	chmod 755 "$tmp/own/swap" && chown -R "$one_uid:$one_gid" "$tmp/own"
	ln -f "$tmp/own/stripped" "$tmp/shared/again"
	opened_while "$tmp/own/.debug/names.debug" --stack tried -- "$tmp/own/stripped" "$tmp/own/swap"
	check "debug file: one that everybody may open is, although the program has replaced itself ($opened)" test "$opened" -ge 1
	for kind in link mapped; do
		rm -f "$tmp/own/.debug/names.debug" "$tmp/own/stripped"
		ln -s "$tmp/roots/names.debug" "$tmp/own/.debug/names.debug"
		ln "$tmp/shared/again" "$tmp/own/stripped"
		[ $kind = link ] && swaps=$tmp/own/swap || swaps=/bin/true
		opened_while "$tmp/roots/names.debug" --stack tried -- "$tmp/own/stripped" "$swaps"
		never_else "debug file: $kind: a link to a file of root's is not taken for the program" "$opened" 0
	done
else
	skip "debug file" "needs objcopy"
fi
check_nothing_left "named by programs"
finish
