#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report --slowest marks what made a slice slow, in a program that knows it.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1

report() {
	"$proftrace" report "$@" 2>report.err
}

cell() { # FILE PART NAME VALUE COLUMN: of a CSV without quotes
	awk -F, -v part="$2" -v name="$3" -v value="$4" -v column="$5" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$1 == part && $2 == name && $3 == value { print $at; exit }' "$1"
}

between() { # NAME VALUE WORD: the program measured it just inside and just outside
	inner=$(said counts "$3" | cut -d' ' -f1)
	outer=$(said counts "$3" | cut -d' ' -f2)
	check "$1: between $inner and $outer" test "$2" -ge "$inner" -a "$2" -le "$outer"
}

same() { # NAME FILE FILE
	if [ -s "$2" ] && cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$2" "$3" | head -8)"; fi
}

timeout 60 "$proftrace" -q --sched -e task-clock,page-faults -o t --summary-json account -- "$programs/slow" 60 >counts
equal "exit status" $? 0
check_account "slow" account
equal "every mark is there" "$(field account written)" "$(said counts marks)"

for format in table csv json; do
	report --format $format --slowest 3 request t.json >from.json
	report --format $format --slowest 3 request t.pftrace >from.pftrace
	sed -i 's/t\.pftrace/t.json/' from.pftrace
	same "$format: JSON and Perfetto agree" from.json from.pftrace
done

report --format csv --slowest 3 request t.pftrace >t.csv
longest=$(said counts longest)
equal "the longest is the one that the program says" "$(cell t.csv arg number "" slow_1)" "$longest"
between "its duration" "$(cell t.csv duration "" "" slow_1)" request
between "of which loading" "$(cell t.csv inside load total slow_1)" load
equal "loading: once" "$(cell t.csv inside load count slow_1)" 1
between "the median's duration" "$(cell t.csv duration "" "" median)" median
equal "tries" "$(cell t.csv inside load/retry count slow_1)" "$(said counts tries | sed 's/^0$//')"
equal "self and what is inside add up" "$(awk -F, '
	$1 == "duration" { for (i = 4; i <= NF; i++) duration[i] = $i }
	$1 == "self" || ($1 == "inside" && $3 == "self") { for (i = 4; i <= NF; i++) sum[i] += $i }
	END { for (i in duration) if (sum[i] != duration[i]) print i, sum[i], duration[i] }' t.csv)" ""
equal "states add up" "$(awk -F, '
	$1 == "duration" { for (i = 4; i <= NF; i++) duration[i] = $i }
	$1 == "state" { for (i = 4; i <= NF; i++) sum[i] += $i }
	END { for (i in duration) if (sum[i] != duration[i]) print i, sum[i], duration[i] }' t.csv)" ""
check "counters are there" test "$(cell t.csv counter task_clock "" slow_1)" -gt 0
check "the longest come first" awk -F, '
	$1 == "duration" { for (i = 6; i <= NF; i++) if ($i > $(i - 1)) exit 1; found = 1 }
	END { exit !found }' t.csv
report --format csv --columns max --name request t.pftrace >names.csv
longest=$(awk -F, '$1 == "slice" { print $5 }' names.csv)
equal "as the table of names says" "$(cell t.csv duration "" "" slow_1)" "$longest"

# What is marked: nothing else took 100 ms there, unless the machine did.
report --slowest 1 request t.pftrace >out
if [ "$(said counts tries)" -eq 3 ]; then
	check "table: what was different is marked" grep -qE '^  load .* \* 1[0-9]+\.[0-9]+ ms$' out
	check "table: texts that are others are" grep -qE '^  kind +warm +\* cold$' out
	check "table: what only one of them has" grep -qE '^    retry +- +(\* )?3 x ' out
else
	skip "table: what is marked" "the machine stood still for longer than the program waits"
fi
check "table: how many there are" grep -q '^60 slices; ' out
report -n 1 --slowest 1 request t.pftrace >out
check "--limit: says what is left out" grep -q '^and 2 more inside$' out

