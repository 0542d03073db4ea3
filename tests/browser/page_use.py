# SPDX-License-Identifier: BSD-2-Clause
"""
page_use.py PAGE.html REPORT.json

Uses a page as people do, with keys, mouse and touch, and compares its table with `report --format json`.
"""
import json
import sys

from chromium import Chromium

wrong = []


def expect(what, condition):
    if not condition:
        wrong.append(what)


def view(page):
    return page.run("proftracePage.timeline.state.view")


def length(v):
    return v["to"] - v["from"]


def keys(page):
    page.run("byId('timeline').scrollIntoView({ block: 'center', behavior: 'instant' })")
    page.run("byId('timeline').focus()")
    before = view(page)
    page.key("w")
    zoomed = view(page)
    expect("W zooms in", length(zoomed) < length(before))
    page.key("d")
    expect("D pans", view(page)["from"] > zoomed["from"] and abs(length(view(page)) - length(zoomed)) < 1)
    page.key("a")
    page.key("s")
    expect("S zooms out", length(view(page)) > length(zoomed))
    page.run("proftracePage.timeline.showAll()")
    page.key("ArrowRight")
    expect("an arrow selects a slice", page.run("proftracePage.timeline.state.selected !== null"))
    expect("which is said", page.run("byId('live').textContent.includes('level')"))
    expect("and its details are shown", not page.run("byId('about-slice').hidden"))
    first = page.run("proftracePage.timeline.state.selected.begin")
    page.key("ArrowRight")
    expect("and the next one", page.run("proftracePage.timeline.state.selected.begin") > first)
    page.key("f")
    s = page.run("(({ begin, end }) => ({ begin, end }))(proftracePage.timeline.state.selected)")
    v = view(page)
    expect("F shows it", v["from"] < s["begin"] and v["to"] > s["end"] and length(v) < 3 * (s["end"] - s["begin"]) + 50)
    page.key("r")
    expect("R makes it the range", not page.run("byId('range').hidden"))
    page.key("Escape")
    expect("Escape ends both", page.run("byId('range').hidden && byId('about-slice').hidden"))
    page.key("?")
    expect("? lists the keys", page.run("byId('help').open"))
    page.key("Escape")
    page.run("byId('help').close()")
    page.key("/")
    expect("/ goes to the search", page.run("document.activeElement.id") == "find")


def search(page, name):
    page.ask("Input.insertText", text=name)
    found = page.run("proftracePage.timeline.found.length")
    wanted = page.run(f"""proftracePage.trace.rows.reduce((n, row) => n + row.levels.reduce((m, level) => m +
        level.slices.filter((s) => proftracePage.trace.names[s.kind].name.toLowerCase().includes({json.dumps(name)})).length,
        0), 0)""")
    expect(f"the search finds {wanted} slices, not {found}", found == wanted and found > 0)
    page.key("Enter")
    expect("Enter goes to the first", page.run("proftracePage.timeline.foundAt") == 0)
    page.key("Enter", modifiers=8)
    expect("Shift and Enter to the last", page.run("proftracePage.timeline.foundAt") == found - 1)
    page.run("byId('find').value = ''; proftracePage.timeline.search('')")


def mouse(page):
    page.run("proftracePage.timeline.showAll()")
    box = page.run("(({ x, y, width }) => ({ x, y, width }))(byId('timeline').getBoundingClientRect())")
    x, y = box["x"] + 300, box["y"] + 60
    before = view(page)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300, modifiers=2)
    zoomed = view(page)
    expect("Ctrl and the wheel zoom", length(zoomed) < length(before))
    at = before["from"] + length(before) * 300 / box["width"]
    now = zoomed["from"] + length(zoomed) * 300 / box["width"]
    expect("at the pointer", abs(at - now) < length(before) / 500)
    for drag, modifiers in (("pan", 0), ("range", 8)):
        page.mouse("mousePressed", x, y, button="left", clickCount=1, modifiers=modifiers)
        page.mouse("mouseMoved", x + 50, y, button="left", buttons=1, modifiers=modifiers)
        page.mouse("mouseMoved", x + 100, y, button="left", buttons=1, modifiers=modifiers)
        page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1, modifiers=modifiers)
        if drag == "pan":
            expect("a drag pans", view(page)["from"] < zoomed["from"])
    chosen = page.run("proftracePage.timeline.state.range")
    expect("Shift and a drag select a range", chosen is not None and
           abs(length(chosen) - length(view(page)) * 100 / box["width"]) < length(view(page)) / 100)
    expect("which has its own table", page.run("document.querySelectorAll('#range tbody tr').length") > 0)


