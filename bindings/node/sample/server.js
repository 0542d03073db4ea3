// SPDX-License-Identifier: BSD-2-Clause
//
// server.js [REQUESTS]: answers requests that wait for each other, and prints how many primes it was asked for. Record it:
//
//     sudo proftrace -o server -- node sample/server.js
'use strict';

const proftrace = require('proftrace');

const server = proftrace.domain('server');
const request = server.name('request', ['limit']);
const sieve = proftrace.name('sieve', ['limit']);
const answer = server.name('answer', ['found']);
const open = server.counter('open requests');

// Computes without waiting: a slice of the thread.
function primes(limit) {
	const scope = sieve.begin(limit);
	try {
		const composite = new Uint8Array(limit + 1);
		let count = 0;
		for (let i = 2; i <= limit; i++) {
			if (composite[i])
				continue;
			count++;
			for (let j = i * i; j <= limit; j += i)
				composite[j] = 1;
		}
		return count;
	} finally {
		scope.end();
	}
}

// Waits in between: an asynchronous slice.
function handle(limit) {
	return request.follow(async () => {
		open.add(1);
		await new Promise(setImmediate);
		const count = primes(limit);
		answer.instant(count);
		open.add(-1);
		return count;
	}, limit);
}

async function main() {
	const requests = Number(process.argv[2] ?? 200);
	const counts = await Promise.all(Array.from({ length: requests }, (_, i) => handle(1000 + 50 * i)));
	console.log('primes', counts.reduce((sum, n) => sum + n, 0));
}

main();
