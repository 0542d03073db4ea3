#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `proftrace open` serves one trace once, to one page and to nobody else.
. "$(dirname "$0")/lib.sh"

printf '[{"ph":"i","name":"x","pid":1,"tid":1,"ts":1}]' >"$tmp/a trace.json"
port=$((20000 + $$ % 10000))
rm -f "$tmp/url"
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
check "without a desktop: it says that it waits, and until when" grep -q "Ctrl-C" "$tmp/err"
check "and what to do over ssh" grep -q "^hint: .*ssh -L $port:127.0.0.1:$port [^ ]*@[^ ]*$" "$tmp/err"
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

# With a copy of the viewer: both from one place, until it is interrupted.
mkdir -p "$tmp/ui/v1" && chmod 755 "$tmp/ui"
echo '<!DOCTYPE html><title>viewer</title><script src="v1/main.js"></script>' >"$tmp/ui/index.html"
cat >"$tmp/ui/v1/main.js" <<-'END'
	const url = new URLSearchParams(location.hash.replace(/^#!\/\?/, "")).get("url");
	fetch(url).then((answer) => answer.json()).then((events) => { document.title = events[0].name; });
END
printf '\0asm\1\0\0\0' >"$tmp/ui/v1/engine.wasm"
for file in "v1/style.css" "v1/no-type"; do echo "$file" >"$tmp/ui/$file"; done
: >"$tmp/url"
"$proftrace" open --no-browser --port $port --ui "$tmp/ui" "$tmp/a trace.json" >"$tmp/url" 2>"$tmp/err" &
server=$!
wait_for "$tmp/url" http || finish
here=http://127.0.0.1:$port
equal "its own viewer: the address" "$(sed 's/[0-9a-f]\{32\}/TOKEN/' "$tmp/url")" \
	"$here/#!/?url=$here/TOKEN/a%20trace.json&referrer=proftrace"
equal "its own viewer: the browser is sent there" "$(curl -s -o /dev/null -w '%{redirect_url}' "$here/open")" "$(cat "$tmp/url")"
check "its own viewer: the page" sh -c "curl -s '$here/' | cmp - '$tmp/ui/index.html'"
for pair in index.html=text/html v1/main.js=text/javascript v1/engine.wasm=application/wasm v1/style.css=text/css \
	v1/no-type=application/octet-stream; do
	equal "its own viewer: the type of ${pair%=*}" \
		"$(curl -s -o /dev/null -w '%{content_type}' "$here/${pair%=*}" | cut -d';' -f1)" "${pair#*=}"
done
# The viewer looks here for a trace processor that runs natively, and uses its own if the answer is not 200.
equal "its own viewer: no trace processor is here" "$(status -X POST -d '' "$here/status")" 405
equal "its own viewer: no such file" "$(status "$here/v1/none")" 404
equal "its own viewer: a folder" "$(status "$here/v1")" 404
equal "its own viewer: another name of this host" "$(status -H "Host: evil.example:$port" "$here/")" 403
url=$(sed -E 's/.*url=([^&]*)&.*/\1/' "$tmp/url")
for time in first second; do
	equal "its own viewer: the trace, the $time time" "$(curl -s "$url")" "$(cat "$tmp/a trace.json")"
done
if command -v chromium >/dev/null; then
	cat >"$tmp/look.py" <<-END
		import sys
		sys.path.insert(0, "$root/tests/browser")
		from chromium import Chromium
		with Chromium() as browser:
		    page = browser.open("about:blank")
		    page.load("$here/open")
		    page.run("new Promise((done) => { const look = () => document.title === 'x' ? done() : setTimeout(look, 20); look(); })")
	END
	check "its own viewer: a browser shows the trace in it" env PYTHONDONTWRITEBYTECODE=1 timeout 60 python3 "$tmp/look.py"
else
	skip "its own viewer: a browser shows the trace in it" "no Chromium here; tools/packages.sh --page installs it"
fi
check "its own viewer: it goes on" kill -0 $server
kill -INT $server
wait $server
equal "its own viewer: Ctrl-C ends it" $? 0
rm "$tmp/ui/index.html"
"$proftrace" open --ui "$tmp/ui" "$tmp/a trace.json" 2>"$tmp/err"
equal "no viewer in the folder: exit status" $? 1
check "no viewer in the folder: said with a hint" grep -q '^hint:' "$tmp/err"
"$proftrace" open --ui "$tmp/ui" --viewer https://x "$tmp/a trace.json" 2>/dev/null
equal "two viewers: exit status" $? 2

echo "nothing of the kind" >"$tmp/text"
"$proftrace" open "$tmp/text" 2>"$tmp/err"
equal "no trace: exit status" $? 1
check "no trace: says what it looks like" grep -q "cannot serve .*text" "$tmp/err"
"$proftrace" open "$tmp/none" 2>/dev/null
equal "no file: exit status" $? 1
"$proftrace" open --viewer 'https://x/y' "$tmp/text" 2>/dev/null
equal "no viewer: exit status" $? 2
finish
