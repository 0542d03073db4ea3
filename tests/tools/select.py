# SPDX-License-Identifier: BSD-2-Clause
"""What a condition selects, counted another way: from Chrome JSON, with the condition in Python.

    select.py make FILE             writes a trace of a service: nested slices, asynchronous ones, arrows
    select.py list                  the conditions, one a line
    select.py check FILE FOLDER     compares what proftrace has selected from FILE, which is in FOLDER/N for condition N,
                                    one line each: WHAT, a tab, and the first difference
    select.py check-range FILE FOLDER   the same for --from and --to
    select.py count FILE            what is in a trace: "KIND NAME COUNT NS", sorted
    select.py count FILE NUMBER     the same of what condition NUMBER selects
    select.py nest FILE             fails if slices of a thread do not nest, or if an arrow has no slice; says how many
                                    arrows have lost an end
    select.py by FILE               the counts of `report --by kind --format json`
    select.py kinds FILE            the same from the trace
    select.py ranges                the conditions for samples, one a line: FROM TO EXPR, each may be -
    select.py samples FILE TIMES FOLDER   for each range, how many of the samples ("NS TID" a line) it selects, at least
                                    and at most, and how many the page FOLDER/N.html has
"""
import bisect
import json
import os
import random
import re
import sys
from collections import Counter
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "browser"))
import page_data

US = 1000
MS = 1000 * US


def make(path):
    rng = random.Random(20)
    events = [{"ph": "M", "name": "process_name", "pid": 10, "args": {"name": "service"}}]
    flow = 0
    for tid in (11, 12, 13):
        events.append({"ph": "M", "name": "thread_name", "pid": 10, "tid": tid,
                       "args": {"name": "worker %d" % tid if tid != 13 else "sink"}})

    def put(ph, ts, tid, **more):
        events.append({"ph": ph, "ts": ts, "pid": 10, "tid": tid, **more})

    def children(ts, tid, depth):
        nonlocal flow
        for _ in range(rng.randint(0, 4)):
            name = rng.choice(["parse", "query", "lock", "parse header", "request"])
            put("B", ts, tid, name=name, cat=rng.choice(["net", "net,io", "db"]),
                args={"n": rng.randint(-5, 5), "share": rng.random(),
                      "path": rng.choice(["/a", "/a/b", "/c\"d", "\u00e9t\u00e9"])})
            ts += rng.randint(1, 30)
            if rng.random() < 0.1:
                flow += 1
                put("s", ts, tid, name="hand over", cat="flow", id=flow)
            if depth < 2:
                ts = children(ts, tid, depth + 1)
            ts += rng.randint(1, 300)
            put("E", ts, tid, args={"bytes": rng.randint(0, 9000)})
            if rng.random() < 0.3:
                put("i", ts, tid, s="t", name="tick", cat="net", args={"n": rng.randint(0, 9)})
            ts += rng.randint(0, 5)
        return ts

    clock = {11: 5000, 12: 5100}
    for n in range(300):
        tid = 11 + n % 2
        ts = clock[tid]
        put("B", ts, tid, name="request", cat="net", args={"kind": rng.choice(["cold", "warm"]), "id": n})
        ts = children(ts + 1, tid, 0) + 1
        put("E", ts, tid)
        put("b", ts, tid, name="write back", cat="db", id="0x%x" % n, args={"id": n})
        put("e", ts + rng.randint(1, 900), tid, name="write back", cat="db", id="0x%x" % n)
        put("C", ts, tid, name="queue", args={"length": n % 7})
        clock[tid] = ts + 1000 + rng.randint(0, 50)
    ts = 6000
    for n in range(1, flow + 1):
        put("B", ts, 13, name="take", cat="net", args={"n": n})
        put("f", ts + 1, 13, bp="e", name="hand over", cat="flow", id=n)
        put("E", ts + rng.randint(2, 20), 13)
        ts += 100
    put("B", clock[11], 11, name="request", cat="net", args={"kind": "cold", "id": -1})  # stays open
    json.dump({"traceEvents": events}, open(path, "w"))


def load(path):
    data = json.load(open(path))
    return data["traceEvents"] if isinstance(data, dict) else data


