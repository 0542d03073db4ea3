#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Python functions in call stacks, of each CPython that is installed (or named in PYTHONS): the shares of the time that a
# program says it spent in its functions, their lines, and their place among native functions.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
stacks=$root/build/tests/tools/stacks
shares=$root/tests/integration/programs/shares.py
if [ "$(uname -m)" != x86_64 ]; then
	skip "Python functions in call stacks" "on $(uname -m) they are not looked for"
	finish
fi
if ! "$proftrace" -q --sample 997 -o try.pftrace -- true 2>try.err && grep -q sampl try.err; then
	skip "Python functions in call stacks" "$(head -1 try.err)"
	finish
fi

# How many hundredths of the stacks with shares' own functions are in `name`, and what the program says.
share_of() { # STACKS NAME
	awk -v name="$2" '
		!/;generates|;calls_c|;Sorter.sorts|;descends/ { next }
		{ all++ }
		index($0, ";" name) { n++ }
		END { printf "%.1f\n", all ? 100 * n / all : 0 }' "$1"
}
said_share() { # SAID NAME
	awk -v name="$2" '$1 == "share" { all += $3 } $1 == "share" && $2 == name { n = $3 }
		END { printf "%.1f\n", all ? 100 * n / all : 0 }' "$1"
}
# Lines of a function in stacks that are not its own, and how many different ones are.
wrong_lines() { # SAID STACKS NAME
	awk -v name="$3" '
		FNR == NR { if ($1 == "line" && $2 == name) { first = $3; last = $4 } next }
		{
			n = split($NF, frames, ";")
			for (i = 1; i <= n; i++) {
				colon = index(frames[i], ":")
				if (substr(frames[i], 1, colon - 1) != name)
					continue
				line = substr(frames[i], colon + 1) + 0
				seen[line] = 1
				wrong += line < first || line > last
			}
		}
		END { for (line in seen) different++; print wrong + 0, (different >= 2 ? "several" : different + 0) }' "$1" "$2"
}

examine() { # PYTHON NAME
	"$proftrace" -q --sample 997 -e none --summary-json "$2.sum" -o "$2.pftrace" -- "$1" "$shares" 1.5 >"$2.said" 2>"$2.err"
	equal "$2: recorded" $? 0
	"$stacks" "$2.pftrace" >"$2.stacks"
	"$stacks" --lines "$2.pftrace" >"$2.lines"
	for function in generates calls_c Sorter.sorts descends; do
		got=$(share_of "$2.stacks" $function) wanted=$(said_share "$2.said" $function)
		check "$2: $function: $got % of the samples, $wanted % of the time" \
			awk -v a="$got" -v b="$wanted" 'BEGIN { exit !(a - b < 3 && b - a < 3 && b > 5) }'
		equal "$2: $function: all lines are its own" "$(wrong_lines "$2.said" "$2.lines" $function)" "0 several"
	done
	check "$2: native functions are between Python's" grep -q ';main;Sorter.sorts;.*;Sorter.sorts.<locals>.<lambda>' "$2.stacks"
	check "$2: the module is called by main()" grep -Eq ';Py_RunMain;.*;<module>;main;calls_c' "$2.stacks"
	equal "$2: no loop of the interpreter remains between Python functions" \
		"$(grep -c '_PyEval_EvalFrameDefault;main' "$2.stacks")" 0
	check "$2: a thread, and names that are not ASCII" grep -q ';Thread.run;\(.*;\)*main.<locals>.<lambda>;Zähler.läuft' "$2.stacks"
	check "$2: deeper than 127 functions: those that are known" \
		awk '{ n = gsub(/;descends/, "") } n > 100 { found = 1 } END { exit !found }' "$2.stacks"
	unmatched=$(field "$2.sum" python_unmatched) all=$(field "$2.sum" stacks)
	check "$2: $unmatched of $all stacks are not in agreement" [ "$((unmatched * 1000))" -le "$all" ]
	check "$2: functions were read" \
		[ "$(($(field "$2.sum" python_unreadable) * 200))" -le "$(field "$2.sum" python_frames)" ]
}

# A trace has 40 bits of a hash of a function's names for it. Two functions for which they are equal are two, also when the trace is read.
same_number() { # PYTHON NAME
	"$proftrace" -q --sample 997 -e none -o "$2.pftrace" -- "$1" "$root/tests/integration/programs/same_number.py" 0.2 >"$2.said" 2>"$2.err"
	equal "$2: functions with the same number: recorded" "$?$(cat "$2.said")" 0
	"$stacks" --lines "$2.pftrace" >"$2.lines"
	equal "$2: and each has its name" "$(grep -o ';spins_[ab]:4000000' "$2.lines" | sort -u | tr '\n' ' ')" ";spins_a:4000000 ;spins_b:4000000 "
}

