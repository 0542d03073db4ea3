#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --mode auto: domains go over to buffered mode and back, and each mark is recorded exactly once.
. "$(dirname "$0")/lib.sh"
need_tracing

# The slices that end by the END of another one: each END says of which slice it is.
wrong_ends() { # CANON
	awk '{ thread = $1 " " $2; number = "" }
		/ (number|of)=/ { number = $0; sub(/.* (number|of)=[a-z]*:/, "", number); sub(/ .*/, "", number) }
		$3 == "BEGIN" { open[thread, depth[thread]++] = number }
		$3 == "END" { of = open[thread, --depth[thread]]; if (/ of=/) { n++; bad += of != number } }
		END { print n ? bad + 0 : "none checked" }' "$1"
}
# The slices without CPU time, and one more if many have more than they took. (Where a hypervisor takes time away, the
# kernel's own clock is too late at times, in exact mode as well.)
wrong_counters() { # CANON
	awk '{ thread = $1 " " $2 }
		$3 == "BEGIN" { from[thread, depth[thread]++] = $4 }
		$3 == "END" { took = $4 - from[thread, --depth[thread]]; used = -1
			if (/ task_clock=n:/) { used = $0; sub(/.* task_clock=n:/, "", used); sub(/ .*/, "", used) }
			n++; bad += used + 0 < 0; more += used + 0 > took + 10000 }
		END { print n ? bad + (more * 1000 > n) : "none checked" }' "$1"
}
# Whether the kernel sends counters at context switches and page faults, which only buffered mode needs.
# It is a variable of the BPF programs.
sends_counters() { # RECORDER
	for id in $(sed -n 's/^map_id:[[:space:]]*//p' /proc/"$1"/fdinfo/*); do
		"$bpftool" map show id "$id" 2>/dev/null | grep -q 'name proftrac.bss' || continue
		at=$(readelf -sW "$root/build/gen/proftrace.bpf.o" 2>/dev/null | awk '$8 == "bases_wanted" { print $2 }')
		"$bpftool" -j map dump id "$id" | python3 -c '
import json, sys
value, at = json.load(sys.stdin)[0]["value"], int(sys.argv[1], 16)
print(int.from_bytes((int(byte, 16) for byte in value[at:at + 4]), "little"))' "$at"
	done
}
# How many instructions the kernel's verifier followed in the programs that are attached to files: most of what a start costs.
followed() { # RECORDER
	for child in $(cat /proc/"$1"/task/*/children); do
		cat /proc/"$child"/fdinfo/* 2>/dev/null
	done | awk '$1 == "verified_insns:" { n += $2 } END { print n + 0 }'
}
# In the one that looks for what the kernel executes, which every recording loads (BPF_PROG_TYPE_SYSCALL).
followed_find() { # RECORDER
	for child in $(cat /proc/"$1"/task/*/children); do
		cat /proc/"$child"/fdinfo/* 2>/dev/null
	done | awk '$1 == "prog_type:" { type = $2 } $1 == "verified_insns:" && type == 31 { n += $2 } END { print n + 0 }'
}
changes() { sed -n 's/.*"domain": "swing", "changes": \([0-9]*\).*/\1/p' "$1.s"; }

whole() { # NAME
	check_account "$1" "$tmp/$1.s"
	equal "$1: nothing is lost" "$(field "$tmp/$1.s" lost_total)" 0
	equal "$1: every mark" "$(field "$tmp/$1.s" marked)" "$(said "$tmp/$1.out" total)"
	"$canon" --count "$tmp/$1.pftrace" >"$tmp/$1.count"
	equal "$1: every slice" "$(awk '$1 == "BEGIN" { n += $3 } END { print n }' "$tmp/$1.count")" \
		$(($(said "$tmp/$1.out" slices) + $(said "$tmp/$1.out" turns)))
	equal "$1: every instant" "$(sed -n 's/^INSTANT inside //p' "$tmp/$1.count")" "$(said "$tmp/$1.out" instants)"
	check_agree "$1" "$tmp/$1"
	"$canon" "$tmp/$1.pftrace" >"$tmp/$1.canon"
	equal "$1: each slice has its counters" "$(wrong_counters "$tmp/$1.canon")" 0
	equal "$1: each slice has its own end" "$(wrong_ends "$tmp/$1.canon")" 0
	equal "$1: the trace shows each change" "$(grep -c 'INSTANT .* domain in [a-z]* mode - domain=s:"swing"' "$tmp/$1.canon")" \
		"$(changes "$tmp/$1")"
	for file in pftrace json; do
		equal "$1: a change of mode is no mark in tables ($file)" "$("$proftrace" report -q --format csv "$tmp/$1.$file" |
			grep -c 'domain in [a-z]* mode')$("$proftrace" report -q --format csv "$tmp/$1.$file" | grep -c '^instant.*,inside,')" 01
	done
	equal "$1: nor is it a row of a comparison" "$("$proftrace" diff "$tmp/$1.pftrace" "$tmp/$1.json" 2>&1 |
		grep -c 'domain in [a-z]* mode')" 0
}

