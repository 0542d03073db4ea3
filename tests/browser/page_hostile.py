# SPDX-License-Identifier: BSD-2-Clause
"""
page_hostile.py make TRACE.json
page_hostile.py check PAGE.html

A trace whose names try to become markup or script, to break out of what they are in, or to be too long; and whether
its page shows them as text and runs nothing of them.
"""
import json
import sys

from chromium import Chromium

MEGABYTE = "m" * 1000000
NAMES = [
    "</script><script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>", "<!--<script>", "]]>",
    "\"quotes\" 'and' `ticks`", "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd", "__proto__", "constructor",
    "\\u003c/script\\u003e", "${window.pwned=1}", "\u2028line\u2029", "a\x00b\x1bc", "javascript:window.pwned=1",
    "&lt;b&gt;", "</title><script>window.pwned=1</script>", "' onload='window.pwned=1",
]


def make(path):
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": NAMES[0]}},
              {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": NAMES[1]}}]
    at = 0
    for name in [*NAMES, MEGABYTE]:
        args = {NAMES[0]: NAMES[1], "__proto__": NAMES[5], "text": name}
        events += [{"ph": "X", "pid": 1, "tid": 2, "ts": at, "dur": 20, "name": name, "cat": NAMES[1], "args": args},
                   {"ph": "i", "s": "t", "pid": 1, "tid": 2, "ts": at + 1, "name": name, "args": args},
                   {"ph": "C", "pid": 1, "ts": at + 2, "name": name, "args": {NAMES[0]: at}}]
        at += 40
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


def check(path):
    wrong = []
    with Chromium() as browser:
        page = browser.open(path)
        # Everything that puts names into the page.
        page.run("""(() => {
            const { timeline, trace } = proftracePage;
            for (const button of document.querySelectorAll('#parts button')) {
                button.click();
                for (const name of document.querySelectorAll('#table tbody button')) name.click();
            }
            for (const row of trace.rows) {
                for (const level of row.levels) for (const slice of level.slices) {
                    timeline.go(slice);
                    byId('tip').replaceChildren(...tipContent(trace, { slice }, timeline.painter));
                }
                for (const point of row.points)
                    byId('tip').replaceChildren(...tipContent(trace, { point }, timeline.painter));
            }
            timeline.selectRange(0, trace.end);
            document.querySelector('#parts button').click();
        })()""")
        page.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        shown = page.run("[...document.querySelectorAll('#table tbody button')].map((b) => b.textContent)")
        for name in NAMES[:5]:
            if name not in shown:
                wrong.append(f"{name!r} is not shown as it is: {shown}")
        if not any(name.startswith("mmmm") for name in shown):
            wrong.append("the long name is not shown")
        elements = page.run("[...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].sort()")
        for element in ("img", "iframe", "object", "b"):
            if element in elements and element != "b":
                wrong.append(f"there is an element {element}")
        for what, expected in (("typeof window.pwned", "undefined"), ("document.scripts.length", 2),
                               ("Object.keys(Object.prototype).length", 0)):
            if page.run(what) != expected:
                wrong.append(f"{what} is {page.run(what)}, not {expected}")
        wrong += [f"Chromium says: {c}" for c in page.complaints()] + [f"it asks for {r}" for r in page.requests()]
        # The policy forbids what a mistake of the page would permit.
        page.run("""new Promise((done) => {
            const script = document.createElement('script');
            script.textContent = 'window.pwned = 2';
            document.body.append(script);
            const image = new Image();
            image.onerror = image.onload = done;
            image.src = 'http://127.0.0.1:9/x.png';
        })""")
        if page.run("typeof window.pwned") != "undefined":
            wrong.append("the policy permits another script")
        if sum("Content Security Policy" in c for c in page.complaints()) < 2:
            wrong.append(f"the policy was not used: {page.complaints()}")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


{"make": make, "check": check}[sys.argv[1]](sys.argv[2])
