# SPDX-License-Identifier: BSD-2-Clause
"""
page_places.py PAGE.html TRACE.json [NUMBER]

Compares what the page of a trace draws with the trace: at random places of random threads, levels of nesting and zoom
levels, both the slice or the density that it says is there and the colour of the pixel. The answer comes from the JSON
of the same recording, which this reads itself.
"""
import bisect
import collections
import json
import random
import sys

from chromium import Chromium

SETUP = """
window.placesContext = document.getElementById('timeline').getContext('2d', { willReadFrequently: true });
window.placesHex = (css) => {
    const c = document.createElement('canvas').getContext('2d');
    c.fillStyle = css;
    c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
window.placesLook = (index, level, from, to, time) => {
    const { timeline, trace } = proftracePage, painter = timeline.painter, row = trace.rows[index];
    const item = painter.itemOf(row), y0 = item.levels + level * LEVEL;
    timeline.state.view = { from, to };
    timeline.stage.scrollTop = y0 - 60;
    timeline.state.scroll = timeline.stage.scrollTop;
    painter.draw(timeline.state);
    const x = painter.x(time), y = y0 - timeline.state.scroll + AXIS + 2;
    const place = timeline.at(x, y);
    const s = place.slice, d = place.density;
    const data = placesContext.getImageData(Math.floor(x), Math.floor(y + LEVEL - 5), 1, 1).data;
    const edge = (t) => painter.snap(painter.x(t));
    const from0 = s ? s.begin : d ? d.begin : 0, to0 = s ? s.end : d ? d.begin + trace.width * 2 ** painter.densityLevel() : 0;
    /* Not where the box before it may end, this one has its gap, or full detail begins or ends. */
    const isBorder = trace.windows.some((w) => Math.abs(x - edge(w.begin)) < 2 || Math.abs(x - edge(w.end)) < 2);
    return { inside: !isBorder && Math.floor(x) > edge(from0) && Math.floor(x) < edge(to0) - 1, exact: trace.windowAt(row, time), scale: painter.scale, pixel: [...data].slice(0, 3),
        bin: trace.width * 2 ** painter.densityLevel(),
        slice: s && { name: trace.names[s.kind].name, begin: s.begin, end: s.end, args: trace.args(s.raw, 6) },
        density: d && { name: trace.names[d.kind].name, cover: d.cover, count: d.count, longest: d.longest, begin: d.begin } };
};
window.placesAll = (jobs) => jobs.map((job) => placesLook(...job));
proftracePage.trace.flows = []; /* which would be drawn over slices */
window.placesColors = Object.fromEntries(proftracePage.trace.names.map((k, i) =>
    [k.name, placesHex(proftracePage.timeline.painter.kinds[i])]));
({ end: proftracePage.trace.end, rows: proftracePage.trace.rows.map((r) => ({ pid: r.pid, tid: r.tid,
   levels: r.levels.length, points: r.points.length })), width: proftracePage.trace.width,
   everything: proftracePage.trace.everything, windows: proftracePage.trace.windows, colors: placesColors, drawn: proftracePage.trace.rows.map((r) =>
   r.levels.map((l) => l.slices.length)), values: proftracePage.trace.counters.reduce((n, c) => { n[c.name] = (n[c.name] || 0) + c.exact.length; return n; }, {}),
   flows: proftracePage.data.timeline.flows.length })
"""


def ns(event):
    return round(event["ts"] * 1000)


