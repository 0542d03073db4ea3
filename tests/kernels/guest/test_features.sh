#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What proftrace finds out about a kernel is what that kernel is known to have, and names are right
# through whichever probe site it then uses.
#
#	WANT_MULTI	"yes" or "no": one link for all sites of a file
#	WANT_SITES	a word of what is said about probe sites
. "$(dirname "$0")/../integration/lib.sh"

"$proftrace" check >"$tmp/check" 2>&1
equal "check: exit status" $? 0
sed 's/^/# /' "$tmp/check"
equal "check: uprobe_multi links" "$(awk '/^uprobe_multi links/ { print $3 }' "$tmp/check")" "$WANT_MULTI"
check "check: probe sites: $WANT_SITES" grep -q "^probe sites .*$WANT_SITES" "$tmp/check"
need_tracing

"$proftrace" -q -o "$tmp/t" --summary-json "$tmp/s" --strict -- "$programs/every_kind" 2 50 >"$tmp/out"
equal "every kind: exit status" $? 0
"$canon" --count "$tmp/t.pftrace" >"$tmp/counts"
equal "names: every slice of the program's" \
	"$(awk '$1 == "BEGIN" { c = $NF; $NF = ""; sub(/^BEGIN /, ""); sub(/ $/, ""); print $0 ":" c }' \
		"$tmp/counts" | sort | tr '\n' ' ')" \
	"encode:100 factorial:300 reply:100 request:100 round:100 work:100 "
equal "names: none is unreadable" "$(field "$tmp/s" unreadable_names)" 0

# Not only what is said: what the kernel made of the code of a program that is recorded, byte by byte, and
# by what kind of links.
mkfifo "$tmp/in"
"$programs/storm" 1 1000 <"$tmp/in" >"$tmp/storm.out" &
storm=$!
exec 9>"$tmp/in"
wait_for "$tmp/storm.out" ready
"$proftrace" -p $storm -o "$tmp/d" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
broker=$(cat /proc/$recorder/task/$recorder/children)
broker=${broker%% *}

# A line for each site where memory is not what the file is: the first byte in the file, then what it and
# those that follow are now, octal. A site is ten bytes at most.
changed() {
	grep " r-xp .*/storm\$" /proc/$storm/maps | tr ' -' '  ' | {
		read -r start end _ _ offset _
		pages=$(((0x$end - 0x$start) / 4096))
		dd if=/proc/$storm/mem bs=4096 skip=$((0x$start / 4096)) count=$pages 2>/dev/null >"$tmp/memory"
		dd if="$programs/storm" bs=4096 skip=$((0x$offset / 4096)) count=$pages 2>/dev/null >"$tmp/file"
	}
	cmp -l "$tmp/file" "$tmp/memory" 2>/dev/null | awk '
		$1 >= first + 10 { if (first) print site; first = $1; site = $2 + 0 }
		{ site = site " " $3 + 0 }
		END { if (first) print site }'
}
# What is hit is what counts: a program has sites, too, that it never comes to.
case $WANT_SITES$(uname -m) in
10-byte*) hit='^146 110 215 144 44 200 350( |$)' site="$hit|^146 314\$" ;; # lea -0x80(%rsp),%rsp; call
*aarch64) hit= site= ;; # there is one kind alone
*) hit='^220 314$' site=$hit ;;						   # int3
esac
for _ in $(seq 1 200); do
	changed >"$tmp/changed"
	[ "$(grep -cE "$hit" "$tmp/changed")" -ge 3 ] && break
	sleep 0.05
done
sort "$tmp/changed" | uniq -c | sed 's/^/# sites: /'
if [ -n "$hit" ]; then
	check "sites: sites are $WANT_SITES" test "$(grep -cE "$hit" "$tmp/changed")" -ge 3
	equal "sites: no site has another one" "$(grep -vE "$site" "$tmp/changed")" ""
else
	check "sites: sites are open" test "$(grep -c '' "$tmp/changed")" -ge 3
fi
links() { # TYPE
	cat /proc/"$broker"/fdinfo/* | grep -c "^link_type:[[:space:]]*$1\$"
}
if [ "$WANT_MULTI" = yes ]; then
	check "links: one for all sites of a file" test "$(links uprobe_multi)" -ge 1
	equal "links: none for a single site" "$(links perf)" 0
else
	check "links: one for each site" test "$(links perf)" -ge "$(grep -c '' "$tmp/changed")"
	equal "links: none for all sites of a file" "$(links uprobe_multi)" 0
fi
kill -INT $recorder
wait $recorder
equal "sites: exit status" $? 0
check_account "sites" "$tmp/s"
changed >"$tmp/changed"
[ -z "$site" ] || check "sites: afterwards no site is open" test "$(grep -cE "$site" "$tmp/changed")" -eq 0
exec 9>&-
wait $storm
finish
