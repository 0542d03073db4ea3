#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Functions without markers (-f): a test program that leaves its functions in every possible way and counts the
# calls, and a library of the distribution.
. "$(dirname "$0")/lib.sh"
need_tracing
program=$programs/functions
library=$programs/opened.so

# Where the machine is so busy that a library is not attached in time, the recording says so: once more. Before Linux 6.0
# no thread can be held until it is.
kernel_can "holding new libraries" && holds=yes || holds=no
counters='-e none'
record() { # NAME OPTION... -- COMMAND...
	name=$1
	shift
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		# shellcheck disable=SC2086
		timeout 60 "$proftrace" $counters -o "$tmp/$name" --summary-json "$tmp/$name.sum" "$@" \
			>"$tmp/$name.out" 2>"$tmp/$name.err"
		[ "$(field "$tmp/$name.sum" attached_late)" = 0 ] || [ $holds = no ] && break
	done
}

# How many lines of the trace have all of these.
lines() { # NAME TEXT...
	cat "$tmp/$1.json" >"$tmp/lines"
	shift
	for text in "$@"; do
		grep -F -- "$text" "$tmp/lines" >"$tmp/lines.next"
		mv "$tmp/lines.next" "$tmp/lines"
	done
	wc -l <"$tmp/lines"
}

calls() { # NAME FUNCTION
	lines "$1" "\"name\":\"$2\"" '"ph":"B"'
}

# --- every way to leave one ----------------------------------------------------------------------
rounds=20
"$program" $rounds "$library" >"$tmp/alone"
record ways -f '*' -f 'opened.so:*' -- "$program" $rounds "$library"
equal "the program does what it does alone" "$(cat "$tmp/ways.out")" "$(cat "$tmp/alone")"
check_agree ways "$tmp/ways"
check_account ways "$tmp/ways.sum"
for function in recurse is_even is_odd choose jump throws catches work thread_main; do
	equal "calls of $function" "$(calls ways $function)" "$(said "$tmp/ways.out" $function)"
done
equal "what a function has between its instructions is read as it is" \
	"$(grep '^tables' "$tmp/ways.out")" "$(grep '^tables' "$tmp/alone")"
equal "it is recorded all the same" "$(calls ways table_within)" 8
check "one that goes on where only its data says is left out" \
	grep -q 'table_computed is left out: ' "$tmp/ways.err"
equal "and not recorded" "$(calls ways table_computed)" 0
if [ $holds = yes ]; then
	equal "calls into a library that came later" "$(calls ways opened) $(calls ways hidden)" "$rounds $((2 * rounds))"
	equal "whose category it is" "$(lines ways '"name":"opened"' '"cat":"opened.so"')" $rounds
else
	skip "calls into a library that came later" "this kernel cannot hold threads"
	check "a library that came later is counted as late" [ "$(field "$tmp/ways.sum" attached_late)" -ge 1 ]
fi
unfinished=$(field "$tmp/ways.sum" unfinished) exits=$(said "$tmp/ways.out" unfinished)
# On arm64 the C library's pthread_exit() ends with longjmp(), and so do the calls that it leaves.
[ "$(uname -m)" = x86_64 ] || exits=0
equal "what never returned, and nothing else, is unfinished" "$unfinished" "$exits"
equal "nothing is open at the end" "$(field "$tmp/ways.sum" open_at_end)" 0
equal "markers are among them" "$(lines ways '"name":"step"' '"ph":"B"') $(lines ways '"name":"catching"' '"ph":"B"')" \
	"$((4 * rounds)) $rounds"

# Which slice lies in which: the innermost around each.
awk -F'"' '
	match($0, /"tid":[0-9]+/) { tid = substr($0, RSTART + 6, RLENGTH - 6) }
	/"ph":"B"/ {
		for (i = 1; i < NF; i++) if ($i == "name") name = $(i + 2)
		print (depth[tid] ? open[tid, depth[tid]] : "-") ">" name
		open[tid, ++depth[tid]] = name
	}
	/"ph":"i"/ {
		for (i = 1; i < NF; i++) if ($i == "name") name = $(i + 2)
		print name "<" (depth[tid] ? open[tid, depth[tid]] : "-")
	}
	/"ph":"E"/ { if (depth[tid]) depth[tid]-- }
' "$tmp/ways.json" >"$tmp/within"
within() { grep -cx "$1" "$tmp/within"; }
equal "every step lies in its call of work" "$(within 'work>step')" $((4 * rounds))
equal "work lies in its thread's first function" "$(within 'thread_main>work')" $((4 * rounds))
equal "what was jumped out of holds nothing that came later" "$(within 'jump>[^j].*')" 0
equal "nor what was thrown through" "$(within 'throws>[^t].*')" 0
equal "what is thrown through ends where its caller cleans up" "$(within 'cleaned<cleans')" $rounds
equal "and where the exception is caught" "$(within 'caught<catching')" $rounds
equal "what is jumped out of ends there" "$(within 'landed<main')" "$(said "$tmp/ways.out" landed)"
equal "a catch goes on in the function that has it" "$(within 'main>catches')" $rounds
equal "a tail call is none of the function that ended with it" "$(within 'is_even>is_odd') $(within 'is_odd>is_even') $(within 'choose>is_even')" "0 0 0"
[ $holds = no ] || equal "the library's own calls" "$(within 'opened>hidden')" $((2 * rounds))

