// SPDX-License-Identifier: BSD-2-Clause
//
// marks.js THREADS ROUNDS TASKS TURNS [wait]: every kind of mark, in worker threads and in asynchronous functions.
// Prints what a trace of it must hold, for verify.py.
'use strict';

const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const proftrace = require('proftrace');

const net = proftrace.domain('net');
const outer = proftrace.name('outer', ['i', 'half', 'text', 'yes']);
const inner = net.name('inner', ['within']);
const moment = proftrace.name('moment', ['i']);
const sent = net.name('sent', ['large']);
const train = net.name('train', ['loss', 'lr']);
const receiver = proftrace.name('receiver');
const request = net.name('request', ['number']);
const job = net.task('job');
const display = net.frame('display');
const event = proftrace.event('event');
const phase = net.marker('phase', { categories: ['io', 'disk'], instantOnFinish: true });

const marked = { marks: 0, events: {}, threads: {} };

function saw(line, marks = 1, n = 1) {
	marked.events[line] = (marked.events[line] ?? 0) + n;
	marked.marks += marks;
}

function slices(round) {
	const yes = round % 2 === 0;
	const scope = outer.begin(round % 10, 0.5, 'naïve text', yes);
	try {
		// More than three arguments take another mark for each two.
		saw(`BEGIN outer default i=n:${round % 10} half=d:0.5 text=s:"naïve text" yes=b:${yes}`, 3);
		inner.run(() => {
			saw('BEGIN inner net within=s:"outer"', 2);
			moment.instant(round % 3);
			saw(`INSTANT moment default i=n:${round % 3}`);
			sent.instantOf('process', 2n ** 63n - 1n);
			saw('INSTANT sent net large=n:9223372036854775807');
		}, 'outer');
	} finally {
		scope.end();
		scope.end();
	}
	job.begin().end();
	saw('BEGIN job net', 2);
	event.run(() => saw('BEGIN event default', 2));
	phase.begin().end();
	saw('BEGIN phase net,io,disk', 2);
	phase.mark('global');
	saw('INSTANT phase net,io,disk', 2, 2);
	train.counters(0.25, round % 2);
	saw('COUNTER train loss d:0.25');
	saw(`COUNTER train lr n:${round % 2}`, 0);
}

function arrow() {
	const id = proftrace.newId();
	receiver.run(() => proftrace.flowOut(id));
	receiver.run(() => proftrace.flowIn(id));
	saw('BEGIN receiver default', 4, 2);
	saw('FLOW_OUT');
	saw('FLOW_IN');
}

function work({ number, rounds }) {
	const name = `worker ${number}`;
	proftrace.threadName(name);
	marked.marks++;
	const queue = proftrace.counter(`queue ${number}`);
	const pool = proftrace.pool(`pool ${number}`);
	const place = BigInt(number + 1) << 32n;
	for (let round = 0; round < rounds; round++) {
		slices(round);
		arrow();
		queue.add(1);
		saw(`COUNTER queue ${number} n:${round + 1}`);
		pool.alloc(place + BigInt(round), 100);
		saw(`COUNTER pool ${number} n:100`);
		pool.free(place + BigInt(round));
		saw(`COUNTER pool ${number} n:0`);
	}
	if (queue.value !== rounds)
		throw new Error('a counter has lost its value');
	marked.threads[name] = 7 * rounds;
	parentPort.postMessage(marked);
}

async function serve(number, turns) {
	for (let turn = 0; turn < turns; turn++) {
		const got = await request.follow(async () => {
			await new Promise(setImmediate);
			return turn;
		}, number % 7);
		if (got !== turn)
			throw new Error('a function that is followed returns something else');
		saw(`ASYNC_BEGIN request net number=n:${number % 7}`);
		saw('ASYNC_END request net');
	}
}

function merge(other) {
	marked.marks += other.marks;
	for (const line in other.events)
		saw(line, 0, other.events[line]);
	Object.assign(marked.threads, other.threads);
}

function refuse(f) {
	try {
		f();
	} catch (error) {
		if (error instanceof TypeError)
			return;
	}
	throw new Error(`${f} is not refused`);
}

const BAD = [
	() => proftrace.name(1),
	() => proftrace.name('name', 'key'),
	() => proftrace.name('name', [1]),
	() => proftrace.name('name', Array(33).fill('key')),
	() => proftrace.domain(),
	() => proftrace.event(null),
	() => net.task(Symbol('task')),
	() => net.frame({}),
	() => net.marker(1n),
	() => net.marker('marker', { categories: [5] }),
	() => net.counter(5).add(1),
	() => net.counter('counter', '1'),
	() => net.counter('counter').set('1'),
	() => proftrace.pool(7).alloc(1, 1),
	() => proftrace.threadName(5),
	() => proftrace.step('one', 2),
];
const BAD_MARKS = [
	() => moment.instantOf('nowhere'),
	() => phase.mark('nowhere'),
];
const BAD_VALUES = [
	() => moment.instant({}, 1),
	() => moment.instant(Symbol('value')),
	() => moment.instant(undefined),
];

// What cannot be marked is left out and counted, recorded or not, or with strict() refused.
function misuse() {
	const count = () => proftrace.problems().refused;
	for (const f of BAD) {
		const before = count();
		f();
		if (count() === before)
			throw new Error(`${f} is not counted`);
	}
	// Of what was not made nothing is recorded.
	for (const none of [proftrace.name(1), proftrace.domain(1).name('none'), net.task(1), net.frame(1), net.marker(1)])
		none.begin().end();
	proftrace.domain(1).counter('none').add(1);
	BAD_MARKS[0]();
	BAD_MARKS[1]();
	saw('INSTANT moment default');
	saw('INSTANT phase net,io,disk');
	for (const f of BAD_VALUES) {
		f();
		saw('INSTANT moment default');
	}
	if (proftrace.enabled && proftrace.problems().values !== 4)
		throw new Error('not every value that was left out is counted');
	proftrace.strict(true);
	[...BAD, ...BAD_MARKS, ...BAD_VALUES].forEach(refuse);
	proftrace.strict(false);
}

async function main() {
	const [threads, rounds, tasks, turns] = process.argv.slice(2, 6).map(Number);
	if (process.argv[6] === 'wait') {
		console.log('ready', process.pid);
		require('fs').readSync(0, Buffer.alloc(1));
	}
	misuse();
	const workers = Array.from({ length: threads }, (_, number) => new Promise((resolve, reject) => {
		const worker = new Worker(__filename, { workerData: { number, rounds } });
		worker.on('message', merge).on('error', reject).on('exit', resolve);
	}));
	await Promise.all(Array.from({ length: tasks }, (_, number) => serve(number, turns)));
	await Promise.all(workers);
	for (let n = 1; n <= 10; n++) {
		display.begin().end();
		saw(`ASYNC_BEGIN display net frame=n:${n}`, 2);
		saw('ASYNC_END display net', 0);
	}
	console.log('expected', JSON.stringify(marked));
}

if (isMainThread)
	main();
else
	work(workerData);
