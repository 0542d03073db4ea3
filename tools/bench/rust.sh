#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/rust.sh
#
# The nanoseconds of a mark in C and in Rust, an instant with one integer, in one run of one program, in turn:
# unrecorded, in exact mode, in buffered mode.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
programs=tests/integration/programs/rust
cargo build -q --offline --locked --release --manifest-path $programs/Cargo.toml --target-dir build/rust
${CC:-cc} -O2 -Iinclude $programs/mixed.c build/rust/release/librust_library.a -o "$tmp/mixed" -lpthread -ldl

row() { # NAME COMMAND...
	name=$1
	shift
	"$@" >"$tmp/out"
	printf '%-10s %8s %8s\n' "$name" "$(sed -n 's/^c //p' "$tmp/out")" "$(sed -n 's/^rust //p' "$tmp/out")"
}
printf '%-10s %8s %8s\n' "" C Rust
row off "$tmp/mixed" 20 10000000
row exact build/proftrace -q -e none -o "$tmp/t" -- "$tmp/mixed" 50 5000
row batch build/proftrace -q -e none --mode batch -o "$tmp/t" -- "$tmp/mixed" 200 5000
