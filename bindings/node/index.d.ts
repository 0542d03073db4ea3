// SPDX-License-Identifier: BSD-2-Clause

/** What a mark records: an integer is a number without a fraction, or a bigint of up to 64 bits. */
export type Value = number | bigint | boolean | string;

/** A slice that has begun. `using scope = name.begin()` ends it by itself. */
export interface Scope {
	end(): void;
	[Symbol.dispose](): void;
}

/** A name and its keys: the values of a mark come in the order of the keys. */
export interface Name {
	/** Begins a slice of this thread: end it before the next await. Slices of a thread nest. */
	begin(...values: Value[]): Scope;
	/** Begins an asynchronous slice, which may last over awaits and overlap others. */
	beginAsync(...values: Value[]): Scope;
	/** Calls f in a slice of this thread. */
	run<T>(f: () => T, ...values: Value[]): T;
	/** Calls f in an asynchronous slice, which ends with what f awaits. */
	follow<T>(f: () => Promise<T> | T, ...values: Value[]): Promise<T>;
	instant(...values: Value[]): void;
	instantOf(scope: InstantScope, ...values: Value[]): void;
	/** Values of a counter that has several series, whose names are the keys. */
	counters(...values: Value[]): void;
}

/** A slice of the thread that is an object: a task, or an event, which belongs to the domain "default". */
export interface Task {
	begin(): Scope;
	/** Calls f within. */
	run<T>(f: () => T): T;
}

/** A track of its own, where passes are numbered, and a rate. */
export type Frame = Task;

/** A slice of the thread, and moments of its name. */
export interface Marker extends Task {
	mark(scope?: InstantScope): void;
}

export interface MarkerOptions {
	categories?: string | string[];
	/** A moment where each slice begins, or ends. */
	instantOnStart?: boolean;
	instantOnFinish?: boolean;
}

export type InstantScope = 'thread' | 'process' | 'global' | 'task' | 'marker';

/** A number that is kept whether or not somebody records it. */
export interface Counter {
	set(value: number | bigint): void;
	add(by: number | bigint): void;
	readonly value: number;
}

/** Memory whose size is followed: say what was taken afterwards, and what is given back before. */
export interface Pool {
	alloc(address: number | bigint, size: number | bigint): void;
	free(address: number | bigint): void;
}

/** A group of marks that a recording can select (-D). Its name is a category of theirs. */
export interface Domain {
	readonly enabled: boolean;
	name(name: string, keys?: string[]): Name;
	task(name: string): Task;
	frame(name: string): Frame;
	marker(name: string, options?: MarkerOptions): Marker;
	counter(name: string, initial?: number | bigint): Counter;
}

export function domain(name: string): Domain;

/* Of the domain "default". */
export const enabled: boolean;
export function name(name: string, keys?: string[]): Name;
export function task(name: string): Task;
export function frame(name: string): Frame;
export function event(name: string): Task;
export function marker(name: string, options?: MarkerOptions): Marker;
export function counter(name: string, initial?: number | bigint): Counter;
export function pool(name: string): Pool;

/** An id for an arrow that nothing else has, in any process. */
export function newId(): bigint;
/** Begins an arrow in the slice of the thread that is open here. */
export function flowOut(id: number | bigint): void;
/** Ends the arrow of this id in the slice of the thread that is open here. */
export function flowIn(id: number | bigint): void;

export function threadName(name: string): void;
/** The program begins this batch of this epoch. Schedules count these. */
export function step(epoch: number | bigint, batch: number | bigint): void;
export function pause(): void;
export function resume(): void;
export function dump(): void;
export function stop(): void;

/** Whether what cannot be marked is a TypeError, recorded or not, in this thread; PROFTRACE_STRICT=1 in the environment. */
export function strict(wanted: boolean): void;
/** How many values were left out of marks because of their type; how many names and other arguments were refused, in this
 * thread; `missing` says why nothing can be recorded. */
export function problems(): { values: number; refused: number; missing?: string };
