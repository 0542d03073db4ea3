#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --otlp: what a collector receives, decoded by the published definitions, is what the program did; whatever the collector
# does instead of accepting it is counted; and who sends can do nothing else.
. "$(dirname "$0")/lib.sh"
need_tracing
if ! ls /usr/lib/*/libcurl.so.4 /usr/lib/*/libcurl-gnutls.so.4 >/dev/null 2>&1 || ! command -v python3 >/dev/null || ! command -v openssl >/dev/null; then
	skip "OTLP" "there is no libcurl, python3 or openssl"
	finish
fi
cd "$tmp" || exit 1
here=$root/tests/integration

collect() { # NAME [--tls CERTIFICATE KEY] SCRIPT...: in the background; sets $port and $collector
	collected=$1
	shift
	rm -f "$collected.got"
	python3 -B "$here/otlp_collector.py" "$@" >"$collected.got" 2>"$collected.bad" &
	collector=$!
	wait_for "$collected.got" port
	port=$(sed -n 's/^port //p' "$collected.got")
}
# What was received of a kind.
got() { # NAME PATTERN
	grep -c "$2" "$1.got"
}
# A number of the summary's "otlp".
otlp() { # NAME FIELD
	sed -n "s/.*\"otlp\": {.*\"$2\": \([0-9]*\).*/\1/p" "$1.json"
}
send() { # NAME PROTOCOL REQUESTS OPTION...: until the program ends
	sent=$1 url=$2://127.0.0.1:$port n=$3
	shift 3
	"$proftrace" -e none -o "$sent.pftrace" --strict --summary-json "$sent.json" --otlp "$url" --otlp-spans '*' \
		--otlp-spans '!step' "$@" -- "$programs/spans" $n >"$sent.out" 2>"$sent.err"
	echo $? >"$sent.status"
}

# --- what is sent ----------------------------------------------------------------------------------------
collect plain ok
OTEL_EXPORTER_OTLP_HEADERS='x-token=a%20b, x-other=c' send plain http 300 --otlp-gzip
kill $collector
equal "delivered, as the program counts" "$(otlp plain spans_delivered)" 1201
equal "of traces that are not sampled" "$(otlp plain spans_unsampled)" 600
cat >verify.py <<'END_OF_PYTHON'
import collections, json, sys, time

lines = [json.loads(l) for l in open("plain.got") if l.startswith("{")]
spans = [l for l in lines if l["kind"] == "span"]
by_name = collections.defaultdict(list)
for s in spans:
    by_name[s["name"]].append(s)
by_id = {s["id"]: s for s in spans}
assert len(by_id) == len(spans) and "0" * 16 not in by_id
counts = {name: len(of) for name, of in by_name.items()}
assert counts == dict(request=300, query=300, job=300, alone=300, left_open=1), counts
numbers = set()
for s in by_name["request"]:
    i = s["attributes"]["number"]
    numbers.add(i)
    assert s["trace"] == f"{i:032x}" and s["parent"] == f"{i + 7:016x}" and s["status"] == 0, s
    assert s["attributes"]["traceparent"] == f"00-{i:032x}-{i + 7:016x}-01", s
assert numbers == set(range(1, 301))
for s in by_name["query"]:
    parent, i = by_id[s["parent"]], s["attributes"]["rows"]
    # The step around it is not sent.
    assert parent["name"] == "request" and parent["attributes"]["number"] == i and s["trace"] == parent["trace"], s
    assert parent["start"] <= s["start"] <= s["end"] <= parent["end"], s
    assert s["attributes"]["found"] == 3 and [e["name"] for e in s["events"]] == ["hit"], s
    assert s["events"][0]["attributes"]["key"] == "red" and s["start"] <= s["events"][0]["time"] <= s["end"], s
    assert len(s["links"]) == 1 and by_id[s["links"][0]["id"]]["name"] == "alone", s
    assert by_id[s["links"][0]["id"]]["trace"] == s["links"][0]["trace"], s
for s in by_name["job"]:
    assert by_id[s["parent"]]["name"] == "request" and s["trace"] == by_id[s["parent"]]["trace"], s
