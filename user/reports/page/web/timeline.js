// SPDX-License-Identifier: BSD-2-Clause
// The timeline as people use it: pan and zoom with mouse, touch and keys, select, search.

const LEAST_VIEW = 20; // ns

class Timeline {
	constructor(trace) {
		this.trace = trace;
		this.canvas = byId("timeline");
		this.stage = byId("stage");
		this.painter = new Painter(this.canvas, trace);
		this.state = { view: { from: 0, to: trace.end }, scroll: 0, selected: null, row: null, range: null, hits: null };
		this.pointers = new Map();
		this.held = new Set();
		this.listeners = [];
		this.frames = 0;
		this.picksRange = false;
		this.listen();
		this.resize();
		this.showAll();
	}

	get height() {
		return this.painter.layout.height + AXIS + 8;
	}

	resize() {
		const height = Math.min(this.height, Math.max(220, Math.round(window.innerHeight * 0.68)));
		byId("spacer").style.height = this.height + "px";
		this.canvas.style.height = height + "px";
		this.stage.style.maxHeight = height + 2 + "px";
		this.painter.resize();
		this.redraw();
	}

	redraw() {
		if (this.pending)
			return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.state.scroll = this.stage.scrollTop;
			this.painter.draw(this.state);
			this.frames++;
		});
	}

	changed() {
		for (const listener of this.listeners)
			listener(this.state);
		this.redraw();
	}

	// --- the view ---

	show(from, to) {
		const end = this.trace.end, margin = end * 0.02;
		let length = Math.min(Math.max(to - from, LEAST_VIEW), end + 2 * margin);
		from = Math.min(Math.max(from, -margin), end + margin - length);
		this.state.view = { from, to: from + length };
		this.redraw();
	}

	showAll() {
		this.show(-this.trace.end * 0.01, this.trace.end * 1.01);
	}

	zoom(factor, x = this.painter.width / 2) {
		const { from, to } = this.state.view, at = from + (to - from) * x / this.painter.width;
		this.show(at - (at - from) * factor, at + (to - at) * factor);
	}

	pan(pixels) {
		const { from, to } = this.state.view, by = pixels * (to - from) / this.painter.width;
		this.show(from + by, to + by);
	}

	// What is selected, as large as possible; when it already is, everything.
	fit() {
		const s = this.state.selected, r = this.state.range, view = this.state.view;
		const from = r ? r.from : s ? s.begin : 0, to = r ? r.to : s ? s.end : this.trace.end;
		const around = Math.max((to - from) * 0.08, 10);
		if ((!r && !s) || (Math.abs(view.from - (from - around)) < 2 && Math.abs(view.to - (to + around)) < 2))
			return this.showAll();
		this.show(from - around, to + around);
	}

	time(x) {
		return this.state.view.from + x / this.painter.scale;
	}

	// Scrolls so that a row can be seen.
	reveal(row, level = 0) {
		const item = this.painter.itemOf(row);
		if (!item)
			return;
		const y = item.levels + level * LEVEL, room = this.canvas.clientHeight - AXIS;
		if (y < this.stage.scrollTop + TITLE || y + LEVEL > this.stage.scrollTop + room)
			this.stage.scrollTop = Math.max(0, Math.min(item.y, y - room / 2));
	}

	// --- what is at a place ---

	// The row, its part and what is there, at a place of the canvas.
	at(x, y) {
		const place = y - AXIS + this.stage.scrollTop, time = this.time(x);
		const item = y < AXIS ? null : this.painter.layout.items.find((i) => i.y <= place && place < i.y + i.height);
		if (!item || item.type === "process")
			return { item, time };
		if (item.type === "counter")
			return { item, time, counter: item.counter };
		const row = item.row, level = Math.floor((place - item.levels) / LEVEL);
		if (place < item.top)
			return { item, row, time };
		if (place < item.points || (row.states && place < item.top + STATES))
			return { item, row, time, isState: true };
		if (place < item.levels)
			return { item, row, time, point: this.pointAt(row, time) };
		if (level >= row.levels.length)
			return { item, row, time };
		return { item, row, time, level, slice: this.sliceAt(row, level, time), density: this.densityAt(row, level, time) };
	}

	// Within two pixels.
	sliceAt(row, level, time) {
		if (!this.trace.windowAt(row, time))
			return null;
		return this.trace.sliceAt(row, level, time) ||
			this.trace.sliceAt(row, level, time - 1.5 / this.painter.scale);
	}

	pointAt(row, time) {
		const near = 5 / this.painter.scale, i = firstAfter(row.points, "at", time - near);
		return i < row.points.length && row.points[i].at <= time + near ? row.points[i] : null;
	}

	densityAt(row, level, time) {
		const d = row.levels[level].density.level(this.painter.densityLevel()), i = Math.floor(time / d.width);
		if (i < 0 || i >= d.n || d.kind[i] < 0)
			return null;
		return { kind: d.kind[i], cover: d.cover[i], count: d.count[i], longest: d.longest[i], begin: i * d.width,
			width: d.width };
	}

	// --- selection ---

	select(slice) {
		this.state.selected = slice;
		this.state.row = slice ? slice.row : this.state.row;
		if (slice) {
			this.reveal(slice.row, slice.level);
			say(`${shortText(this.trace.names[slice.kind].name, 120)}, ${durationText(slice.end - slice.begin)}, ` +
				`level ${slice.level + 1} of ${rowTitle(slice.row)}`);
		}
		this.changed();
	}

	selectRange(from, to) {
		this.state.range = from === null ? null : { from: Math.max(0, Math.min(from, to)), to: Math.max(from, to) };
		this.changed();
	}

	// Selects a slice and makes sure that it can be seen.
	go(slice) {
		const { from, to } = this.state.view, length = slice.end - slice.begin;
		this.select(slice);
		if (slice.end < from || slice.begin > to || length * this.painter.scale < 2)
			this.show(slice.begin - 3 * length - 10, slice.end + 3 * length + 10);
	}

	// The next slice in a direction: along its level, out, in.
	step(key) {
		const s = this.state.selected;
		if (!s)
			return this.selectFirst();
		const list = s.row.levels[s.level].slices, i = list.indexOf(s);
		let next = null;
		if (key === "ArrowLeft" || key === "ArrowRight")
			next = list[key === "ArrowLeft" ? i - 1 : i + 1];
		else if (key === "ArrowUp")
			next = s.level ? this.trace.sliceAt(s.row, s.level - 1, s.begin) : null;
		else if (s.row.levels[s.level + 1])
			next = s.row.levels[s.level + 1].slices.find((inner) => inner.begin >= s.begin && inner.begin < s.end);
		if (next)
			this.go(next);
		else
			say("There is no such slice in full detail.");
	}

	// The first slice that is seen, in the current row or in the first one that has any.
	selectFirst() {
		const rows = this.painter.layout.items.filter((i) => i.row).map((i) => i.row);
		const start = Math.max(0, rows.indexOf(this.state.row));
		for (const row of [...rows.slice(start), ...rows.slice(0, start)]) {
			const list = row.levels.length ? row.levels[0].slices : [];
			const slice = list.find((s) => s.end >= this.state.view.from && s.begin <= this.state.view.to);
			if (slice)
				return this.go(slice);
		}
		say("No slice in full detail is in view.");
	}

	stepRow(by) {
		const rows = this.painter.layout.items.filter((i) => i.row).map((i) => i.row);
		const next = rows[rows.indexOf(this.state.row) + by] || rows[by > 0 ? 0 : rows.length - 1];
		this.state.row = next;
		this.state.selected = null;
		this.reveal(next);
		say(`${rowTitle(next)}, ${plural(next.slices, "slice")}`);
		this.changed();
	}

	// --- search ---

	search(text) {
		const matches = matcher(text);
		this.found = [];
		this.foundAt = -1;
		this.state.hits = matches ? this.trace.names.map((kind) => matches(kind.name)) : null;
		if (matches) {
			for (const row of this.trace.rows)
				for (const level of row.levels)
					for (const slice of level.slices)
						if (this.state.hits[slice.kind])
							this.found.push(slice);
			this.found.sort((a, b) => a.begin - b.begin);
		}
		this.showFound();
		this.redraw();
	}

	showFound() {
		const names = this.state.hits ? this.state.hits.filter(Boolean).length : 0;
		const place = this.foundAt >= 0 ? `${this.foundAt + 1} of ` : "";
		byId("found").textContent = this.state.hits === null ? "" : `${plural(names, "name")}, ${place}` +
			`${plural(this.found.length, "slice")}${this.trace.everything ? "" : " in full detail"}`;
	}

	goFound(by) {
		if (!this.found || !this.found.length)
			return;
		this.foundAt = (this.foundAt + by + this.found.length) % this.found.length;
		this.go(this.found[this.foundAt]);
		this.showFound();
	}

	// --- input ---

	listen() {
		const c = this.canvas;
		window.addEventListener("resize", () => this.resize());
		isDark.addEventListener("change", () => this.redraw());
		this.stage.addEventListener("scroll", () => this.redraw());
		c.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		c.addEventListener("pointerdown", (e) => this.pointerDown(e));
		c.addEventListener("pointermove", (e) => this.pointerMove(e));
		c.addEventListener("pointerup", (e) => this.pointerUp(e));
		c.addEventListener("pointercancel", (e) => this.pointerUp(e));
		c.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
		c.addEventListener("dblclick", () => this.fit());
		document.addEventListener("keydown", (e) => this.keyDown(e));
		document.addEventListener("keyup", (e) => this.held.delete(e.key.toLowerCase()));
		window.addEventListener("blur", () => this.held.clear());
	}

	wheel(e) {
		if (e.ctrlKey || e.metaKey) {
			this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 250))), e.offsetX);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			this.pan(e.shiftKey ? e.deltaY || e.deltaX : e.deltaX);
		} else {
			return; /* the browser scrolls */
		}
		e.preventDefault();
	}

	pointerDown(e) {
		this.canvas.focus({ preventScroll: true });
		this.canvas.setPointerCapture(e.pointerId);
		this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY, first: e.offsetX, moved: false });
		this.dragsRange = e.shiftKey || this.picksRange;
	}

	pointerMove(e) {
		const p = this.pointers.get(e.pointerId);
		this.mouse = e.offsetX;
		if (!p)
			return this.hover(e);
		const others = [...this.pointers].filter(([id]) => id !== e.pointerId).map(([, other]) => other);
		p.moved = p.moved || Math.abs(e.offsetX - p.first) > 4;
		if (others.length) {
			const before = Math.abs(p.x - others[0].x), after = Math.abs(e.offsetX - others[0].x);
			if (before > 8 && after > 8)
				this.zoom(before / after, (e.offsetX + others[0].x) / 2);
		} else if (p.moved && this.dragsRange) {
			this.selectRange(this.time(p.first), this.time(e.offsetX));
		} else if (p.moved) {
			this.pan(p.x - e.offsetX);
		}
		p.x = e.offsetX;
	}

	pointerUp(e) {
		const p = this.pointers.get(e.pointerId);
		this.pointers.delete(e.pointerId);
		if (!p || p.moved || e.type === "pointercancel")
			return;
		const place = this.at(e.offsetX, e.offsetY);
		this.state.row = place.row || this.state.row;
		if (!place.slice)
			this.state.range = null;
		this.select(place.slice || null);
	}

	hover(e) {
		const place = this.at(e.offsetX, e.offsetY), tip = byId("tip");
		const content = tipContent(this.trace, place, this.painter);
		tip.hidden = !content;
		if (!content)
			return;
		tip.replaceChildren(...content);
		const box = tip.getBoundingClientRect();
		tip.style.left = Math.max(4, Math.min(e.clientX + 14, window.innerWidth - box.width - 8)) + "px";
		tip.style.top = Math.max(4, e.clientY + 18 + box.height > window.innerHeight ? e.clientY - box.height - 12
			: e.clientY + 18) + "px";
	}

	// While a key is held, each frame moves a little.
	hold(key) {
		const running = this.held.size > 0;
		this.held.add(key);
		if (running)
			return;
		let before = performance.now();
		const move = (now) => {
			const passed = Math.min(60, Math.max(8, now - before));
			before = now;
			if (this.held.has("w"))
				this.zoom(Math.exp(-passed / 260), this.mouse);
			if (this.held.has("s"))
				this.zoom(Math.exp(passed / 260), this.mouse);
			if (this.held.has("a"))
				this.pan(-passed * 0.8);
			if (this.held.has("d"))
				this.pan(passed * 0.8);
			if (this.held.size)
				requestAnimationFrame(move);
		};
		move(before + 16);
	}

	keyDown(e) {
		const target = e.target, types = target.matches("input, select, textarea") || target.closest("dialog");
		if (types || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const key = e.key.toLowerCase();
		const onCanvas = target === this.canvas;
		const actions = {
			"/": () => byId("find").focus(), "?": () => byId("help").showModal(), "f": () => this.fit(),
			"r": () => this.state.selected && this.selectRange(this.state.selected.begin, this.state.selected.end),
			"escape": () => { this.state.range = null; this.select(null); },
			"[": () => this.stepRow(-1), "]": () => this.stepRow(1),
		};
		if (key.length === 1 && "wasd".includes(key)) {
			this.hold(key);
		} else if (actions[key]) {
			actions[key]();
		} else if (onCanvas && e.key.startsWith("Arrow")) {
			this.step(e.key);
		} else if (onCanvas && key === "home") {
			this.showAll();
		} else {
			return;
		}
		e.preventDefault();
	}
}
