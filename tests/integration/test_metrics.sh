#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --metrics: what a scraper reads is what the program counted, and who serves it can do nothing else.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
if ! command -v curl >/dev/null || ! ls /usr/lib/*/libmicrohttpd.so.12 >/dev/null 2>&1; then
	skip "metrics" "there is no curl or no libmicrohttpd"
	finish
fi

# --- the text -----------------------------------------------------------------------------------------
cat >names.json <<'END'
[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":0.255,"name":"a \"quoted\" \\ name\n# EOF","cat":"c"},
{"ph":"X","pid":1,"tid":1,"ts":1,"dur":0.256,"name":"a \"quoted\" \\ name\n# EOF","cat":"c"},
{"ph":"X","pid":1,"tid":1,"ts":2,"dur":99e9,"name":"a \"quoted\" \\ name\n# EOF","cat":"c"}]
END
"$proftrace" report -q --format openmetrics names.json >text
# A control byte in a name is visible text everywhere.
line() { # LIMIT COUNT
	printf '%s\n' "proftrace_slice_duration_seconds_bucket{category=\"c\",name=\"a \\\"quoted\\\" \\\\ name\\\\x0a# EOF\",le=\"$1\"} $2"
}
for want in "0.000000255 1" "0.000000511 2" "68.719476735 2" "+Inf 3"; do
	check "a name with quotes and lines, up to ${want% *}: ${want#* }" grep -qxF "$(line $want)" text
done
equal "one end" "$(grep -nx '# EOF' text | cut -d: -f1)" "$(wc -l <text)"
"$proftrace" report --format openmetrics --slowest 3 x names.json >/dev/null 2>err
equal "not of the slowest: usage" "$?" 2
need_tracing

# --- a program that counts --------------------------------------------------------------------------------
# (Below what the kernel gives to connections.)
port=$((20000 + $$ % 12000))
url=http://127.0.0.1:$port/metrics
value() { # METRIC NAME
	curl -s $url | sed -n "s/^$1{category=\"[a-z]*\",name=\"$2\"[^ ]*} //p"
}
exporter() { # the process that serves, a child of the recorder
	for child in $(cat /proc/$recorder/task/$recorder/children); do
		grep -q proftrace-metri /proc/$child/comm && echo $child
	done
}
start() { # OPTION...
	rm -f in out err && mkfifo in
	"$programs/scripted" <in >out &
	target=$!
	exec 8>in
	"$proftrace" "$@" --metrics $port -p $target 2>err 8>&- &
	recorder=$!
	wait_for err "proftrace: recording"
}
protobuf='application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'
decode() { # what a program counts; that the buckets make the count is checked by the decoder
	python3 -B "$root/tests/integration/prometheus_metrics.py" >decoded && python3 -c 'import json
lines = [json.loads(l) for l in open("decoded")]
wanted = ("proftrace_instants_total", "proftrace_slice_duration_seconds")
print(*sorted("%s %s %d" % (l["name"], l["labels"]["name"], l.get("count") or l["value"]) for l in lines if l["name"] in wanted))'
}
for mode in --stats-only "-e none -o exact.pftrace"; do
	start $mode
	printf '%s\n' "slices 1000" "ticks 2000" "level 7" >&8
	wait_for out "done 3"
	equal "$mode: slices" "$(value proftrace_slice_duration_seconds_count work)" 1000
	equal "$mode: in buckets" "$(value proftrace_slice_duration_seconds_bucket work | tail -1)" 1000
	equal "$mode: buckets do not shrink" \
		"$(value proftrace_slice_duration_seconds_bucket work | sort -nc 2>&1)" ""
	equal "$mode: instants" "$(value proftrace_instants_total tick)" 2000
	equal "$mode: a counter" "$(value proftrace_value level)" 7
	printf '%s\n' "slices 500" >&8
	wait_for out "done 4"
	equal "$mode: later" "$(value proftrace_slice_duration_seconds_count work)" 1500
	equal "$mode: as protobuf, if it is preferred: slices, in native buckets, and instants" \
		"$(curl -s -H "Accept: text/plain;q=0.9, application/openmetrics-text;q=0.75, $protobuf;q=0.8" $url | decode)" \
		"proftrace_instants_total tick 2000 proftrace_slice_duration_seconds work 1500"
	equal "$mode: the same by ctl" \
		"$("$proftrace" ctl stats -p $recorder --format openmetrics | grep -c .)" "$(curl -s $url | grep -c .)"
	exec 8>&-
	wait $recorder
	equal "$mode: it ends as ever" $? 0
	wait $target
done

# --- Prometheus ---------------------------------------------------------------------------------------------
start --stats-only
if command -v prometheus >/dev/null; then
	printf 'scrape_configs:\n- job_name: proftrace\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs:\n  - targets: ["127.0.0.1:%s"]\n' \
		$port >prometheus.yml
	server=''
	prometheus() { # PORT OPTION...
		command prometheus --config.file=prometheus.yml --storage.tsdb.path=data-$1 --web.listen-address=127.0.0.1:$1 \
			${2-} >prometheus-$1.log 2>&1 8>&- &
		server="$server $!"
	}
	ask() { # QUERY [PORT]
		curl -s -G --data-urlencode "query=$1" http://127.0.0.1:${2:-$((port + 1))}/api/v1/query |
			sed -n 's/.*"value":\[[^,]*,"\([^"]*\)".*/\1/p'
	}
	has_scraped() { # QUERY PORT
		i=0
		until [ "$(ask "$1" $2)" = 3 ] || [ $((i += 1)) -eq 100 ]; do sleep 0.2; done
		ask "$1" $2
	}
	prometheus $((port + 1))
	prometheus $((port + 2)) --enable-feature=native-histograms
	printf '%s\n' "slow 3" "slow 3" "slow 3" >&8
	wait_for out "done 3"
	equal "Prometheus: the count" "$(has_scraped 'proftrace_slice_duration_seconds_count{name="slow"}' $((port + 1)))" 3
	equal "Prometheus, native: the count" \
		"$(has_scraped 'histogram_count(proftrace_slice_duration_seconds{name="slow"})' $((port + 2)))" 3
	# The first limit that two of the three do not exceed.
	limit=$(curl -s $url | sed -n 's/.*_bucket{.*name="slow",le="\([0-9.]*\)"} \([23]\)$/\1/p' | head -1)
	check "Prometheus: the median, within its bucket, which ends at $limit s" awk -v limit="$limit" \
		-v p="$(ask 'histogram_quantile(0.5, proftrace_slice_duration_seconds_bucket{name="slow"})')" \
		'BEGIN { exit !(limit > 0.003 && p > limit / 2.01 && p <= limit) }'
	# Of three times with a maximum: the time in the middle is in a bucket of 9 %, and our own is exact to 6 %.
	check "Prometheus, native: the median is that of the table" awk \
		-v p="$(ask 'histogram_quantile(0.5, proftrace_slice_duration_seconds{name="slow"})' $((port + 2)))" \
		-v own="$("$proftrace" ctl stats -p $recorder --format json | sed -n 's/.*"name": "slow".*"p50_ns": \([0-9]*\).*/\1/p')" \
		'BEGIN { exit !(own > 3e6 && p * 1e9 > own * 0.86 && p * 1e9 < own * 1.16) }'
	kill $server
	wait $server
