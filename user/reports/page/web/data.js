// SPDX-License-Identifier: BSD-2-Clause
// The data of the page: what page_timeline.c has packed becomes arrays that can be searched and drawn.

// The timeline is deflated, in base64.
async function unpack(text) {
	const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

// The densities of one level at all zoom levels: 0 has the parts of the file, each further one half as many.
class Density {
	constructor(numbers, parts, width) {
		const base = Density.empty(parts, width);
		let at = 0;
		for (let i = 0; i < numbers.length;) {
			if (numbers[i] < 0) {
				for (let n = -numbers[i++]; n > 0; n--, at++)
					Density.put(base, at, base.kind[at - 1], 1000, 0, base.longest[at - 1]);
				continue;
			}
			at += numbers[i];
			Density.put(base, at++, numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4]);
			i += 5;
		}
		this.levels = [base];
	}

	static empty(n, width) {
		return { n, width, kind: new Int32Array(n).fill(-1), cover: new Float32Array(n),
			count: new Float64Array(n), longest: new Float64Array(n) };
	}

	static put(level, at, kind, cover, count, longest) {
		level.kind[at] = kind;
		level.cover[at] = cover / 1000;
		level.count[at] = count;
		level.longest[at] = longest;
	}

	// Made when it is drawn for the first time.
	level(n) {
		while (this.levels.length <= n) {
			const fine = this.levels[this.levels.length - 1];
			if (fine.n === 1)
				return fine;
			const coarse = Density.empty(Math.ceil(fine.n / 2), fine.width * 2);
			for (let i = 0; i < fine.n; i++) {
				const to = i >> 1;
				if (fine.kind[i] < 0)
					continue;
				coarse.cover[to] += fine.cover[i] / 2;
				coarse.count[to] += fine.count[i];
				if (coarse.kind[to] < 0 || fine.longest[i] > coarse.longest[to]) {
					coarse.kind[to] = fine.kind[i];
					coarse.longest[to] = fine.longest[i];
				}
			}
			this.levels.push(coarse);
		}
		return this.levels[n];
	}
}

function unpackStates(numbers, parts) {
	const states = [new Float32Array(parts), new Float32Array(parts), new Float32Array(parts)];
	let at = 0;
	for (let i = 0; i < numbers.length; i += 4) {
		at += numbers[i];
		for (let s = 0; s < 3; s++)
			states[s][at] = numbers[i + 1 + s] / 1000;
		at++;
	}
	return states;
}

function unpackValues(numbers, width) {
	const points = [];
	let at = 0;
	for (let i = 0; i < numbers.length; i += 5) {
		at += numbers[i];
		points.push({ begin: at * width, end: (at + 1) * width, min: numbers[i + 1], max: numbers[i + 2],
			last: numbers[i + 3], count: numbers[i + 4] });
		at++;
	}
	return points;
}

// What a thread has counted in each part, as points of the rate per second.
function unpackRates(numbers, width) {
	const points = [];
	let at = 0, next = 0;
	const put = (rate) => points.push({ begin: at * width, end: (at + 1) * width, min: rate, max: rate, last: rate });
	for (let i = 0; i < numbers.length; i += 2) {
		if (numbers[i]) {
			at = next;
			put(0);
		}
		at = next + numbers[i];
		put(numbers[i + 1] * 1e9 / width);
		next = at + 1;
	}
	at = next;
	if (numbers.length)
		put(0);
	return points;
}

// The first element whose `key` is greater than the value.
function firstAfter(list, key, value) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (list[middle][key] > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

class Trace {
	constructor(data) {
		const t = data.timeline;
		this.data = data;
		this.names = data.names.map(([category, name]) => ({ category, name: name === null ? "(other)" : name }));
		this.width = 2 ** t.shift;
		this.end = Math.max(t.end, 1);
		this.everything = t.everything;
		this.windows = t.windows.map(([trace, begin, end, cut]) => ({ trace, begin, end, cut: cut !== 0 }));
		this.rows = t.rows.map((row, index) => this.makeRow(row, index, t));
		this.counters = t.counters.map((counter) => ({ ...counter, trace: counter.trace || 0,
			points: (counter.rate ? unpackRates : unpackValues)(counter.values, this.width), exact: [] }));
		this.addDetail(t);
		for (const counter of this.counters)
			this.scaleCounter(counter);
		this.shown = t.shown.map(([kind, row, begin, duration, median]) =>
			({ kind, row: this.rows[row], begin, duration, median: median !== 0 }));
		this.losses = t.losses.map(([row, at, count]) => ({ row: this.rows[row] || null, at, count }));
	}

	makeRow(row, index, t) {
		return { ...row, index, trace: row.trace || 0,
			levels: (row.levels || []).map((numbers) => ({ density: new Density(numbers, t.parts, this.width),
				slices: [] })),
			instants: new Density(row.instants || [], t.parts, this.width),
			hasInstants: (row.instants || []).length > 0, points: [],
			states: (row.states || []).length ? unpackStates(row.states, t.parts) : null, exactStates: [] };
	}

	// [key, value, key, value, ...] with the numbers of keys
	args(list, from) {
		const pairs = [];
		for (let i = from; i < list.length; i += 2)
			pairs.push([this.names[list[i]].name, list[i + 1]]);
		return pairs;
	}

	addDetail(t) {
		for (const s of t.slices) {
			const row = this.rows[s[0]];
			while (row.levels.length <= s[1])
				row.levels.push({ density: new Density([], t.parts, this.width), slices: [] });
			row.levels[s[1]].slices.push({ row, level: s[1], begin: s[2], end: s[2] + s[3], kind: s[4], how: s[5], raw: s });
		}
		for (const p of t.points)
			this.rows[p[0]].points.push({ row: this.rows[p[0]], at: p[1], kind: p[2], raw: p });
		for (const [row, begin, duration, state] of t.states)
			this.rows[row].exactStates.push({ begin, end: begin + duration, state });
		for (const [counter, at, value] of t.values)
			this.counters[counter].exact.push({ at, value });
		for (const row of this.rows) {
			for (const level of row.levels)
				level.slices.sort((a, b) => a.begin - b.begin || b.end - a.end);
			row.exactStates.sort((a, b) => a.begin - b.begin);
			row.points.sort((a, b) => a.at - b.at);
		}
		this.flows = this.pairFlows(t.flows);
	}

	// Each arrow that leaves ends at the next place where its id arrives.
	pairFlows(list) {
		const open = new Map(), flows = [];
		for (const [row, at, id, arrives] of list) {
			const key = id;
			if (!arrives)
				open.set(key, { row: this.rows[row], at });
			else if (open.has(key))
				flows.push({ id, from: open.get(key), to: { row: this.rows[row], at } });
		}
		return flows;
	}

	scaleCounter(counter) {
		let min = 0, max = -Infinity;
		for (const p of counter.points) {
			min = Math.min(min, p.min);
			max = Math.max(max, p.max);
		}
		counter.min = min;
		counter.max = max > min ? max : min + 1;
	}

	// The window of full detail that a time is in.
	windowAt(row, time) {
		return this.everything ||
			this.windows.some((w) => w.trace === row.trace && w.begin <= time && time <= w.end);
	}

	sliceAt(row, level, time) {
		const list = row.levels[level] ? row.levels[level].slices : [];
		for (let i = firstAfter(list, "begin", time) - 1; i >= 0 && i > firstAfter(list, "begin", time) - 4; i--) {
			if (list[i].end > time || (list[i].end === list[i].begin && list[i].begin === time))
				return list[i];
		}
		return null;
	}
}