def async_id(e):
    return e["id"] if "id" in e else str(e["id2"])


def things(path):
    """Slices, asynchronous slices, instants and samples of counters."""
    events = load(path)
    names, found, stacks, asyncs = {}, [], {}, {}
    for e in events:
        if e.get("ph") == "M" and e["name"] == "thread_name":
            names[e["tid"]] = e["args"]["name"]
    ns = lambda e: round(e["ts"] * 1000)
    # Neither format has to be sorted by time, and ENDs of one time come before BEGINs.
    marks = [e for e in events if e.get("ph") in ("B", "E", "b", "e", "i", "C", "X")]
    start = min(ns(e) for e in marks) if marks else 0

    def thing(kind, e, begin, end, parents=(), args=None):
        return SimpleNamespace(kind=kind, name=e["name"], cat=e.get("cat", "").split(","), begin=begin, end=end,
                               dur=end - begin if end is not None else None, start=begin - start,
                               thread=names.get(e["tid"], "") if kind in ("slice", "instant") else "", parents=[p["name"] for p in parents],
                               outermost=all((p["name"], p.get("cat")) != (e["name"], e.get("cat")) for p in parents),
                               tid=e["tid"] if kind in ("slice", "instant") else None,
                               arg={**(args or e.get("args") or {})})

    for e in marks:
        stack = stacks.setdefault(e.get("tid"), [])
        if e["ph"] == "B":
            stack.append(e)
        elif e["ph"] == "E":
            begin = stack.pop()
            found.append(thing("slice", begin, ns(begin), ns(e), stack,
                               {**(e.get("args") or {}), **(begin.get("args") or {})}))
        elif e["ph"] == "b":
            asyncs[async_id(e)] = e
        elif e["ph"] == "e":
            begin = asyncs.pop(async_id(e))
            found.append(thing("async", begin, ns(begin), ns(e)))
        elif e["ph"] in "iC":
            kind = "instant" if e["ph"] == "i" else "counter"
            stack = stacks.setdefault(e.get("tid"), []) if e["ph"] == "i" else []
            t = thing(kind, e, ns(e), None, stack)
            if kind == "counter":
                (key, t.value), = e["args"].items()
                t.name += " " + key if key != "value" else ""
            found.append(t)
    return found


def lacks(t, key):
    return key not in t.arg


CONDITIONS = [
    ('name == "parse"', lambda t: t.name == "parse"),
    ('dur > 200us', lambda t: t.dur is not None and t.dur > 200 * US),
    ('arg.kind == "cold" && dur > 500us', lambda t: t.arg.get("kind") == "cold" and t.dur is not None
     and t.dur > 500 * US),
    ('in("request") && !(name =* "parse*")', lambda t: "request" in t.parents and not t.name.startswith("parse")),
    ('name =~ "^(lock|query)$" || arg.bytes >= 8K', lambda t: t.name in ("lock", "query")
     or t.arg.get("bytes", -1) >= 8000),
    ('category == "io" && arg.n < 0', lambda t: "io" in t.cat and t.arg.get("n", 0) < 0),
    ('thread =* "worker*" && arg.share > 0.5 && in("parse")', lambda t: t.thread.startswith("worker")
     and t.arg.get("share", 0) > 0.5 and "parse" in t.parents),
    ('arg.path == "/c\\"d" || arg.path =~ "^[^/].*t"', lambda t: t.arg.get("path") == '/c"d'
     or bool(re.search("^[^/].*t", t.arg.get("path", "")))),
    ('start >= 10ms && start < 60ms && (kind == "async" || kind == "instant")', lambda t:
     10 * MS <= t.start < 60 * MS and t.kind in ("async", "instant")),
    ('kind == "counter" && value > 3', lambda t: t.kind == "counter" and t.value > 3),
    ('arg.n != 0', lambda t: "n" in t.arg and t.arg["n"] != 0),
    ('!has(arg.n) && kind == "slice"', lambda t: lacks(t, "n") and t.kind == "slice"),
    ('name == "take" || in("lock") && name == "lock"', lambda t: t.name == "take"
     or ("lock" in t.parents and t.name == "lock")),
    ('tid == 12 && arg.id > 100', lambda t: t.tid == 12 and t.arg.get("id", 0) > 100),
    ('name == "nothing of this name"', lambda t: False),
]
RANGE = (20 * MS, 45 * MS)  # --from and --to, as one more condition


