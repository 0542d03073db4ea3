#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The target computes the same, traced or not, and its children live.
. "$(dirname "$0")/lib.sh"
need_tracing

for program in "$programs"/leaf-*; do
	name=$(basename "$program")
	calls=${CALLS:-200000}
	untraced=$("$program" "$calls")
	traced=$("$proftrace" -q -o "$tmp/leaf.pftrace" --summary-json "$tmp/s" -- "$program" "$calls")
	equal "$name computes the same" "$traced" "$untraced"
	check_account "$name" "$tmp/s"
done

forks=${FORKS:-1000}
"$proftrace" -q -o "$tmp/forks" --summary-json "$tmp/s" --strict -- "$programs/forks" "$forks" 20 >"$tmp/out"
equal "forks: exit status" $? 0
equal "forks: no child dies" "$(said "$tmp/out" dead)" 0
check_account "forks" "$tmp/s"
equal "forks: all marks of all children" "$(field "$tmp/s" marked)" \
	"$((2 * $(said "$tmp/out" pairs)))"
check_agree "forks" "$tmp/forks"
equal "forks: a process each" \
	"$("$canon" "$tmp/forks.pftrace" | awk '$3 == "BEGIN" { print $1 }' | sort -u | wc -l)" $((forks + 1))

# Children that a process had before are not recorded, and the recorder says so.
mkfifo "$tmp/in"
sh -c 'exec 3<&0; cat <&3 & cat <&3 & echo $! >"$0"; true & exec cat' "$tmp/child" <"$tmp/in" 9>&- &
parent=$!
exec 9>"$tmp/in"
wait_for "$tmp/child" '[0-9]'
"$proftrace" -q -p $parent -o "$tmp/children" 2>"$tmp/quiet"
"$proftrace" -p $parent -o "$tmp/children" 2>"$tmp/err"
equal "children: how many were there before" \
	"$(sed -n '1s/.* has \([0-9]*\) .*/\1/p' "$tmp/err")$(grep -c 'has 2' "$tmp/quiet")" 20
check "children: a hint names them" grep -q "^hint: -p $parent,[0-9,]*$(cat "$tmp/child")[ ,]" "$tmp/err"
exec 9>&-
wait $parent
finish
