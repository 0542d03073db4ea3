// SPDX-License-Identifier: BSD-2-Clause
// In an SVG file.
showFlame(document.querySelector("svg.flame"), () => document.documentElement.clientWidth || window.innerWidth, true);
