// SPDX-License-Identifier: BSD-2-Clause
// Numbers and elements. Text from a trace enters the page here, as text: nothing in this script makes markup of it.
"use strict";

const byId = (id) => document.getElementById(id);

// An element with properties and children: strings become text.
function make(tag, properties, ...children) {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(properties || {})) {
		if (key in element && key !== "list")
			element[key] = value;
		else
			element.setAttribute(key, value);
	}
	element.append(...children.filter((child) => child !== null));
	return element;
}

function makeSvg(tag, attributes, ...children) {
	const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [key, value] of Object.entries(attributes || {}))
		element.setAttribute(key, value);
	element.append(...children);
	return element;
}

// "999 ns", "1.234 us", "5.000 ms", as the table in a terminal has it.
function durationText(ns) {
	if (ns === null || ns === undefined)
		return "";
	if (ns < 0)
		return "\u2212" + durationText(-ns);
	if (ns < 1000)
		return `${Math.round(ns)} ns`;
	if (ns < 1e6)
		return `${(ns / 1e3).toFixed(3)} \u00b5s`;
	return ns < 1e9 ? `${(ns / 1e6).toFixed(3)} ms` : `${(ns / 1e9).toFixed(3)} s`;
}

function countText(n) {
	if (n === null || n === undefined)
		return "";
	return Number.isInteger(n) ? n.toLocaleString("en-US") : String(Number(n.toPrecision(6)));
}

const percentText = (n) => n === null || n === undefined ? "" : `${n.toFixed(1)}`;
const plural = (n, one, many) => `${countText(n)} ${n === 1 ? one : many || one + "s"}`;

// A name may be a megabyte of anything: titles and labels have its beginning.
function shortText(text, most) {
	const characters = text.length > 4 * most ? Array.from(text.slice(0, 4 * most)) : Array.from(text);
	return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "\u2026";
}

// What people type: a regular expression or, if it is none, the text itself. NULL: everything matches.
function matcher(text) {
	if (!text)
		return null;
	try {
		const expression = new RegExp(text, "i");
		return (name) => expression.test(name);
	} catch (error) {
		const lower = text.toLowerCase();
		return (name) => name.toLowerCase().includes(lower);
	}
}

function say(text) {
	byId("live").textContent = text;
}
