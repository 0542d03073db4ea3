#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The markers are ordinary USDT probes: other tools list them and read names and values.
. "$(dirname "$0")/lib.sh"
. "$root/tests/kinds.sh"

program=$programs/every_kind
readelf -n "$program" >"$tmp/notes" 2>/dev/null
check "readelf shows the notes" grep -q 'Provider: prof_default' "$tmp/notes"
for kind in $domain_kinds; do
	check "readelf shows $kind" grep -q "Name: $kind" "$tmp/notes"
done
check "readelf shows the arguments" grep -q 'Arguments: 8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9' "$tmp/notes"
equal "one site for each kind, however often it is used" \
	"$(grep -c 'Provider: prof_default' "$tmp/notes")" $n_domain_kinds

if ! command -v bpftrace >/dev/null 2>&1; then
	skip "bpftrace" "it is not installed"
	finish
fi
need_tracing
equal "bpftrace lists them" \
	"$(bpftrace -l "usdt:$program:*" 2>/dev/null | grep -c ':prof_default:')" $n_domain_kinds
timeout 60 bpftrace -c "$program 1 3" -e "
	usdt:$program:prof_default:begin { printf(\"begin %s\\n\", str(arg0)); }
	usdt:$program:prof_default:counter { printf(\"counter %s %ld\\n\", str(arg0), arg2); }
	usdt:$program:prof_default:instant { @instants = count(); }" >"$tmp/out" 2>"$tmp/err"
if ! grep -q '^begin' "$tmp/out"; then
	skip "bpftrace reads them" "bpftrace does not run here: $(tail -1 "$tmp/err")"
	finish
fi
equal "bpftrace reads names" "$(grep -c '^begin work' "$tmp/out")" 3
equal "bpftrace reads values" "$(grep '^counter signed' "$tmp/out" | awk '{ print $3 }' | tr '\n' ' ')" \
	"0 -1 -2 "
finish