# --- what they are given and what they return, and names of C++ -----------------------------------
record values -f 'arguments(text=arg0:str,arg1:s32,arg2:u8,arg3,arg4:bool,arg5:s64,sum=ret:s64)' \
	-f 'arguments_(arg0)' -f 'shapes::*(arg1:x,ret:s32)' -- "$program" 3
check_agree values "$tmp/values"
equal "arguments in registers" "$(lines values '"name":"arguments"' '"args":{"text":"text","arg1":-2,"arg2":200,"arg3":"9223372036854775808","arg4":true,"arg5":-1}')" 1
equal "what is returned is on the end" "$(lines values '"ph":"E"' '"sum":')" 3
equal "names of C++ are as people write them" "$(calls values 'shapes::circle<long>::area')" 3
equal "of methods, the object is the first argument" "$(lines values '"name":"shapes::circle<long>::area"' '"args":{"arg1":"0x3"}')" 3
equal "and what they return" "$(lines values '"ph":"E"' '"args":{"ret":12}')" 1
record stack -f 'arguments(six=arg6,seven=arg7:s32,arg0:str)' -- "$program" 3
equal "arguments on the stack" "$(lines stack '"args":{"six":2,"seven":7,"arg0":"text"}')" 1

# --- with counters, in every form that a record has --------------------------------------------------
# The usual ones of this machine, and one for which a perf event counts: the program that the kernel has to
# accept is another one each time.
counted() { # NAME COUNTER
	check_account "$1" "$tmp/$1.sum"
	check_agree "$1" "$tmp/$1"
	equal "$1: calls" "$(calls "$1" recurse) $(calls "$1" arguments)" "$(said "$tmp/$1.out" recurse) 3"
	equal "$1: strings are there as well" "$(lines "$1" '"name":"arguments"' '"args":{"text":"text"')" 3
	ends=$(lines "$1" '"ph":"E"')
	equal "$1: $2 of every slice" "$(lines "$1" '"ph":"E"' "\"$2\":")" "$ends"
}
counters=
record usual -f recurse -f 'arguments(text=arg0:str)' -f 'arguments_(arg0)' -- "$program" 3
usual=$(sed -nE 's/.*"ph":"E".*"(cycles|task_clock)":.*/\1/p' "$tmp/usual.json" | head -1)
counted usual "$usual"
record events -e cpu-clock,page-faults -f recurse -f 'arguments(text=arg0:str)' -f 'arguments_(arg0)' -- "$program" 3
counted events cpu_clock
counters='-e none'

# --- symbols that are elsewhere ------------------------------------------------------------------
if command -v objcopy >/dev/null && command -v readelf >/dev/null && command -v xz >/dev/null; then
	objcopy --only-keep-debug "$program" "$tmp/symbols" && xz -k "$tmp/symbols"
	objcopy --strip-all --add-section .gnu_debugdata="$tmp/symbols.xz" "$program" "$tmp/packed"
	strip -o "$tmp/stripped" "$program"
	record stripped -f recurse -- "$tmp/stripped" 2
	check "without symbols there is no function" grep -q "no markers or functions\|no function matches" "$tmp/stripped.err"
	record packed -f recurse -- "$tmp/packed" 2
	equal "symbols that are compressed within the file" "$(calls packed recurse)" "$(said "$tmp/packed.out" recurse)"
	id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
	cat >"$tmp/apart.sh" <<-END
		mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.build-id/${id%"${id#??}"} || exit 1
		cp "$tmp/symbols" /usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug || exit 1
		"$proftrace" -e none -o "$tmp/apart" -f recurse -- "$tmp/stripped" 2 >"$tmp/apart.out" 2>"$tmp/apart.err"
	END
	if [ -d /usr/lib/debug ] && unshare -m true 2>/dev/null && unshare -m sh "$tmp/apart.sh" 2>/dev/null; then
		equal "symbols in a file of their own" "$(calls apart recurse)" "$(said "$tmp/apart.out" recurse)"
	else
		skip "symbols in a file of their own" "no /usr/lib/debug, or no mounts of one's own"
	fi
else
	skip "symbols that are elsewhere" "no objcopy or xz"
fi

