#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user with a capable proftrace stops one of its processes for ever, at its first instruction, and kills the recorder and
# the broker: the process has no capability, and nothing of BPF is left. Each process is tried, the one that closes links
# also when it has them. (test_schedules looks at what each process has at every other moment.)
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner || { skip "outlived" "cannot make a user"; finish; }
if ! capable_copy "$tmp/proftrace"; then
	skip "outlived" "file capabilities cannot be set here"
	finish
fi
cp "$programs/every_kind" "$programs/handler.so" "$tmp" && chmod 755 "$tmp/every_kind" "$tmp/handler.so"
mkdir "$tmp/owner" && chown "$made_uid" "$tmp/owner"

# Every process that there can be.
set -- --sample 99 --max-overhead 50% -f getppid --handler "$tmp/handler.so=$tmp/owner/events,count,0"
if ldconfig -p 2>/dev/null | grep -q 'libmicrohttpd\.so\.12'; then
	set -- "$@" --metrics 127.0.0.1:$((20000 + $$ % 12000))
else
	skip "the process of --metrics" "no libmicrohttpd"
fi
export DEBUGINFOD_URLS=http://127.0.0.1:1
if ldconfig -p 2>/dev/null | grep -q 'libdebuginfod\.so\.1'; then
	set -- "$@" --debuginfod
else
	skip "the process of --debuginfod" "no libdebuginfod"
fi
if ldconfig -p 2>/dev/null | grep -qE 'libcurl(-gnutls)?\.so\.4'; then
	set -- "$@" --otlp http://127.0.0.1:1
else
	skip "the process of --otlp" "no libcurl"
fi

outlive() { # PROCESS OPTION...
	victim=$1
	shift
	(cd "$tmp/owner" && exec timeout -k 5 60 "$attacks/outlive" "$made_uid" "$made_gid" "$victim" \
		"${OUTLIVED_PROFTRACE:-$tmp/proftrace}" -q -e none -o out.json "$@" -- "$tmp/every_kind" 1 20) \
		>"$tmp/said" 2>"$tmp/err"
}

outlive list "$@"
# The broker is killed. One of each kind: of two that have the same name both the first and what it has forked.
victims=$(awk '/^process/ && n[$3]++ < 1 + ($3 ~ /broke|close|trial/) && ($3 !~ /broke/ || n[$3] > 1) { print $2 }' "$tmp/said")
check "each process is known by its name ($(sed -n 's/^process [0-9]* //p' "$tmp/said" | sort -u | tr '\n' ' '))" \
	test "$(grep -cE '^process [0-9]+ (every_kind|proftrace-(close|start|trial)|symbols)$' "$tmp/said")" -ge 7
grep -E ' proftrace-(close|prove|start|trial)$' "$tmp/said" >"$tmp/listed"
for victim in $victims closing; do
	outlive "$victim" "$@"
	check "process $victim was stopped, $(said "$tmp/said" stopped)" grep -q '^stopped' "$tmp/said"
	never_else "process $victim has no capability in effect and nothing of BPF" "$(grep '^holds' "$tmp/said")" ""
	# What its user lacks keeps him out of a process of the broker while it exits: see privileges.h.
	never_else "process $victim is permitted one if it is the broker's" "$(grep '^guarded' "$tmp/said")" \
		"$(sed -n "s/^process $victim proftrace-.*/guarded/p" "$tmp/listed"; [ "$victim" != closing ] || echo guarded)"
	check "process $victim: nothing of BPF is left ($(said "$tmp/said" left))" grep -q '^left 0 of' "$tmp/said"
	sleep 0.2 # At most three starts in a second.
done
check "the broker had programs, maps and links ($(said "$tmp/said" left))" grep -q '^left 0 of [0-9][0-9]' "$tmp/said"
finish
