#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names with terminal control sequences and invalid UTF-8, from the program to every output. test_top tests the live
# table.
. "$(dirname "$0")/lib.sh"
need_tracing

# Lines of UTF-8, without a control character of either kind.
clean() { # FILE
	[ -s "$1" ] && iconv -f UTF-8 -t UCS-4LE "$1" | od -A n -v -t u4 -w4 |
		awk '{ n++; bad += $1 != 10 && ($1 < 32 || $1 >= 127 && $1 < 160) } END { exit bad || !n }' &&
		iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}

printf '%s\n' 1 2 3 >"$tmp/lines"
"$proftrace" -v -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/escapes" <"$tmp/lines" >"$tmp/out" 2>"$tmp/err"
equal "exit status" $? 0
check_account "escapes" "$tmp/s"
check_agree "escapes" "$tmp/t"
check "the recording's own table and summary" clean "$tmp/err"
check "its table shows them as text" grep -qF 'x1b[2Jcleared' "$tmp/err"
check "its account for machines" clean "$tmp/s"
check "the JSON" clean "$tmp/t.json"

# What is no UTF-8 stands in both, as the same: a mark in the place of each byte that makes no sense.
replaced=$(printf '\357\277\275')
broken="broken $replaced$replaced($replaced name"
for format in json pftrace; do
	equal "$format: the slice that is no UTF-8 has its name" \
		"$("$canon" --count "$tmp/t.$format" | grep -F "$broken" | awk '{ print $NF }')" 3
	for how in table csv json; do
		"$proftrace" report --format $how "$tmp/t.$format" >"$tmp/report" 2>"$tmp/err"
		equal "report of $format as $how: exit status" $? 0
		check "report of $format as $how: no control character" clean "$tmp/report"
		check "report of $format as $how: the slice is there" grep -qF "$broken" "$tmp/report"
		check "report of $format as $how: escapes are text" grep -qF 'x1b[2Jcleared' "$tmp/report"
	done
done

# What a file says of its domains is the file's to choose: of the same length, another name for `default`.
LC_ALL=C sed "s/default/$(printf '\033')[31mok/g" "$programs/escapes" >"$tmp/odd"
chmod +x "$tmp/odd"
"$proftrace" list -v "$tmp/odd" >"$tmp/list" 2>"$tmp/err"
equal "list: exit status" $? 0
check "list: no control character" clean "$tmp/list"
check "list: the domain is shown as text" grep -qF 'x1b[31mok' "$tmp/list"
"$proftrace" -v -o "$tmp/o" --summary-json "$tmp/s" -- "$tmp/odd" <"$tmp/lines" >"$tmp/out" 2>"$tmp/err"
equal "a domain: exit status" $? 0
check_account "a domain" "$tmp/s"
check "a domain: no control character in table and summary" clean "$tmp/err"
"$proftrace" report "$tmp/o.pftrace" >"$tmp/report"
check "a domain: no control character in the report" clean "$tmp/report"
check "a domain: the report shows it as text" grep -qF 'x1b[31mok' "$tmp/report"
"$proftrace" report "$tmp/odd" >"$tmp/out" 2>"$tmp/err"
equal "what is no trace: exit status" $? 1
check "what is no trace: no control character in what is said of it" clean "$tmp/err"
finish
