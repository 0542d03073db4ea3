#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `report --html`: what a real browser draws of a page is what the trace has, and names in it do no harm.
. "$(dirname "$0")/lib.sh"
browser=$root/tests/browser
export PYTHONDONTWRITEBYTECODE=1
cd "$tmp" || exit 1

"$proftrace" report --html -o none.svg "$0" 2>wrong
equal "another ending is refused" $? 2
"$proftrace" report --html --flame -o a.html "$0" 2>wrong
equal "so is --flame" $? 2
"$proftrace" report --html -o a.html "$0" 2>wrong
equal "no trace: status" $? 1
check "no trace: no page" [ ! -e a.html ]

# Every page: bounded, one script that may run, no text that ends its element.
check_page() { # NAME PAGE
	check "$1: at most 2 MB" [ "$(stat -c %s "$2")" -le 2000000 ]
	equal "$1: two elements of script" "$(grep -c '</script>' "$2")" 2
	check "$1: the policy forbids everything else" grep -q "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/]*='; style-src 'sha256-[A-Za-z0-9+/]*='" "$2"
	check "$1: its data is JSON" python3 "$browser/page_data.py" "$2" 'len(d["timeline"])'
}

# A megabyte of names of all kinds, in every place that has a name.
python3 "$browser/page_hostile.py" make hostile.json 2>made || echo '{"traceEvents":[]}' >hostile.json
"$proftrace" report -q --html -o hostile.html hostile.json
equal "hostile names: status" $? 0
check_page "hostile names" hostile.html
"$proftrace" report -q --html hostile.json >standard.html
check "on standard output, the same" cmp -s hostile.html standard.html

# Too much for full detail: 10 MB of JSON.
"$root/build/tests/tools/many_events" 10 >large.json 2>large.said
"$proftrace" report -q --html --slowest 3 '*' -o large.html large.json
equal "a large trace: status" $? 0
check_page "a large trace" large.html
equal "a large trace: it says that there is not full detail of everything" \
	"$(python3 "$browser/page_data.py" large.html 'd["timeline"]["everything"]')" False

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
	skip "in a browser" "no Chromium here; tools/packages.sh --page installs it"
	finish
fi
check "hostile names are text, and nothing runs" python3 "$browser/page_hostile.py" check hostile.html
check "a large trace: 600 places are drawn as they are in the trace" python3 "$browser/page_places.py" large.html large.json 600
sed 's/^/# /' check.out
if ! can_trace; then
	skip "recorded programs" "this machine cannot record: $(grep '^proftrace:' "$tmp/check")"
	finish
fi
begin_recording

"$proftrace" -q --sched --sample 1999 -e task-clock,page-faults -o service --summary-json service.account -- "$root/build/samples/service-cpp" 200 >/dev/null
check_account "a service" service.account
"$proftrace" report -q --html -o service.html service.pftrace
"$proftrace" report -q --format json service.pftrace >service.report
check_page "a service" service.html
check "a service: 400 places are drawn as they are in the trace" python3 "$browser/page_places.py" service.html service.json 400
sed 's/^/# /' check.out
check "with keys, mouse and touch" python3 "$browser/page_use.py" service.html service.report

data() { # EXPRESSION: of the page's data
	python3 "$browser/page_data.py" service.html "$1"
}
# What each thread has counted, of which the plot has all: each value minus the one before, in the trace.
"$canon" service.pftrace >service.canon
cat >counted.py <<'EOF'
import json, sys
total, last = {}, {}
for line in open("service.canon", errors="replace"):
    words = line.split()
    if len(words) == 7 and words[1] == "COUNTER" and words[5] == "thread" and words[4].startswith("n:"):
        thread = int(words[6]), words[3]
        value = int(words[4][2:])
        total[thread] = total.get(thread, 0) + max(value - last.get(thread, value), 0)
        last[thread] = value
page = {(tid, name): total for tid, name, total in json.load(sys.stdin)}
for key in {*page, *total}:  # the page has six digits of each part
    if abs(page.get(key, -1) - total[key]) > 1e-5 * page.get(key, -1) + 0.01:
        print(key, page.get(key), total[key])
print(len(page) >= 4, sum(page.values()) > 0)
EOF
equal "plots of the threads' counters have all that was counted" "$(data 'json.dumps([[c["tid"], c["name"], sum(c["values"][1::2])]
	for c in d["timeline"]["counters"] if c["rate"]])' | python3 counted.py)" "True True"

# Its other parts are those of report.
"$proftrace" report -q --flame service.pftrace >service.folded
folded_samples() { # of standard input
	awk '{ n += $NF } END { print n + 0 }'
}
equal "the flame graph has all samples" "$(data 'd["flames"][0]["graph"]["total"]')" "$(folded_samples <service.folded)"
equal "and the functions of the folded stacks" "$(data '"\n".join(sorted({f[0] for f in d["flames"][0]["graph"]["frames"] if f[0] != "all"}))')" \
	"$(sed 's/ [0-9]*$//' service.folded | tr ';' '\n' | LC_ALL=C sort -u)"
data '"\n".join("%s\t%d" % (f["name"], f["graph"]["total"]) for f in d["flames"][1:])' >flames.page
cut -f1 flames.page | while IFS= read -r name; do
	printf '%s\t%d\n' "$name" "$("$proftrace" report -q --flame="$name" service.pftrace 2>/dev/null | folded_samples)"
done >flames.report
equal "and one for each name in detail, with the samples in its slices" "$(cat flames.page)" "$(cat flames.report)"
check "there are several, with samples" [ "$(awk -F '\t' '$2 > 0' flames.page | wc -l)" -ge 2 ]
"$proftrace" report -q --html --slowest 3 handle -o slowest.html service.pftrace
"$proftrace" report -q --slowest 3 handle service.pftrace >slowest.table
mv slowest.html service.html
equal "the comparison is that of report --slowest" "$(data '[c[0] if isinstance(c, list) else c for r in d["slowest"][0]["rows"] if r[0] == "duration" for c in r]' |
	tr -d "[],'")" "$(sed -n 's/  */ /g; s/^duration/duration/p' slowest.table | sed 's/\* //g; s/ $//')"

# Conditions select the same slices as in the table.
where='name == "handle" && dur > 60us'
"$proftrace" report -q --html --where "$where" -o where.html service.pftrace
"$proftrace" report -q --format json --where "$where" service.pftrace >where.report
equal "conditions: the same number of slices" \
	"$(python3 "$browser/page_data.py" where.html 'sum(r["slices"] for r in d["timeline"]["rows"])')" \
	"$(sed -n 's/.*"name": "handle".*"count": \([0-9]*\).*/\1/p' where.report)"
equal "and the samples of report --flame --where" "$(python3 "$browser/page_data.py" where.html 'sum(f["graph"]["total"] for f in d["flames"][:1])')" \
	"$("$proftrace" report -q --flame --where "$where" service.pftrace | folded_samples)"
finish