# For samples of samples/service.hh, which are within slices: --from and --to in ms, --where.
SAMPLED = [
    (None, None, 'name == "handle" && dur > 60us', lambda t: t.name == "handle" and t.dur > 60 * US),
    (None, None, 'in("handle")', lambda t: "handle" in t.parents),
    (None, None, 'name == "accept" && arg.id <= 1000', lambda t: t.name == "accept" and t.arg["id"] <= 1000),
    (None, None, 'thread == "worker 1"', lambda t: t.thread == "worker 1"),
    (100, 300, '!(name =* "acc*")', lambda t: not t.name.startswith("acc")),
    (100, 300, None, None),
]


def samples(trace, times, folder):
    """At least and at most: a sample that interrupts a mark may have a later time and belongs to what was open before."""
    events = load(trace)
    base = next(e["args"]["base_ns"] for e in events if e["ph"] == "M" and e["name"] == "proftrace")
    slices = [t for t in things(trace) if t.kind == "slice"]
    start = slices[0].begin - slices[0].start
    marks = {}
    for e in sorted((e for e in events if "ts" in e and "tid" in e), key=lambda e: e["ts"]):
        marks.setdefault(e["tid"], []).append(round(e["ts"] * 1000))
    taken = [(int(at) - base, int(tid)) for at, tid in map(str.split, open(times))]
    for number, (begin, end, _, wanted) in enumerate(SAMPLED):
        chosen = {}
        for t in slices:
            if wanted and wanted(t) and (begin is None or t.start < end * MS and t.start + t.dur >= begin * MS):
                chosen.setdefault(t.tid, []).append((t.begin, t.end))
        least = most = 0
        for at, tid in taken:
            if begin is not None and not begin * MS <= at - start < end * MS:
                continue
            before = bisect.bisect_right(marks.get(tid, []), at)
            mark = marks[tid][before - 1] if before and at - marks[tid][before - 1] < MS else at
            of_thread = chosen.get(tid, [])
            found = [wanted is None or any(b <= at < e for b, e in of_thread),
                     wanted is None or any(b < mark <= e for b, e in of_thread)]
            least += all(found)
            most += any(found)
        print(least, most, page_data.read(f"{folder}/{number}.html")["flames"][0]["graph"]["total"])


def of_densities(timeline):
    """How many slices, asynchronous slices, instants and values there are in all parts of the time."""
    def cells(numbers):
        n = i = 0
        while i < len(numbers):
            if numbers[i] >= 0:  # else the longest slice goes on
                n += numbers[i + 3]
            i += 5 if numbers[i] >= 0 else 1
        return n
    count = Counter()
    for row in timeline["rows"]:
        count["slice" if "tid" in row else "async"] += sum(map(cells, row["levels"]))
        count["instant"] += cells(row["instants"])
    for counter in timeline["counters"]:
        count["counter"] += sum(counter["values"][4::5])
    return count


def in_range(t):
    end = t.start if t.end is None else t.start + t.dur
    return t.start < RANGE[1] and end >= RANGE[0]


def count(found):
    count, total = Counter(), Counter()
    for t in found:
        count[t.kind, t.name] += 1
        total[t.kind, t.name] += t.dur or 0
    return {key: (count[key], total[key]) for key in count}


def counts(counted):
    return {key: n for key, (n, _) in counted.items()}


def of_table(data):
    count = Counter()
    for kind, part in (("slice", "slices"), ("async", "async_slices"), ("instant", "instants"), ("counter", "counters")):
        for row in data[part]:
            count[kind, row["name"]] += row["count"]
    return dict(count)


def of_diff(data):
    """Of the same traces on both sides."""
    count = Counter()
    for row in data["names"]:
        a, b = row["metrics"]["count"]["a"], row["metrics"]["count"]["b"]
        if a != b:
            return {row["name"]: f"{a} and {b}"}
        count[row["kind"], row["name"]] += round(a)
    return dict(count)


def of_kinds(counted):
    kinds = Counter()
    for (kind, _), n in counted.items():
        kinds[kind] += n
    return kinds


