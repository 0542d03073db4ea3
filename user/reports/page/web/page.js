// SPDX-License-Identifier: BSD-2-Clause
// Puts the parts of the page together: losses first, then the timeline, the table and the rest.

function showTitle(data, trace) {
	const paths = data.report.files.map((file) => file.path), first = paths[0] || "";
	const title = first.slice(first.lastIndexOf("/") + 1) + (paths.length > 1 ? ` and ${paths.length - 1} more` : "");
	document.title = `${shortText(title, 100)} \u2014 proftrace`;
	byId("title").textContent = shortText(title, 300);
	const about = [durationText(trace.end)];
	const threads = trace.rows.filter((row) => row.tid !== undefined).length;
	const processes = new Set(trace.rows.filter((row) => row.pid !== undefined).map((row) => `${row.trace}/${row.pid}`)).size;
	about.push(plural(threads, "thread"), plural(processes, "process", "processes"));
	if (data.where)
		about.push(`only slices that satisfy ${shortText(data.where, 200)}`);
	else if (data.selected)
		about.push("only a part of the recording");
	byId("about").textContent = about.join(" \u00b7 ");
}

function factItem(value, label) {
	return make("li", {}, make("b", {}, value), make("span", {}, label));
}

// Losses come first: a trace that looks complete and is not misleads.
function showAccount(data, trace) {
	const part = byId("part-account"), slices = trace.rows.reduce((sum, row) => sum + row.slices, 0);
	const cut = data.report.files.filter((file) => file.truncated_at !== null);
	const lost = data.lost, notes = data.account, isBad = lost > 0 || cut.length > 0;
	const list = notes.map(([text, n, hint]) => make("li", {}, `${countText(n)} ${text}`, hint ? ` \u2014 ${hint}` : ""));
	for (const file of cut)
		list.unshift(make("li", {}, `${shortText(file.path, 200)} was cut off at byte ${countText(file.truncated_at)}`));
	part.append(make("div", { className: isBad ? "banner bad" : notes.length ? "banner" : "banner good", role: isBad ? "alert" : "note" },
		make("b", {}, lost ? `${plural(lost, "mark")} of ${countText(data.marked)} lost` : cut.length ? "Not all of the recording is here"
			: "No mark was lost"), list.length ? make("ul", {}, ...list) : null));
	part.append(make("ul", { className: "facts" }, factItem(durationText(trace.end), "recorded"),
		factItem(countText(data.written), "marks"), factItem(countText(slices), "slices"),
		factItem(countText(trace.rows.filter((row) => row.tid !== undefined).length), "threads"),
		factItem(countText(trace.counters.length), "counters")));
}

function showHint(trace) {
	const cut = trace.windows.filter((w) => w.cut).length;
	byId("hint").textContent = trace.everything
		? "Every slice, state, counter value and arrow of the trace is here."
		: `Everything is here as density: the height of a part of ${durationText(trace.width)} is the share that slices ` +
		`cover, its colour that of the longest one. Shaded: ${plural(trace.windows.length, "window")} in full detail` +
		(cut ? `, of which ${cut} end early because there was no more space` : "") + ".";
}

function showLeftOut(data, trace) {
	const t = data.timeline, left = [];
	const rows = ["slices", "async_slices", "frames", "instants", "counters", "memory_pools"];
	if (rows.some((key) => data.report[key].length === data.max_rows))
		left.push(`Parts of the table have at most ${countText(data.max_rows)} rows, those with the largest total.`);
	if (t.detail_left_out)
		left.push("Full detail: there was no more space.");
	else if (!trace.everything)
		left.push("Single slices, states, values and arrows outside of the windows of full detail. " +
			"proftrace report --html --slowest N NAME chooses other windows, --from and --to a part of the time.");
	for (const [n, what] of [[t.rows_left_out, "marks of threads or lanes beyond a limit"], [t.counters_left_out, "values of counters beyond a limit"],
		[t.levels_left_out, "slices of levels beyond a limit"], [t.before_first, "times before the first mark, which are drawn at 0"]])
		if (n)
			left.push(`${countText(n)} ${what}.`);
	if (t.rows_without_levels)
		left.push(`The slices of ${countText(t.rows_without_levels)} threads, lanes or counters: there was no more space.`);
	if (t.names_left_out)
		left.push(`Names beyond a limit, ${countText(t.names_left_out)} times: they are called (other).`);
	if (data.comparisons_left_out)
		left.push(`${countText(data.comparisons_left_out)} comparisons: there was no more space.`);
	if (data.flames_left_out)
		left.push(`Flame graphs of ${countText(data.flames_left_out)} more names that are shown in detail: ` +
			"proftrace report --flame=NAME makes them.");
	if (data.slices_cut)
		left.push(`${countText(data.slices_cut)} samples have more slices around them than are remembered: ` +
			"flame graphs of names may lack them.");
	if (data.samples && !data.flames.length)
		left.push("Flame graphs: no sample is within what is selected.");
	else if (!data.samples)
		left.push("Flame graphs: there are no samples of call stacks (proftrace record --sample 99).");
	if (data.report.files.length > 1)
		left.push("The traces are drawn from their first marks on, side by side: proftrace merge puts them on one clock.");
	byId("left").append(...left.map((text) => make("li", {}, text)));
}

function listenTools(timeline) {
	const on = (id, action) => byId(id).addEventListener("click", action);
	on("zoom-in", () => timeline.zoom(0.5));
	on("zoom-out", () => timeline.zoom(2));
	on("zoom-all", () => timeline.showAll());
	on("zoom-selected", () => timeline.fit());
	on("next", () => timeline.goFound(1));
	on("previous", () => timeline.goFound(-1));
	on("show-help", () => byId("help").showModal());
	on("pick-range", () => {
		timeline.picksRange = !timeline.picksRange;
		byId("pick-range").setAttribute("aria-pressed", String(timeline.picksRange));
	});
	byId("find").addEventListener("input", (e) => timeline.search(e.target.value));
	byId("find").addEventListener("keydown", (e) => {
		if (e.key === "Enter")
			timeline.goFound(e.shiftKey ? -1 : 1);
		else if (e.key === "Escape")
			byId("timeline").focus();
	});
	timeline.listeners.push(() => showDetails(timeline), () => showRange(timeline));
}

async function start() {
	const data = JSON.parse(byId("data").textContent);
	data.timeline = await unpack(data.timeline);
	const trace = new Trace(data);
	showTitle(data, trace);
	showAccount(data, trace);
	const timeline = new Timeline(trace);
	listenTools(timeline);
	showHint(trace);
	new NameTable(data, (row) => {
		byId("find").value = row.name ? `^${row.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` : "";
		timeline.search(byId("find").value);
	});
	showComparisons(timeline);
	showFlameGraphs(data);
	showLeftOut(data, trace);
	/* For tests, and for those who want to look closer. */
	window.proftracePage = { data, trace, timeline };
	document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
	byId("about").textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
	throw error;
});
