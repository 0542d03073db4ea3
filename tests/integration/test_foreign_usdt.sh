#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Existing USDT probes (-u): a test program with probes in all forms, then unmodified programs, compared with their
# own output.
. "$(dirname "$0")/lib.sh"
need_tracing
program=$programs/probes

record() { # NAME OPTION... -- COMMAND...
	name=$1
	shift
	timeout 60 "$proftrace" -e none -o "$tmp/$name" --summary-json "$tmp/$name.sum" "$@" \
		>"$tmp/$name.out" 2>"$tmp/$name.err"
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

# --- every form ----------------------------------------------------------------------------------
rounds=50
record forms -u 'probes:work__begin~probes:work__end/{arg0:s}' -u 'probes:request__start~probes:request__done@arg0' \
	-u 'probes:registers' -u 'probes:memory' -u 'probes:constants' -u 'probes:copied(where=arg0)' -u 'probes:guarded' \
	-u 'probes:unmapped' -u 'probes:absent' -- "$program" $rounds
check_agree forms "$tmp/forms"
check_account forms "$tmp/forms.sum"
equal "the semaphore is raised while we look" "$(said "$tmp/forms.out" guarded)" "$rounds"
equal "a probe without arguments" "$(lines forms '"name":"probes:guarded"')" "$rounds"
equal "slices nest, named by a string" "$(lines forms '"ph":"B"' '"name":"odd"' '"arg0":"odd"')" $((rounds / 2))
equal "slices are told apart by an argument" "$(lines forms '"name":"probes:request"' '"ph":"b"') $(lines forms '"name":"probes:request"' '"ph":"e"')" \
	"$rounds $rounds"
equal "all copies of an inlined probe" "$(lines forms '"name":"probes:copied"' '{"where":1}') $(lines forms '"name":"probes:copied"' '{"where":2}') $(lines forms '"name":"probes:copied"' '{"where":3}')" \
	"$rounds $((rounds / 2)) $((rounds / 2))"
if [ "$(uname -m)" = x86_64 ]; then
	equal "registers of all widths" "$(lines forms '{"arg0":1234605616436510721,"arg1":1432780801,"arg2":32769,"arg3":1,"arg4":128,')" "$rounds"
	equal "memory, and variables by their symbols" "$(lines forms '{"arg0":100,"arg1":101,"arg2":102,"arg3":-2,"arg4":12,"arg5":11}')" "$rounds"
	equal "constants and floating point" "$(lines forms '{"arg0":-5,"arg1":16,"arg2":255,"arg3":0.5,"arg4":-2.25}')" "$rounds"
	check "what cannot be read is said" grep -q 'probes:constants .*without arg5: .*floating-point register' "$tmp/forms.err"
fi
equal "memory that is not there" "$(lines forms '{"arg0":"(unreadable)","arg1":16}')" "$rounds"
equal "and is counted" "$(field "$tmp/forms.sum" unreadable_args)" "$rounds"

# Without such links each site is detached by itself, and that takes a tenth of a second.
if kernel_can "uprobe_multi links"; then
	record many -u 'probes:many' -- "$program" 2 many
	equal "ten thousand sites" "$(lines many '"name":"probes:many"' '{"arg0":7}')" 20000
	check_account many "$tmp/many.sum"
else
	skip "ten thousand sites" "this kernel has no uprobe_multi links"
fi

record misspelt -u 'probes:absent' -u 'probes:copied' -- "$program" 1
equal "of a provider that -D leaves out, none is" \
	"$(record left -D '!probes' -u 'probes:guarded' -- "$program" 2; lines left '"name":"probes:guarded"')" 0
check "a probe that nothing fits is named" grep -q "no probe matches -u 'probes:absent'" "$tmp/misspelt.err"
timeout 60 "$proftrace" -u 'probes:n(' -- "$program" 1 >/dev/null 2>&1
equal "what is no probe is refused" "$?" 2

# A kernel that would turn the nop into a call that breaks the program must not get it.
record nop5 -u 'probes:nop5' -u 'probes:guarded' -- "$program" $rounds
if grep -q '5-byte nop corrupts' "$tmp/check"; then
	check "a 5-byte nop is refused" grep -q 'probes:nop5 .*is left out: .*5-byte nop' "$tmp/nop5.err"
	equal "and counted" "$(field "$tmp/nop5.sum" sites_refused)" 1
elif [ "$(uname -m)" = x86_64 ]; then
	equal "a 5-byte nop is a probe like others" "$(lines nop5 '"name":"probes:nop5"')" "$rounds"
fi
equal "the others are recorded" "$(lines nop5 '"name":"probes:guarded"')" "$rounds"

# Of our markers and others' probes one timeline.
record mixed -u 'libc:*' -u 'probes:*' -- "$programs/counted" 1 100
check_account "markers with -u" "$tmp/mixed.sum"
check "list shows arguments with their types" sh -c "'$proftrace' list '$program' | grep -q 'probe probes:work__begin (1 site): arg0 u64, arg1 i64'"

# --- python3.11 ----------------------------------------------------------------------------------
python=/usr/bin/python3.11
if ! "$proftrace" list $python 2>/dev/null | grep -q 'probe python:gc__start'; then
	skip "python3.11" "Debian's python3.11 is not installed, or has no probes"
else
	cat >"$tmp/program.py" <<-'END'
		import gc, sys
		calls = 0
		def leaf(n):
		    return n + 1
		def work(n):
		    return sum(leaf(i) for i in range(n))
		gc.disable()
		before = [g['collections'] for g in gc.get_stats()]
		audited = 0
		def hook(event, args):
		    global audited
		    audited += event == 'proftrace.test'
		sys.addaudithook(hook)
		sys.audit('proftrace.begin')
		for i in range(7): gc.collect(i % 3)
		sys.audit('proftrace.end')
		for i in range(5): sys.audit('proftrace.test', i)
		for i in range(20): work(10)
		print('collections', sum(g['collections'] for g in gc.get_stats()) - sum(before))
		print('audited', audited)
		import decimal
	END
	record python -u 'python:gc__start~python:gc__done/gc of generation {arg0}' -u 'python:audit(event=arg0:s)' \
		-u 'python:import__find__load__start~python:import__find__load__done/import {arg0:s}' \
		-u 'python:function__return(file=arg0:s,function=arg1:s,line=arg2)' -- $python -I "$tmp/program.py"
	check_agree python "$tmp/python"
	check_account python "$tmp/python.sum"
	equal "collections as gc counts them" \
		"$(sed -n '/proftrace.begin/,/proftrace.end/p' "$tmp/python.json" | grep -c '"name":"gc of generation [012]".*"ph":"B"')" \
		"$(said "$tmp/python.out" collections)"
	equal "what the audit hook counted" "$(lines python '"event":"proftrace.test"')" "$(said "$tmp/python.out" audited)"
	equal "returns of each call" "$(lines python '"function":"leaf"') $(lines python '"function":"work"')" "200 20"
	equal "with file and line" "$(lines python '"function":"leaf"' "\"file\":\"$tmp/program.py\"")" 200
	equal "imports, by name" "$(lines python '"name":"import decimal"' '"ph":"B"')" 1
fi
finish
