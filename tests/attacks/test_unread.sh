#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Whoever can connect to --metrics asks for a table of megabytes 200 times and reads nothing: the tables that wait to be read
# do not fill the memory, and another scraper is served.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
if ! command -v curl >/dev/null || ! ls /usr/lib/*/libmicrohttpd.so.12 >/dev/null 2>&1; then
	skip "unread tables" "there is no curl or no libmicrohttpd"
	finish
fi
port=$((20000 + $$ % 12000))
mkfifo in hold
"$proftrace" -q --stats-only --metrics $port -- sh -c "'$programs/hostile' slices 3000; exec cat" <in >out 2>err &
recorder=$!
exec 8>in
wait_for out marks || { cat err; finish; }
scrape() {
	curl -s -m 20 "http://127.0.0.1:$port/metrics" >page
	tail -1 page
}
equal "the table" "$(scrape)" "# EOF"
size=$(wc -c <page)
check "is one of a megabyte or more ($size bytes)" test "$size" -gt 1000000
for child in $(cat /proc/$recorder/task/$recorder/children); do
	grep -q proftrace-metri /proc/$child/comm && served=$child
done
"$attacks/unread" $port 200 <hold >asked 8>&- &
attacker=$!
exec 9>hold
wait_for asked 'asked 200'
equal "another scraper meanwhile" "$(scrape)" "# EOF"
used=$(($(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$served/status) / 1024))
# 200 tables would be 200 times as much.
check "no more than 24 tables are in memory ($used MB)" test $used -lt $((size * 24 / 1000000 + 16))
exec 9>&-
wait $attacker
equal "and after it" "$(scrape)" "# EOF"
exec 8>&-
wait $recorder
equal "the recording ends as ever" $? 0
finish
