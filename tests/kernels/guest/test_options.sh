#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The BPF programs of each option pass the kernel's verifier, and a recording with it has every mark.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
for option in "--sample 97" "--offcpu 10ms" "--stack x" "--wait-reasons" "--sched" "--mode batch-now" "--mode auto"; do
	# shellcheck disable=SC2086
	"$proftrace" -q $option -e none -o "$tmp/loaded" -- "$programs/every_kind" >"$tmp/out" 2>"$tmp/err"
	equal "$option: exit status and messages" "$? $(grep -vE '^hint|^[A-Z]' "$tmp/err" | head -3)" "0 "
done
finish
