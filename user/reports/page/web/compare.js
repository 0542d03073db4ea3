// SPDX-License-Identifier: BSD-2-Clause
// The slowest slices beside the median one, and the flame graphs.

const SVG_ROW = 17, SVG_TOP = 30;

// A comparison as `proftrace report --slowest` has it. What differs from the median is a list of one text.
function comparisonTable(comparison) {
	const cell = (value, i) => {
		if (!i)
			return make("th", { scope: "row", className: "text label" }, value);
		return Array.isArray(value) ? make("td", { className: "differs", title: "differs from the median" }, value[0])
			: make("td", {}, value);
	};
	const heads = comparison.columns.map((text, i) => make("th", { scope: "col", className: i ? "" : "text" },
		make("span", {}, shortText(text, 120))));
	return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `Comparison: ${shortText(comparison.columns[0], 120)}` },
		make("table", { className: "comparison" }, make("thead", {}, make("tr", {}, ...heads)),
			make("tbody", {}, ...comparison.rows.map((row) => make("tr", {}, ...row.map(cell))))));
}

function showComparisons(timeline) {
	const trace = timeline.trace, part = byId("slowest");
	const comparisons = trace.data.slowest.filter((comparison) => comparison !== null);
	if (!trace.shown.length && !comparisons.length)
		return;
	byId("part-slowest").hidden = byId("link-slowest").hidden = false;
	const add = (title, color, ...rest) => part.append(make("h3", {}, color ? swatch(color) : null,
		make("span", { className: "name" }, shortText(title, 200))), ...rest);
	const described = (comparison) => [comparisonTable(comparison), make("p", { className: "hint" },
		`${plural(comparison.count, "slice")}; what is red differs from the median slice` +
		(comparison.left_out ? `; ${plural(comparison.left_out, "more row")} left out` : "") + ".")];
	const rest = new Set(comparisons);
	for (const kind of [...new Set(trace.shown.map((s) => s.kind))]) {
		const name = trace.names[kind].name;
		const own = comparisons.find((comparison) => rest.has(comparison) && comparison.columns[0] === `Slice ${name}`);
		rest.delete(own);
		add(name, timeline.painter.kinds[kind], instanceButtons(timeline, kind), ...(own ? described(own) : []));
	}
	for (const comparison of rest)
		add(comparison.columns[0], null, ...described(comparison));
}

function instanceButtons(timeline, kind) {
	const buttons = timeline.trace.shown.filter((s) => s.kind === kind).map((s) => {
		const button = make("button", { type: "button", title: "Show it in the timeline" },
			`${s.median ? "median" : "slow"} ${durationText(s.duration)}`);
		button.addEventListener("click", () => {
			goInstance(timeline, s);
			byId("timeline").focus();
		});
		return button;
	});
	return make("div", { className: "tools" }, ...buttons);
}

function goInstance(timeline, instance) {
	const around = instance.duration * 0.2 + 10;
	for (const level of instance.row.levels) {
		const found = level.slices.find((s) => s.begin === instance.begin && s.end - s.begin === instance.duration &&
			s.kind === instance.kind);
		if (found)
			timeline.select(found);
	}
	timeline.reveal(instance.row);
	timeline.show(instance.begin - around, instance.begin + instance.duration + around);
}

// --- the flame graph ---

// The same elements as in an SVG file of `proftrace report --flame`, so that the same script works on them.
function flameSvg(flame) {
	const height = SVG_TOP + flame.rows * SVG_ROW + 30, frames = makeSvg("svg", { id: "frames", x: 10, y: SVG_TOP,
		height: flame.rows * SVG_ROW });
	for (const [name, kind, depth, begin, weight] of flame.frames) {
		const y = (flame.rows - 1 - depth) * SVG_ROW, x = `${100 * begin / flame.total}%`, width = 100 * weight / flame.total;
		const text = makeSvg("text", { x, y: y + SVG_ROW - 5 }), title = makeSvg("title", {});
		title.textContent = `${name} (${countText(weight)} samples, ${width.toFixed(2)}%)`;
		frames.append(makeSvg("g", {}, title, makeSvg("rect", { x, y, width: `${width}%`, class: kind }), text));
	}
	const button = (id, x, label, right) => {
		const text = makeSvg("text", { id, class: right ? "button right" : "button", x, y: 18, tabindex: 0, role: "button" });
		if (right)
			text.setAttribute("dx", -10);
		text.textContent = label;
		return text;
	};
	return makeSvg("svg", { class: "flame", height, role: "group", "aria-label": "Flame graph" },
		makeSvg("g", { id: "controls" }, button("reset", 10, "reset zoom", false), button("search", "100%", "search", true)),
		makeSvg("text", { id: "matched", class: "about right", x: "100%", dx: -110, y: 18 }), frames,
		makeSvg("text", { id: "details", x: 10, y: height - 10 }));
}

// For those who do not see the picture: what was running most of the time.
function flameTop(flame) {
	const sums = new Map();
	for (const [name, kind, , , weight] of flame.frames)
		if (kind !== "o0")
			sums.set(name, Math.max(sums.get(name) || 0, weight));
	return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 10);
}

const flameTitle = (data, name) => name !== null ? `Samples within slices ${shortText(name, 120)}`
	: data.selected ? "All samples within what is selected" : "All samples";

function flameHint(data, { graph, unnamed }) {
	const part = graph.total < data.samples ? ` of ${countText(data.samples)}` : "";
	return `${countText(graph.total)}${part} samples of call stacks` +
		(unnamed ? `, ${percentText(100 * unnamed / graph.total)}% with functions of unknown name` : "") +
		(graph.cut ? `; ${plural(graph.cut, "sample")} cut, with too deep or too many stacks` : "") +
		(graph.left_out ? `; ${plural(graph.left_out, "frame")} too narrow` : "") +
		". Width is time, not order." + (graph.total ? " Most in one place: " + flameTop(graph).map(([name, n]) =>
		`${shortText(name, 60)} ${percentText(100 * n / graph.total)}%`).join(", ") + "." : "");
}

// One at a time, of all samples or of those within slices of a name; each is made when it is shown for the first time.
function showFlameGraphs(data) {
	if (!data.flames.length)
		return;
	byId("part-flame").hidden = byId("link-flame").hidden = false;
	const flames = data.flames.filter((flame) => flame.graph.total), empty = data.flames.filter((flame) => !flame.graph.total);
	const panel = make("div", { className: "panel" }), hint = make("p", { className: "hint", role: "status" }), made = new Map();
	const choice = make("select", { id: "flame-of", "aria-label": "Samples of the flame graph" },
		...flames.map((flame, i) => make("option", { value: String(i) },
			`${flameTitle(data, flame.name)} (${countText(flame.graph.total)})`)));
	const choose = () => {
		const flame = flames[choice.selectedIndex], before = made.get(flame), svg = before ? before.svg : flameSvg(flame.graph);
		panel.replaceChildren(svg);
		hint.textContent = flameHint(data, flame);
		if (before)
			before.draw();
		else
			made.set(flame, { svg, draw: showFlame(svg, () => panel.clientWidth - 16, false) });
	};
	choice.addEventListener("change", choose);
	byId("flame").append(make("div", { className: "tools" }, choice), panel, hint);
	if (empty.length)
		byId("flame").append(make("p", { className: "hint" }, "No sample is within slices of these names: " +
			empty.map((flame) => shortText(flame.name, 60)).join(", ") + "."));
	choose();
}
