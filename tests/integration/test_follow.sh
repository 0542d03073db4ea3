#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Children, exec, libraries opened later: nothing is missed, and the target is not disturbed.
. "$(dirname "$0")/lib.sh"
need_tracing

count() { # BASE KIND NAME
	"$canon" --count "$1.pftrace" | awk -v k="$2" -v n="$3" \
		'{ c = $NF; $NF = ""; sub(/ $/, ""); if ($0 == k " " n) s += c } END { print s + 0 }'
}

# Before Linux 6.0 a thread does not wait for what is new; what is attached late is counted.
kernel_can "holding new libraries" && holds=yes || holds=no
hardly_late() { # NAME MOST
	late=$(field "$tmp/s" attached_late)
	if [ "$holds" = yes ]; then
		check "$1 ($late)" test "$late" -le "$2"
	else
		skip "$1" "this kernel cannot hold threads: $late"
	fi
}

"$proftrace" -q -o "$tmp/e" --summary-json "$tmp/s" -- "$programs/executes" 5 \
	"$programs/forks" 3 4 >"$tmp/out" 2>"$tmp/err"
equal "exec: exit status is the command's" $? 0
check_account "exec" "$tmp/s"
equal "exec: every generation" "$(count "$tmp/e" BEGIN generation)" 6
equal "exec: what is open ends with the program" "$(field "$tmp/s" unfinished)" 5
equal "exec: what the last one executed" "$(count "$tmp/e" BEGIN "in child")" 12
hardly_late "exec: nothing was attached late" 0
check_agree "exec" "$tmp/e"

"$proftrace" -q -o "$tmp/st" --summary-json "$tmp/s" -- sh -c "exec $programs/executes-static 3" 2>"$tmp/err"
equal "static programs: exit status" $? 0
equal "static programs: every generation" "$(count "$tmp/st" BEGIN generation)" 4
check_account "static programs" "$tmp/s"

# A static program has no linker to be held in, nor is it held when it executes another program: that one's linker must be
# seen to be another than that of the program before the static one.
chain=
for i in $(seq 24); do
	cp "$programs/executes" "$tmp/dynamic-$i"
	chain="$chain $tmp/dynamic-$i 0 $programs/executes-static 0"
done
"$proftrace" -q -o "$tmp/ch" --summary-json "$tmp/s" -- $chain 2>"$tmp/err"
equal "dynamic programs after static ones: exit status" $? 0
check "dynamic programs after static ones: from the first mark on, or it is said that some are late" \
	test "$(count "$tmp/ch" BEGIN generation)" = 48 -o "$(field "$tmp/s" attached_late)" -gt 0
rm "$tmp"/dynamic-*

# In another root, by a link that is meant from there.
mkdir "$tmp/jail"
cp "$programs/executes-static" "$tmp/jail/program"
ln -s /program "$tmp/jail/link"
"$proftrace" -q -o "$tmp/jl" --summary-json "$tmp/s" -- \
	"$programs/executes" 0 -r "$tmp/jail" /link 0 2>"$tmp/err"
equal "a link in another root: exit status" $? 0
equal "a link in another root: from the first mark on" "$(count "$tmp/jl" BEGIN generation)" 2
hardly_late "a link in another root: none is late" 0

"$proftrace" -q -o "$tmp/d" --summary-json "$tmp/s" -- "$programs/opens" 100 \
	"$programs/plugin.so" >"$tmp/out" 2>"$tmp/err"
equal "dlopen: exit status" $? 0
equal "dlopen: the program loaded it" "$(said "$tmp/out" loaded)" 100
equal "dlopen: no call of the program was interrupted" "$(said "$tmp/out" disturbed)" 0
# A thread waits half a second for its library at most. A slow or busy machine may need longer: that is
# said, and only those marks may be missing.
hardly_late "dlopen: hardly a library was attached late" 3
constructors=$(count "$tmp/d" BEGIN constructor)
check "dlopen: all marks of 100 constructors ($constructors)" test "$constructors" -le 1000 -a \
	"$constructors" -ge $((1000 - 10 * late))
equal "dlopen: all marks of 100 destructors" "$(count "$tmp/d" INSTANT destructor)" 100
equal "dlopen: all calls" "$(count "$tmp/d" BEGIN "plugin work")" 100
check_account "dlopen" "$tmp/s"
check_agree "dlopen" "$tmp/d"

# A library that only the first recording knows: copied, so that its file is new each time.
for i in 1 2 3 4 5; do
	cp "$programs/plugin.so" "$tmp/new$i.so"
	"$proftrace" -q -o "$tmp/n" --summary-json "$tmp/s" -- "$programs/opens" 1 "$tmp/new$i.so" >"$tmp/out"
	[ "$(count "$tmp/n" BEGIN constructor)" = 10 ] || break
done
equal "dlopen: the constructor of a new file, five times" "$i$(count "$tmp/n" BEGIN constructor)" 510

# A recorder that does not get to run: whoever opens a library goes on without it, and that is counted.
mkfifo "$tmp/go"
cp "$programs/plugin.so" "$tmp/late.so"
"$proftrace" -o "$tmp/l" --summary-json "$tmp/s" -- sh -c \
	"echo ready; read go <'$tmp/go'; exec '$programs/opens' 1 '$tmp/late.so'" >"$tmp/late.out" 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/late.out" ready
kill -STOP $recorder
echo >"$tmp/go"
wait_for "$tmp/late.out" loaded
kill -CONT $recorder
wait $recorder
equal "late: exit status" $? 0
equal "late: the program loaded it all the same" "$(said "$tmp/late.out" loaded)" 1
equal "late: no call of the program was interrupted" "$(said "$tmp/late.out" disturbed)" 0
check "late: that is counted" test "$(field "$tmp/s" attached_late)" -gt 0
check "late: and said" grep -q "attached late: .* first marks may be missing" "$tmp/err"
never_else "late: the account adds up" "$(field "$tmp/s" adds_up)" true

"$proftrace" -q --no-children -o "$tmp/c" --summary-json "$tmp/s" -- "$programs/forks" 10 5 >"$tmp/out"
equal "--no-children: only the parent" "$(field "$tmp/s" marked)" 2

"$proftrace" -q -D '!prof*' -D '!default' -o "$tmp/dom" --summary-json "$tmp/s" -- \
	"$programs/every_kind" 1 10 >"$tmp/out"
check "-D: some domains are recorded" test "$(field "$tmp/s" marked)" -gt 0
check "-D: and others are not" test "$(field "$tmp/s" marked)" -lt "$(said "$tmp/out" total)"
equal "-D: no event of a domain left out" "$(grep -c '"cat":"default"' "$tmp/dom.json")" 0
finish
