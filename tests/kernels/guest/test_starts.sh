#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# This kernel finds programs that start while --wait waits, by their names.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
"$proftrace" -n 'step?' --wait -o "$tmp/t" --summary-json "$tmp/summary" 2>"$tmp/err" &
recorder=$!
wait_for "$tmp/err" "proftrace: recording"
"$programs/steps" 2 1 10 >"$tmp/said"
kill -INT $recorder
wait $recorder
equal "a program that starts: status" $? 0
equal "a program that starts: each mark" "$(field "$tmp/summary" written)" "$(said "$tmp/said" marks)"
check_account "a program that starts" "$tmp/summary"
check_agree "a program that starts" "$tmp/t"
finish
