#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ELF files that are truncated, rewritten and restored while they are read. Wrong contents are left out, recorder
# and broker end normally with bounded memory, and the programs go on.
. "$(dirname "$0")/lib.sh"
. "$root/tests/kinds.sh"
need_tracing
set -f

# One that has the file mapped, or executes it, until its input ends.
begin() { # COMMAND...
	rm -f "$tmp/in" "$tmp/out"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/out" &
	target=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
}

change() { # KIND
	"$programs/damage" "$1" "$tmp/file" 100000000 9>&- &
	changer=$!
}

# 1 at most is how a command ends in order; more is a signal, or a limit of time.
attempts=0 odd=0 disorderly= peak=0
attempt() { # NORMAL COMMAND...: NORMAL lines of its output are as usual
	normal=$1
	shift
	timeout -k 5 60 "$programs/peak" "$tmp/peak" "$@" >"$tmp/said" 2>&1 9>&-
	status=$?
	attempts=$((attempts + 1))
	[ $status -le 1 ] && ! grep -q '^proftrace: .*broker' "$tmp/said" ||
		disorderly="$disorderly $attempts:$status $(grep broker "$tmp/said")"
	[ $status -eq 0 ] && [ "$(grep -c "$normal" "$tmp/said")" -gt 0 ] || odd=$((odd + 1))
	[ "$(said "$tmp/peak" peak)" -le $peak ] || peak=$(said "$tmp/peak" peak)
}

verdict() { # NAME MOST_KB
	kill $changer
	wait $changer 2>/dev/null
	equal "$1: all end in order" "$disorderly" ""
	check "$1: memory stays below $2 KB ($peak KB)" test "$peak" -lt "$2"
	echo "# $1: $odd of $attempts met the file when it was another one"
	attempts=0 odd=0 disorderly= peak=0
}

# Anything may happen to it: it is only read.
cp "$programs/storm" "$tmp/file"
sites=$("$proftrace" list "$tmp/file" | grep -c 'sites)')
check "the file as it is has markers" test "$sites" -ge 2
change change
for _ in $(seq 1 200); do
	[ $odd -lt 5 ] || [ $odd -eq $attempts ] || break
	attempt "($n_domain_kinds sites)" "$proftrace" list "$tmp/file"
done
check "list: some readings met a changed file" test $odd -ge 5
check "list: some did not" test $odd -lt $attempts
verdict "list" 65536

cp "$programs/storm" "$tmp/file"
begin "$programs/hostile" maps "$tmp/file"
change change
for _ in $(seq 1 10); do attempt "^$tmp/file: " "$proftrace" list -p $target; done
verdict "listed as mapped" 65536
change change
for more in '-e none' '-e none' '-e none --sample 499' '-e none --stack tick' '-f storm*' '-u storm:*' '--mode batch-now'; do
	for _ in 1 2; do
		attempt "attached to [0-9]* sites of '$tmp/file'" "$proftrace" -v -p $target $more -d 20ms -o "$tmp/f"
	done
done
# As many more as it takes.
for _ in $(seq 1 100); do
	[ $odd -lt 3 ] || break
	attempt "attached to [0-9]* sites of '$tmp/file'" "$proftrace" -v -p $target -e none -d 20ms -o "$tmp/f"
done
check "recorded as mapped: some readings met a changed file" test $odd -gt 0
verdict "recorded as mapped" 262144
exec 9>&-
wait $target
equal "mapped: the program ends well" $? 0

# It is executed by the dynamic linker, which lets it be written to meanwhile; what is needed for that stays.
linker=$(awk '$6 ~ /\/ld-linux/ { print $6; exit }' /proc/self/maps)
if [ -z "$linker" ]; then
	skip "executed" "no dynamic linker is found"
	finish
fi
cp "$programs/storm" "$tmp/file"
begin "$linker" "$tmp/file" 1 100
change tail
for more in '-e none --sample 499' '-e none --stack outer' '-f storm*' '-e none --sample 499 --stack inner -f *'; do
	for _ in 1 2 3; do
		attempt "attached to" "$proftrace" -v -p $target $more -d 50ms -o "$tmp/f"
	done
done
# Its functions are beyond the sites of its markers.
markers=$((n_domain_kinds + n_control_kinds))
with_functions=$(seq -s '\|' $((markers + 1)) $((markers + 10)))
for _ in $(seq 1 100); do
	[ $odd -eq 0 ] || break
	attempt "attached to \($with_functions\) sites" "$proftrace" -v -p $target -f 'storm*' -d 20ms -o "$tmp/f"
done
check "executed: some readings met a changed file" test $odd -gt 0
verdict "executed" 524288
exec 9>&-
wait $target
equal "executed: the program ends well" $? 0
equal "executed: its semaphore is off" "$(said "$tmp/out" semaphore)" 0
finish