# --- one library of the distribution -------------------------------------------------------------
compress=$root/build/samples/compress
[ -x "$compress" ] || skip "libz" "the sample that uses it is not built"
mkdir "$tmp/data"
for n in 1 2 3 4 5 6 7; do seq 1 $((n * 3000)) >"$tmp/data/$n"; done
[ ! -x "$compress" ] || record zlib -f 'libz.so.1:deflate*' -- "$compress" -j 2 -o "$tmp/archive.gz" "$tmp/data"
if ! [ -x "$compress" ]; then
	:
elif grep -q 'no markers or functions' "$tmp/zlib.err" || ! [ -s "$tmp/zlib.json" ]; then
	not_ok "libz" "$(cat "$tmp/zlib.err")"
else
	check_agree zlib "$tmp/zlib"
	check_account zlib "$tmp/zlib.sum"
	files=$(lines zlib '"name":"deflate"' '"ph":"B"' '"cat":"compress"')
	equal "deflate of libz, as often as the markers say" "$(lines zlib '"name":"deflate"' '"ph":"B"' '"cat":"libz.so.1"')" "$files"
	equal "every file has one" "$files" 7
	for function in deflateSetHeader deflateBound; do
		equal "$function, too" "$(calls zlib $function)" "$files"
	done
	equal "deflateReset, which a worker's deflateInit2_ calls besides" "$(calls zlib deflateReset)" \
		$((files + $(calls zlib deflateInit2_)))
	awk -F'"' '
		match($0, /"tid":[0-9]+/) { tid = substr($0, RSTART + 6, RLENGTH - 6) }
		/"ph":"B"/ {
			for (i = 1; i < NF; i++) { if ($i == "name") name = $(i + 2); if ($i == "cat") cat = $(i + 2) }
			print (depth[tid] ? open[tid, depth[tid]] : "-") ">" cat ":" name
			open[tid, ++depth[tid]] = cat ":" name
		}
		/"ph":"E"/ { if (depth[tid]) depth[tid]-- }
	' "$tmp/zlib.json" >"$tmp/within"
	equal "each in the marker's slice around it" "$(within 'compress:deflate>libz.so.1:deflate')" "$files"
fi

# --- very many -----------------------------------------------------------------------------------
# Without such links each site is detached by itself, and that takes a tenth of a second.
if kernel_can "uprobe_multi links"; then
	record many -f 'many_*' -- "$programs/many_functions"
	equal "ten thousand functions" "$(grep -c '"name":"many_[0-9]*".*"ph":"B"' "$tmp/many.json")" 10000
	equal "each of which ends" "$(field "$tmp/many.sum" unfinished) $(field "$tmp/many.sum" open_at_end)" "0 0"
	check_account many "$tmp/many.sum"
else
	skip "ten thousand functions" "this kernel has no uprobe_multi links"
fi

check "check: whether it can" sh -c "'$proftrace' check | grep -q '^functions, probes (-f, -u)  *yes'"
check "list shows them" sh -c "'$proftrace' list -f '$program' | grep -qx '  function shapes::circle<long>::area'"
check "and why some cannot be recorded" sh -c "'$proftrace' list -f /proc/self/exe '$program' | grep -q 'function _init: cannot be recorded: '"

# --- what cannot be, and what is said ------------------------------------------------------------
record misspelt -f 'absent_*' -f recurse -- "$program" 2
check "a function that nothing fits is named" grep -q "no function matches -f 'absent_\*'" "$tmp/misspelt.err"
equal "the others are recorded" "$(calls misspelt recurse)" "$(said "$tmp/misspelt.out" recurse)"
equal "of a domain that -D leaves out, none is" "$(record domains -D '!functions' -f recurse -- "$program" 2; calls domains recurse)" 0
for wrong in '' ':x' 'lib:' 'x(arg0:f64)' 'x(arg12)' 'x(arg0:u7)' 'x(arg0' 'x(ret,ret)'; do
	timeout 60 "$proftrace" -f "$wrong" -- "$program" 1 >/dev/null 2>&1
	status=$?
	# A ( that nothing closes is a C++ name's.
	[ "$wrong" = 'x(arg0' ] || equal "-f '$wrong' is refused" "$status" 2
done
for other in '--stats-only' '--mode batch'; do
	timeout 60 "$proftrace" -f recurse $other -- "$program" 1 >/dev/null 2>&1
	equal "-f does not go with $other" "$?" 2
done
if command -v objcopy >/dev/null; then
	echo go >"$tmp/go"
	objcopy --add-section .go.buildinfo="$tmp/go" "$program" "$tmp/gopher" 2>/dev/null
	record go -f '*' -u 'libc:*' -- "$tmp/gopher" 1
	check "functions of Go are refused" grep -q "it is a Go program" "$tmp/go.err"
	equal "and none is recorded" "$(calls go recurse)" 0
else
	skip "functions of Go are refused" "no objcopy"
fi
check_nothing_left "after all"
finish
