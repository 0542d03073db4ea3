// SPDX-License-Identifier: BSD-2-Clause
//
// server.mjs DIRECTORY SOCKET: Perfetto's trace processor, as WebAssembly in DIRECTORY, answers SQL.
//
// To start it and to load a trace takes longer than most questions, so it is kept, with the trace that was
// asked about last. POST /PATH with SQL; the path is in hexadecimal digits. What comes back is what
// trace_processor_shell prints.
//
// The engine is made for a worker of a web page: it is given what it looks for there. It speaks messages
// of Perfetto's protos/perfetto/trace_processor/trace_processor.proto; their numbers are below.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import vm from "node:vm";

const [directory, socket] = process.argv.slice(2);
const CHUNK = 8 << 20;
const METHOD = { append: 1, finish: 2, query: 3, reset: 11 };
const RPC = { message: 1, sequence: 1, method: 2, fatal: 5, data: 101, query: 103, appended: 201,
	queried: 203, finished: 212 };
const RESULT = { columns: 1, error: 2, batch: 3 };
const BATCH = { types: 1, integers: 2, doubles: 3, blobs: 4, strings: 5 };
const CELL = { nothing: 1, integer: 2, double: 3, string: 4, blob: 5 };

// --- protobuf -----------------------------------------------------------------------------------

function varint(value) {
	const bytes = [];
	let rest = BigInt(value);

	for (; rest > 127n; rest >>= 7n)
		bytes.push(Number(rest & 127n) | 128);
	bytes.push(Number(rest));
	return Buffer.from(bytes);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

class Reader {
	constructor(buffer) {
		this.buffer = buffer;
		this.at = 0;
	}

	varint() {
		let value = 0n, byte;

		for (let shift = 0n; ; shift += 7n) {
			byte = this.buffer[this.at++];
			value |= BigInt(byte & 127) << shift;
			if (byte < 128)
				return value;
		}
	}

	take(n) {
		return this.buffer.subarray(this.at, (this.at += n));
	}

	// Pairs of a field's number and its value: a BigInt, or bytes.
	*fields() {
		while (this.at < this.buffer.length) {
			const tag = Number(this.varint());

			switch (tag & 7) {
			case 0: yield [tag >> 3, this.varint()]; break;
			case 1: yield [tag >> 3, this.take(8)]; break;
			case 2: yield [tag >> 3, this.take(Number(this.varint()))]; break;
			case 5: yield [tag >> 3, this.take(4)]; break;
			default: throw new Error("the answer makes no sense");
			}
		}
	}
}

const fields = (buffer) => new Reader(buffer ?? Buffer.alloc(0)).fields();

function integers(packed) {
	const reader = new Reader(packed), all = [];

	while (reader.at < packed.length)
		all.push(BigInt.asIntN(64, reader.varint()));
	return all;
}

// --- the engine ---------------------------------------------------------------------------------

let answers = [];
const port = { postMessage: (message) => answers.push(Buffer.from(message)) };

function start() {
	globalThis.self = globalThis;
	globalThis.WorkerGlobalScope = function () {};
	globalThis.location = { href: "file:///engine_bundle.js" };
	globalThis.XMLHttpRequest = class {
		open(method, url) {
			this.name = path.basename(url);
		}
		send() {
			this.response = new Uint8Array(fs.readFileSync(path.join(directory, this.name))).buffer;
		}
	};
	console.warn = () => {}; // its progress; what is wrong with a trace is in the answers
	vm.runInThisContext(fs.readFileSync(path.join(directory, "engine_bundle.node.js"), "utf8"));
	globalThis.onmessage({ data: port });
}

let sequence = 0;

function call(method, argument) {
	const request = [number(RPC.sequence, ++sequence), number(RPC.method, method)];
	const responses = [];

	answers = [];
	port.onmessage({ data: new Uint8Array(
		bytes(RPC.message, Buffer.concat(argument ? [...request, argument] : request))) });
	for (const [, message] of fields(Buffer.concat(answers))) {
		const response = new Map(fields(message));

		if (response.has(RPC.fatal))
			throw new Error(response.get(RPC.fatal).toString());
		responses.push(response);
	}
	return responses;
}

// Each of these has one field that matters, an error.
function refuse(message, field) {
	for (const [found, text] of fields(message))
		if (found === field)
			throw new Error(text.toString());
}

let loaded = null;

function load(file) {
	const status = fs.statSync(file);
	const key = [file, status.ino, status.mtimeMs, status.size].join();
	const chunk = Buffer.alloc(CHUNK);

	if (key === loaded)
		return;
	call(METHOD.reset);
	loaded = null;
	const descriptor = fs.openSync(file, "r");
	try {
		for (let n; (n = fs.readSync(descriptor, chunk, 0, CHUNK, null)) > 0;)
			for (const response of call(METHOD.append, bytes(RPC.data, chunk.subarray(0, n))))
				refuse(response.get(RPC.appended), 2);
	} finally {
		fs.closeSync(descriptor);
	}
	for (const response of call(METHOD.finish))
		refuse(response.get(RPC.finished), 1);
	loaded = key;
}

// The cells of a batch lie apart by their types.
function cells(batch) {
	let types = [], whole = [], real = [], strings = [], blobs = 0;

	for (const [field, value] of fields(batch)) {
		if (field === BATCH.types)
			types = types.concat(integers(value));
		else if (field === BATCH.integers)
			whole = whole.concat(integers(value));
		else if (field === BATCH.doubles)
			for (let i = 0; i < value.length; i += 8)
				real.push(value.readDoubleLE(i));
		else if (field === BATCH.strings)
			strings = value.toString().split("\0");
		else if (field === BATCH.blobs)
			blobs++;
	}
	const next = { [CELL.nothing]: () => "[NULL]", [CELL.integer]: () => String(whole.shift()),
		[CELL.double]: () => real.shift().toFixed(6), [CELL.string]: () => `"${strings.shift()}"`,
		[CELL.blob]: () => `<${blobs} blobs>` };
	return types.map((type) => next[Number(type)]());
}

function query(sql) {
	const columns = [], values = [], rows = [];

	for (const response of call(METHOD.query, bytes(RPC.query, bytes(1, Buffer.from(sql))))) {
		for (const [field, value] of fields(response.get(RPC.queried))) {
			if (field === RESULT.columns)
				columns.push(`"${value}"`);
			else if (field === RESULT.error)
				throw new Error(value.toString());
			else if (field === RESULT.batch)
				values.push(...cells(value));
		}
	}
	for (let i = 0; columns.length && i < values.length; i += columns.length)
		rows.push(values.slice(i, i + columns.length).join(","));
	return [columns.join(","), ...rows, ""].join("\n");
}

// --- who asks -----------------------------------------------------------------------------------

function answer(request, response, sql) {
	try {
		load(Buffer.from(request.url.slice(1), "hex").toString());
		response.end(query(sql));
	} catch (error) {
		response.statusCode = 400;
		response.end(error.message + "\n");
	}
}

start();
// It is ready one turn later.
setImmediate(() => http.createServer((request, response) => {
	const parts = [];

	request.on("data", (part) => parts.push(part));
	request.on("end", () => answer(request, response, Buffer.concat(parts).toString()));
}).listen(socket, () => console.log("the loader of Perfetto, by npm, in Node " + process.version)));