traces = {s["trace"] for s in by_name["alone"]}
assert len(traces) == 300 and all(s["parent"] == "" and s["attributes"]["weight"] == 0.5 for s in by_name["alone"])
assert by_name["left_open"][0]["status"] == 2 and "unfinished" in by_name["left_open"][0]["message"]
now = time.time_ns()
for s in spans:
    assert s["start"] <= s["end"] <= now and s["start"] > now - 600e9, s
    assert s["resource"]["service.name"] == "spans" and s["resource"]["process.pid"] == s["attributes"]["thread.id"], s
requests = [l for l in lines if l["kind"] == "request"]
assert all(r["token"] == "a b" and r["encoding"] == "gzip" and r["type"] == "application/x-protobuf" for r in requests)
END_OF_PYTHON
cat >>verify.py <<'END_OF_PYTHON'

points = collections.defaultdict(list)
for l in lines:
    if l["kind"] == "point":
        points[l["metric"], l["attributes"].get("name", l["attributes"].get("number"))].append(l)
        assert l["resource"]["service.name"] == "proftrace" and l["time"] <= now
for name, count in dict(request=300, query=600, quiet=300, alone=300, step=300).items():
    (p,) = points["proftrace.slice.duration", name]
    assert p["form"] == "histogram" and p["unit"] == "s" and p["temporality"] == 2 and p["start"] < p["time"], p
    assert p["count"] == count == sum(p["buckets"]) and len(p["buckets"]) == len(p["bounds"]) + 1, p
    (own,) = points["proftrace.slice.self", name]
    assert own["monotonic"] and 0 < own["value"] <= p["sum"] * 1.000001, p
    if name in ("request", "alone"):
        took = sum(s["end"] - s["start"] for s in by_name[name]) / 1e9
        assert abs(took - p["sum"]) < 1e-6, (took, p)
(p,) = points["proftrace.instants", "hit"]
assert p["value"] == 600 and p["form"] == "sum" and p["monotonic"] and p["temporality"] == 2, p
(p,) = points["proftrace.async.duration", "job"]
assert p["count"] == 300, p
(p,) = points["proftrace.account", "written"]
assert p["value"] == 300 * 18 + 1 and p["form"] == "gauge", p
END_OF_PYTHON
check "each span has the trace, parent, times, arguments, events and links that the program made; metrics have the same sums" \
	python3 verify.py

collect table ok
"$proftrace" -q --stats-only --otlp http://127.0.0.1:$port -- "$programs/spans" 300 >table.out
kill $collector
check "metrics of the kernel's table have the same counts" python3 - <<'END_OF_PYTHON'
import json
points = [json.loads(l) for l in open("table.got") if l.startswith("{")]
got = {p["attributes"]["name"]: p["count"] for p in points if p.get("metric") == "proftrace.slice.duration"}
assert got == dict(request=300, query=600, quiet=300, alone=300, step=300), got
END_OF_PYTHON

collect sampled ok
"$proftrace" -e none --sample 997 -o sampled.pftrace --strict --summary-json sampled.json --otlp http://127.0.0.1:$port \
	--otlp-interval 1s --otlp-profiles --otlp-spans work -- "$programs/sampled_spans" 150 >sampled.out 2>sampled.err
equal "profiles: status" $? 0
kill $collector
equal "profiles: all are delivered" "$(otlp sampled profiles_delivered) $(otlp sampled profiles_lost) $(otlp sampled samples_refused)" \
	"$(otlp sampled profiles_chosen) 0 0"