# Several names, several traces, what is read only once.
report --format csv --slowest 50 '[pl]*' t.pftrace | head -2 | tail -1 | tr , '\n' | grep -c -x -e parse -e load >out
equal "a glob: any name that fits" "$(cat out)" 51
report --slowest 50 retry t.json >out
check "none but a few are there" grep -q '^3 slices; ' out
report --format csv --slowest 2 request t.json t.pftrace >out
equal "several traces: of which it is" "$(awk -F, '$1 == "file" { print $5, $6 }' out)" "t.json t.pftrace"
report --format csv --slowest 3 request - <t.pftrace >out
same "standard input" out t.csv
report --format csv --slowest 3 request -D 'net*' t.json >out
equal "--domain: of others none" "$(grep -c '^duration,,$' out)" 1
report --slowest 3 nothing t.json >out
equal "no such name: no error" $? 0
check "no such name: says so" grep -q '^no slice matches$' out

refused() { # NAME PATTERN OPTIONS...
	name=$1 pattern=$2
	shift 2
	report "$@" >out
	equal "$name: exit status" $? 2
	check "$name: says why" grep -q -- "$pattern" report.err
}
refused "none at all" "is not a number from 1 to 50" --slowest 0 request t.json
refused "an option that is not there, after a name like one" "unknown option '--cfl'" --slowest 2 -D --cfl
refused "without a name" "a TRACE is required" --slowest 3 t.json
refused "as a table of names" "cannot be combined with" --slowest 3 request --sort self t.json

# What it computed in, and where what began in it was called from, beside the median one.
"$proftrace" -q --sample 997 --offcpu 20ms --stack parse -e none -o why -- "$programs/slow" 40 computes >counts
equal "stacks: exit status" $? 0
report --format csv --slowest 1 request why.pftrace >why.csv
if [ "$(cell why.csv arg number "" slow_1)" = 20 ]; then
	mine=$(cell why.csv samples crunch "" slow_1)
	check "samples: in the function that it computed in" [ "${mine:-0}" -ge 25 ]
	usual=$(cell why.csv samples crunch "" median)
	check "samples: in none of the median one" [ "${usual:-0}" -eq 0 ]
	report --slowest 1 request why.pftrace >out
	check "samples: that is marked" grep -qE '^  crunch +(-|0) +\* [0-9]+$' out
	equal "stacks: of parse, in both" "$(awk -F, '$1 == "called_from" && $2 ~ /^parse: .*main/ { print $4, $5 }' why.csv)" "1 1"
	report --format csv --slowest 1 request why.json >json.csv
	equal "stacks: as many from JSON" "$(grep '^called_from,' json.csv | sed 's/(unknown)/?/g; s/[^ ]*+0x[0-9a-f]*/?/g')" \
		"$(grep '^called_from,' why.csv | sed 's/(unknown)/?/g')"
else
	skip "samples and stacks" "the machine stood still for longer than the program computes"
fi
"$proftrace" -q --offcpu 20ms -e none -o why -- "$programs/slow" 40 >counts
report --format csv --slowest 1 request why.pftrace >why.csv
if [ "$(cell why.csv arg number "" slow_1)" = 20 ]; then
	equal "blocked: where, and the median one was not" \
		"$(awk -F, '$1 == "called_from" && $2 ~ /^blocked: ./ { print $4, $5 }' why.csv | head -1)" " 1"
else
	skip "blocked" "the machine stood still for longer than the program waits"
fi

if command -v python3 >/dev/null 2>&1; then
	report --format json --slowest 3 request t.json >out.json
	check "JSON: all that the manual page names is there" python3 - "$root/tools/man/proftrace-report.1.scd" <<'END'
import json, re, sys
def walk(value, path, out):
    if isinstance(value, dict):
        for key, inside in value.items():
            walk(inside, f"{path}.{key}" if path else key, out)
    elif isinstance(value, list):
        for inside in value:
            walk(inside, path + "[]", out)
    else:
        out.add(re.sub(r"(counters|args)\.[^.]*", r"\1.NAME", path))
got = set()
walk(json.load(open("out.json")), "", got)
text = open(sys.argv[1]).read().split("\nproftrace_slowest ")[1].split("```")[0]
wanted = {line.split()[0] for line in ("proftrace_slowest" + text).splitlines() if line.strip()}
wanted |= {w.replace("median", "slowest[]", 1) for w in wanted if w.startswith("median.")}
wanted -= {w for w in wanted if re.search(r"epoch|batch|blocked_in|longest_wait|samples|called_from|\[\]$|^median$", w)}
got = {g for g in got if not g.startswith("diagnostics.")}
sys.exit(f"not documented {got - wanted}, not there {wanted - got}" if got != wanted else 0)
END
fi
finish
