#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Functions whose returns the kernel records (--return-probes): the slices are those of breakpoints, what is nested too deep
# is counted, call stacks are whole, and no other process has a return address changed, nor has the program one when the
# recorder was killed.
. "$(dirname "$0")/lib.sh"
need_tracing
program=$programs/returns
stacks=$root/build/tests/tools/stacks
functions="-f recurse -f choose -f work(arg0:s32,ret:s32) -f jump -f look -f split -f wait_below"
children=
[ "$(id -u)" != 0 ] || grep -q '^return probes *yes' "$tmp/check" || children=--no-children

record() { # NAME OPTION... -- COMMAND...
	name=$1
	shift
	# shellcheck disable=SC2086
	timeout 60 "$proftrace" record $functions -o "$tmp/$name" --summary-json "$tmp/$name.sum" "$@" \
		>"$tmp/$name.out" 2>"$tmp/$name.err"
}
begun() { # NAME FUNCTION
	grep -F "\"name\":\"$2\"" "$tmp/$1.json" | grep -c '"ph":"B"'
}

# --- the slices of breakpoints -------------------------------------------------------------------
"$program" same >"$tmp/alone"
record exact -e none -- "$program" same
# shellcheck disable=SC2086
record same -e none $children --return-probes -- "$program" same
for name in exact same; do
	check_account $name "$tmp/$name.sum"
	check_agree $name "$tmp/$name"
	ended_slices "$tmp/$name.json" | sed 's/"ts":[0-9.]*//; s/"[pt]id":[0-9]*//g' >"$tmp/$name.slices"
	equal "$name: the program computes the same" "$(grep -v hijacked "$tmp/$name.out")" "$(grep -v hijacked "$tmp/alone")"
done
check "there are slices" test "$(wc -l <"$tmp/exact.slices")" -gt 4000
check "the same as by breakpoints: their nesting, order, arguments and returned values" \
	cmp "$tmp/same.slices" "$tmp/exact.slices"
equal "breakpoints change no return address" "$(said "$tmp/exact.out" hijacked)" 0
equal "return probes change each" "$(said "$tmp/same.out" hijacked)" "$(said "$tmp/same.out" look)"

# --- threads, a forked child, calls that are nested too deep -----------------------------------------
"$program" >"$tmp/alone"
if [ -z "$children" ]; then
	record all -e none --stack recurse --return-probes -- "$program"
	equal "the program computes the same" "$(grep -v hijacked "$tmp/all.out")" "$(grep -v hijacked "$tmp/alone")"
	check_agree all "$tmp/all"
	for function in choose work look; do
		equal "calls of $function" "$(begun all $function)" "$(said "$tmp/all.out" $function)"
	done
	deep=$(said "$tmp/all.out" deep)
	equal "calls of functions that are nested deeply, but for those that are nested too deep" \
		"$(($(begun all recurse) + $(begun all jump)))" \
		"$(($(said "$tmp/all.out" recurse) + $(said "$tmp/all.out" jump) - deep))"
	equal "which are counted" "$(field "$tmp/all.sum" too_deep) $(field "$tmp/all.sum" lost_total)" "$deep $deep"
	never_else "the account adds up" "$(field "$tmp/all.sum" adds_up)" true
	equal "every slice ends" "$(field "$tmp/all.sum" unfinished) $(field "$tmp/all.sum" open_at_end)" "0 0"
	"$stacks" "$tmp/all.pftrace" | awk '$1 == "at" && $3 == "recurse"' >"$tmp/stacks"
	equal "each has a whole call stack" "$(field "$tmp/all.sum" stacks_whole)" "$(begun all recurse)"
	check "through all frames whose return address is replaced" grep -qE 'main;run_depths(;recurse){63}$' "$tmp/stacks"
	equal "which shows the kernel's trampoline nowhere" "$(grep -c uprobes "$tmp/stacks")" 0
else
	skip "threads, a forked child, calls that are nested too deep" "return probes need --no-children here"
fi

# --- other processes, and a recorder that is killed amid calls ---------------------------------------
mkfifo "$tmp/in"
exec 5<>"$tmp/in"
"$program" waits <"$tmp/in" >"$tmp/waits.out" 5>&- &
waits=$!
wait_for "$tmp/waits.out" 'below 0'
# shellcheck disable=SC2086
"$proftrace" record -e none $children $functions --return-probes -o "$tmp/killed" -p $waits >"$tmp/killed.out" 2>"$tmp/killed.err" 5>&- &
recorder=$!
wait_for "$tmp/killed.err" "proftrace: recording"
"$program" same >"$tmp/other.out"
never_else "another process that executes the same file has no return address changed" "$(said "$tmp/other.out" hijacked)" 0
# The first byte ends the call that began before. Then ten calls are open until the second.
printf a >&5
check "calls are open whose return address is replaced" wait_for "$tmp/waits.out" 'below 1'
kill -9 $recorder
wait $recorder 2>/dev/null
changed= inode=$(stat -c %i "$program")
for _ in $(seq 1 400); do changed=$("$root/build/tests/attacks/changed_bytes" $waits where | grep -c "^at $inode "); [ "$changed" = 0 ] && break; sleep 0.01; done
never_else "breakpoints go with the recorder" "$changed" 0
printf b >&5
exec 5>&-
wait $waits
equal "the program ends in order" $? 0
# The tenth call returns 'b' and 1, each around it adds its number.
equal "and computes what it does alone" "$(said "$tmp/waits.out" wait_below) $(said "$tmp/waits.out" sum)" "$((98 + 55)) $(said "$tmp/alone" sum)"
never_else "no return address of later calls is changed" "$(said "$tmp/waits.out" hijacked) $(said "$tmp/waits.out" changed)" "0 0"

"$proftrace" record --return-probes -- "$program" same >/dev/null 2>"$tmp/err"
equal "--return-probes needs -f" "$?" 2
check "check says whether" grep -qE '^return probes +(yes|no)' "$tmp/check"
finish
