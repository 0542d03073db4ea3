#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `proftrace open` serves one trace once, to one page and to nobody else.
. "$(dirname "$0")/lib.sh"

printf '[{"ph":"i","name":"x","pid":1,"tid":1,"ts":1}]' >"$tmp/a trace.json"
port=$((20000 + $$ % 10000))
env -u DISPLAY -u WAYLAND_DISPLAY "$proftrace" open --port $port "$tmp/a trace.json" >"$tmp/url" 2>"$tmp/err" &
server=$!
wait_for "$tmp/url" https || finish
url=$(sed -E 's/.*url=([^&]*)&.*/\1/' "$tmp/url")
token=$(echo "$url" | cut -d/ -f4)

equal "the viewer's address" "$(sed 's/[0-9a-f]\{32\}/TOKEN/' "$tmp/url")" \
	"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:$port/TOKEN/a%20trace.json&referrer=proftrace"
equal "listens on the loopback interface only" \
	"$(awk -v port=":$(printf %04X $port)" '$4 == "0A" && index($2, port) { print $2 }' /proc/net/tcp /proc/net/tcp6)" \
	"0100007F:$(printf %04X $port)"

status() { # ARGUMENT...
	curl -s -o /dev/null -w '%{http_code}' "$@"
}
equal "another path" "$(status "http://127.0.0.1:$port/x")" 404
equal "the browser that we start is sent to the viewer" "$(curl -s -o /dev/null -w '%{redirect_url}' "http://127.0.0.1:$port/")" "$(cat "$tmp/url")"
equal "a longer token" "$(status "http://127.0.0.1:$port/${token}0/x")" 404
equal "a shorter token" "$(status "http://127.0.0.1:$port/${token%?}/x")" 404
equal "another name of this host" "$(status -H "Host: evil.example:$port" "$url")" 403
equal "another method" "$(status -X POST -d x "$url")" 405
equal "a preflight" "$(status -X OPTIONS "$url")" 204
check "a preflight: pages may reach this address" sh -c "curl -si -X OPTIONS '$url' |
	grep -qi 'Access-Control-Allow-Private-Network: true'"
equal "only headers" "$(status -I "$url")" 200
check "it is still there" kill -0 $server

curl -si -o "$tmp/got" "$url"
wait $server
equal "fetched: exit status" $? 0
equal "fetched: nothing on standard error" "$(cat "$tmp/err")" ""
check "fetched: to the viewer's page" grep -qi '^Access-Control-Allow-Origin: https://ui.perfetto.dev.$' "$tmp/got"
equal "fetched: the file" "$(tail -1 "$tmp/got")" "$(cat "$tmp/a trace.json")"

# Nobody comes.
rm -f "$tmp/url"
"$proftrace" open --no-browser --port $port "$tmp/a trace.json" >"$tmp/url" 2>"$tmp/err" &
server=$!
wait_for "$tmp/url" https
"$proftrace" open --no-browser --port $port "$tmp/a trace.json" 2>"$tmp/busy"
equal "a busy port: exit status" $? 1
check "a busy port: said with a hint" grep -q '^hint:' "$tmp/busy"
kill -TERM $server
wait $server
equal "interrupted: exit status" $? 1

echo "nothing of the kind" >"$tmp/text"
"$proftrace" open "$tmp/text" 2>"$tmp/err"
equal "no trace: exit status" $? 1
check "no trace: says what it looks like" grep -q "cannot serve .*text" "$tmp/err"
"$proftrace" open "$tmp/none" 2>/dev/null
equal "no file: exit status" $? 1
"$proftrace" open --viewer 'https://x/y' "$tmp/text" 2>/dev/null
equal "no viewer: exit status" $? 2
finish
