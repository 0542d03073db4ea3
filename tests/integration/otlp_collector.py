#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An OTLP collector: prints what it receives, decoded by the published definitions (opentelemetry-proto 1.x).

otlp_collector.py [--tls CERTIFICATE KEY] SCRIPT: listens on a free port of 127.0.0.1, prints "port N", and then for each
span, metric point and request a line of JSON. SCRIPT says what becomes of the requests with spans, in order; the last
word holds for all later ones; metrics are accepted:
ok, STATUS (503), STATUS/SECONDS (with Retry-After), partial/N (rejects N), hang, close, garbage, endless, trailers.
"""
import gzip
import json
import socketserver
import ssl
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler

from varint import varint

LOCK = threading.Lock()


def say(**line):
    with LOCK:
        print(json.dumps(line), flush=True)


# --- protobuf, by its own encoding rules -----------------------------------------------------------------


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 5:
            value, at = data[at:at + 4], at + 4
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is cut"
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def group(data):
    out = {}
    for number, value in fields(data):
        out.setdefault(number, []).append(value)
    return out


def fixed64(values):
    return struct.unpack("<Q", values[-1])[0] if values else 0


def packed(values, form):
    data = b"".join(values)
    return list(struct.unpack(f"<{len(data) // 8}{form}", data))


def any_value(data):
    for number, value in fields(data):
        if number == 1:
            return value.decode()
        if number == 2:
            return bool(value)
        if number == 3:
            return value - (1 << 64) if value >> 63 else value
        if number == 4:
            return struct.unpack("<d", value)[0]
    return None


def attributes(values):
    out = {}
    for data in values:
        pair = group(data)
        out[pair[1][-1].decode()] = any_value(pair.get(2, [b""])[-1])
    return out


def read_span(data, resource):
    s = group(data)
    status = group(s[15][-1]) if 15 in s else {}
    say(kind="span", resource=resource, trace=s[1][-1].hex(), id=s[2][-1].hex(),
        parent=s.get(4, [b""])[-1].hex(), name=s[5][-1].decode(), span_kind=s[6][-1],
        start=fixed64(s.get(7)), end=fixed64(s.get(8)), attributes=attributes(s.get(9, [])),
        events=[{"name": e[2][-1].decode(), "time": fixed64(e.get(1)), "attributes": attributes(e.get(3, []))}
                for e in map(group, s.get(11, []))],
        links=[{"trace": l[1][-1].hex(), "id": l[2][-1].hex()} for l in map(group, s.get(13, []))],
        status=status.get(3, [0])[-1], message=status.get(2, [b""])[-1].decode())


def read_metric(data, resource):
    m = group(data)
    name, unit = m[1][-1].decode(), m.get(3, [b""])[-1].decode()
    for number, form in ((5, "gauge"), (7, "sum"), (9, "histogram")):
        if number not in m:
            continue
        body = group(m[number][-1])
        for data in body.get(1, []):
            p = group(data)
            line = dict(kind="point", metric=name, unit=unit, form=form, resource=resource,
                        temporality=body.get(2, [0])[-1], monotonic=body.get(3, [0])[-1],
                        start=fixed64(p.get(2)), time=fixed64(p.get(3)))
            if form == "histogram":
                line.update(count=fixed64(p.get(4)), sum=struct.unpack("<d", p[5][-1])[0],
                            buckets=packed(p.get(6, []), "Q"), bounds=packed(p.get(7, []), "d"),
                            attributes=attributes(p.get(9, [])))
            else:
                value = struct.unpack("<d", p[4][-1])[0] if 4 in p else struct.unpack("<q", p[6][-1])[0]
                line.update(value=value, attributes=attributes(p.get(7, [])))
            say(**line)


def numbers(values):
    """Of a repeated number, packed or not."""
    out = []
    for value in values:
        at = 0
        if isinstance(value, int):
            out.append(value)
            continue
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


def only(fields_of, number, default):
    return fields_of.get(number, [default])[-1]


class Dictionary:
    """ProfilesDictionary: each table begins with nothing."""

    def __init__(self, data):
        tables = group(data)
        self.strings = [s.decode() for s in tables[5]]
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        for number in (1, 2, 3, 6, 7):
            assert tables[number][0] == b"", "a table does not begin with nothing"
        assert group(tables[4][0]) == {1: [bytes(16)], 2: [bytes(8)]}
        self.mappings, self.locations, self.functions, self.links, self.pairs, self.stacks = (
            list(map(group, tables[number])) for number in (1, 2, 3, 4, 6, 7))

    def attributes(self, indices):
        out = {}
        for i in indices:
            assert i > 0
            key = self.strings[only(self.pairs[i], 1, 0)]
            assert key and key not in out
            out[key] = any_value(self.pairs[i][2][-1])
        return out

    def frame(self, location):
        l = self.locations[location]
        m = self.mappings[only(l, 1, 0)]
        names = [self.strings[only(self.functions[only(group(line), 1, 0)], 1, 0)] for line in l.get(3, [])]
        address, start, limit = only(l, 2, 0), only(m, 1, 0), only(m, 2, 0)
        return dict(names=names, path=self.strings[only(m, 4, 0)], address=address,
                    inside=start <= address < limit, **self.attributes(numbers(l.get(4, []))),
                    **self.attributes(numbers(m.get(5, []))))

    def stack(self, number):
        return [self.frame(i) for i in numbers(self.stacks[number].get(1, []))]


def read_profile(data, dictionary, resource):
    p = group(data)
    kinds = [[dictionary.strings[only(k, n, 0)] for n in (1, 2)] for k in (group(p[1][-1]), group(p[5][-1]))]
    assert kinds == [["cpu", "nanoseconds"]] * 2 and len(p[7][-1]) == 16 and any(p[7][-1])
    begin = fixed64(p[3])
    end = begin + p[4][-1]
    for s in map(group, p.get(2, [])):
        values, times = numbers(s.get(4, [])), packed(s.get(5, []), "Q")
        assert len(values) == len(times) > 0 and all(begin <= t < end for t in times)
        link = dictionary.links[only(s, 3, 0)]
        say(kind="sample", resource=resource, values=values, times=times, period=only(p, 6, 0),
            stack=dictionary.stack(only(s, 1, 0)), attributes=dictionary.attributes(numbers(s.get(2, []))),
            link={"trace": link[1][-1].hex(), "id": link[2][-1].hex()})


def read_profiles(body):
    request = group(body)
    (dictionary,) = map(Dictionary, request[2])
    for of in map(group, request[1]):
        for scope in map(group, of[2]):
            for item in scope.get(2, []):
                read_profile(item, dictionary, attributes(group(of[1][-1]).get(1, [])))


def read_request(path, body):
    if path == "/v1development/profiles":
        read_profiles(body)
        return
    read = read_span if path == "/v1/traces" else read_metric
    for number, data in fields(body):
        assert number == 1, "not an export request"
        of = group(data)
        resource = attributes(group(of[1][-1]).get(1, []))
        for scope in map(group, of[2]):
            assert group(scope[1][-1])[1][-1] == b"proftrace"
            for item in scope.get(2, []):
                read(item, resource)


# --- HTTP --------------------------------------------------------------------------------------------------


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script = ["ok"]

    def log_message(self, *args):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # To a proxy, the whole address is the path.
        self.path = self.path.removeprefix("http://collector.invalid:4318")
        with LOCK:
            what = "ok"
            if self.path == "/v1/traces":
                what = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        word, _, number = what.partition("/")
        say(kind="request", path=self.path, what=what, bytes=len(body), token=self.headers["X-Token"],
            encoding=self.headers["Content-Encoding"], type=self.headers["Content-Type"])
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        if word == "hang":
            threading.Event().wait(60)
        elif word == "close":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True
        elif word == "garbage":
            self.reply(200, b"\xff\xff\xff\xff this is not a reply")
        elif word == "endless":
            self.reply(200, b"\0" * (1 << 20))
        elif word == "trailers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * 20000 + b"\r\n")
        elif word.isdigit():
            self.reply(int(word), **({"Retry_After": number} if number else {}))
        else:
            read_request(self.path, body)
            reply = b""
            if word == "partial":
                part = b"\x08" + bytes([int(number)]) + b"\x12\x07too old"
                reply = b"\x0a" + bytes([len(part)]) + part
            self.reply(200, reply)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def main():
    words = sys.argv[1:]
    server = Server(("127.0.0.1", 0), Collector)
    if words[0] == "--tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(words[1], words[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
        words = words[3:]
    Collector.script = words
    print("port", server.server_address[1], flush=True)
    server.serve_forever()


main()
