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

function text(name) {
	if (typeof name !== 'string')
		throw new TypeError('a name is a string');
	return name;
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
	#on;
	#handle;

	constructor(domain, on, name, keys) {
		if (!Array.isArray(keys) || keys.length > MAX_KEYS)
			throw new TypeError(`the keys of a name are an array of up to ${MAX_KEYS} strings`);
		this.#on = on;
		this.#handle = native.name(domain, text(name), keys.map(text));
	}

	begin(...values) {
		if (this.#on[0] === 0)
			return NONE;
		return new Scope(native.end, this.#handle, native.begin(this.#handle, 0, ...values));
	}

	beginAsync(...values) {
		if (this.#on[0] === 0)
			return NONE;
		return new Scope(native.endAsync, this.#handle, native.begin(this.#handle, 1, ...values));
	}

	run(f, ...values) {
		if (this.#on[0] === 0)
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
		if (this.#on[0] !== 0)
			native.instant(this.#handle, 0, ...values);
	}

	instantOf(scope, ...values) {
		if (this.#on[0] !== 0)
			native.instant(this.#handle, SCOPES[scope] ?? 0, ...values);
	}

	counters(...values) {
		if (this.#on[0] !== 0)
			native.counters(this.#handle, 0, ...values);
	}
}

const SCOPES = { thread: 0, process: 1, global: 2 };

class Task {
	#on;
	#handle;

	constructor(domain, on, name) {
		this.#on = on;
		this.#handle = native.task(domain, text(name));
	}

	begin() {
		if (this.#on[0] === 0)
			return NONE;
		native.taskStart(this.#handle);
		return new Scope(native.taskStop, this.#handle, 0n);
	}
}

class Frame {
	#on;
	#handle;

	constructor(domain, on, name) {
		this.#on = on;
		this.#handle = native.frame(domain, text(name));
	}

	begin() {
		if (this.#on[0] === 0)
			return NONE;
		native.frameStart(this.#handle);
		return new Scope(native.frameStop, this.#handle, 0n);
	}
}

class Counter {
	#handle;

	constructor(domain, name, initial) {
		this.#handle = native.counter(domain, text(name), initial);
	}

	set(value) {
		native.counterSet(this.#handle, value);
	}

	add(by) {
		native.counterAdd(this.#handle, by);
	}

	get value() {
		return native.counterValue(this.#handle);
	}
}

class Domain {
	#handle;
	#on;

	constructor(handle) {
		this.#handle = handle;
		this.#on = wordOf(handle);
	}

	get enabled() {
		return this.#on[0] !== 0;
	}

	name(name, keys = []) {
		return new Name(this.#handle, this.#on, name, keys);
	}

	task(name) {
		return new Task(this.#handle, this.#on, name);
	}

	frame(name) {
		return new Frame(this.#handle, this.#on, name);
	}

	counter(name, initial = 0) {
		return new Counter(this.#handle, name, initial);
	}
}

const standard = new Domain(null);

class Pool {
	#handle;

	constructor(name) {
		this.#handle = native.name(null, text(name), []);
	}

	alloc(address, size) {
		if (standard.enabled)
			native.alloc(this.#handle, address, size);
	}

	free(address) {
		if (standard.enabled)
			native.free(this.#handle, address);
	}
}

module.exports = {
	domain: (name) => new Domain(native.domain(text(name))),
	name: (name, keys) => standard.name(name, keys),
	task: (name) => standard.task(name),
	frame: (name) => standard.frame(name),
	counter: (name, initial) => standard.counter(name, initial),
	pool: (name) => new Pool(name),
	get enabled() {
		return standard.enabled;
	},
	newId: () => native.newId(),
	flowOut(id) {
		if (standard.enabled)
			native.flowOut(id);
	},
	flowIn(id) {
		if (standard.enabled)
			native.flowIn(id);
	},
	threadName: (name) => native.threadName(text(name)),
	step: (epoch, batch) => native.step(epoch, batch),
	pause: () => native.pause(),
	resume: () => native.resume(),
	dump: () => native.dump(),
	stop: () => native.stop(),
	problems: () => ({ values: native.problems(), ...(missing && { missing: missing.message }) }),
};
