// SPDX-License-Identifier: BSD-2-Clause
// Draws the timeline: which row is where, and what it shows in the time between `view.from` and `view.to`.

const AXIS = 24, PROCESS = 24, TITLE = 17, LEVEL = 18, STATES = 6, POINTS = 10, COUNTER = 46, GAP = 5;
const HUES = [212, 28, 146, 275, 4, 188, 52, 322, 104, 242, 16, 166, 298, 76];

const isDark = window.matchMedia("(prefers-color-scheme: dark)");

// A name has the same colour everywhere (FNV-1a).
function nameHue(name) {
	let hash = 2166136261;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
	return [HUES[(hash >>> 16) % HUES.length], (hash >>> 8) % 3];
}

function nameColor(name) {
	const [hue, shade] = nameHue(name);
	return isDark.matches ? `hsl(${hue} 38% ${31 + 4 * shade}%)` : `hsl(${hue} 62% ${70 + 4 * shade}%)`;
}

function processTitle(item) {
	const name = item.process || (item.pid === undefined ? "Machine" : "process");
	return item.pid === undefined ? name : `${name} ${item.pid}`;
}

function rowTitle(row) {
	if (row.tid !== undefined)
		return `${row.name || "thread"} ${row.tid}`;
	return row.name ? `${row.name} (asynchronous${row.lane ? `, ${row.lane + 1}` : ""})` : row.pid === undefined ? "of the machine" : "of the process";
}

const counterTitle = (c) => [c.name, c.key].filter(Boolean).join(" ") + (c.tid ? ` (thread ${c.tid})` : "") +
	(c.unit || c.rate ? `, ${[c.unit, c.rate ? "per second" : ""].filter(Boolean).join(" ")}` : "");

// From the top: processes, their threads with their counters, asynchronous slices, other counters.
function layOut(trace) {
	const items = [], groups = new Map();
	let y = 0;
	const addCounter = (counter) => {
		items.push({ type: "counter", counter, y, height: COUNTER, title: counterTitle(counter) });
		y += COUNTER;
	};
	for (const item of [...trace.rows, ...trace.counters]) {
		const key = `${item.trace}/${item.pid === undefined ? -1 : item.pid}`;
		if (!groups.has(key))
			groups.set(key, { item, rows: [], counters: [] });
		groups.get(key)[item.levels ? "rows" : "counters"].push(item);
	}
	const order = [...groups.values()].sort((a, b) => a.item.trace - b.item.trace ||
		(a.item.pid === undefined ? 1e12 : a.item.pid) - (b.item.pid === undefined ? 1e12 : b.item.pid));
	for (const group of order) {
		const rows = group.rows.filter((r) => r.levels.length || r.hasInstants || r.states);
		const lane = (r) => r.tid === undefined ? 1 : 0;
		rows.sort((a, b) => lane(a) - lane(b) || (a.tid || 0) - (b.tid || 0) || (a.lane || 0) - (b.lane || 0));
		if (!rows.length && !group.counters.length)
			continue;
		items.push({ type: "process", y, height: PROCESS, title: processTitle(group.item) +
			(trace.data.report.files.length > 1 ? ` \u2014 ${trace.data.report.files[group.item.trace].path}` : "") });
		y += PROCESS;
		for (const row of rows) {
			/* Lanes of the same name lie close together. */
			const title = row.lane ? 0 : TITLE;
			const item = { type: "row", row, y, title: title ? rowTitle(row) : "", top: y + title };
			if (row.lane)
				item.y = item.top = y -= GAP - 1;
			item.points = item.top + (row.states ? STATES + 1 : 0);
			item.levels = item.points + (row.hasInstants ? POINTS + 1 : 0);
			item.height = item.levels - item.y + row.levels.length * LEVEL + GAP;
			items.push(item);
			y += item.height;
			group.counters.filter((c) => c.tid && c.tid === row.tid).forEach(addCounter);
		}
		const placed = new Set(rows.map((row) => row.tid || 0));
		group.counters.filter((c) => !c.tid || !placed.has(c.tid)).forEach(addCounter);
	}
	return { items, height: y };
}