found=
for python in ${PYTHONS:-/usr/bin/python3.11 /usr/bin/python3.12 /usr/bin/python3.13}; do
	[ -x "$python" ] || continue
	found="$found ${python##*/}"
	examine "$python" "${python##*/}"
	same_number "$python" "${python##*/}-same"
done
if [ -z "$found" ]; then
	skip "Python functions in call stacks" "no CPython from 3.11 to 3.13 is installed"
	finish
fi
python=$(command -v /usr/bin/python3.11 || echo "${PYTHONS%% *}")

# --- attached late; marks; where it waits ----------------------------------------------------------------
cat >busy.py <<-'PY'
	import sys
	def spins():
	    n = 0
	    while True:
	        n += 1
	def begins():
	    print("begins", flush=True)
	    spins()
	begins()
PY
"$python" busy.py >busy.said &
pid=$!
wait_for busy.said begins
"$proftrace" -q --sample 997 -e none -d 500ms -o late.pftrace -p "$pid" >late.out 2>late.err
kill "$pid"
wait "$pid" 2>/dev/null
"$stacks" --lines late.pftrace >late.stacks
check "attached late: samples have Python functions and lines" \
	awk '/;<module>:9;begins:8;spins:[45]/ { n++ } END { exit !(NR > 20 && n > 0.9 * NR) }' late.stacks

cat >marks.py <<-'PY'
	import time
	import proftrace
	def outer():
	    inner()
	def inner():
	    proftrace.instant("here")
	def pauses():
	    time.sleep(0.02)
	for _ in range(20):
	    outer()
	with proftrace.scope("work"):
	    pauses()
	time.sleep(0.5)  # functions are read from a process that lives
PY
if [ -e "$root/build/python/proftrace/_native.abi3.so" ] && [ "$python" = /usr/bin/python3.11 ]; then
	PYTHONPATH=$root/build/python "$proftrace" -q --stack here --offcpu 10ms -e none -o marks.pftrace -- "$python" marks.py
	"$stacks" --lines marks.pftrace >marks.stacks
	equal "marks: each has the Python functions that it is in" \
		"$(grep -c '^at [0-9]* here .*;<module>:10;outer:4;inner:6' marks.stacks)" 20
	equal "a blocked thread: where it waits" "$(grep -c '^at [0-9]* blocked .*;<module>:12;pauses:8' marks.stacks)" 1
else
	skip "marks: each has the Python functions that it is in" "the Python package is not built"
fi

# --- converted, and in a flame graph ---------------------------------------------------------------------
first=$(echo $found | cut -d' ' -f1)
"$proftrace" convert -q -o again.pftrace "$first.pftrace"
"$stacks" --lines again.pftrace >again.lines
check "convert keeps functions and lines" cmp "$first.lines" again.lines
"$proftrace" report -q --flame -o flame.svg "$first.pftrace"
check "the flame graph has a colour for Python" grep -q 'class="p[0-5]"' flame.svg

# --- a version that nobody knows -------------------------------------------------------------------------
# Programs that look like an interpreter: without a version, of one that is yet to come, and without the table of offsets.
cat >like.c <<'END'
char _PyRuntime[4096] = { 1 };
#ifdef VERSION
const unsigned long Py_Version = VERSION;
#endif
long _PyEval_EvalFrameDefault(long n);
__attribute__((noinline)) long _PyEval_EvalFrameDefault(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}
int main(void) { return _PyEval_EvalFrameDefault(100000000) == 0; }
END
while read -r said options; do
	cc -O1 -rdynamic $options like.c -o like
	"$proftrace" --sample 997 -e none -o like.pftrace -- ./like 2>like.err
	equal "an unknown CPython, $said: exit status" $? 0
	check "an unknown CPython, $said: it is said" grep -q "no Python functions of CPython $(echo $said | tr _ ' ')" like.err
	"$stacks" like.pftrace >like.stacks
	check "an unknown CPython, $said: the interpreter's own functions are there" \
		grep -q 'main;_PyEval_EvalFrameDefault' like.stacks
done <<-END
	older_than_3.11
	3.15 -DVERSION=0x030f00f0
	3.13 -DVERSION=0x030d00f0
END
finish
