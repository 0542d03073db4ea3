#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Objects that are made at run time: all threads get the same, and both traces hold exactly what was done with them,
# under their domains and categories; attached to late, and with some domains only, too.
. "$(dirname "$0")/lib.sh"
need_tracing

events() { # FILE, as in test_objects.sh
	"$canon" "$1" | awk '
		$3 == "BEGIN" || $3 == "INSTANT" || $3 == "ASYNC_BEGIN" {
			n[$3 " " $5 " " $6 " " ($1 == 0 ? "global" : $2 == 0 ? "process" : "thread")]++
		}
		END { for (i in n) print i, n[i] }'
	"$canon" --count "$1" | grep '^COUNTER '
}
same() { # NAME WANTED
	for kind in json pftrace; do
		events "$tmp/t.$kind" | sort >"$tmp/got"
		check "$1: what happened, in $kind" diff "$2" "$tmp/got"
	done
}

modes=exact
if has_batches; then
	modes="exact batch-now"
fi
for mode in $modes; do
	"$proftrace" record -q -e none --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/made" 8 20 >"$tmp/out"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
	equal "$mode: every slice ends" "$(field "$tmp/s" open_at_end)$(field "$tmp/s" unfinished)$(field "$tmp/s" async_unmatched)" 000
	check_agree "$mode" "$tmp/t"
	sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
	same "$mode" "$tmp/wanted"
done

# Made before somebody attaches.
mkfifo "$tmp/in"
rm -f "$tmp/out"
"$programs/made" 4 10 wait <"$tmp/in" >"$tmp/out" &
program=$!
exec 3>"$tmp/in"
wait_for "$tmp/out" ready
"$proftrace" record -q -e none -o "$tmp/t" --summary-json "$tmp/s" -p $program 2>"$tmp/err" &
recorder=$!
for _ in $(seq 1 400); do
	"$proftrace" list -p $program 2>/dev/null | grep -q '^  domain (run time): .*, on' && break
	sleep 0.05
done
while ! "$proftrace" ctl status -p $program >/dev/null 2>&1 && kill -0 $recorder 2>/dev/null; do sleep 0.05; done
echo >&3
wait_for "$tmp/out" "done"
echo >&3
wait $program
equal "attached late: the program's exit status" $? 0
wait $recorder
equal "attached late: exit status" $? 0
exec 3>&-
check_account "attached late" "$tmp/s"
equal "attached late: marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
same "attached late" "$tmp/wanted"

# Some of them.
for glob in domain-1 '!domain-0' 'domain-1/b'; do
	"$proftrace" record -q -e none -D "$glob" -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/made" 2 5 >"$tmp/out"
	equal "-D $glob: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "-D $glob: every slice ends" "$(field "$tmp/s" open_at_end)$(field "$tmp/s" unfinished)" 00
	case $glob in
	domain-1) keeps='domain-1[ ,]' ;;
	'!domain-0') keeps='domain-1[ ,]|default[ ,]' ;;
	*) keeps='domain-1,a,b ' ;;
	esac
	sed -n 's/^saw //p' "$tmp/out" | grep -E "$keeps" | sort >"$tmp/wanted"
	for kind in json pftrace; do
		events "$tmp/t.$kind" | grep -v '^COUNTER' | sort >"$tmp/got"
		check "-D $glob: what is left, in $kind" diff "$tmp/wanted" "$tmp/got"
	done
done

# Finding one takes as many steps among a million as among ten, and all threads find the same.
for n in 10 1000 1000000; do
	"$programs/many_names" $n 2 >"$tmp/out"
	equal "$n names: exit status" $? 0
	equal "$n names: objects" "$(said "$tmp/out" objects)" $n
	equal "$n names: those that are not the same for all, or not in order" "$(said "$tmp/out" different) $(said "$tmp/out" misplaced)" "0 0"
	check "$n names: at most three steps to each, on average" test "$(said "$tmp/out" steps)" -le $((3 * n))
	check "$n names: at most 40 steps to any" test "$(said "$tmp/out" most)" -le 40
done

# Added up in the kernel.
"$proftrace" record --stats-only -- "$programs/made" 2 5 >"$tmp/out" 2>"$tmp/err"
equal "a table alone: domains" "$(awk '$1 ~ /^(domain-[01]|default)/ { sub(/,.*/, "", $1); print $1 }' "$tmp/err" | sort -u | tr '\n' ' ')" \
	"default domain-0 domain-1 "
# Each mark has the name and the value that it had, in buffers that are handed over, inherited and left by the killed.
named() { # FILE: how often each name was marked; "else", where an argument does not say the same
	"$canon" "$1" | awk '$3 == "INSTANT" && !/SIGKILL/ {
		name = $5 == "turn" ? $5 " " $6 : $5
		n[match($0, / of=s:/) && index($0, " of=s:\"" $5 "\"") == 0 ? "else" : name]++
	} END { for (name in n) print n[name], name }' | sort
}
case $modes in
*batch*)
	"$proftrace" record -q -e none --mode batch-now -o "$tmp/t" --summary-json "$tmp/s" -- \
		"$programs/names_again" 30000 >"$tmp/out"
	equal "names again: exit status" $? 0
	equal "names again: the account adds up" "$(field "$tmp/s" adds_up)" true
	sort "$tmp/out" >"$tmp/wanted"
	for kind in json pftrace; do
		named "$tmp/t.$kind" >"$tmp/got"
		check "names again: each mark has its own, in $kind" diff "$tmp/wanted" "$tmp/got"
	done
	;;
*) skip "names again" "this kernel or machine has no buffers" ;;
esac

finish