def difference(got, wanted):
    keys = sorted(set(got) | set(wanted), key=str)
    return next((f"{key}: {got.get(key)} instead of {wanted.get(key)}" for key in keys
                 if got.get(key) != wanted.get(key)), "")


def nesting(path):
    """What is wrong with the nesting, and how many arrows have lost an end."""
    stacks, last = {}, {}
    marks = [e for e in load(path) if e.get("ph") in ("B", "E", "s", "f")]
    for e in marks:
        stack = stacks.setdefault(e["tid"], [])
        if e["ph"] == "B":
            stack.append(e)
        elif e["ph"] == "E" and not stack:
            return "an end without a begin: %r" % e, 0
        elif e["ph"] == "E":
            stack.pop()
        elif not stack:
            return "an arrow outside of any slice: %r" % e, 0
        if last.get(e["tid"], 0) > e["ts"]:
            return "time goes backwards: %r" % e, 0
        last[e["tid"]] = e["ts"]
    halves = Counter(e["id"] for e in marks if e["ph"] in ("s", "f"))
    return "", sum(1 for n in halves.values() if n == 1)


def check(everything, condition, folder):
    """What every view has selected, and how that differs from what it should have."""
    found = [t for t in everything if condition(t)]
    wanted = count(found)
    data = lambda name: json.load(open(f"{folder}/{name}"))
    for name in ("json", "pftrace"):
        yield f"the table of all.{name}", difference(of_table(data(f"{name}.table")), counts(wanted))
    yield "the smaller trace", difference(count(things(f"{folder}/cut.json")), wanted)
    yield "the smaller trace nests", nesting(f"{folder}/cut.json")[0]
    # A slice inside one of its own name is a part of that one.
    slowest = sum(1 for t in found if t.kind in ("slice", "async") and t.outermost)
    yield "the slowest", difference({"count": data("slow")["count"]}, {"count": slowest})
    yield "what diff compares", difference(of_diff(data("diff")), counts(wanted))
    page = page_data.read(f"{folder}/page.html")
    yield "the table of the page", difference(of_table(page["report"]), counts(wanted))
    yield "the timeline of the page", difference(+of_densities(page["timeline"]), of_kinds(counts(wanted)))


def check_range(everything, folder):
    wanted = count(t for t in everything if in_range(t))
    yield "the table", difference(of_table(json.load(open(f"{folder}/table"))), counts(wanted))
    yield "the smaller trace", difference(count(things(f"{folder}/cut.json")), wanted)
    yield "it nests", nesting(f"{folder}/cut.json")[0]


def main():
    what = sys.argv[1]
    if what == "make":
        make(sys.argv[2])
    elif what == "list":
        print(*[text for text, _ in CONDITIONS], sep="\n")
    elif what == "check":
        everything = things(sys.argv[2])
        for n, (text, condition) in enumerate(CONDITIONS):
            for name, problem in check(everything, condition, f"{sys.argv[3]}/{n}"):
                print(f"{name}: {text}\t{problem}")
    elif what == "check-range":
        for name, problem in check_range(things(sys.argv[2]), sys.argv[3]):
            print(f"--from and --to: {name}\t{problem}")
    elif what == "count":
        condition = CONDITIONS[int(sys.argv[3])][1] if len(sys.argv) > 3 else lambda t: True
        for key, numbers in sorted(count(t for t in things(sys.argv[2]) if condition(t)).items()):
            print(*key, *numbers, sep="\t")
    elif what == "nest":
        problem, arrows = nesting(sys.argv[2])
        print(problem or arrows)
    elif what == "ranges":
        for begin, end, text, _ in SAMPLED:
            print(f"{begin}ms" if end else "-", f"{end}ms" if end else "-", text or "-")
    elif what == "samples":
        samples(*sys.argv[2:])
    elif what == "by":
        counted = Counter()
        for row in json.load(open(sys.argv[2]))["slices"]:
            counted[row["by"] or ""] += row["count"]
        print(*sorted(counted.items()))
    elif what == "kinds":
        print(*sorted(Counter(t.arg.get("kind", "") for t in things(sys.argv[2])
                              if t.kind == "slice" and t.name == "request").items()))


main()
