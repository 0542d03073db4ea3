// SPDX-License-Identifier: BSD-2-Clause
//
// Marks that the tracer proftrace records. While nobody records, a mark costs a load and a branch: whether somebody
// does is a word of memory that this file reads, and only then it calls the addon (src/native.c).
'use strict';

let native, missing;
try {
	native = require('./native.node');
} catch (error) {
	missing = error;
	native = require('./without.js');
}

const MAX_KEYS = 32;
const SCOPES = { thread: 0, process: 1, global: 2, task: 3, marker: 4 };

// What cannot be marked is left out and counted; with strict(true) it is an error.
let strict = Boolean(process.env.PROFTRACE_STRICT);
let refused = 0;

function refuse(message) {
	refused++;
	if (strict)
		throw new TypeError(message);
	return false;
}

const isText = (name) => typeof name === 'string' || refuse('a name is a string');
const isInteger = (value) => typeof value === 'bigint' || Number.isFinite(value) || refuse('an integer is a number or a bigint');

function isValue(value) {
	return ['number', 'bigint', 'boolean', 'string'].includes(typeof value) ||
		refuse('a value is a number, a bigint, a boolean or a string');
}

function scopeOf(scope) {
	return SCOPES[scope] ?? (refuse(`${String(scope)} is not a scope of an instant`) || 0);
}

// The word of what cannot be recorded.
const NEVER = new Uint32Array(1);

// Each word is given to JavaScript once, though several domains have the same.
const words = new Map();

function wordOf(handle) {
	const place = native.semaphoreAddress(handle);
	let word = words.get(place);
	if (word === undefined) {
		word = native.semaphoreWord(handle) ?? new Uint32Array(1);
		words.set(place, word);
	}
	return word;
}

// A slice that has begun. One that is not recorded has no way to end.
class Scope {
	#end;
	#handle;
	#token;

	constructor(end, handle, token) {
		this.#end = end;
		this.#handle = handle;
		this.#token = token;
	}

	end() {
		const end = this.#end;
		if (end !== null) {
			this.#end = null;
			end(this.#handle, this.#token);
		}
	}
}
// `using scope = parse.begin();`, where the language has it.
if (Symbol.dispose)
	Object.defineProperty(Scope.prototype, Symbol.dispose, { value: Scope.prototype.end });

const NONE = new Scope(null, null, 0n);

class Name {
	#on = NEVER;
	#handle = null;
	#keys = 0;

	constructor(domain, on, name, keys) {
		if (!Array.isArray(keys) || keys.length > MAX_KEYS) {
			refuse(`the keys of a name are an array of up to ${MAX_KEYS} strings`);
		} else if (isText(name) && keys.every(isText)) {
			this.#on = on;
			this.#handle = native.name(domain, name, keys);
			this.#keys = keys.length;
		}
	}

	// Only with strict(true): while somebody records, the addon counts what is wrong.
	#check(values) {
		if (values.length > this.#keys)
			refuse('a value has no key');
		values.every(isValue);
	}

