// SPDX-License-Identifier: BSD-2-Clause
// What is known about a place of the timeline, about the selected slice and about the selected range.

const STATE_NAMES = ["running", "runnable", "blocked"];

function swatch(color) {
	const box = make("span", { className: "swatch" });
	box.style.background = color;
	return box;
}

function lines(title, color, rest) {
	const list = [make("div", {}, color ? swatch(color) : null, make("b", {}, shortText(title, 200)))];
	for (const line of rest)
		list.push(make("div", {}, line));
	return list;
}

function sliceLines(trace, slice) {
	const rest = [durationText(slice.end - slice.begin) + (slice.how ? " (without an end of its own)" : "")];
	for (const [key, value] of trace.args(slice.raw, 6).slice(0, 8))
		rest.push(`${shortText(key, 40)} = ${shortText(String(value), 100)}`);
	return rest;
}

function tipContent(trace, place, painter) {
	if (place.slice)
		return lines(trace.names[place.slice.kind].name, painter.kinds[place.slice.kind], sliceLines(trace, place.slice));
	if (place.point) {
		const args = trace.args(place.point.raw, 3).map(([k, v]) => `${shortText(k, 40)} = ${shortText(String(v), 100)}`);
		return lines(trace.names[place.point.kind].name, null, [durationText(place.point.at), ...args]);
	}
	if (place.isState)
		return stateLines(trace, place);
	if (place.counter)
		return counterLines(place, trace);
	if (place.density && !trace.windowAt(place.row, place.time)) {
		const d = place.density;
		return lines(trace.names[d.kind].name, painter.kinds[d.kind], [
			`the longest of what is here: ${durationText(d.longest)}`,
			`${plural(d.count, "slice")} begin within ${durationText(d.width)}, ` +
			`${(100 * Math.min(1, d.cover)).toFixed(1)}% of which is covered`]);
	}
	return null;
}

function stateLines(trace, place) {
	const row = place.row, i = Math.floor(place.time / trace.width);
	const at = firstAfter(row.exactStates, "begin", place.time) - 1, exact = row.exactStates[at];
	if (exact && exact.end >= place.time)
		return lines(STATE_NAMES[exact.state], null, [durationText(exact.end - exact.begin)]);
	if (!row.states || trace.everything || i < 0 || i >= row.states[0].length)
		return null;
	return lines("states of the thread", null, STATE_NAMES.map((name, s) =>
		`${(100 * Math.min(1, row.states[s][i])).toFixed(1)}% ${name}`));
}

function counterLines(place, trace) {
	const exact = place.counter.exact[firstAfter(place.counter.exact, "at", place.time) - 1];
	if (exact && trace.windowAt(place.counter, place.time))
		return lines(place.item.title, null, [`${exact.value}`, `since ${durationText(exact.at)}`]);
	const p = place.counter.points[firstAfter(place.counter.points, "begin", place.time) - 1];
	if (p && place.counter.rate)
		return lines(place.item.title, null, [countText(p.last), `on average in ${durationText(trace.width)}`]);
	return p ? lines(place.item.title, null, [`${countText(p.last)}`,
		`${plural(p.count, "value")} from ${countText(p.min)} to ${countText(p.max)}`]) : null;
}

// --- the selected slice ---

function selfTime(trace, s) {
	const inner = s.row.levels[s.level + 1];
	let sum = 0;
	for (const child of inner ? inner.slices : [])
		if (child.begin >= s.begin && child.end <= s.end)
			sum += child.end - child.begin;
	return s.end - s.begin - sum;
}

function statesWithin(row, from, to) {
	const sums = [0, 0, 0];
	for (const s of row.exactStates)
		sums[s.state] += Math.max(0, Math.min(s.end, to) - Math.max(s.begin, from));
	return sums;
}

