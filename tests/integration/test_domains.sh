#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Which slice an END closes if there are several domains and some of them are not recorded.
. "$(dirname "$0")/lib.sh"
need_tracing
n=50

# ends FILE: how many slices ended by which END, "request request 50": the END says whose it is
ends() {
	"$canon" "$1" | awk '
		$3 == "BEGIN" { open[depth++] = $5 }
		$3 == "END" {
			of = $0 ~ / of=s:/ ? $0 : "no END of its own"
			sub(/.* of=s:"/, "", of)
			sub(/".*/, "", of)
			count[open[--depth] ": " of]++
		}
		END { for (i in count) print i, count[i] }' | sort
}

# In exact mode, which knows from the first mark on what a thread has open.
"$proftrace" -q -e none --mode exact -o "$tmp/all" --summary-json "$tmp/s" -- "$programs/domains" $n
equal "exit status" $? 0
check_agree "both domains" "$tmp/all"
equal "the account adds up" "$(field "$tmp/s" adds_up)" true
equal "marks" "$(field "$tmp/s" marked)" $((20 * n))
equal "ENDs of nothing of their domain, or that would have closed a scope" "$(field "$tmp/s" unmatched)" $((2 * n))
equal "none of them can have begun before" "$(field "$tmp/s" cut)" 0
"$proftrace" -q --strict -e none -o "$tmp/strict" -- "$programs/domains" 1
equal "one END too many of a command is a mistake that --strict sees" $? 3
equal "slices without an END" "$(field "$tmp/s" unfinished)" $n
ends "$tmp/all.json" >"$tmp/ends"
printf '%s\n' "around: around" "before: before" "callback: callback" "inside: inside" \
	"left-open: no END of its own" "lookup: lookup" "outer: outer" "request: request" \
	"scope: no END of its own" | sed "s/$/ $n/" >"$tmp/wanted"
check "every slice is closed by its own END" diff "$tmp/wanted" "$tmp/ends"

"$proftrace" -q -e none -D app -o "$tmp/app" --summary-json "$tmp/s" -- "$programs/domains" $n
ends "$tmp/app.pftrace" >"$tmp/ends"
printf '%s\n' "around: around" "before: nothing" "callback: callback" "outer: outer" \
	"request: request" | sed "s/$/ $n/" >"$tmp/wanted"
# The program's own mistake, an END too many, is not seen without the scope that it stands in.
check "without lib, app's are whole" diff "$tmp/wanted" "$tmp/ends"
equal "what is left out is not counted" "$(field "$tmp/s" marked)" $((12 * n))

"$proftrace" -q -e none -D '!app' -o "$tmp/lib" --summary-json "$tmp/s" -- "$programs/domains" $n
equal "without app: lookups" "$("$canon" --count "$tmp/lib.json" | sed -n 's/^BEGIN lookup //p')" $n
equal "without app: marks" "$(field "$tmp/s" marked)" $((8 * n))

# -D with categories: what is left out leaves the rest whole.
record() { # NAME GLOB...: and says which names are in both traces
	name=$1
	shift
	globs=
	for glob; do globs="$globs -D $glob"; done
	set -f
	# shellcheck disable=SC2086
	"$proftrace" -q -e none $globs -o "$tmp/c" --summary-json "$tmp/s" -- \
		"$programs/domains" $n categories
	set +f
	check_agree "$name" "$tmp/c"
	equal "$name: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$name: nothing is lost" "$(field "$tmp/s" lost_total)" 0
	equal "$name: nothing ends otherwise" "$(field "$tmp/s" unfinished)" 0
	equal "$name: nothing ends late" "$(field "$tmp/s" ends_lost)" 0
	equal "$name: nothing is open" "$(field "$tmp/s" open_at_end)" 0
	names=$("$canon" --count "$tmp/c.json" | sed -n "s/^BEGIN \(.*\) $n$/\1/p; s/^INSTANT \(.*\) $n$/\1/p
		s/^COUNTER \(.*\) $n$/\1/p" | tr '\n' ',')
}

record "all" "*"
equal "all: names" "$names" "compute,deep,find,flush,plain,read,read bytes,made,send,"
record "a category of one domain" app/io
equal "a category of one domain: names" "$names" "read,read bytes,send,"
equal "a category of one domain: marks of none are not recorded" "$(field "$tmp/s" marked)" $((6 * n))
equal "a category of one domain: and two of another one" "$(field "$tmp/s" left_out)" $((2 * n))
record "a category of any domain" '*/io'
equal "a category of any domain: names" "$names" "flush,read,read bytes,made,send,"
record "a domain and a category" lib 'app/net'
equal "a domain and a category: names" "$names" "deep,find,flush,send,"
record "without a category" '!io'
equal "without a category: names" "$names" "compute,deep,find,plain,"
record "without a category of a domain" '!app/io' '!default'
equal "without a category of a domain: names" "$names" "compute,deep,find,flush,plain,"
record "with some and without others" '*/io' '!disk'
equal "with some and without others: names" "$names" "flush,made,send,"

# Added up in the kernel, they are left out of the table.
"$proftrace" --stats-only -D app/io -- "$programs/domains" $n categories 2>&1 |
	awk -v n=$n '$1 ~ /^(app|lib|default)/ && / / { print $2 }' | sort | tr '\n' ',' >"$tmp/names"
equal "a category of one domain, in a table" "$(cat "$tmp/names")" "read,read,send,"
finish
