#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# One program uses up what all programs of a recording share. The others are recorded incompletely then, which is
# counted, said, and makes --strict fail.
. "$(dirname "$0")/lib.sh"
need_tracing
mkdir -m 700 "$tmp/run"
export XDG_RUNTIME_DIR=$tmp/run

# A slice of its own name each, and all names are used up.
"$proftrace" --strict --mode exact --buffer 64M -e none -o "$tmp/t.pftrace" --summary-json "$tmp/s" -- \
	sh -c '"$1" slices 70000; "$2" ctl status -p $PPID; exit 0' sh "$programs/hostile" "$proftrace" >"$tmp/status" 2>"$tmp/err"
equal "names are used up: --strict fails" $? 3
equal "names are used up: nothing else is lost" "$(field "$tmp/s" lost_total)" 0
check "names are used up: it is counted" test "$(field "$tmp/s" other_names)" -gt 0
check "names are used up: it is said" grep -q 'uses of the name (other): too many distinct names' "$tmp/err"
check "names are used up: ctl status says so" grep -q 'uses of the name (other)' "$tmp/status"
"$proftrace" --strict --mode exact --buffer 64M -e none -o "$tmp/t.pftrace" --summary-json "$tmp/s" -- \
	"$programs/hostile" slices 60000 >"$tmp/out" 2>"$tmp/err"
equal "names are not used up: --strict does not fail" $? 0

# Costs are measured for 126 domains, and the others are switched off together, also those of a program that begins when the
# one with too many has ended.
"$proftrace" --strict --mode exact --max-overhead 1% -e none -o "$tmp/t.pftrace" --summary-json "$tmp/s" -- \
	sh -c '"$1"; "$2" 10; "$3" ctl status -p $PPID; exit 0' sh "$attacks/many_domains" "$programs/domains" "$proftrace" \
	>"$tmp/status" 2>"$tmp/err"
equal "domains are used up: --strict fails" $? 3
check "domains are used up: those that are not recorded are counted" test "$(field "$tmp/s" sites_refused)" -ge 5
for said in "$tmp/err" "$tmp/status"; do
	check "domains are used up: $(basename "$said") names the other program's" grep -q "domain 'app' is not recorded" "$said"
done
finish
