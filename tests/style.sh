#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The code's form: clang-format, a licence line in every file, clean compiles with the other compiler.
cd "$(dirname "$0")/.." || exit 1
n=0
say() { # STATUS NAME OUTPUT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; echo "$3" | head -20 | sed 's/^/#   /'; fi
}
out=$(make -s check-format 2>&1)
say $? "clang-format" "$out"
out=$(git ls-files bpf user include proto tests tools Makefile .ci 2>/dev/null |
	grep -vE '^tests/(data|fuzz/corpus)/' | xargs grep -L 'SPDX-License-Identifier' 2>/dev/null)
[ -z "$out" ]
say $? "a licence line in every file" "$out"
out=$(git grep -n '[<"]uthash\.h[>"]' -- '*.c' '*.h' | grep -v '^user/timeline/hash_key\.h:')
[ -z "$out" ]
say $? "all hash tables have a key (timeline/hash_key.h)" "$out"
out=$(make -s CC=clang B=build/clang CFLAGS=-O1 build/clang/libproftrace.a 2>&1)
say $? "no warnings with clang" "$out"
echo "1..$n"