def flames(page):
    """Each choice draws its own frames, in which the script zooms and which fill the width."""
    wanted = page.run("proftracePage.data.flames.map((f) => f.graph).filter((g) => g.total).map((g) => g.frames.length)")
    for i in [*range(len(wanted)), 0]:
        drawn = page.run(f"""(() => {{ const choice = byId('flame-of');
            choice.selectedIndex = {i};
            choice.dispatchEvent(new Event('change'));
            const all = document.querySelector('#flame #frames rect');
            return {{ frames: document.querySelectorAll('#flame #frames g').length,
                share: all.getBoundingClientRect().width / byId('flame').clientWidth }}; }})()""")
        expect(f"flame graph {i}: {wanted[i]} frames as wide as the page, not {drawn}",
               drawn["frames"] == wanted[i] and 0.9 < drawn["share"] <= 1)


def touch(page):
    page.run("proftracePage.timeline.showAll()")
    box = page.run("(({ x, y }) => ({ x, y }))(byId('timeline').getBoundingClientRect())")
    before, y = view(page), box["y"] + 60
    points = lambda *xs: [{"x": box["x"] + x, "y": y, "id": i} for i, x in enumerate(xs)]
    page.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=points(150, 250))
    page.ask("Input.dispatchTouchEvent", type="touchMove", touchPoints=points(80, 320))
    page.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    expect("two fingers zoom", length(view(page)) < 0.8 * length(before))


def table(page, report):
    rows = page.run("""[...document.querySelectorAll('#table tbody tr')].map((tr) =>
        [...tr.cells].map((cell) => cell.textContent))""")
    heads = page.run("[...document.querySelectorAll('#table thead th')].map((th) => th.textContent)")
    count, name = heads.index("Count"), heads.index("Name")
    got = sorted((row[name], int(row[count].replace(",", ""))) for row in rows)
    expect(f"the table is that of report: {got}", got == sorted((r["name"], r["count"]) for r in report["slices"]))
    page.run(f"document.querySelectorAll('#table thead button')[{[h for h in heads if h != 'Distribution'].index('Count')}].click()")
    counts = page.run(f"""[...document.querySelectorAll('#table tbody tr')].map((tr) =>
        Number(tr.cells[{count}].textContent.replaceAll(',', '')))""")
    expect(f"a click sorts: {counts}", counts == sorted(counts, reverse=True))
    page.run("byId('filter').focus()")
    page.ask("Input.insertText", text=report["slices"][0]["name"])
    expect("a filter selects rows", 0 < page.run("document.querySelectorAll('#table tbody tr').length") <= len(rows))
    page.run("document.querySelector('#table tbody button').click()")
    label = page.run("document.querySelector('#histogram svg').getAttribute('aria-label')")
    expect(f"each name has a histogram: {label}", "half of them" in label)
    bad = page.run("""proftracePage.data.histograms.some((part, i) => part.some((pairs, at) => {
        const row = proftracePage.data.report[['slices', 'async_slices', 'frames'][i]][at];
        return pairs.filter((n, k) => k % 2).reduce((a, b) => a + b, 0) !== row.count; }))""")
    expect("which has all of its slices", not bad)


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)
    with Chromium() as browser:
        page = browser.open(sys.argv[1])
        about = page.run("byId('about').textContent")
        expect(f"one process, however many rows: {about}", " 1 process" in about)
        keys(page)
        search(page, report["slices"][1]["name"].lower())
        mouse(page)
        table(page, report)
        flames(page)
        touch(browser.open(sys.argv[1], 400, 900, dark=True, touch=True))
        unnamed = page.run("""[...document.querySelectorAll('button, input, canvas, svg[role=img], section, dialog')]
            .filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))
            .map((e) => e.id || e.localName)""")
        expect(f"everything has a name for screen readers: {unnamed}", not unnamed)
        wrong.extend(f"Chromium says: {c}" for c in page.complaints())
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main()
