// SPDX-License-Identifier: BSD-2-Clause
// Zoom, search and details of a flame graph. Frames are groups of title, rect and text in #frames, their
// places and widths percentages. Text from the trace is only ever text here, never markup.
"use strict";
// `width`: of the space there is for it, a function; `page`: whether it is all there is, so that its keys are everywhere.
function showFlame(svg, width, page) {
	const inner = svg.getElementById("frames");
	const find = (id) => svg.getElementById(id);
	const MARGIN = 10, CHARACTER = 7.3, ROUNDING = 0.0002;
	const number = (element, name) => parseFloat(element.getAttribute(name));
	const frames = Array.from(inner.querySelectorAll("g"), (group) => {
		const [title, rect, text] = group.children;
		const said = title.textContent;
		const at = said.lastIndexOf(" (");
		return { group, rect, text, said, name: said.slice(0, at),
			x: number(rect, "x"), width: number(rect, "width"), y: number(rect, "y") };
	});
	let zoomed = null, pattern = "";

	// As much of a name as there is room for.
	function label(frame, pixels) {
		const name = Array.from(frame.name);
		const capacity = Math.floor((pixels - 6) / CHARACTER);
		if (name.length <= capacity)
			return frame.name;
		return capacity < 3 ? "" : name.slice(0, capacity - 1).join("") + "\u2026";
	}

	function place(frame, x, width) {
		frame.group.style.display = "";
		frame.rect.setAttribute("x", x + "%");
		frame.rect.setAttribute("width", width + "%");
		frame.text.setAttribute("x", x + "%");
		frame.text.textContent = label(frame, inner.width.baseVal.value * width / 100);
	}

	function draw() {
		const room = Math.max(width(), 300);
		const z = zoomed || { x: 0, width: 100, y: Infinity };
		svg.setAttribute("width", room);
		inner.setAttribute("width", room - 2 * MARGIN);
		for (const f of frames) {
			const around = f.x <= z.x + ROUNDING && f.x + f.width >= z.x + z.width - ROUNDING;
			const within = f.x >= z.x - ROUNDING && f.x + f.width <= z.x + z.width + ROUNDING;
			const below = f.y > z.y && around;
			f.group.classList.toggle("below", below);
			if (below)
				place(f, 0, 100);
			else if (within && f.y <= z.y)
				place(f, (f.x - z.x) * 100 / z.width, f.width * 100 / z.width);
			else
				f.group.style.display = "none";
		}
		find("reset").style.visibility = zoomed ? "visible" : "hidden";
	}

	function zoom(frame) {
		zoomed = frame && frame.width < 100 ? frame : null;
		draw();
	}

	// How much of everything lies under what was found: what one of them called counts once.
	function covered(hits) {
		let end = 0, sum = 0;
		hits.sort((a, b) => a.x - b.x || b.width - a.width);
		for (const f of hits) {
			const from = Math.max(f.x, end), to = f.x + f.width;
			if (to > from)
				sum += to - from;
			end = Math.max(end, to);
		}
		return sum;
	}

	function search(text) {
		let wanted = null;
		pattern = text;
		try {
			wanted = text ? new RegExp(text) : null;
		} catch (error) {
			// No regular expression: the text itself.
			wanted = { test: (name) => name.includes(text) };
		}
		const hits = frames.filter((f) => {
			const hit = wanted !== null && wanted.test(f.name);
			f.group.classList.toggle("hit", hit);
			return hit;
		});
		find("matched").textContent =
			wanted ? `${text}: ${covered(hits).toFixed(2)}% in ${hits.length} frames` : "";
		find("search").textContent = wanted ? "clear search" : "search (Ctrl-F)";
	}

	function ask() {
		if (pattern)
			return search("");
		const text = window.prompt("Names that match this regular expression:", "");
		if (text)
			search(text);
	}

	function press(element, action) {
		element.addEventListener("click", action);
		element.addEventListener("keydown", (e) => {
			if (e.key === "Enter" || e.key === " ")
				action();
		});
	}

	for (const f of frames) {
		f.group.addEventListener("click", () => zoom(f));
		f.group.addEventListener("mouseover", () => { find("details").textContent = f.said; });
		f.group.addEventListener("mouseout", () => { find("details").textContent = ""; });
	}
	press(find("reset"), () => zoom(null));
	press(find("search"), ask);
	(page ? window : svg).addEventListener("keydown", (e) => {
		if (page && (e.ctrlKey || e.metaKey) && e.key === "f") {
			e.preventDefault();
			search("");
			ask();
		} else if (e.key === "Escape") {
			search("");
			zoom(null);
		}
	});
	window.addEventListener("resize", draw);
	find("controls").removeAttribute("display");
	draw();
	return draw;
}
