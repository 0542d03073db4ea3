// SPDX-License-Identifier: BSD-2-Clause
// Histograms of durations: sixteen buckets for each power of two (user/base/histogram.h).

const BUCKET_GROUP = 16;

function bucketLeast(bucket) {
	const shift = Math.floor(bucket / BUCKET_GROUP);
	return shift < 2 ? bucket : (BUCKET_GROUP + bucket % BUCKET_GROUP) * 2 ** (shift - 1);
}

// Joins `by` neighbours; all buckets from the first to the last, the empty ones too.
function histogramBars(pairs, by) {
	const first = Math.floor(pairs[0] / by), last = Math.floor(pairs[pairs.length - 2] / by);
	const bars = new Array(last - first + 1).fill(0);
	for (let i = 0; i < pairs.length; i += 2)
		bars[Math.floor(pairs[i] / by) - first] += pairs[i + 1];
	return { bars, least: bucketLeast(first * by), end: bucketLeast((last + 1) * by), first: first * by };
}

function barsPath(bars, width, height) {
	const most = Math.max(...bars), step = width / bars.length;
	let path = "";
	bars.forEach((n, i) => {
		const h = n ? Math.max(1, Math.sqrt(n / most) * height) : 0;
		if (n)
			path += `M${(i * step).toFixed(2)} ${height}v${(-h).toFixed(2)}h${(step * 0.86).toFixed(2)}v${h.toFixed(2)}z`;
	});
	return path;
}

function sparkLine(pairs) {
	if (!pairs || !pairs.length)
		return null;
	const span = pairs[pairs.length - 2] - pairs[0];
	const { bars } = histogramBars(pairs, span > 256 ? 16 : span > 96 ? 8 : span > 24 ? 4 : 1);
	return makeSvg("svg", { class: "spark", viewBox: "0 0 92 18", "aria-hidden": "true", preserveAspectRatio: "none" },
		makeSvg("path", { d: barsPath(bars, 92, 18) }));
}

function showHistogram(row, pairs) {
	const panel = byId("histogram");
	panel.hidden = !pairs || !pairs.length;
	if (panel.hidden)
		return;
	const span = pairs[pairs.length - 2] - pairs[0], by = span > 480 ? 8 : span > 160 ? 4 : span > 60 ? 2 : 1;
	const { bars, first } = histogramBars(pairs, by), width = 900, height = 130;
	const place = (ns) => {
		let b = first;
		while (b < first + bars.length * by && bucketLeast(b + 1) <= ns)
			b++;
		return (b - first + 0.5) / by / bars.length * width;
	};
	const said = `${plural(row.count, "slice")}: from ${durationText(row.min_ns)} to ${durationText(row.max_ns)}, ` +
		`half of them at most ${durationText(row.p50_ns)}, 95% at most ${durationText(row.p95_ns)}, 99% at most ` +
		durationText(row.p99_ns);
	const svg = makeSvg("svg", { class: "bars", viewBox: `0 0 ${width} 168`, role: "img", "aria-label": said },
		makeSvg("path", { d: barsPath(bars, width, height), transform: "translate(0 18)" }),
		makeSvg("line", { class: "axis", x1: 0, x2: width, y1: height + 18.5, y2: height + 18.5 }));
	["p50", "p95", "p99"].forEach((name, i) => {
		const x = place(row[name + "_ns"]);
		svg.append(makeSvg("line", { x1: x, x2: x, y1: 14, y2: height + 18 }),
			makeSvg("text", { x: x > width - 100 ? x - 4 : x + 4, y: 11 + 12 * i, "text-anchor": x > width - 100 ? "end" : "start" },
				`${name} ${durationText(row[name + "_ns"])}`));
	});
	const step = Math.max(1, Math.round(bars.length / 7));
	for (let i = 0; i < bars.length; i += step)
		svg.append(makeSvg("text", { x: i / bars.length * width, y: height + 33 }, durationText(bucketLeast(first + i * by))));
	panel.replaceChildren(make("h3", {}, make("span", { className: "name" }, shortText(row.name, 200))), svg,
		make("p", { className: "hint" }, said + ". Durations are on a logarithmic scale; heights grow with the square " +
		"root of the number, so that a single slow slice can be seen."));
}
