#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The form of the code: clang-format, licence lines and opening comments, the length and the names of functions,
# private words, warnings of the other compiler.
cd "$(dirname "$0")/.." || exit 1
n=0
say() { # STATUS NAME OUTPUT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; return; fi
	failed=1
	echo "not ok $n - $2"
	echo "$3" | head -20 | sed 's/^/#   /'
}
failed=0
out=$(make -s check-format 2>&1)
say $? "clang-format" "$out"
out=$(git ls-files bpf user include lib bindings proto tests tools Makefile .ci 2>/dev/null |
	grep -vE '^tests/(data|fuzz/corpus)/|/py\.typed$' | xargs grep -L 'SPDX-License-Identifier' 2>/dev/null)
[ -z "$out" ]
say $? "a licence line in every file" "$out"
# After the licence line, each file says what it is for.
out=$(git ls-files '*.[ch]' '*.cpp' '*.rs' '*.sh' '*.py' | grep -vE '^tests/(data|fuzz/corpus)/' | while read -r file; do
	case $file in
	*.sh | *.py) says='^#[^!]|^r?"""' ;;
	*) says='^//|^ ?/?\*' ;;
	esac
	head -6 "$file" | grep -v SPDX | grep -qE "$says" || echo "$file"
done)
[ -z "$out" ]
say $? "every file opens with a comment" "$out"
out=$(git grep -n '[<"]uthash\.h[>"]' -- '*.c' '*.h' | grep -v '^user/base/hash_key\.h:')
[ -z "$out" ]
say $? "all hash tables have a key (base/hash_key.h)" "$out"
# Text of others reaches a terminal by one function, which shows control characters. What is written otherwise is a literal.
out=$(git grep -nE '(^|[^_a-z])(v?printf|vfprintf|dprintf|perror)\(|fprintf\((stderr|stdout)|[^_a-z]puts\([^"]|f(puts|write)\([^"].*std(err|out)\)' -- 'user/*.[ch]' |
	grep -vE '^[^:]*:[0-9]*:( \*|/\*|__attribute__|.*__attribute__\(\(format)')
[ -z "$out" ]
say $? "messages are printed by print_visible() (base/text.h)" "$out"
# In profiles and stack traces a function is its name alone. A definition begins in the first column and ends
# before a line "{". At most 5 % may share a name; today fewer do.
most_repeated=3.2
out=$(git ls-files 'user/*.[ch]' 'bpf/*.[ch]' | xargs awk '
	FNR == 1 { on = 0 }
	/^\{/ {
		if (on && index(head, "(")) {
			gsub(/SEC\("[^"]*"\)|__attribute__\(\(([^()]*(\([^()]*\))?)*\)\)/, "", head)
			sub(/\(.*/, "", head)
			sub(/.*[^A-Za-z0-9_]/, "", head)
			if (head != "BPF_PROG")
				print head, FILENAME
		}
		on = 0
		next
	}
	/^[^A-Za-z_ \t]|^ \*|[;{=]$/ { on = 0; next }
	/^[A-Za-z_]/ { head = ""; on = 1 }
	on { head = head " " $0 }' | sort | awk -v most="$most_repeated" '
	{ files[$1] = files[$1] " " $2; count[$1]++ }
	END {
		for (name in count)
			if (count[name] > 1) {
				repeated += count[name]
				print count[name] " x " name ":" files[name]
			}
		printf "%.1f %% of %d functions have the name of another one, at most %s %%\n", \
			100 * repeated / NR, NR, most
		exit NR < 1000 || 100 * repeated / NR > most
	}')
status=$?
say $status "function names used more than once: $(echo "$out" | tail -1)" "$(echo "$out" | sort -rn)"
# Words that the field does not have, or that had two meanings here. "batch_room" is a word of older headers.
out=$(
	words='doors?|roads?|rooms?|gone|told|asked|books'
	git grep -nwE "([a-z0-9_]*_)?($words)_[a-z0-9_]*|[a-z0-9_]*_($words)" -- 'user/*.[ch]' 'bpf/*.[ch]' 'lib/*.c' \
		'include/*.h' 'tools/bench/*.[ch]' 'bindings/*.[ch]' | grep -v '"batch_room"'
	git grep -nE '^[a-z].*[ *]([a-z0-9_]+_)?(take|tell|ask|look_at|reach|say)(_[a-z0-9_]*)?\(' -- 'user/*.[ch]' 'bpf/*.[ch]' \
		'lib/*.c' 'tools/bench/*.[ch]' 'bindings/*.[ch]' | grep -v '__attribute__'
)
[ -z "$out" ]
say $? "identifiers have no private words" "$out"
# A BPF program may be longer, and the assembly of the public header is one function.
out=$(git ls-files 'user/*.[ch]' 'lib/*.c' 'tools/bench/*.[ch]' 'bindings/*.[ch]' | xargs awk '
	/^\{/ { begin = FNR }
	/^}/ {
		if (begin && FNR - begin + 1 > 80)
			print FILENAME ":" begin ": " FNR - begin + 1 " lines"
		begin = 0
	}')
[ -z "$out" ]
say $? "no function has more than 80 lines" "$out"
# The threat model has every test that it names, every attack, and a row for each request to the broker.
page=tools/man/proftrace.7.scd
out=$(
	for test in $(grep -oE 'test_[a-z_0-9]*[a-z0-9]' $page | sort -u); do
		[ -n "$(git ls-files "tests/*/$test.*" "tests/kernels/guest/$test.sh")" ] || echo "$page names $test, which does not exist"
	done
	for test in $(git ls-files 'tests/attacks/test_*.sh'); do
		test=$(basename "$test" .sh)
		grep -qw "$test" $page || echo "$page does not name $test"
	done
	requests=$(sed -n '/^enum request_kind/,/^}/s/^\tREQUEST_\([A-Z]*\).*/\1/p' user/privilege/broker/protocol.h)
	rows=$(sed -n '/^:\[ \*Proof\*/,/^# /p' $page | grep -c '^|  ')
	[ "$rows" -eq "$(echo "$requests" | wc -l)" ] || echo "$page has $rows requests to the broker, protocol.h has:" $requests
)
[ -z "$out" ]
say $? "proftrace(7) names every attack and every request to the broker" "$out"
out=$(make -s CC=clang B=build/clang CFLAGS=-O1 build/clang/libproftrace.a 2>&1)
say $? "no warnings with clang" "$out"
echo "1..$n"
exit $failed