class Oracle:
    """Slices of threads by level, each level sorted by time."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        # What the recording lost is an instant in JSON, and in the page a part of the account.
        marks = [e for e in events if e["ph"] in "BEXiICbenstf" and "ts" in e and
                 (e["ph"] != "i" or e["name"] not in ("switches lost", "events lost"))]
        self.first = min(map(ns, marks))
        self.last = max(ns(e) + round(e.get("dur", 0) * 1000) for e in marks)
        self.levels = {}
        self.count = {ph: sum(1 for e in marks if e["ph"] == ph) for ph in "isf"}
        self.values = collections.Counter()
        for e in marks:
            if e["ph"] == "C":
                self.values[e["name"]] += len(e["args"])
        stacks = {}
        for e in sorted(marks, key=ns):
            key = (e["pid"], e.get("tid"))
            stack = stacks.setdefault(key, [])
            if e["ph"] == "B":
                stack.append(e)
            elif e["ph"] == "E" and stack:
                begin = stack.pop()
                self.add(key, len(stack), begin, ns(e), {**begin.get("args", {}), **e.get("args", {})})
        for key, stack in stacks.items():
            while stack:
                begin = stack.pop()
                self.add(key, len(stack), begin, self.last, begin.get("args", {}))
        self.add_whole([e for e in marks if e["ph"] == "X"])
        for key in self.levels:
            for level in self.levels[key].values():
                level.sort(key=lambda s: (s[0], s[1]))

    def add(self, key, level, begin, end, args):
        self.levels.setdefault(key, {}).setdefault(level, []).append(
            (ns(begin) - self.first, end - self.first, begin["name"], args))

    def add_whole(self, events):
        """Slices that are one event each, in any order."""
        open_ends = {}
        for e in sorted(events, key=lambda e: (ns(e), -e["dur"])):
            key, end = (e["pid"], e["tid"]), ns(e) + round(e["dur"] * 1000)
            ends = open_ends.setdefault(key, [])
            while ends and ends[-1] <= ns(e):
                ends.pop()
            self.add(key, len(ends), e, end, e.get("args", {}))
            ends.append(end)

    def within(self, key, level, begin, end):
        """Slices that have a part of [begin, end)."""
        slices = self.levels.get(key, {}).get(level, [])
        i = bisect.bisect_left(slices, (begin,))
        first = i - 1 if i and slices[i - 1][1] > begin else i
        found = []
        for s in slices[first:]:
            if s[0] >= end:
                break
            found.append(s)
        return found


def same_color(pixel, colors):
    return any(all(abs(a - b) <= 3 for a, b in zip(pixel, color)) for color in colors)


def same_value(got, expected):
    """Integers beyond 2^53 and structures are texts in the page."""
    if got == expected or str(got) == str(expected):
        return True
    try:
        return json.loads(got) == expected if isinstance(got, str) else float(got) == float(expected)
    except (TypeError, ValueError):
        return False


def check_exact(oracle, key, level, time, look, colors):
    """What is wrong, or None."""
    expected = [s for s in oracle.within(key, level, time, time + 1) if s[0] <= time < s[1]]
    got = look["slice"]
    pixel = 1 / look["scale"]
    near = oracle.within(key, level, time - 2 * pixel, time + 2 * pixel)
    if expected:
        begin, end, name, args = expected[0]
        if not got or (got["name"], got["begin"], got["end"]) != (name, begin, end):
            return f"expected {expected[0][:3]}, not {got}"
        page_args = dict(map(tuple, got["args"]))
        for k, v in args.items():
            if not same_value(page_args.get(k), v):
                return f"argument {k} of {name} is {v}, not {page_args.get(k)}"
        # What is open at the end fades out there; a name may be written on a box.
        if look["inside"] and end != oracle.last - oracle.first and not same_color(look["pixel"], [colors[name]]):
            return f"pixel of {name}: {look['pixel']}, not {colors[name]}"
    elif got and not any((s[2], s[0], s[1]) == (got["name"], got["begin"], got["end"]) for s in near):
        return f"expected nothing, not {got}"
    elif not near and same_color(look["pixel"], colors.values()):
        return f"expected nothing, but the pixel is {look['pixel']}"
    return None


def check_density(oracle, key, level, look, begin, end, colors):
    slices = oracle.within(key, level, begin, end)
    slices = [s for s in slices if min(s[1], end) > max(s[0], begin) or begin <= s[0] < end]
    got = look["density"]
    if not slices:
        return f"expected nothing, not {got}" if got else None
    if not got:
        return f"expected {len(slices)} slices, not nothing"
    cover = sum(max(0, min(s[1], end) - max(s[0], begin)) for s in slices) / (end - begin)
    count = sum(1 for s in slices if begin <= s[0] < end)
    longest = max(s[1] - s[0] for s in slices)
    names = {s[2] for s in slices if s[1] - s[0] == longest}
    if not cover - 1e-6 <= got["cover"] <= cover + 0.0011:
        return f"covered {cover}, not {got['cover']}"
    if (got["count"], got["longest"]) != (count, longest) or got["name"] not in names:
        return f"{count} slices, longest {longest} {names}, not {got}"
    if look["inside"] and cover > 0.4 and not same_color(look["pixel"], [colors[got["name"]]]):
        return f"pixel of {got['name']}: {look['pixel']}, not {colors[got['name']]}"
    return None


def place(oracle, about, rows, choose):
    row = choose.choice(rows)
    key = (about["rows"][row]["pid"], about["rows"][row]["tid"])
    level = choose.randrange(about["rows"][row]["levels"])
    slices = oracle.levels.get(key, {}).get(level, [])
    # Half of the places are within slices, since most of the time may be empty; some in full detail.
    if about["windows"] and choose.random() < 0.3:
        window = choose.choice(about["windows"])
        time = choose.randint(window["begin"], window["end"] - 1)
    elif slices and choose.random() < 0.5:
        s = choose.choice(slices)
        time = choose.randint(s[0], max(s[0], s[1] - 1))
    else:
        time = choose.randrange(int(about["end"]))
    length = max(30, about["end"] * 1.02 / 2 ** choose.uniform(0, 20))
    left = time - length * choose.uniform(0.1, 0.9)
    return row, level, left, left + length, time


def main():
    path, trace, number = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    oracle = Oracle(trace)
    choose = random.Random(20)
    wrong, exact, levels, pixels = [], 0, set(), 0
    with Chromium() as browser:
        page = browser.open(path)
        about = page.run(SETUP)
        rows = [i for i, r in enumerate(about["rows"]) if r.get("tid") is not None and r["levels"]]
        jobs = [place(oracle, about, rows, choose) for _ in range(number)]
        looks = []
        for i in range(0, number, 100):
            looks += page.run(f"placesAll({json.dumps(jobs[i:i + 100])})")
        for (row, level, left, right, time), look in zip(jobs, looks):
            key = (about["rows"][row]["pid"], about["rows"][row]["tid"])
            pixels += look["inside"]
            if look["exact"]:
                exact += 1
                problem = check_exact(oracle, key, level, time, look, about["colors"])
            else:
                begin = time // look["bin"] * look["bin"]
                levels.add(look["bin"])
                problem = check_density(oracle, key, level, look, begin, begin + look["bin"], about["colors"])
            if problem:
                wrong.append(f"row {key} level {level} at {time}, {right - left:.0f} ns in view: {problem}")
        complaints, requests = page.complaints(), page.requests()
    if about["everything"]:
        drawn = sum(n for i, r in enumerate(about["drawn"]) if about["rows"][i].get("tid") is not None for n in r)
        all_slices = sum(len(level) for levels_of in oracle.levels.values() for level in levels_of.values())
        points = sum(r["points"] for r in about["rows"])
        # Counters of threads are not in the timeline.
        for name, n in about["values"].items():
            if n != oracle.values[name]:
                wrong.append(f"{oracle.values[name]} values of {name}, not {n}")
        for what, got, expected in (("slices", drawn, all_slices), ("instants", points, oracle.count["i"]),
                                    ("ends of arrows", about["flows"], oracle.count["s"] + oracle.count["f"])):
            if got != expected:
                wrong.append(f"{expected} {what}, not {got}")
    wrong += [f"Chromium says: {c}" for c in complaints if "willReadFrequently" not in c] + [f"it asks for {r}" for r in requests]
    print(f"{number} places, {exact} in full detail, the others at {len(levels)} zoom levels; {pixels} pixels; {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line)
    sys.exit(bool(wrong))


main()
