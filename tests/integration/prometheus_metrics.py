#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes Prometheus' protobuf format by its published definition (io/prometheus/client/metrics.proto).

prometheus_metrics.py <FILE: a line of JSON for each metric. Fails where the buckets of a histogram, native or
conventional, do not make its count.
"""
import json
import struct
import sys

from varint import varint


def group(data):
    """The values of each field, by number."""
    out, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            assert kind in (1, 2), f"wire type {kind}"
            size, at = (8, at) if kind == 1 else varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is cut"
        out.setdefault(tag >> 3, []).append(value)
    return out


def double(data):
    return struct.unpack("<d", data)[0]


def signed(value):
    return value >> 1 ^ -(value & 1)


def read_native(h):
    """The buckets of a native histogram: their limits and counts."""
    base = 2 ** 2 ** -signed(h[5][0])
    deltas = list(map(signed, h.get(13, [])))
    index = count = 0
    buckets = []
    for span in map(group, h.get(12, [])):
        index += signed(span[1][0])
        for _ in range(span[2][0] if 2 in span else 0):
            count += deltas.pop(0)
            assert count >= 0, "a count below zero"
            buckets.append((base ** index, count))
            index += 1
    assert not deltas, "deltas without a bucket"
    assert 12 in h, "not native: there is no span"
    return buckets


def read_histogram(data):
    h = group(data)
    native, count = read_native(h), h[1][0]
    assert h[7][0] + sum(n for _, n in native) == count, "the native buckets do not make the count"
    limits = [(double(b[2][0]), b[1][0]) for b in map(group, h[3])]
    assert limits == sorted(limits) and [n for _, n in limits] == sorted(n for _, n in limits)
    assert limits[-1][1] <= count
    return dict(count=count, sum=double(h[2][0]), zero=h[7][0], native=native, buckets=limits)


def main():
    data = sys.stdin.buffer.read()
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        family, at = group(data[at:at + size]), at + size
        kind = {0: "counter", 1: "gauge", 4: "histogram"}[family[3][0]]
        for m in map(group, family.get(4, [])):
            labels = {l[1][0].decode(): l[2][0].decode() for l in map(group, m.get(1, []))}
            value = m[{"counter": 3, "gauge": 2, "histogram": 7}[kind]][0]
            line = dict(name=family[1][0].decode(), kind=kind, unit=family.get(5, [b""])[0].decode(), labels=labels)
            line.update(read_histogram(value) if kind == "histogram" else {"value": double(group(value)[1][0])})
            print(json.dumps(line))


main()
