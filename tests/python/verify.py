#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verify.py SAID TRACE: whether a trace, as `canon` prints it, holds exactly what a program says that it has marked.

Events are compared with their names, categories, keys and values; slices with their threads' names; and a slice
that has an argument `within` must be inside one of that name on its thread. What differs is printed.
"""

import json
import sys
from collections import Counter, defaultdict

KINDS = {"BEGIN", "INSTANT", "ASYNC_BEGIN", "ASYNC_END", "FLOW_OUT", "FLOW_IN", "SLICE_AT", "INSTANT_AT"}


def read_said(path):
    for line in open(path, encoding="utf-8"):
        if line.startswith("expected "):
            return json.loads(line[len("expected ") :])
    sys.exit(f"{path}: the program did not say what it marked")


class Trace:
    def __init__(self, path):
        self.events = Counter()
        self.slices = Counter()
        self.names = {}
        self.misplaced = []
        self.open = defaultdict(list)
        for line in open(path, encoding="utf-8"):
            self.read(line.rstrip("\n").split(" "))

    def read(self, words):
        if words[0] == "thread":
            self.names[words[2]] = " ".join(words[3:])
            return
        if len(words) < 5 or not words[0].isdigit():
            return
        if words[1] == "COUNTER":
            # The size of a pool tells which memory it was. Counters of threads are the recorder's, and a rate is
            # derived from frames.
            if "address" in words:
                words = words[: words.index("address")]
            if words[-2] not in ("rate", "thread"):
                self.events[" ".join(["COUNTER", *words[3:]])] += 1
            return
        thread, kind, rest = words[1], words[2], [w for w in words[4:] if not w.startswith(("id=", "until="))]
        if kind == "END":
            self.open[thread].pop()
        if kind not in KINDS:
            return
        self.events[" ".join([kind, *rest])] += 1
        if kind == "BEGIN":
            within = next((w.split('"')[1] for w in rest if w.startswith("within=")), None)
            if within is not None and (not self.open[thread] or self.open[thread][-1] != within):
                self.misplaced.append(f"{rest} in {self.open[thread]}")
            self.open[thread].append(rest[0])
            self.slices[thread] += 1


def main():
    said, trace = read_said(sys.argv[1]), Trace(sys.argv[2])
    expected = Counter(said["events"])
    wrong = trace.misplaced[:5]
    for line in sorted(set(expected) | set(trace.events)):
        if expected[line] != trace.events[line]:
            wrong.append(f"{line}: {trace.events[line]}, not {expected[line]}")
    slices = Counter()
    for thread, n in trace.slices.items():
        slices[trace.names.get(thread, "?")] += n
    for name, n in said["threads"].items():
        if slices[name] != n:
            wrong.append(f"thread {name}: {slices[name]} slices, not {n}")
    print("\n".join(wrong[:20]) or f"{sum(expected.values())} events")
    return bool(wrong)


sys.exit(main())