function showDetails(timeline) {
	const panel = byId("about-slice"), s = timeline.state.selected, trace = timeline.trace;
	panel.hidden = !s;
	if (!s)
		return;
	const kind = trace.names[s.kind], list = make("dl", {});
	const add = (key, value) => list.append(make("dt", {}, key), make("dd", {}, value));
	add("duration", durationText(s.end - s.begin));
	add("begins at", durationText(s.begin));
	if (trace.windowAt(s.row, s.begin) && trace.windowAt(s.row, s.end))
		add("self", durationText(selfTime(trace, s)));
	add("thread", rowTitle(s.row));
	add("process", processTitle(s.row));
	if (kind.category)
		add("category", kind.category);
	if (s.how)
		add("end", s.how === 1 ? "its end was lost: it ended before this" : "it has no end");
	const states = statesWithin(s.row, s.begin, s.end);
	STATE_NAMES.forEach((name, i) => states[i] && add(name, durationText(states[i])));
	const isState = (key) => STATE_NAMES.some((name) => key === `${name}_ns`) && states.some(Boolean);
	for (const [key, value] of trace.args(s.raw, 6).filter(([name]) => !isState(name)))
		add(key, String(value));
	panel.replaceChildren(make("h3", {}, swatch(timeline.painter.kinds[s.kind]),
		make("span", { className: "name" }, shortText(kind.name, 400))), list);
}

// --- the selected range ---

// By name: what lies in the range, of what is in full detail. Slices that go beyond the range count with their part.
function rangeRows(trace, range) {
	const sums = new Map();
	for (const row of trace.rows)
		for (const level of row.levels) {
			const list = level.slices, n = firstAfter(list, "begin", range.to);
			for (let i = 0; i < n; i++) {
				const s = list[i];
				if (s.end < range.from)
					continue;
				const part = Math.min(s.end, range.to) - Math.max(s.begin, range.from);
				const sum = sums.get(s.kind) || { kind: s.kind, count: 0, total: 0, longest: 0 };
				sum.count++;
				sum.total += part;
				sum.longest = Math.max(sum.longest, s.end - s.begin);
				sums.set(s.kind, sum);
			}
		}
	return [...sums.values()].sort((a, b) => b.total - a.total);
}

// By thread, from the densities: to the borders of their parts.
function rangeThreads(trace, range) {
	const list = [];
	for (const row of trace.rows) {
		if (!row.levels.length)
			continue;
		const d = row.levels[0].density.level(0);
		let cover = 0, count = 0;
		for (let i = Math.max(0, Math.floor(range.from / d.width)); i < d.n && i * d.width < range.to; i++) {
			cover += d.cover[i] * d.width;
			for (const level of row.levels)
				count += level.density.level(0).count[i];
		}
		if (count || cover)
			list.push({ row, cover: Math.min(cover, range.to - range.from), count });
	}
	return list.sort((a, b) => b.cover - a.cover);
}

function simpleTable(heads, rows) {
	const cell = (tag, text, i) => make(tag, i ? {} : { className: "text" }, text);
	return make("div", { className: "scroll" }, make("table", {},
		make("thead", {}, make("tr", {}, ...heads.map((head, i) => make("th", { scope: "col", className: i ? "" : "text" },
			make("span", {}, head))))),
		make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text, i) => cell("td", text, i)))))));
}

function showRange(timeline) {
	const panel = byId("range"), range = timeline.state.range, trace = timeline.trace;
	panel.hidden = !range;
	if (!range)
		return;
	const rows = rangeRows(trace, range).slice(0, 200), length = range.to - range.from;
	const whole = trace.everything || trace.windows.some((w) => w.begin <= range.from && w.end >= range.to);
	const zoom = make("button", { type: "button" }, "Zoom");
	zoom.addEventListener("click", () => timeline.fit());
	panel.replaceChildren(make("h3", {}, `${durationText(length)} from ${durationText(range.from)}`, zoom),
		rows.length ? simpleTable(["Slice", "Count", "In the range", "% of it", "Longest"], rows.map((r) =>
			[shortText(trace.names[r.kind].name, 120), countText(r.count), durationText(r.total),
				percentText(100 * r.total / length), durationText(r.longest)])) : "",
		make("p", { className: "hint" }, whole ? "Everything in the range, each slice with the part that is in it."
			: "By name, only what is in full detail in the range. By thread, everything, to the borders of parts of " +
			durationText(trace.width) + ":"),
		whole ? "" : simpleTable(["Thread", "Slices", "Covered", "%"], rangeThreads(trace, range).slice(0, 100).map((r) =>
			[`${processTitle(r.row)}, ${rowTitle(r.row)}`, countText(r.count), durationText(r.cover),
				percentText(100 * r.cover / length)])));
}
