#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/rust.sh
#
# The nanoseconds of a mark in C and in Rust with as many values, in one run of one program, in turn: unrecorded, in
# exact mode, in buffered mode. Of a scope both marks.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
programs=tests/integration/programs/rust
cargo build -q --offline --locked --release --manifest-path $programs/Cargo.toml --target-dir build/rust
${CC:-cc} -O2 -Iinclude $programs/mixed.c build/rust/release/librust_library.a -o "$tmp/mixed" -lpthread -ldl

run() { # MODE COMMAND...
	mode=$1
	shift
	"$@" | awk -v mode="$mode" '$1 != "total" { printf "%-8s %-8s %6s %8s %8s\n", mode, $1, $2, $3, $4 }'
}
printf '%-8s %-8s %6s %8s %8s\n' mode form values C Rust
run off "$tmp/mixed" 20 1000000
run exact build/proftrace -q -e none --mode exact -o "$tmp/t" -- "$tmp/mixed" 20 1000
run batch build/proftrace -q -e none --mode batch -o "$tmp/t" -- "$tmp/mixed" 100 2000
