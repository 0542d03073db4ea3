// SPDX-License-Identifier: BSD-2-Clause
// The table of `proftrace report`, sorted and filtered here.

const PARTS = [["slices", "Slices"], ["async_slices", "Asynchronous"], ["frames", "Frames"], ["instants", "Instants"],
	["counters", "Counters"], ["memory_pools", "Memory pools"]];
const TIMES = [["total_ns", "Total"], ["self_ns", "Self"], ["running_ns", "Running"], ["runnable_ns", "Runnable"],
	["blocked_ns", "Blocked"], ["min_ns", "Min"], ["avg_ns", "Avg"], ["p50_ns", "p50"], ["p95_ns", "p95"],
	["p99_ns", "p99"], ["max_ns", "Max"]];
const NUMBERS = [["min", "Min"], ["max", "Max"], ["avg", "Avg"], ["last", "Last"], ["allocations", "Allocations"],
	["frees", "Frees"], ["live_bytes", "Live"], ["peak_bytes", "Peak"], ["leaked_bytes", "Leaked"], ["leaks", "Leaks"]];

// Columns: title, key to sort by, value, text; those of which no row has a value are left out.
function tableColumns(report, rows) {
	const has = (key) => rows.some((row) => row[key] !== undefined && row[key] !== null);
	const column = (title, value, text, isText) => ({ title, value, text, isText });
	const columns = [column("Category", (r) => r.category || "", null, true), column("Name", (r) => r.name || "", null, true)];
	if (has("unit"))
		columns.push(column("Unit", (r) => r.unit || "", null, true));
	if (has("count"))
		columns.push(column("Count", (r) => r.count, countText));
	for (const [key, title] of TIMES)
		if (has(key))
			columns.push(column(title, (r) => r[key], durationText));
	if (has("share_percent"))
		columns.push(column("%", (r) => r.share_percent, percentText));
	for (const [key, title] of NUMBERS)
		if (has(key))
			columns.push(column(title, (r) => r[key], countText));
	for (const name of report.counted)
		if (rows.some((r) => r.counters && r.counters[name]))
			columns.push(column(`${name}/call`, (r) => r.counters && r.counters[name] ? r.counters[name].per_call : null, countText));
	if (has("ipc"))
		columns.push(column("IPC", (r) => r.ipc, (n) => n === null ? "" : n.toFixed(2)));
	return columns;
}

class NameTable {
	constructor(data, picked) {
		this.data = data;
		this.picked = picked;
		this.filter = null;
		this.parts = PARTS.filter(([key]) => data.report[key].length);
		const ends = ["slices", "async_slices", "frames"];
		for (const [i, key] of ends.entries())
			data.report[key].forEach((row, at) => { row.histogram = data.histograms[i][at]; });
		for (const [key, title] of this.parts) {
			const button = make("button", { type: "button" }, `${title} (${countText(data.report[key].length)})`);
			button.addEventListener("click", () => this.show(key));
			byId("parts").append(button);
		}
		byId("filter").addEventListener("input", (e) => {
			this.filter = matcher(e.target.value);
			this.draw();
		});
		if (this.parts.length)
			this.show(this.parts[0][0]);
		else
			byId("table").append(make("caption", {}, "nothing is selected, or there are no events"));
	}

	show(key) {
		this.key = key;
		this.rows = this.data.report[key];
		this.columns = tableColumns(this.data.report, this.rows);
		this.sort = Math.max(0, this.columns.findIndex((c) => c.title === "Total" || c.title === "Count"));
		const total = this.columns.findIndex((c) => c.title === "Total");
		this.sort = total >= 0 ? total : this.sort;
		this.descending = true;
		[...byId("parts").children].forEach((b, i) => b.setAttribute("aria-pressed", String(this.parts[i][0] === key)));
		byId("histogram").hidden = true;
		this.draw();
	}

	sorted() {
		const { value, isText } = this.columns[this.sort], sign = this.descending ? -1 : 1;
		const shown = this.rows.filter((r) => !this.filter || this.filter(`${r.category || ""} ${r.name}`));
		return shown.sort((a, b) => {
			const x = value(a), y = value(b);
			if (isText)
				return sign * String(x).localeCompare(String(y));
			return sign * ((x === null || x === undefined ? -Infinity : x) - (y === null || y === undefined ? -Infinity : y));
		});
	}

	head() {
		const cells = this.columns.map((column, i) => {
			const button = make("button", { type: "button" }, column.title +
				(i !== this.sort ? "" : this.descending ? " \u25be" : " \u25b4"));
			button.addEventListener("click", () => {
				this.descending = i === this.sort ? !this.descending : !column.isText;
				this.sort = i;
				this.draw();
				byId("table").querySelectorAll("thead button")[i].focus();
			});
			return make("th", { scope: "col", className: column.isText ? "text" : "", "aria-sort": i !== this.sort ? "none"
				: this.descending ? "descending" : "ascending" }, button);
		});
		if (this.rows.some((r) => r.histogram))
			cells.splice(2, 0, make("th", { scope: "col", className: "text" }, make("span", {}, "Distribution")));
		return make("thead", {}, make("tr", {}, ...cells));
	}

	row(row) {
		const cells = this.columns.map((column) => {
			const value = column.value(row), text = column.isText ? shortText(String(value), 200) : column.text(value);
			if (column.title !== "Name")
				return make("td", column.isText ? { className: "text", title: text } : {}, text);
			const button = make("button", { type: "button", title: text }, text || "(no name)");
			button.addEventListener("click", () => this.pick(row, button));
			return make("td", { className: "text" }, button);
		});
		if (row.histogram)
			cells.splice(2, 0, make("td", {}, sparkLine(row.histogram) || ""));
		return make("tr", {}, ...cells);
	}

	draw() {
		const rows = this.sorted();
		byId("table").replaceChildren(make("caption", { className: "live" }, `Names, sorted by ${this.columns[this.sort].title}`),
			this.head(), make("tbody", {}, ...rows.map((row) => this.row(row))));
		byId("rows-shown").textContent = rows.length === this.rows.length ? "" : `${rows.length} of ${this.rows.length} rows`;
	}

	pick(row, button) {
		for (const other of byId("table").querySelectorAll("tr[aria-selected]"))
			other.removeAttribute("aria-selected");
		button.closest("tr").setAttribute("aria-selected", "true");
		showHistogram(row, row.histogram);
		this.picked(row);
	}
}