"$proftrace" -q --mode auto --strict -o "$tmp/command" --summary-json "$tmp/command.s" -- \
	"$programs/swings" 1 2 100000 </dev/null >"$tmp/command.out"
equal "a command: exit status" $? 0
if ! grep -q '"modes"' "$tmp/command.s"; then
	skip "going over to buffered mode" "the processor's counter is of no use here: all was exact"
	finish
fi
whole command
equal "a command begins in buffered mode, and goes over to exact mode" "$(said "$tmp/command.out" changes)" 2

# Four threads that do nothing but mark, much faster than the recorder writes: they wait for it. Without that a third
# of the marks is lost.
"$proftrace" -q --mode auto -e task-clock --buffer 16M -o "$tmp/fast" --summary-json "$tmp/fast.s" -- \
	"$programs/every_kind" 4 4000 >"$tmp/fast.out"
equal "too fast: exit status" $? 0
never_else "too fast: the account adds up" "$(field "$tmp/fast.s" adds_up)" true
equal "too fast: every mark is counted" "$(field "$tmp/fast.s" marked)" "$(said "$tmp/fast.out" total)"
lost=$(field "$tmp/fast.s" lost_total)
check "too fast: hardly any is lost ($lost)" test $((lost * 10)) -le "$(said "$tmp/fast.out" total)"
check "too fast: it begins in buffered mode, also with -e" grep -q '"begins": "batch"' "$tmp/fast.s"

# Strings that the program cannot read, or might not: in buffered mode it must not read them itself.
for mode in exact auto; do
	"$proftrace" -q --mode $mode -o "$tmp/$mode" --summary-json "$tmp/$mode.s" -- "$programs/borrowed_strings" 300 \
		</dev/null >"$tmp/$mode.out"
	equal "$mode, invalid strings: exit status" $? 0
	check_account "$mode, invalid strings" "$tmp/$mode.s"
	equal "$mode, invalid strings: every mark" "$(field "$tmp/$mode.s" marked)" "$(said "$tmp/$mode.out" marks)"
	equal "$mode, invalid strings: those that cannot be read" "$(field "$tmp/$mode.s" unreadable_args)" \
		"$(said "$tmp/$mode.out" unreadable)"
	check_agree "$mode, invalid strings" "$tmp/$mode"
	"$canon" "$tmp/$mode.pftrace" | sed -n '/ \(BEGIN\|END\|INSTANT\) /s/ task_clock=.*//; s/^[0-9]* [0-9]* \([A-Z]*\) [0-9]*/\1/p' \
		>"$tmp/$mode.strings"
done
equal "they are in buffered mode" "$(sed -n 's/.*"strings_read": \([0-9]*\).*/\1/p' "$tmp/auto.s")" 2700
equal "lines with strings" "$(grep -c '=s:' "$tmp/exact.strings")" 3300
check "both modes record the same strings" cmp "$tmp/exact.strings" "$tmp/auto.strings"

# A process that runs begins in exact mode. Its domain goes over and comes back, two times.
recorded() { # NAME PROGRAM ARGS...
	name=$1
	shift
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/$name.out" &
	program=$!
	exec 9>"$tmp/in"
	rm -f "$tmp/$name.err"
	"$proftrace" --mode auto -p $program -o "$tmp/$name" --summary-json "$tmp/$name.s" 2>"$tmp/$name.err" 9>&- &
	recorder=$!
	wait_for "$tmp/$name.err" "proftrace: recording"
	equal "$name: in exact mode nothing but marks costs anything" "$(sends_counters $recorder)" 0
	n=$(followed $recorder)
	if grep -q '^verified_insns:' /proc/[0-9]*/fdinfo/* 2>/dev/null; then
		equal "$name: the start is cheap: the verifier followed $n instructions" $((n > 0 && n <= 30000)) 1
		n=$(followed_find $recorder)
		if kernel_can "instructions kept"; then
			equal "$name: of these $n to look for what the kernel executes" $((n > 0 && n <= 2000)) 1
		fi
	else
		skip "$name: the start is cheap" "this kernel does not say how many instructions the verifier followed"
	fi
	echo >&9
	exec 9>&-
	wait $recorder
	equal "$name: exit status" $? 0
	whole "$name"
	equal "$name: it goes over and comes back, two times" "$(said "$tmp/$name.out" changes)" 4
	check "$name: the summary says which domain" grep -q "^domain 'swing' changed its mode" "$tmp/$name.err"
}
recorded process "$programs/swings" 2 2 100000
if command -v cargo >/dev/null && cargo --version >/dev/null 2>&1; then
	check "cargo build" cargo build --quiet --offline --locked --release --bin rust_swings --target-dir "$root/build/rust" \
		--manifest-path "$root/tests/integration/programs/rust/Cargo.toml"
	recorded Rust "$root/build/rust/release/rust_swings" 2 2
else
	skip "Rust" "there is no cargo"
fi
finish
