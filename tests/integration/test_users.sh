#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The recorder runs as the invoking user, the broker keeps the privileges, and without privileges a message names
# the missing ones. Also targets in other namespaces.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ] || ! id nobody >/dev/null 2>&1 || ! command -v setpriv >/dev/null 2>&1; then
	skip "users" "needs root, setpriv and a user nobody"
	finish
fi
# The build may lie where that user cannot look.
cp "$programs/storm" "$programs/executes" "$proftrace" "$tmp"
nobody=$(id -u nobody)

start_storm() { # COMMAND...: runs it as a storm
	rm -f "$tmp/in" "$tmp/storm.out"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/storm.out" &
	shell=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/storm.out" ready
}

end_storm() {
	exec 9>&-
	wait $shell
}

start_storm "$tmp/storm" 1
storm=$shell
mkdir "$tmp/theirs" && chown nobody "$tmp/theirs"
SUDO_UID=$nobody SUDO_GID=$(id -g nobody) "$tmp/proftrace" -q -p $storm -o "$tmp/theirs/t" 9>&- &
recorder=$!
for _ in $(seq 1 100); do [ -s "$tmp/theirs/t.json" ] && break; sleep 0.05; done
broker=$(pgrep -P $recorder)
status() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
equal "the recorder is the invoking user" "$(status $recorder Uid | tr '\t' ' ')" \
	"$nobody $nobody $nobody $nobody"
equal "the recorder has no capability" "$(status $recorder CapEff)$(status $recorder CapPrm)" \
	"00000000000000000000000000000000"
equal "the recorder cannot get new ones" "$(status $recorder NoNewPrivs)" 1
equal "the broker keeps root" "$(status $broker Uid | cut -f1)" 0
allowed=0x1c000080004 # bpf, perfmon, checkpoint_restore, sys_ptrace, dac_read_search
grep -qE '^uprobe_multi links +no' "$tmp/check" && allowed=0x1c000280004 # and sys_admin
equal "the broker keeps no capability that it does not need" \
	"$((0x$(status $broker CapPrm) & ~allowed)) $((0x$(status $broker CapBnd) & ~allowed))" "0 0"
equal "the broker has no file of the target open" "$(ls -l /proc/$broker/fd | grep -c storm)" 0
check "memory beside the ring buffer stays small" \
	test "$(status $recorder RssAnon | cut -d' ' -f1)" -lt 100000
kill -INT $recorder
wait $recorder
equal "recorded as another user" $? 0
check_agree "recorded as another user" "$tmp/theirs/t"
end_storm

start_storm setpriv --reuid="$nobody" --clear-groups "$tmp/storm" 1
(cd "$tmp/theirs" && setpriv --reuid="$nobody" --clear-groups "$tmp/proftrace" -p $shell -d 100ms 9>&-) \
	2>"$tmp/err"
equal "without privileges: exit status" $? 1
check "without privileges: says so" grep -q 'not permitted to load BPF programs' "$tmp/err"
check "without privileges: says what to do" grep -q '^hint: .*cap_bpf' "$tmp/err"
"$proftrace" -q -p $shell -d 200ms -o "$tmp/other" --summary-json "$tmp/s" 9>&-
equal "root records another user's process" $? 0
check "root records another user's process: marks" test "$(field "$tmp/s" written)" -gt 100
end_storm

# Two processes at once.
start_storm "$tmp/storm" 1
"$tmp/storm" 1 <"$tmp/in" >"$tmp/second.out" 9>&- &
second=$!
wait_for "$tmp/second.out" ready
"$proftrace" -q -p $shell,$second -d 300ms -o "$tmp/two" --summary-json "$tmp/s" 9>&-
equal "two processes: exit status" $? 0
equal "two processes: both are there" \
	"$("$canon" "$tmp/two.pftrace" | awk '$3 == "BEGIN" { print $1 }' | sort -u | wc -l)" 2
check_agree "two processes" "$tmp/two"
end_storm
wait $second

# Another pid namespace, another root that is visible only in its own mount namespace.
if ! unshare --pid --mount --fork true 2>/dev/null; then
	skip "namespaces" "unshare is not permitted here"
	finish
fi
cat >"$tmp/inside" <<-END
	mount -t tmpfs none /mnt && mkdir -p /mnt/lib64 /mnt/lib &&
	for library in \$(ldd $tmp/storm | grep -o '/[^ ]*'); do
		mkdir -p /mnt/\$(dirname \$library) && cp \$library /mnt/\$library
	done
	cp $tmp/storm /mnt/storm && exec chroot /mnt /storm 1
END
start_storm unshare --pid --mount --fork sh "$tmp/inside"
storm=$(innermost $shell)
"$proftrace" -q -p "$storm" -d 300ms -o "$tmp/ns" --summary-json "$tmp/s" 9>&- 2>"$tmp/err"
equal "namespaces: exit status" $? 0
check "namespaces: marks" test "$(field "$tmp/s" written)" -gt 100
check "namespaces: names" grep -q '"name":"outer"' "$tmp/ns.json"
check_agree "namespaces" "$tmp/ns"
end_storm
equal "namespaces: the semaphore is off again" "$(said "$tmp/storm.out" semaphore)" 0

unshare --pid --mount --fork --mount-proc "$proftrace" -o "$tmp/in-ns" -- "$programs/executes" 1 2>"$tmp/err"
equal "from inside a pid namespace: refused" $? 1
check "from inside a pid namespace: says why" grep -q 'inside a pid namespace' "$tmp/err"
finish