	begin(...values) {
		if (strict)
			this.#check(values);
		if (this.#on[0] === 0)
			return NONE;
		return new Scope(native.end, this.#handle, native.begin(this.#handle, 0, ...values));
	}

	beginAsync(...values) {
		if (strict)
			this.#check(values);
		if (this.#on[0] === 0)
			return NONE;
		return new Scope(native.endAsync, this.#handle, native.begin(this.#handle, 1, ...values));
	}

	run(f, ...values) {
		if (this.#on[0] === 0 && !strict)
			return f();
		const scope = this.begin(...values);
		try {
			return f();
		} finally {
			scope.end();
		}
	}

	async follow(f, ...values) {
		const scope = this.beginAsync(...values);
		try {
			return await f();
		} finally {
			scope.end();
		}
	}

	instant(...values) {
		if (strict)
			this.#check(values);
		if (this.#on[0] !== 0)
			native.instant(this.#handle, 0, ...values);
	}

	instantOf(scope, ...values) {
		if (strict) {
			this.#check(values);
			scopeOf(scope);
		}
		if (this.#on[0] !== 0)
			native.instant(this.#handle, scopeOf(scope), ...values);
	}

	counters(...values) {
		if (strict)
			this.#check(values);
		if (this.#on[0] !== 0)
			native.counters(this.#handle, 0, ...values);
	}
}

// What is begun and ended under a name of its own: a task, an event, a frame or a marker.
class Section {
	#on = NEVER;
	#handle = null;
	#start;
	#stop;

	constructor(kind, domain, on, name, ...options) {
		if (isText(name)) {
			this.#on = on;
			this.#handle = native[kind](domain, name, ...options);
		}
		this.#start = native[kind + 'Start'];
		this.#stop = native[kind + 'Stop'];
	}

	begin() {
		if (this.#on[0] === 0)
			return NONE;
		this.#start(this.#handle);
		return new Scope(this.#stop, this.#handle, 0n);
	}

	run(f) {
		const scope = this.begin();
		try {
			return f();
		} finally {
			scope.end();
		}
	}

	// For markers, which have moments.
	static mark(section, scope) {
		if (section.#on[0] !== 0 || strict)
			native.markerMark(section.#handle, scopeOf(scope));
	}
}

class Marker extends Section {
	constructor(domain, on, name, { categories = [], instantOnStart = false, instantOnFinish = false } = {}) {
		super('marker', domain, on, name, [categories].flat().filter(isText).join(','), instantOnStart | (2 * instantOnFinish));
	}

	mark(scope = 'process') {
		Section.mark(this, scope);
	}
}

class Counter {
	#handle = null;

	constructor(domain, on, name, initial) {
		if (isText(name) && isInteger(initial) && on !== NEVER)
			this.#handle = native.counter(domain, name, initial);
	}

	set(value) {
		if (isInteger(value) && this.#handle !== null)
			native.counterSet(this.#handle, value);
	}

	add(by) {
		if (isInteger(by) && this.#handle !== null)
			native.counterAdd(this.#handle, by);
	}

	get value() {
		return this.#handle !== null ? native.counterValue(this.#handle) : 0;
	}
}

class Domain {
	#handle;
	#on;

	constructor(handle, on = wordOf(handle)) {
		this.#handle = handle;
		this.#on = on;
	}

	get enabled() {
		return this.#on[0] !== 0;
	}

	name(name, keys = []) {
		return new Name(this.#handle, this.#on, name, keys);
	}

	task(name) {
		return new Section('task', this.#handle, this.#on, name);
	}

	frame(name) {
		return new Section('frame', this.#handle, this.#on, name);
	}

	marker(name, options) {
		return new Marker(this.#handle, this.#on, name, options);
	}

	counter(name, initial = 0) {
		return new Counter(this.#handle, this.#on, name, initial);
	}
}

const standard = new Domain(null);

class Pool {
	#handle = null;

	constructor(name) {
		if (isText(name))
			this.#handle = native.name(null, name, []);
	}

	alloc(address, size) {
		if (standard.enabled && this.#handle !== null && isInteger(address) && isInteger(size))
			native.alloc(this.#handle, address, size);
	}

	free(address) {
		if (standard.enabled && this.#handle !== null && isInteger(address))
			native.free(this.#handle, address);
	}
}

module.exports = {
	domain: (name) => (isText(name) ? new Domain(native.domain(name)) : new Domain(null, NEVER)),
	name: (name, keys) => standard.name(name, keys),
	task: (name) => standard.task(name),
	frame: (name) => standard.frame(name),
	event: (name) => new Section('event', null, wordOf(null), name),
	marker: (name, options) => standard.marker(name, options),
	counter: (name, initial) => standard.counter(name, initial),
	pool: (name) => new Pool(name),
	get enabled() {
		return standard.enabled;
	},
	newId: () => native.newId(),
	flowOut(id) {
		if (standard.enabled && isInteger(id))
			native.flowOut(id);
	},
	flowIn(id) {
		if (standard.enabled && isInteger(id))
			native.flowIn(id);
	},
	threadName: (name) => void (isText(name) && native.threadName(name)),
	step: (epoch, batch) => void (isInteger(epoch) && isInteger(batch) && native.step(epoch, batch)),
	pause: () => native.pause(),
	resume: () => native.resume(),
	dump: () => native.dump(),
	stop: () => native.stop(),
	strict: (wanted) => void (strict = Boolean(wanted)),
	problems: () => ({ values: native.problems(), refused, ...(missing && { missing: missing.message }) }),
};
