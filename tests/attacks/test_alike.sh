#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program has, in a mount namespace of its own, a file with the path and the build id of another user's program, and other
# names of functions: the stacks of that one have its own names. A file that is equal, as in containers of one image, is the same.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user one && one_uid=$made_uid one_gid=$made_gid || { skip "alike" "cannot make users"; finish; }
chmod 755 "$tmp"
name=alike-$$
program=$tmp/$name
stacks=$root/build/tests/tools/stacks
cp "$programs/sampled" "$program"
mkdir "$tmp/equal" "$tmp/forged"
cp "$programs/sampled" "$tmp/equal/$name"
LC_ALL=C sed 's/alpha/forge/g' "$programs/sampled" >"$tmp/forged/$name"
chmod 755 "$tmp/equal" "$tmp/forged" "$tmp/forged/$name"
if ! unshare -m mount --bind "$tmp/equal/$name" "$program"; then
	skip "alike" "no mount namespace can be made"
	finish
fi
start_recorder -e none --sample 997 --no-children --summary-json "$tmp/s" -n "$name" --wait
run() { # FILE: with the name of the program, as the user
	unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$1" "$program" \
		setpriv --reuid="$one_uid" --regid="$one_gid" --clear-groups "$program" 1 0.4 >"$tmp/out"
}
run "$tmp/forged/$name"
"$program" 1 0.4 >"$tmp/out"
run "$tmp/equal/$name"
kill -TERM $recorder
ends $recorder
equal "recorded" $? 0
# The functions of each thread, in the order in which they ran.
"$stacks" "$tmp/t.pftrace" | sed -n 's/^sample \([0-9]*\) .*;work;\(alpha\|forge\)$/\1 \2/p' | uniq -c | awk '$1 > 10 { print $2, $3 }' | uniq >"$tmp/functions"
of() { awk -v n="$1" '!($1 in seen) { seen[$1] = ++threads } seen[$1] == n { print $2 }' "$tmp/functions" | sort -u; }
equal "the forged program's functions" "$(of 1)" forge
never_else "the program that runs after it keeps its names" "$(of 2)" alpha
never_else "and so does an equal file" "$(of 3)" alpha
# Where there was no time to compare the equal files, they have two, which is counted.
uncompared=$(field "$tmp/s" files_uncompared)
never_else "the forged one is first, and both others have one other path, or one each" \
	"$(grep -aoE "$name \([0-9]+\)" "$tmp/t.pftrace" | grep -o ' .*' | sort -u | xargs)" \
	"$([ "$uncompared" -eq 0 ] && echo "(2)" || echo "(2) (3)")"
[ "$uncompared" -eq 0 ] || check "it is said" grep -q 'not compared with another one of' "$tmp/said"

# The names are beside the program, in a directory of its user's alone. Those of equal files of the same user are found there, too.
if command -v objcopy >/dev/null; then
	mkdir "$tmp/home" "$tmp/other"
	program=$tmp/home/$name
	objcopy --only-keep-debug "$programs/sampled" "$tmp/home/$name.debug"
	objcopy -S --add-gnu-debuglink="$tmp/home/$name.debug" "$programs/sampled" "$program"
	cp "$program" "$tmp/other/$name"
	chown -R "$one_uid:$one_gid" "$tmp/home" "$tmp/other"
	chmod 700 "$tmp/home"
	start_recorder -e none --sample 997 --no-children --summary-json "$tmp/s" -n "$name" --wait
	as "$one_uid" "$one_gid" "$program" 1 0.4 >"$tmp/out"
	run "$tmp/other/$name"
	kill -TERM $recorder
	ends $recorder
	equal "names beside the program: recorded" $? 0
	never_else "both have them" "$("$stacks" "$tmp/t.pftrace" | sed -n 's/^sample \([0-9]*\) .*;work;alpha$/\1/p' | uniq -c | awk '$1 > 10' | wc -l)" 2
	equal "and are one file, or counted" "$(grep -aoE "$name \([0-9]+\)" "$tmp/t.pftrace" | sort -u | wc -l)" "$(field "$tmp/s" files_uncompared)"
else
	skip "names beside the program" "no objcopy"
fi
finish