class Painter {
	constructor(canvas, trace) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.trace = trace;
		this.layout = layOut(trace);
		this.readColors();
		isDark.addEventListener("change", () => this.readColors());
	}

	readColors() {
		const style = getComputedStyle(document.documentElement);
		this.colors = {};
		for (const name of ["page", "panel", "text", "quiet", "line", "soft", "accent", "bad", "hit", "running",
			"runnable", "blocked"])
			this.colors[name] = style.getPropertyValue("--" + name).trim();
		this.kinds = this.trace.names.map((kind) => nameColor(kind.name));
		this.ink = isDark.matches ? "#f4f4f8" : "#16161a";
	}

	resize() {
		const ratio = this.ratio = window.devicePixelRatio || 1;
		this.width = this.canvas.clientWidth;
		this.height = this.canvas.clientHeight;
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	// On a border of pixels, so that edges are sharp.
	snap(x) {
		return Math.round(x * this.ratio) / this.ratio;
	}

	// A box of at least a pixel, with a gap behind it where there is space for one.
	fillBox(x, y, width, height) {
		const left = this.snap(x), right = this.snap(x + width), pixel = 1 / this.ratio;
		const gap = right - left > 3 ? pixel : 0;
		this.context.fillRect(left, y, Math.max(pixel, right - left - gap), height);
	}

	x(time) {
		return (time - this.view.from) * this.scale;
	}

	// The zoom level of densities, whose parts are a pixel or more.
	densityLevel() {
		return Math.max(0, Math.ceil(Math.log2(1 / (this.trace.width * this.scale)) - 1e-9));
	}

	draw(state) {
		const c = this.context;
		this.view = state.view;
		this.scale = this.width / (state.view.to - state.view.from);
		this.state = state;
		c.fillStyle = this.colors.panel;
		c.fillRect(0, 0, this.width, this.height);
		this.drawGrid();
		for (const item of this.layout.items) {
			const y = item.y - state.scroll + AXIS;
			if (y + item.height < AXIS || y > this.height)
				continue;
			if (item.type === "process")
				this.drawProcess(item, y);
			else if (item.type === "row")
				this.drawRow(item, y - item.y);
			else
				this.drawCounter(item, y);
		}
		this.drawFlows();
		this.drawMarks();
		this.drawAxis();
	}

	// --- around the rows ---

	// Steps of the axis: 1, 2, 5, 10, ... at least 90 pixels apart.
	axisStep() {
		const least = 90 / this.scale, power = 10 ** Math.floor(Math.log10(least));
		return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least);
	}

	eachTick(visit) {
		const step = this.axisStep();
		for (let t = Math.ceil(this.view.from / step) * step; t < this.view.to; t += step)
			visit(t, this.x(t), step);
	}

	drawGrid() {
		const c = this.context;
		c.fillStyle = this.colors.soft;
		this.eachTick((t, x) => c.fillRect(Math.round(x), AXIS, 1, this.height));
		if (this.trace.everything)
			return;
		/* Where there is full detail. */
		c.globalAlpha = 0.09;
		c.fillStyle = this.colors.accent;
		for (const w of this.trace.windows)
			c.fillRect(this.x(w.begin), AXIS, Math.max(2, (w.end - w.begin) * this.scale), this.height);
		c.globalAlpha = 1;
	}

	drawAxis() {
		const c = this.context;
		c.fillStyle = this.colors.soft;
		c.fillRect(0, 0, this.width, AXIS);
		c.fillStyle = this.colors.quiet;
		c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
		c.textBaseline = "middle";
		this.eachTick((t, x, step) => {
			c.fillRect(Math.round(x), AXIS - 6, 1, 6);
			c.fillText(this.tickText(t, step), x + 4, AXIS / 2 - 1);
		});
		c.fillStyle = this.colors.bad;
		for (const loss of this.trace.losses)
			c.fillRect(this.x(loss.at) - 1, AXIS - 9, 3, 9);
		c.fillStyle = this.colors.line;
		c.fillRect(0, AXIS - 1, this.width, 1);
	}

	tickText(t, step) {
		const [unit, size] = this.view.to < 1e3 ? ["ns", 1] : this.view.to < 1e6 ? ["\u00b5s", 1e3]
			: this.view.to < 1e9 ? ["ms", 1e6] : ["s", 1e9];
		const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
		return `${(t / size).toFixed(digits)} ${unit}`;
	}

	drawProcess(item, y) {
		const c = this.context;
		c.fillStyle = this.colors.soft;
		c.fillRect(0, y, this.width, PROCESS - 2);
		c.fillStyle = this.colors.text;
		c.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
		c.textBaseline = "middle";
		c.fillText(shortText(item.title, Math.floor(this.width / 7)), 8, y + PROCESS / 2 - 1);
	}

	drawTitle(title, y, isCurrent) {
		const c = this.context;
		c.fillStyle = isCurrent ? this.colors.accent : this.colors.quiet;
		c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
		c.textBaseline = "middle";
		c.fillText(shortText(title, Math.floor(this.width / 6.5)), 8, y + TITLE / 2 + 1);
	}

	// --- rows ---

	drawRow(item, shift) {
		const c = this.context, row = item.row;
		if (item.title)
			this.drawTitle(item.title + (row.lost ? ` \u2014 ${plural(row.lost, "mark")} lost` : ""), item.y + shift,
				this.state.row === row);
		if (row.states)
			this.drawStates(row, item.top + shift);
		if (row.hasInstants)
			this.drawPoints(row, item.points + shift);
		for (let i = 0; i < row.levels.length; i++)
			this.drawLevel(row, i, item.levels + shift + i * LEVEL);
		c.fillStyle = this.colors.bad;
		for (const loss of this.trace.losses) {
			if (loss.row === row)
				c.fillRect(this.x(loss.at) - 1, item.top + shift, 2, item.height - (item.top - item.y) - GAP);
		}
	}

	// Calls `density` and `exact` for the parts of the view that have no full detail, and for those that have.
	split(row, density, exact) {
		const view = this.view;
		this.left = 0;
		this.right = this.width;
		if (this.trace.everything)
			return exact(view.from, view.to);
		let at = view.from;
		for (const w of this.trace.windows) {
			if (w.trace !== row.trace || w.end < view.from || w.begin > view.to)
				continue;
			if ((w.end - w.begin) * this.scale < 2)
				continue;
			if (w.begin > at)
				this.clip(at, w.begin, density);
			this.clip(Math.max(w.begin, view.from), Math.min(w.end, view.to), exact);
			at = Math.max(at, w.end);
		}
		if (at < view.to)
			this.clip(at, view.to, density);
	}

	clip(from, to, paint) {
		const c = this.context;
		c.save();
		c.beginPath();
		this.left = Math.max(0, this.snap(this.x(from)));
		this.right = Math.min(this.width, this.snap(this.x(to)));
		c.rect(this.left, 0, this.right - this.left, this.height);
		c.clip();
		paint(from, to);
		c.restore();
	}

	drawLevel(row, index, y) {
		const level = row.levels[index];
		this.split(row, (from, to) => this.drawDensity(level.density, from, to, y, LEVEL - 2),
			(from, to) => this.drawSlices(level.slices, from, to, y, LEVEL - 2));
	}

	isHit(kind) {
		return this.state.hits !== null && this.state.hits[kind];
	}

	fillOf(kind) {
		if (this.state.hits === null)
			return this.kinds[kind];
		return this.state.hits[kind] ? this.colors.hit : this.kinds[kind];
	}

	// The height of a part is its covered share, its colour the longest slice in it.
	drawDensity(density, from, to, y, height) {
		const c = this.context, d = density.level(this.densityLevel()), width = d.width * this.scale;
		const last = Math.min(d.n - 1, Math.floor(to / d.width));
		let color = "";
		for (let i = Math.max(0, Math.floor(from / d.width)); i <= last; i++) {
			if (d.kind[i] < 0)
				continue;
			let n = 1;
			while (i + n <= last && d.cover[i] > 0.999 && d.cover[i + n] > 0.999 && !d.count[i + n] &&
				d.kind[i + n] === d.kind[i] && d.longest[i + n] === d.longest[i])
				n++;
			const fill = this.fillOf(d.kind[i]), part = Math.max(2, Math.round(height * Math.min(1, d.cover[i])));
			const x = this.x(i * d.width);
			if (fill !== color)
				c.fillStyle = color = fill;
			this.fillBox(x, y + height - part, n * width, part);
			if (n > 1 && n * width > 30) {
				this.drawLabel(d.kind[i], x, n * width, y, height);
				color = "";
			}
			i += n - 1;
		}
	}

	drawLabel(kind, x, width, y, height) {
		const c = this.context, left = Math.max(x, this.left), room = Math.min(x + width, this.right) - left - 6;
		if (room < 18)
			return;
		c.fillStyle = this.isHit(kind) ? "#16161a" : this.ink;
		c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
		c.textBaseline = "middle";
		c.fillText(shortText(this.trace.names[kind].name, Math.floor(room / 6.4)), left + 3, y + height / 2 + 0.5, room);
	}

	drawSlices(list, from, to, y, height) {
		const c = this.context, n = firstAfter(list, "begin", to);
		let i = firstAfter(list, "begin", from), color = "";
		/* At one level slices do not overlap, but those without an END may. */
		for (let back = 0; i > 0 && back < 3; back++)
			i--;
		for (; i < n; i++) {
			let s = list[i];
			if (s.end < from)
				continue;
			const x = this.x(s.begin), w = (s.end - s.begin) * this.scale, fits = w > 24;
			if (w < 1) {
				/* Of those within a pixel, the longest. */
				const pixel = Math.floor(x) + 1;
				while (i + 1 < n && this.x(list[i + 1].end) < pixel) {
					i++;
					if (list[i].end - list[i].begin > s.end - s.begin)
						s = list[i];
				}
			}
			const fill = this.fillOf(s.kind);
			if (fill !== color)
				c.fillStyle = color = fill;
			this.fillBox(w < 1 ? Math.floor(x) : x, y, w, height);
			if (s.how)
				this.drawUnended(x, w, y, height);
			if (fits)
				this.drawLabel(s.kind, x, w, y, height);
			if (fits || s.how)
				color = "";
		}
	}

	// A slice whose end is not known fades out.
	drawUnended(x, w, y, height) {
		const c = this.context, right = Math.min(x + w, this.width), left = Math.max(right - 14, x);
		c.fillStyle = this.colors.panel;
		for (let i = left; i < right; i += 4)
			c.fillRect(i, y, 2, height);
	}

	drawStates(row, y) {
		const names = ["running", "runnable", "blocked"];
		this.split(row, (from, to) => {
			const width = this.trace.width, step = 2 ** this.densityLevel(), n = row.states[0].length;
			for (let i = Math.floor(from / width / step) * step; i < Math.min(n, to / width); i += step)
				this.drawShares(row, Math.max(0, i), Math.min(n, i + step), y);
		}, (from, to) => {
			let i = firstAfter(row.exactStates, "begin", from) - 1;
			for (i = Math.max(0, i); i < row.exactStates.length && row.exactStates[i].begin <= to; i++) {
				const s = row.exactStates[i];
				this.context.fillStyle = this.colors[names[s.state]];
				this.context.fillRect(this.x(s.begin), y, Math.max(0.5, (s.end - s.begin) * this.scale), STATES);
			}
		});
	}

	// Shares of the states side by side in one part.
	drawShares(row, from, to, y) {
		const names = ["running", "runnable", "blocked"], width = this.trace.width * this.scale;
		let x = this.x(from * this.trace.width);
		for (let s = 0; s < 3; s++) {
			let sum = 0;
			for (let i = from; i < to; i++)
				sum += row.states[s][i];
			if (!sum)
				continue;
			this.context.fillStyle = this.colors[names[s]];
			this.context.fillRect(x, y, sum * width, STATES);
			x += sum * width;
		}
	}

	drawPoint(x, y, kind) {
		const c = this.context;
		c.fillStyle = this.isHit(kind) ? this.colors.hit : this.colors.text;
		c.beginPath();
		c.moveTo(x, y + POINTS);
		c.lineTo(x - 3.5, y + 2);
		c.lineTo(x + 3.5, y + 2);
		c.fill();
	}

	drawPoints(row, y) {
		this.split(row, (from, to) => {
			const d = row.instants.level(this.densityLevel());
			const last = Math.min(d.n - 1, Math.floor(to / d.width));
			for (let i = Math.max(0, Math.floor(from / d.width)); i <= last; i++) {
				if (d.kind[i] < 0)
					continue;
				this.context.fillStyle = this.isHit(d.kind[i]) ? this.colors.hit : this.colors.quiet;
				this.context.fillRect(this.x(i * d.width), y + 2, Math.max(1, d.width * this.scale), POINTS - 3);
			}
		}, (from, to) => {
			let before = -9;
			for (let i = firstAfter(row.points, "at", from - 1); i < row.points.length && row.points[i].at <= to; i++) {
				const x = this.x(row.points[i].at);
				if (x - before >= 1)
					this.drawPoint(x, y, row.points[i].kind);
				before = x - before >= 1 ? x : before;
			}
		});
	}

	// --- counters ---

	drawCounter(item, y) {
		const c = this.context, counter = item.counter, top = y + TITLE + 2, height = COUNTER - TITLE - 8;
		const place = (v) => top + height - (v - counter.min) / (counter.max - counter.min) * height;
		this.drawTitle(`${item.title}: ${countText(counter.min)} to ${countText(counter.max)}`, y, false);
		c.fillStyle = c.strokeStyle = this.colors.accent;
		const density = (from, to) => {
			c.beginPath();
			let last = null;
			for (let i = Math.max(0, firstAfter(counter.points, "begin", from) - 2); i < counter.points.length; i++) {
				const p = counter.points[i], x = this.x(p.begin);
				if (last !== null)
					c.lineTo(x, place(last));
				if (p.begin > to)
					break;
				c.moveTo(x, place(p.min));
				c.lineTo(x, place(p.max));
				c.moveTo(x, place(p.last));
				last = p.last;
			}
			if (last !== null)
				c.lineTo(this.x(Math.min(this.trace.end, to)), place(last));
			c.stroke();
		};
		const exact = (from, to) => {
			c.beginPath();
			let last = null;
			for (let i = Math.max(0, firstAfter(counter.exact, "at", from) - 1); i < counter.exact.length; i++) {
				const p = counter.exact[i], x = this.x(p.at), value = Number(p.value);
				if (last !== null)
					c.lineTo(x, place(last));
				else
					c.moveTo(x, place(value));
				if (p.at > to)
					break;
				c.lineTo(x, place(value));
				last = value;
			}
			if (last !== null)
				c.lineTo(this.x(Math.min(this.trace.end, to)), place(last));
			c.stroke();
		};
		if (counter.rate)
			this.drawRates(counter.points, place);
		else
			this.split(counter, density, exact);
		c.fillStyle = this.colors.line;
		c.fillRect(0, y + COUNTER - 3, this.width, 1);
	}

	// What the parts have counted, the same with and without full detail. Bars: most parts may be zero.
	drawRates(points, place) {
		for (let i = Math.max(0, firstAfter(points, "begin", this.view.from) - 1); i < points.length; i++) {
			const p = points[i], left = this.snap(this.x(p.begin)), right = this.snap(this.x(p.end)), y = place(p.last);
			if (p.begin > this.view.to)
				break;
			if (p.last > 0)
				this.context.fillRect(left, y, Math.max(1 / this.ratio, right - left), place(0) - y);
		}
	}

	// --- above the rows ---

	itemOf(row) {
		return this.layout.items.find((item) => item.row === row);
	}

	// Where an arrow leaves or arrives: the innermost slice that is open there.
	flowPlace(end) {
		const item = this.itemOf(end.row);
		let level = 0;
		for (let i = 0; i < end.row.levels.length; i++) {
			if (this.trace.sliceAt(end.row, i, end.at))
				level = i;
		}
		return [this.x(end.at), item.levels - this.state.scroll + AXIS + level * LEVEL + LEVEL / 2];
	}

	isOfSelected(end) {
		const s = this.state.selected;
		return s !== null && end.row === s.row && s.begin <= end.at && end.at <= s.end;
	}

	drawFlows() {
		const c = this.context, view = this.view;
		let seen = this.trace.flows.filter((f) => Math.max(f.from.at, f.to.at) >= view.from &&
			Math.min(f.from.at, f.to.at) <= view.to && Math.abs(f.from.at - f.to.at) * this.scale > 1);
		/* More than anybody can follow: those of the selected slice. */
		if (seen.length > 60)
			seen = seen.filter((f) => this.isOfSelected(f.from) || this.isOfSelected(f.to));
		c.strokeStyle = this.colors.text;
		c.fillStyle = this.colors.text;
		c.globalAlpha = 0.7;
		for (const f of seen) {
			if (!this.itemOf(f.from.row) || !this.itemOf(f.to.row))
				continue;
			const [x1, y1] = this.flowPlace(f.from), [x2, y2] = this.flowPlace(f.to);
			const bend = Math.max(12, Math.abs(x2 - x1) / 3);
			c.beginPath();
			c.moveTo(x1, y1);
			c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
			c.stroke();
			c.beginPath();
			c.moveTo(x2, y2);
			c.lineTo(x2 - 6, y2 - 3);
			c.lineTo(x2 - 6, y2 + 3);
			c.fill();
		}
		c.globalAlpha = 1;
	}

	outline(begin, end, y, height, color) {
		const c = this.context, left = Math.max(-4, this.x(begin)), right = Math.min(this.width + 4, this.x(end));
		c.strokeStyle = color;
		c.lineWidth = 2;
		c.strokeRect(left, y, Math.max(2, right - left), height);
		c.lineWidth = 1;
	}

	drawMarks() {
		const c = this.context, s = this.state.selected, range = this.state.range;
		if (s && this.itemOf(s.row)) {
			const y = this.itemOf(s.row).levels - this.state.scroll + AXIS + s.level * LEVEL;
			this.outline(s.begin, s.end, y - 0.5, LEVEL - 1, this.colors.text);
		}
		if (!range)
			return;
		c.globalAlpha = 0.16;
		c.fillStyle = this.colors.accent;
		c.fillRect(this.x(range.from), AXIS, (range.to - range.from) * this.scale, this.height);
		c.globalAlpha = 1;
		c.fillRect(this.x(range.from), AXIS, 1, this.height);
		c.fillRect(this.x(range.to), AXIS, 1, this.height);
	}
}
