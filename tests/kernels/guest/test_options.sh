#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The BPF programs of each option pass the kernel's verifier, and a recording with it has every mark. Sites for which there
# are no descriptors are left out, in one message.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
for option in "--sample 97" "--offcpu 10ms" "--stack x" "--wait-reasons" "--sched" "--mode batch-now" "--mode auto"; do
	# shellcheck disable=SC2086
	"$proftrace" -q $option -e none -o "$tmp/loaded" -- "$programs/every_kind" >"$tmp/out" 2>"$tmp/err"
	equal "$option: exit status and messages" "$? $(grep -vE '^hint|^[A-Z]' "$tmp/err" | head -3)" "0 "
done
if [ "$WANT_MULTI" = no ]; then
	# Without such links each of more than ten thousand sites takes one.
	(ulimit -n 512 && "$proftrace" -u 'probes:*' -e none --summary-json "$tmp/s" -o "$tmp/few" -- "$programs/probes" 5) \
		>"$tmp/out" 2>"$tmp/err"
	equal "few descriptors: exit status, and the program is not disturbed" "$? $(said "$tmp/out" rounds)" "0 5"
	check "few descriptors: those of the probes that fit are attached to" test "$(field "$tmp/s" written)" -gt 0
	equal "few descriptors: one message" "$(grep -c 'left out: too many open files' "$tmp/err")" 1
	equal "few descriptors: all sites are counted" "$(field "$tmp/s" sites_refused)" \
		"$(sed -n 's/.*: \([0-9]*\) of [0-9]* sites in .* are left out.*/\1/p' "$tmp/err")"
	check_account "few descriptors" "$tmp/s"
fi
finish
