#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/annotations.sh
#
# The nanoseconds of a mark by NVTX and by ITT, beside those of the header, as half of a slice: unrecorded, in exact mode,
# in buffered mode. Called by `make bench`.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
library=$PWD/build/lib/libproftrace-annotations.so
${CC:-cc} -D_GNU_SOURCE -O2 -Wall -Wextra -Iinclude tools/bench/annotations.c -o "$tmp/annotations" -ldl -lpthread

"$tmp/annotations" "$library" 3000 3000 >"$tmp/off"
build/proftrace -q -e none --mode exact -o "$tmp/t" -- "$tmp/annotations" "$library" 30 3000 >"$tmp/exact"
build/proftrace -q -e none --mode batch -o "$tmp/t" -- "$tmp/annotations" "$library" 100 3000 >"$tmp/batch"
echo "| half of a slice, ns | off | exact | buffered |"
echo "| --- | --- | --- | --- |"
paste -d'|' "$tmp/off" "$tmp/exact" "$tmp/batch" | awk -F'|' '{ print "| " $1 " | " $2 " | " $4 " | " $6 " |" }'
