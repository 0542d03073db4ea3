#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user tries to get a trace of mode 0600 that `proftrace open` serves, or to keep its viewer out.
. "$(dirname "$0")/lib.sh"
need_users
make_user owner && owner_uid=$made_uid owner_gid=$made_gid && make_user other || { skip "open" "cannot make users"; finish; }
cp "$proftrace" "$attacks/idle_connections" "$tmp" && chmod 755 "$tmp/proftrace" "$tmp/idle_connections"
mkdir "$tmp/owner" "$tmp/bin"
printf '[{"ph":"i","name":"secret","pid":1,"tid":1,"ts":1}]' >"$tmp/owner/trace.json"
chmod 600 "$tmp/owner/trace.json"
chown -R "$owner_uid:$owner_gid" "$tmp/owner"
printf '#!/bin/sh\necho "$@" >%s/owner/browser\nexec tail -f /dev/null "$@"\n' "$tmp" >"$tmp/bin/xdg-open"
chmod 755 "$tmp/bin" "$tmp/bin/xdg-open"
port=$((30000 + $$ % 10000))

serve() {
	rm -f "$tmp/owner/url" "$tmp/owner/browser"
	DISPLAY=:0 PATH=$tmp/bin:$PATH as "$owner_uid" "$owner_gid" "$tmp/proftrace" open --port $port "$tmp/owner/trace.json" \
		>"$tmp/owner/url" 2>"$tmp/err" &
	server=$!
	wait_for "$tmp/owner/url" https && wait_for "$tmp/owner/browser" http || finish
	url=$(sed -E 's/.*url=([^&]*)&.*/\1/' "$tmp/owner/url")
	token=$(echo "$url" | cut -d/ -f4)
}
fetch() { # UID GID URL
	as "$1" "$2" curl -s -m 20 "$3"
}

serve
# Looked for by grep's own pattern file, so that the token is in no arguments of ours.
echo "$token" >"$tmp/token"
leaked=
for process in /proc/[0-9]*; do
	tr '\0' '\n' 2>/dev/null <"$process/cmdline" | grep -qFf "$tmp/token" && leaked="$leaked ${process#/proc/}"
done
never_else "the secret is in the arguments of no process" "$leaked" ""
never_else "another user with the address gets nothing" "$(fetch "$made_uid" "$made_gid" "$url")" ""
never_else "another user is not sent to the viewer" "$(as "$made_uid" "$made_gid" curl -s -m 20 -o /dev/null -w '%{redirect_url}' "http://127.0.0.1:$port/")" ""
# The kernel looks for such a socket in another place, and would answer with whoever listens on its port.
never_else "another user's socket that is bound to the interface is not sent there either" \
	"$(as "$made_uid" "$made_gid" curl -s -m 20 --interface 'if!lo' -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/")" 000
check "the owner's command goes on" kill -0 $server

mkfifo "$tmp/hold"
as "$made_uid" "$made_gid" "$tmp/idle_connections" $port 10000 <"$tmp/hold" >"$tmp/idle" 2>&1 &
exec 9>"$tmp/hold"
wait_for "$tmp/idle" connected
equal "behind 10,000 idle connections of another user: the browser is sent to the viewer" \
	"$(as "$owner_uid" "$owner_gid" curl -s -m 60 -o /dev/null -w '%{redirect_url}' "http://127.0.0.1:$port/" | grep -cF "$token")" 1
equal "behind these: the owner gets the trace" "$(as "$owner_uid" "$owner_gid" curl -s -m 60 "$url")" "$(cat "$tmp/owner/trace.json")"
wait $server
equal "fetched: exit status" $? 0
exec 9>&-
pkill -u "$owner_uid" tail
finish
