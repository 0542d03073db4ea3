#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Call stacks of programs as the distribution ships them, without frame pointers: nearly all samples of each have to reach
# the beginning of their thread. STOCK_MS is how long a server is sampled.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
ms=${STOCK_MS:-700}
if ! "$proftrace" -q --sample 997 -o try.pftrace -- true 2>try.err && grep -q sampl try.err; then
	skip "call stacks of stock programs" "$(head -1 try.err)"
	finish
fi

# At least 95 of 100 begin where their thread does.
whole() { # SUMMARY
	awk -F'[:,]' '/"stacks/ { gsub(/[ "]/, "", $1); n[$1] = $2 + 0 }
		END {
			for (name in n)
				if (n[name])
					printf "%s %d  ", name, n[name]
			print ""
			exit n["stacks"] < 20 || n["stacks_whole"] < 0.95 * n["stacks"]
		}' "$1"
}

sampled() { # NAME HOW...: options of record and the command
	name=$1
	shift
	# On a busy machine the mappings of a program are read late; most of the first samples are then unmapped.
	for try in 1 2 3; do
		"$proftrace" -q --sample 997 -e none --summary-json "$name.sum" -o "$name.pftrace" "$@" >"$name.said" 2>"$name.err"
		whole "$name.sum" >whole && break
		echo "# $name, try $try: $(cat whole)"
	done
	echo "# $name: $(awk -v all="$(field "$name.sum" stacks)" -v n="$(field "$name.sum" stacks_whole)" \
		'BEGIN { printf "%d stacks, %.1f %% whole", all, all ? 100 * n / all : 0 }')"
	check "$name: its stacks are whole" whole "$name.sum"
}

stock() { # NAME PROGRAM [ARGUMENT...]
	name=$1
	shift
	if [ -x "$1" ]; then
		sampled "$name" -- "$@"
	else
		skip "$name: its stacks are whole" "$1 is not installed"
	fi
}

# --- commands ------------------------------------------------------------------------------------------

awk 'BEGIN { srand(7); for (i = 0; i < 450000; i++) print int(rand() * 1e9) }' >numbers
head -60000 numbers >few
cat >work.py <<'EOT'
import json
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(32)
len(json.dumps([str(i) for i in range(200000)]))
EOT
cat >work.js <<'EOT'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (let i = 0; i < 16; i++) {
	fib(27);
	JSON.parse(JSON.stringify(Array.from({ length: 50000 }, (_, n) => ({ n, text: String(n) })))).sort((a, b) => b.n - a.n);
}
EOT
awk 'BEGIN { for (i = 0; i < 150; i++)
	printf "int f%d(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) { if (a[i] > %d) s += a[i] * i; else s ^= a[i] / (i + 1); } return s; }\n", i, i }' >work.c
cc1=$(ls /usr/lib/gcc/*-linux-gnu/*/cc1 2>/dev/null | tail -1)
stock sort /usr/bin/sort numbers -o sorted
stock xz /usr/bin/xz -T2 -3 -k -f few
stock python3 /usr/bin/python3 work.py
stock cc1 "${cc1:-cc1}" -quiet -O2 work.c -o work.s
stock openssl /usr/bin/openssl speed -seconds 1 -bytes 1024 -evp aes-256-gcm
stock openssl-bignum /usr/bin/openssl speed -seconds 1 ecdhp384
stock node /usr/bin/node work.js

# --- servers -------------------------------------------------------------------------------------------

answers() { # COMMAND...: within ten seconds
	for _ in $(seq 200); do
		"$@" >answer 2>&1 && return
		sleep 0.05
	done
	echo "# '$*' does not succeed: $(tail -1 answer)"
	return 1
}

workers() { # N: at least so many processes of the server
	[ "$(pgrep -cP $server)" -ge "$1" ]
}

# Samples the server, whose number is $server, and at least N processes of it while a client has work; then all end.
under_load() { # NAME N CLIENT...
	name=$1 n=$2
	shift 2
	"$@" >client.said 2>&1 &
	client=$!
	answers workers "$n"
	sampled "$name" -d "${ms}ms" -p "$server $(pgrep -P $server | xargs)"
	kill $client
	wait $client 2>/dev/null
	kill -INT $server # now, and not when its clients have gone
	wait $server
}

if [ -x /usr/bin/redis-server ] && [ -x /usr/bin/redis-benchmark ]; then
	/usr/bin/redis-server --port 0 --unixsocket "$tmp/redis.socket" --save '' >redis.log 2>&1 &
	server=$!
	answers redis-cli -s "$tmp/redis.socket" ping
	under_load redis 0 redis-benchmark -s "$tmp/redis.socket" -q -l -t set,get,lpush,lrange_100,zadd
else
	skip "redis: its stacks are whole" "redis-server is not installed"
fi

if [ -x /usr/sbin/nginx ] && command -v curl >/dev/null; then
	cat >nginx.conf <<-EOT
		daemon off;
		worker_processes 1;
		error_log $tmp/nginx.log;
		pid $tmp/nginx.pid;
		events {}
		http {
			access_log $tmp/nginx.access;
			gzip on;
			gzip_types *;
			server { listen unix:$tmp/nginx.socket; root $tmp; }
		}
	EOT
	[ "$(id -u)" -ne 0 ] || sed -i '1i user root;' nginx.conf
	/usr/sbin/nginx -p "$tmp" -c "$tmp/nginx.conf" 2>nginx.err &
	server=$!
	answers curl -sf -o /dev/null --unix-socket "$tmp/nginx.socket" http://localhost/work.c
	under_load nginx 1 curl -s --compressed -o /dev/null --unix-socket "$tmp/nginx.socket" 'http://localhost/work.c?[1-1000000]'
else
	skip "nginx: its stacks are whole" "nginx or curl is not installed"
fi

pg=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
as_postgres() { # COMMAND...: it does not run as root
	setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
}
if [ -x "$pg/postgres" ] && [ -x "$pg/pgbench" ] && [ "$(id -u)" -eq 0 ] && id postgres >/dev/null 2>&1; then
	mkdir -m 777 pg
	(cd pg && as_postgres "$pg/initdb" -N -A trust -D "$tmp/pg/data") >pg.init 2>&1
	(cd pg && exec setpriv --reuid=postgres --regid=postgres --clear-groups "$pg/postgres" -D "$tmp/pg/data" -k "$tmp/pg" \
		-c listen_addresses= -c fsync=off) >pg.log 2>&1 &
	server=$!
	answers as_postgres "$pg/pg_isready" -q -h "$tmp/pg"
	answers as_postgres "$pg/pgbench" -qih "$tmp/pg" postgres
	# Its processes, and one for each of the four clients.
	under_load postgres 9 setpriv --reuid=postgres --regid=postgres --clear-groups "$pg/pgbench" -h "$tmp/pg" -n -c 4 -T 100 postgres
else
	skip "postgres: its stacks are whole" "postgres is not installed, or only root could become its user"
fi
finish
