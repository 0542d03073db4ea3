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
port=$((22000 + $$ % 10000))

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

# A connection of the port with itself, in which the server may see that the kernel knows no users.
mkfifo "$tmp/hold-itself" "$tmp/hold"
as "$made_uid" "$made_gid" "$tmp/idle_connections" $port itself <"$tmp/hold-itself" >"$tmp/itself" 2>&1 &
exec 8>"$tmp/hold-itself"
check "another user connects the port with itself" wait_for "$tmp/itself" connected
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

as "$made_uid" "$made_gid" "$tmp/idle_connections" $port 10000 <"$tmp/hold" >"$tmp/idle" 2>&1 &
exec 9>"$tmp/hold"
wait_for "$tmp/idle" connected
equal "behind 10,000 idle connections of another user: the browser is sent to the viewer" \
	"$(as "$owner_uid" "$owner_gid" curl -s -m 60 -o /dev/null -w '%{redirect_url}' "http://127.0.0.1:$port/" | grep -cF "$token")" 1
equal "behind these: the owner gets the trace" "$(as "$owner_uid" "$owner_gid" curl -s -m 60 "$url")" "$(cat "$tmp/owner/trace.json")"
wait $server
equal "fetched: exit status" $? 0
exec 8>&- 9>&-

# A copy of the viewer is served, and nothing else of this machine.
echo secret >"$tmp/owner/secret" && chmod 600 "$tmp/owner/secret"
mkdir -p "$tmp/owner/ui/v1/.git"
for file in index.html v1/main.js .hidden v1/.git/config; do echo "of $file" >"$tmp/owner/ui/$file"; done
ln -s ../secret "$tmp/owner/ui/relative"
ln -s "$tmp/owner/secret" "$tmp/owner/ui/absolute"
ln -s .. "$tmp/owner/ui/up"
ln -s /proc/self/environ "$tmp/owner/ui/environ"
ln -s v1/main.js "$tmp/owner/ui/inside"
mkfifo "$tmp/owner/ui/fifo"
chown -hR "$owner_uid:$owner_gid" "$tmp/owner"
rm -f "$tmp/owner/url"
as "$owner_uid" "$owner_gid" "$tmp/proftrace" open --no-browser --ui "$tmp/owner/ui" --port $port "$tmp/owner/trace.json" \
	>"$tmp/owner/url" 2>"$tmp/err" &
server=$!
wait_for "$tmp/owner/url" http || finish
here=http://127.0.0.1:$port
equal "the viewer: its owner gets it" "$(fetch "$owner_uid" "$owner_gid" "$here/v1/main.js")" "of v1/main.js"
equal "the viewer: also by a link within the folder" "$(fetch "$owner_uid" "$owner_gid" "$here/inside")" "of v1/main.js"
never_else "the viewer: another user gets nothing" "$(fetch "$made_uid" "$made_gid" "$here/v1/main.js")" ""
for path in ../secret v1/../../secret %2e%2e/secret ..%2fsecret v1/%2e%2e/%2e%2e/secret //../secret /..//secret \
	..%5csecret ....//secret %2e%2e%2fsecret%00.js $tmp/owner/secret /$tmp/owner/secret relative absolute up/secret \
	environ up/../up/secret v1/../up/secret .hidden v1/.git/config fifo . .. v1 up/ui/../secret %252e%252e/secret; do
	never_else "the viewer: nothing at $(echo "$path" | sed "s|$tmp|TMP|")" \
		"$(as "$owner_uid" "$owner_gid" curl -s -m 20 --path-as-is -o "$tmp/owner/got" -w '%{http_code}' "$here/$path")" 404
	never_else "and no secret" "$(grep -c secret "$tmp/owner/got")" 0
done
# The folder changes all the time: a file becomes a link that leads out, and a file again.
as "$owner_uid" "$owner_gid" sh -c "cd '$tmp/owner/ui' && while [ -e index.html ]; do
	ln -sf ../secret changing.new && mv -f changing.new changing; echo good >changing.new; mv -f changing.new changing; done" &
changer=$!
for _ in $(seq 200); do
	fetch "$owner_uid" "$owner_gid" "$here/changing"
done >"$tmp/changing" 2>/dev/null
never_else "while a file becomes a link and a file again: no secret" "$(grep -c secret "$tmp/changing")" 0
check "but the file, now and then" grep -q good "$tmp/changing"
rm -f "$tmp/owner/ui/index.html"
wait $changer
pkill -TERM -u "$owner_uid" -x proftrace # $server is the shell around it
wait $server
never_else "a folder that another user can change: refused" "$(echo x >"$tmp/owner/ui/index.html"
	chmod o+w "$tmp/owner/ui"
	as "$owner_uid" "$owner_gid" "$tmp/proftrace" open --no-browser --ui "$tmp/owner/ui" --port $port "$tmp/owner/trace.json" 2>&1 |
		grep -c 'everybody can write')" 1
pkill -u "$owner_uid" tail
finish
