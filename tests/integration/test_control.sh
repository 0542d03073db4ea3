#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recording that is steered while it runs: by the program itself, from outside, by signals.
. "$(dirname "$0")/lib.sh"
need_tracing

# The program itself. It ends the recording, too, long before it ends; its exit status is ours.
"$proftrace" -q --strict -e none -o "$tmp/p" --summary-json "$tmp/s" -- "$programs/paused" 3 300 >"$tmp/out" 2>"$tmp/err"
equal "pause: the command's exit status, with --strict" "$?$(cat "$tmp/err")" 7
equal "pause: written is what was to be recorded" "$(field "$tmp/s" written)" "$(said "$tmp/out" recorded)"
after=$(($(field "$tmp/s" marked) - $(said "$tmp/out" marks)))
check "pause: every mark is counted" test $after -ge 0 -a $after -le "$(said "$tmp/out" after)"
equal "pause: the rest is what was paused" "$(field "$tmp/s" paused)" \
	"$(($(said "$tmp/out" marks) - $(said "$tmp/out" recorded) + after))"
check_account "pause" "$tmp/s"
check_agree "pause" "$tmp/p"
check "pause: what was to be recorded is in the trace" grep -q '"name":"seen inside"' "$tmp/p.json"
equal "pause: nothing else is" "$(grep -c hidden "$tmp/p.json")" 0
equal "pause: its instants" "$(grep -c '"ph":"i"' "$tmp/p.json")" "$(said "$tmp/out" instants)"
equal "pause: no slice is left open" "$(field "$tmp/s" open_at_end)" 0
equal "pause: no END was without its BEGIN" "$(field "$tmp/s" async_unmatched)$(field "$tmp/s" frees_unknown)" 00
finish