check "profiles: each sample, with its functions, and linked to the span in which it was taken" \
	python3 - "$(field sampled.json stacks)" <<-'END_OF_PYTHON'
	import json, sys
	lines = [json.loads(l) for l in open("sampled.got") if l.startswith("{")]
	samples = [l for l in lines if l["kind"] == "sample"]
	(span,) = [l for l in lines if l["kind"] == "span"]
	taken = sum(len(s["times"]) for s in samples)
	assert taken == int(sys.argv[1]), (taken, sys.argv)
	count = dict(inside=0, outside=0)
	for s in samples:
	    assert s["resource"]["service.name"] == "sampled_spans" and s["attributes"]["thread.id"], s
	    assert all(v == s["period"] > 0 for v in s["values"]), s
	    own = [f for f in s["stack"] if f["path"].endswith("/sampled_spans")]
	    assert all(f["inside"] and f["profile.frame.type"] == "native" and f["process.executable.build_id.gnu"] for f in own), s
	    where = {n for f in own for n in f["names"]} & set(count)
	    if not where:
	        continue
	    (where,) = where
	    count[where] += len(s["times"])
	    assert [n for f in own for n in f["names"]][-2:] == ["main", "_start"], s
	    linked = s["link"] == {"trace": span["trace"], "id": span["id"]}
	    assert linked == (where == "inside"), s
	    assert all((span["start"] <= t <= span["end"]) == linked for t in s["times"]), s
	# As much CPU time in each.
	assert min(count.values()) > 50 and abs(count["inside"] - count["outside"]) < 0.35 * sum(count.values()), count
END_OF_PYTHON

collect proxy ok
own=$port
http_proxy=http://127.0.0.1:$own "$proftrace" -e none -o proxy.pftrace --summary-json proxy.json --otlp http://collector.invalid:4318 \
	--otlp-spans alone -- "$programs/spans" 50 >proxy.out 2>proxy.err
kill $collector
equal "a proxy gets it, and is given the address of the collector" "$(otlp proxy spans_delivered) $(got proxy '"kind": "span"')" "50 50"

# --- collectors that do not accept it, and TLS: some at once ------------------------------------------------------
together() { # "NAME PROTOCOL REQUESTS SCRIPT"...; 503/1: it says that it may be asked again after a second
	collectors='' senders=''
	for case; do
		set -- $case
		name=$1 protocol=$2 requests=$3 tls='' options=''
		shift 3
		[ $name = tls ] && tls="--tls cert.pem key.pem"
		[ $name = busy ] && requests="$requests 10"
		[ $name = down ] && requests="$requests 1" options="--otlp-queue 64K --otlp-interval 1s"
		collect $name $tls "$@"
		send $name $protocol "$requests" $options &
		collectors="$collectors $collector" senders="$senders $!"
		sleep 0.4
	done
	wait $senders
	kill $collectors
}
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 2>/dev/null
chmod 644 cert.pem
export OTEL_EXPORTER_OTLP_CERTIFICATE="$tmp/cert.pem"
together "busy http 300 close 503 503/1 ok" "partial http 300 partial/7 ok" "refuses http 300 400" "hangs http 300 hang"
together "down http 1500 503/1 503/1 ok" "endless http 300 endless" "trailers http 300 trailers" "plainly https 300 ok" "tls https 300 ok"
equal "closed in the middle, then busy: repeated until it accepts" "$(otlp busy requests_repeated) $(otlp busy spans_lost)" "3 0"
equal "each span arrives once" "$(got busy '"kind": "span"')" 1201
equal "a part is rejected: counted" "$(otlp partial spans_rejected) $(otlp partial spans_delivered)" "7 1194"
check "a part is rejected: the reason is shown" grep -q "rejected a part: too old" partial.err
equal "refused for good: not repeated" "$(otlp refuses requests_repeated) $(otlp refuses spans_rejected)" "0 1201"
check "refused for good: the reason is shown" grep -q "HTTP status 400" refuses.err
equal "--strict: refused is a loss" "$(cat refuses.status)" 3
equal "a collector that hangs: the end does not wait for it, and all is counted" "$(otlp hangs spans_lost)" 1201
equal "a reply without an end: counted" "$(otlp endless spans_lost)" 1201
equal "a reply with 120 KB of trailers: the same" "$(otlp trailers spans_lost) $(grep -m1 -c 'the reply has more than' trailers.err)" "1201 1"
equal "not TLS: all is counted" "$(otlp plainly spans_lost)" 1201
check "not TLS: the reason is shown" grep -qiE 'ssl|tls' plainly.err
equal "TLS: all arrives" "$(got tls '"kind": "span"')" 1201
check "down for a while, with a small queue: it drops" test "$(otlp down spans_queue_full)" -gt 0
equal "down for a while: the loss is what is counted" "$(otlp down spans_lost)" "$(otlp down spans_queue_full)"
equal "down for a while: all else arrives" $(($(got down '"kind": "span"') + $(otlp down spans_lost))) 6001

