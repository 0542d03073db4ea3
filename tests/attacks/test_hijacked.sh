#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Somebody who took over a recorder sends the broker every request of the protocol: damaged, in a wrong order, for
# processes of others, for places inside instructions, with descriptors of everything but files, random bytes, too much.
# Afterwards nobody else's process has one byte changed, nothing is left, and the broker works or has ended in order.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other || { skip "hijacked" "cannot make users"; finish; }
tool=$root/build/tests/tools/hijacked
library=$(ldd "$attacks/bystander" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
cp "$attacks/bystander" "$tmp/bystander" && cp "$attacks/bystander" "$tmp/foreign" && cp "$attacks/bystander" "$tmp/suid"
chmod 755 "$tmp/bystander" "$tmp/foreign" && chmod 4755 "$tmp/suid"
cp "$tool" "$tmp/own" && chmod 755 "$tmp/own" && cp "$tool" "$tmp/all"
grep -qE '^uprobe_multi links +yes' "$tmp/check" && capabilities=cap_bpf,cap_perfmon || capabilities=cap_bpf,cap_perfmon,cap_sys_admin
modes="all own"
if ! setcap $capabilities+ep "$tmp/own" 2>/dev/null; then
	skip "without root" "file capabilities cannot be set here"
	modes=all
fi
readelf -n "$library" 2>/dev/null | sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p' | sort -u >"$tmp/probes"

# Processes of others: of another user, of root, and a set-user-ID program that the attacker started.
mkfifo "$tmp/in" "$tmp/go"
exec 5<>"$tmp/in"
start() { # UID GID NAME FILE
	rm -f "$tmp/$3.out"
	(exec 8>&- 9>&- setpriv --reuid="$1" --regid="$2" --clear-groups --inh-caps=-all "$4" <"$tmp/in" >"$tmp/$3.out" 5>&-) &
	wait_for "$tmp/$3.out" ready
}
start "$made_uid" "$made_gid" other "$tmp/foreign"
start 0 0 root "$tmp/foreign"
start "$owner_uid" "$owner_gid" suid "$tmp/suid"
start "$owner_uid" "$owner_gid" target "$tmp/bystander"
target=$(said "$tmp/target.out" ready)
# A service of the user's, which has a capability. It executes its program when it is waited for.
cp "$attacks/bystander" "$tmp/privileged" && mkfifo "$tmp/execute"
(exec 8>&- 9>&- setpriv --reuid="$owner_uid" --regid="$owner_gid" --clear-groups --inh-caps=+net_raw --ambient-caps=+net_raw \
	sh -c 'read -r _ <"$1/execute"; exec "$1/privileged" <"$1/in"' sh "$tmp" >"$tmp/privileged.out" 5>&-) &
privileged=$!
foreign="$(said "$tmp/other.out" ready) $(said "$tmp/root.out" ready) $(said "$tmp/suid.out" ready)"

# Another recording of root's has breakpoints in everybody's dynamic linker and C library, where threads are held or leave
# calls. None of these is requested here.
for file in "$library" "$(ldd "$attacks/bystander" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\).*/\1/p')"; do
	inode=$(stat -L -c %i "$file")
	readelf -W --dyn-syms "$file" | awk '$8 ~ /^(_dl_debug_state|execve|execveat|fexecve|prctl|longjmp|__longjmp_chk)(@|$)/ { print $2 }' |
		while read -r address; do echo "at $inode $((0x$address))"; done
	linker_calls "$file" | while read -r address; do echo "at $inode $((0x$address))"; done
done >"$tmp/holds"
changed() { # PID...
	for pid; do "$attacks/changed_bytes" "$pid" where 2>/dev/null | grep '^at' | grep -cvxFf "$tmp/holds"; done | tr '\n' ' '
}
attack() { # MODE KIND SEED
	attack="$1, $2, $3"
	: >"$tmp/said"
	if [ "$1" = own ]; then identity="setpriv --reuid=$owner_uid --regid=$owner_gid --clear-groups --inh-caps=-all"; else identity=; fi
	(exec 9>&- $identity "$tmp/$1" "$2" "$1" "$3" "$target" "$tmp/bystander" "$library" $foreign $privileged <"$tmp/go" >"$tmp/said" 2>&1 5>&-) &
	hijacked=$!
	exec 9>"$tmp/go"
	[ "$2" != waits ] || { wait_for "$tmp/said" waits; echo >"$tmp/execute"; wait_for "$tmp/privileged.out" ready; }
	wait_for "$tmp/said" through
	broker=$(said "$tmp/said" broker)
	check "$attack: $(said "$tmp/said" sent) packets were sent" test "$(said "$tmp/said" sent)" -ge 1
	never_else "$attack: nothing was got" "$(grep '^got' "$tmp/said" | sort | uniq -c | head -5)" ""
	never_else "$attack: nobody else has a byte changed" "$(changed $foreign)" "0 0 0 "
	if [ "$2" = finds ]; then
		check "$attack: it was found" test "$(said "$tmp/said" found)" -ge 1
	fi
	[ "$1 $2" != "all adopts" ] || equal "$attack: what is handed over" "$(said "$tmp/said" adopted)" 1
	if [ "$2" = requests ] || [ "$2" = finds ] || [ "$2" = adopts ] || [ "$2" = waits ]; then
		equal "$attack: the broker works" "$(grep -c '^alive' "$tmp/said")" 1
		check "$attack: the broker kept few descriptors" test "$(find "/proc/$broker/fd" -type l | wc -l)" -lt 64
		# Bytes of a nop that are a probe's site by its note. (4: USDT, which is the only program that notes of these permit.)
		sed -n 's/^granted //p' "$tmp/said" >"$tmp/granted"
		never_else "$attack: nothing in the library but sites of probes" \
			"$(grep -v '^4 ' "$tmp/granted"; sed -n 's/^4 //p' "$tmp/granted" | sort -u | comm -23 - "$tmp/probes")" ""
	fi
	echo go >&9
	exec 9>&-
	wait $hijacked
	for _ in $(seq 1 400); do grep -q '^State:.[^Z]' "/proc/$broker/status" 2>/dev/null || break; sleep 0.02; done
	check "$attack: the broker has ended" sh -c '! grep -q "^State:.[^Z]" /proc/$1/status 2>/dev/null' sh "$broker"
	[ "$2" = orphan ] || equal "$attack: in order" "$(said "$tmp/said" ended)" 0
	for _ in $(seq 1 100); do [ "$(changed $target)" = "0 " ] && break; sleep 0.02; done
	never_else "$attack: the recorded process is as before, and so is everybody else" "$(changed $target $foreign)" "0 0 0 0 "
	check_nothing_left "$attack"
}
for mode in $modes; do
	for seed in ${SEEDS:-1 2}; do attack $mode requests "$seed"; done
	for kind in finds adopts large descriptors lingers stopped orphan; do attack $mode $kind 1; done
done
case $modes in *own) attack own waits 1 ;; *) kill $privileged ;; esac
exec 5>&-
names="other root suid"
[ ! -s "$tmp/privileged.out" ] || names="$names privileged"
for name in $names; do
	wait_for "$tmp/$name.out" marks
	never_else "$name: markers were never on" "$(said "$tmp/$name.out" enabled)" 0
done
wait_for "$tmp/target.out" marks
finish
