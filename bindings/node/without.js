// SPDX-License-Identifier: BSD-2-Clause
//
// What stands in for the addon where it was not built or the library is not installed: nothing is ever recorded.
'use strict';

const nothing = () => undefined;
let ids = 0n;

module.exports = {
	semaphoreAddress: () => 0n,
	problems: () => 0,
	newId: () => ++ids,
	counter: (domain, name, initial) => ({ value: Number(initial) }),
	counterSet: (counter, value) => void (counter.value = Number(value)),
	counterAdd: (counter, by) => void (counter.value += Number(by)),
	counterValue: (counter) => counter.value,
};
const others = 'domain name semaphoreWord task frame event marker markerMark threadName step pause resume dump stop';
for (const name of others.split(' '))
	module.exports[name] = nothing;