check "down for a while: metrics went on meanwhile" test \
	"$(sed -n 's/.*"metric": "proftrace.instants".*"time": \([0-9]*\).*/\1/p' down.got | sort -u | wc -l)" -gt 1

# --- who sends --------------------------------------------------------------------------------------------------
collect killed ok
mkfifo in
"$programs/scripted" <in >out &
target=$!
exec 8>in
"$proftrace" -e none -o killed.pftrace --summary-json killed.json --otlp http://127.0.0.1:$port --otlp-spans work \
	-p $target 2>killed.err 8>&- &
recorder=$!
wait_for killed.err "proftrace: recording"
for child in $(cat /proc/$recorder/task/$recorder/children); do
	grep -q proftrace-otlp /proc/$child/comm && sender=$child
done
state() { # FIELD
	sed -n "s/^$1:[[:space:]]*\([0-9a-f]*\).*/\1/p" /proc/$sender/status
}
equal "it is not root" "$([ "$(state Uid)" -ne 0 ] && echo no)" no
equal "without capabilities" "$(state CapEff) $(state CapPrm)" "0000000000000000 0000000000000000"
equal "with a filter of system calls, and without new privileges" "$(state Seccomp) $(state NoNewPrivs)" "2 1"
never_else "it has nothing of the broker, of BPF and of the program: a socket to the recorder, and libcurl's own" \
	"$(ls -l /proc/$sender/fd | sed -nE 's/.* ([0-9]+) -> ([^ ]*).*/\1 \2/p' | awk '$1 > 2 { print $2 }' |
		grep -vE '^socket:|^anon_inode:\[event(fd|poll)\]|^pipe:')" ""
printf '%s\n' "slices 100" >&8
wait_for out "done 1"
i=0
until [ "$(got killed '"kind": "span"')" = 100 ] || [ $((i += 1)) -eq 100 ]; do sleep 0.1; done
check "ctl status says what was delivered" grep -q "100 of 100 spans delivered, 0 lost" <<-END_OF_STATUS
	$("$proftrace" ctl status -p $recorder)
END_OF_STATUS
kill -9 $sender
printf '%s\n' "slices 50" >&8
wait_for out "done 2"
exec 8>&-
wait $recorder
equal "it is killed: the recording ends as ever" $? 0
wait $target
kill $collector
check "it is killed: said" grep -q "the process of --otlp has ended" killed.err
equal "it is killed: what it does not send is counted" "$(otlp killed spans_delivered) $(otlp killed spans_lost)" "100 50"
equal "it is killed: the trace has all" "$(field killed.json written)" 300

# --- wrong usage ----------------------------------------------------------------------------------------------------
for wrong in "--otlp-profiles --sample 99" "--otlp http://x --otlp-profiles" "--otlp ftp://x" "--otlp http://user:secret@x" "--otlp http://x:" "--otlp-spans x" "--otlp http://x --otlp-spans x --stats-only"; do
	"$proftrace" $wrong -p $$ 2>wrong
	equal "$wrong: usage" $? 2
done
OTEL_EXPORTER_OTLP_HEADERS='no colon' "$proftrace" -o x.pftrace --otlp http://127.0.0.1:1 -p $$ 2>wrong
equal "headers that are none: refused" "$? $(grep -c OTEL_EXPORTER_OTLP_HEADERS wrong)" "1 1"
OTEL_EXPORTER_OTLP_ENDPOINT='' "$proftrace" -o x.pftrace --otlp env -p $$ 2>wrong
equal "no address in the environment: refused" "$? $(grep -c 'OTEL_EXPORTER_OTLP_ENDPOINT is not' wrong)" "1 1"
finish