else
	skip "Prometheus" "it is not installed"
fi

# --- who serves ---------------------------------------------------------------------------------------------
served=$(exporter)
check "a process of its own serves" test -n "$served"
state() { # FIELD
	sed -n "s/^$1:[[:space:]]*\([0-9a-f]*\).*/\1/p" /proc/$served/status
}
equal "it is not root" "$([ "$(state Uid)" -ne 0 ] && echo no)" no
equal "without capabilities" "$(state CapEff) $(state CapPrm)" "0000000000000000 0000000000000000"
equal "with a filter of system calls, and without new privileges" "$(state Seccomp) $(state NoNewPrivs)" "2 1"
equal "beside standard input and outputs it has two sockets, and what it waits on" \
	"$(ls -l /proc/$served/fd | sed -nE 's/.* ([0-9]+) -> ([a-z_]+:).*/\1 \2/p' | awk '$1 > 2 { print $2 }' | sort | xargs)" \
	"anon_inode: socket: socket:"
equal "another site's name for this machine" "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' $url)" 403
equal "another path" "$(curl -s -o /dev/null -w '%{http_code}' ${url%metrics}other)" 404
equal "another method" "$(curl -s -o /dev/null -w '%{http_code}' -X DELETE $url)" 405
# A hostile scraper: idle connections, and requests without an end.
mkfifo hold
"$root/build/tests/attacks/idle_connections" $port 10000 <hold >idle 2>&1 8>&- &
attacker=$!
exec 9>hold
wait_for idle 'connected 10000'
equal "behind 10,000 idle connections: the table" "$(curl -s -m 10 $url | tail -1)" "# EOF"
check "few of them are open" test "$(find /proc/$served/fd -type l | wc -l)" -le 300
exec 9>&-
wait $attacker
equal "a header of a gigabyte: refused" "$({ printf 'GET /metrics HTTP/1.1\r\nX: '; head -c 1G /dev/zero | tr '\0' x; } |
	curl -s -m 30 telnet://127.0.0.1:$port | sed -n 's/^HTTP[^ ]* \([0-9]*\).*/\1/p')" 431
# The connection may be reset before the answer is read.
check "a body of a gigabyte: refused" test \
	"$(head -c 1G /dev/zero | curl -s -m 30 -o /dev/null -w '%{http_code}' -H 'Expect:' -T - -X POST $url)" != 200
check "it takes less than 64 MB" test "$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$served/status)" -lt 64000
equal "and serves" "$(curl -s -m 30 $url | tail -1)" "# EOF"
# One that never stops: the recorder does not make as many tables, although each would be another one.
yes 'ticks 20' >&8 &
marks=$!
curl -s "$url?[1-20000]" | grep -E '^(# EOF|proftrace_instants_total)' >all
kill $marks
equal "20,000 requests at once: answered" "$(grep -c '^# EOF' all)" 20000
check "20,000 requests at once: with older tables" test "$(grep '^proftrace_instants_total' all | sort -u | wc -l)" -lt 18000
"$proftrace" --stats-only --metrics $port -p $target >/dev/null 2>second
equal "the port is in use: status" $? 1
equal "and one line" "$(grep -c 'cannot serve metrics.*in use' second)" 1
for wrong in 0 65536 x 127.0.0.1 :80 nobody:80 '[::1:80'; do
	"$proftrace" --metrics "$wrong" -p $target >/dev/null 2>&1
	equal "not an address: $wrong" $? 2
done

# --- how it ends ----------------------------------------------------------------------------------------------
kill -KILL $served
check "the process is killed: said" wait_for err "proftrace: the process of --metrics has ended"
printf '%s\n' "slices 10" >&8
wait_for out "done"
exec 8>&-
wait $recorder
equal "the recording goes on without it" $? 0
start --stats-only
served=$(exporter)
kill -KILL $recorder
i=0
while kill -0 $served 2>/dev/null && [ $i -lt 100 ]; do
	i=$((i + 1))
	sleep 0.1
done
check "it ends with the recorder" [ $i -lt 100 ]
exec 8>&-
wait
check_nothing_left "a killed recorder"
finish
