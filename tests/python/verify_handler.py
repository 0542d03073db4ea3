#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verify_handler.py SAID CALLED: whether the handler of mine.py was called for what a program says it has marked."""

import json
import sys
from collections import Counter

said, called = Counter(), Counter()
for line in open(sys.argv[1], encoding="utf-8"):
    if line.startswith("expected "):
        for event, n in json.loads(line[len("expected ") :])["events"].items():
            kind, name, categories = event.split(" ")[:3]
            if kind != "COUNTER":
                said[f"{'START' if kind.endswith('BEGIN') else kind} {name} {categories}"] += n
    elif line.startswith("handler "):
        said[line[len("handler ") :].rstrip("\n")] += 1
for line in open(sys.argv[2], encoding="utf-8"):
    event, _, n = line.rpartition(" ")
    called[event if event.split(" ")[2] else event + "-"] += int(n)
starts = sum(n for event, n in called.items() if event.startswith("START "))
ends = sum(n for event, n in called.items() if event.startswith("END "))
wrong = [f"{starts} starts, {ends} ends"] if not starts or starts != ends else []
for event in sorted(set(said) | set(called)):
    # The end of an asynchronous slice is one of the ends above.
    if event.split(" ")[0] in ("START", "INSTANT", "FILE", "MOMENT") and said[event] != called[event]:
        wrong.append(f"{event}: {called[event]}, not {said[event]}")
print("\n".join(wrong) or f"{starts} slices")
sys.exit(bool(wrong))
