#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names from a debuginfod server: only on request, verified, kept in the cache; and servers that lie.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
stacks=$root/build/tests/tools/stacks

if ! ldconfig -p 2>/dev/null | grep -q 'libdebuginfod\.so\.1'; then
	skip "names from a server" "libdebuginfod is not installed"
	finish
fi
if ! "$proftrace" -q --sample 997 -o try.pftrace -- true 2>try.err && grep -q sampl try.err; then
	skip "names from a server" "$(head -1 try.err)"
	finish
fi

# Four programs without symbols: the server has the debug file of the first, a file of another program for the
# second, answers without end for the third, and not at all for the fourth.
cat >work.c <<'EOT'
static __attribute__((noinline)) unsigned hidden(unsigned n)
{
	volatile unsigned sum = NUMBER;
	for (unsigned i = 0; i < n; i++)
		sum += i;
	return sum;
}
static inline __attribute__((always_inline)) unsigned inlined(unsigned n)
{
	return hidden(n) + 1;
}
int main(void)
{
	return (int)(inlined(100000000) & 1) * 0;
}
EOT
id() { # FILE
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}
for name in known wrong endless silent; do
	${CC:-cc} -O2 -g -Wl,--build-id -DNUMBER="$(printf %d "'$name")" work.c -o $name.full || exit 1
	objcopy --only-keep-debug $name.full $name.debug
	objcopy --strip-all $name.full $name
	mkdir -p "served/buildid/$(id $name)"
done
cp known.debug "served/buildid/$(id known)/debuginfo"
cp known.debug "served/buildid/$(id wrong)/debuginfo"
cat >server.py <<'EOT'
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if sys.argv[2] in self.path:
            self.log_message("not answered")
            return self.rfile.read()
        if sys.argv[1] not in self.path:
            return super().do_GET()
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(65536))
        except OSError:
            pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory="served"))
print("port", server.server_port, flush=True)
server.serve_forever()
EOT
python3 server.py "$(id endless)" "$(id silent)" >port 2>requests &
server=$!
wait_for port port
export DEBUGINFOD_CACHE_PATH="$tmp/cache"
DEBUGINFOD_URLS="http://127.0.0.1:$(said port port)/"

record() { # BASE PROGRAM OPTION...
	base=$1 program=$2
	shift 2
	"$proftrace" --sample 997 -e none -o "$base.pftrace" "$@" -- "./$program" 2>"$base.err"
	equal "$base: exit status" $? 0
	"$stacks" "$base.pftrace" >"$base.stacks"
}
requests() { # PROGRAM
	grep -c "GET /buildid/$(id "$1")/debuginfo" requests
}
names() { # BASE: the share of samples in the program itself that have all names
	awk '$3 == "user" && /;__libc_start_call_main;/ { n++; named += /;main;inlined;hidden$/ } END { print n, named; exit n < 20 || named < 0.8 * n }' "$1.stacks"
}

"$proftrace" --sample 997 -o refused.pftrace --debuginfod -- ./known 2>refused
equal "without DEBUGINFOD_URLS: exit status" $? 2
check "without DEBUGINFOD_URLS: refused" grep -q 'needs the addresses of servers in DEBUGINFOD_URLS' refused
export DEBUGINFOD_URLS
record not-asked known
equal "without --debuginfod: no server is asked" "$(requests known)" 0
check "without --debuginfod: no names" sh -c '! grep -q hidden not-asked.stacks'

record known known --debuginfod
check "names, and what was inlined" names known
equal "one request" "$(requests known)" 1
check "it says what it found" grep -q 'debuginfod: [1-9][0-9]* debug files* found' known.err
record again known --debuginfod
check "from the cache: names" names again
equal "from the cache: no request" "$(requests known)" 1

record wrong wrong --debuginfod
equal "a file of another program: it was requested" "$(requests wrong)" 1
check "a file of another program: no names" sh -c '! grep -qE "hidden|inlined" wrong.stacks'

# SIGTERM and SIGHUP, because two SIGINT may be one.
"$proftrace" --sample 997 -e none -o silent.pftrace --debuginfod -- ./silent 2>silent.err &
recorder=$!
wait_for requests '.*not answered'
kill -TERM $recorder
kill -HUP $recorder
wait $recorder
equal "a server that does not answer, two signals: exit status" $? 0
check "a server that does not answer, two signals: what is missing, and why" \
	grep -q 'debuginfod: .*[1-9][0-9]* not found: a second signal ended the wait' silent.err
"$stacks" silent.pftrace >silent.stacks
check "a server that does not answer, two signals: the samples are there" test "$(grep -c '^sample' silent.stacks)" -ge 20

export DEBUGINFOD_MAXTIME=1
begin=$(date +%s)
record endless endless --debuginfod
check "an endless file: it was requested" test "$(requests endless)" -ge 1
check "an endless file: the recording ends" test $(($(date +%s) - begin)) -le 30
check "an endless file: no names, and the reason" grep -q 'debuginfod: .* not found: ' endless.err
check "an endless file: nothing is left in the cache" test "$(du -sk cache | cut -f1)" -le 1024

kill $server
wait $server 2>/dev/null
DEBUGINFOD_URLS=http://127.0.0.1:9/
record dead wrong.full --debuginfod
check "no server: the recording is whole" grep -q hidden dead.stacks
finish
