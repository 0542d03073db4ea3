#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Python package: programs count what they mark, on threads, in asyncio tasks, in children and in what users of
# Composer, MXNet and Chainer write; both traces hold exactly that. Bad input ends no program.
. "$(dirname "$0")/../languages/lib.sh"
python=${PYTHON:-/usr/bin/python3}
tests=$root/tests/python
if ! [ -e "$root/build/python/proftrace/_native.abi3.so" ]; then
	skip "Python" "the package is not built: no Python headers (python3-dev)"
	finish
fi
export PYTHONPATH=$root/build/python:$tests PYTHONDONTWRITEBYTECODE=1 PROFTRACE=$proftrace
mkdir -m 700 "$tmp/run"
export XDG_RUNTIME_DIR=$tmp/run TMPDIR=$tmp

# Nobody records.
"$python" "$tests/bad_input.py" >"$tmp/out" 2>&1
equal "bad input: nobody records" "$? $(tail -1 "$tmp/out")" "0 all is well"
equal "names: stubs, docstrings, help()" "$("$python" "$tests/names.py" 2>&1 | tail -1)" "all is well"
"$python" "$tests/vocabularies.py" >"$tmp/out" 2>&1
equal "vocabularies: nobody records" "$?$(grep -vE '^(expected|handler)' "$tmp/out")" 0
# The extension module is for another processor, which does not exist.
cp -R "$root/build/python/proftrace" "$tmp/"
printf '\377\377' | dd of="$tmp/proftrace/_native.abi3.so" bs=1 seek=18 conv=notrunc 2>/dev/null
loaded() { # VARIABLE=VALUE...
	env PYTHONPATH="$tmp" "$@" "$python" -c '
import proftrace
with proftrace.scope("name"):
	proftrace.instant("name")
print(proftrace.function(lambda: 5)(), proftrace.problems())' 2>&1 | tail -1
}
equal "made for another processor: the program goes on" "$(loaded)" "5 {'no extension module': 2}"
equal "made for another processor: an error, if wanted" "$(loaded PROFTRACE_STRICT=1 | cut -d: -f1)" ImportError
rm -r "$tmp/proftrace"

# Without an index of packages, pip can fetch nothing.
if "$python" -c 'import pip' 2>/dev/null; then
	ls -R "$root/bindings/python" >"$tmp/before"
	"$python" -m pip -q install --no-index --disable-pip-version-check --root-user-action=ignore --target "$tmp/site" \
		"$root/bindings/python" >"$tmp/out" 2>&1 || not_ok "pip install" "$(tail -5 "$tmp/out")"
	check "pip install: it leaves nothing in the tree" sh -c "ls -R '$root/bindings/python' | diff - '$tmp/before'"
	equal "pip install: it has the module" "$(cd / && PYTHONPATH=$tmp/site "$python" -c '
import proftrace
with proftrace.scope("name"): print(proftrace.problems(), proftrace.default)')" "{} <proftrace.Domain 'default'>"
	for other in 3.9 3.10 3.11 3.12 3.13; do
		for interpreter in "python$other" "$HOME/.pyenv/versions/$other".*/bin/python3; do
			"$interpreter" -c '' 2>/dev/null && break
		done || continue
		equal "Python $other: the same binary" "$(PYTHONPATH=$tmp/site:$tests "$interpreter" "$tests/bad_input.py" 2>&1)" \
			"all is well"
	done
else
	skip "pip install" "there is no pip"
fi
need_tracing

find_modes
options=
for mode in $modes; do
	recorded "$mode: threads and tasks" "$python" "$tests/marks.py" 4 500 100 5
	holds_all "$mode: threads and tasks"
	recorded "$mode: vocabularies" "$python" "$tests/vocabularies.py" table
	holds_all "$mode: vocabularies"
	for method in fork spawn; do
		recorded "$mode: $method" "$python" "$tests/processes.py" $method 3 100
		holds_all "$mode: $method"
	done
	# Only the share of all time differs, which goes on after dumps(); so do the pause and, on a busy machine, diagnostics:
	# the program that dumps() starts may have been held for too long.
	recorded "$mode: the table" "$python" "$tests/table.py"
	sed -n 's/^csv //p' "$tmp/out" | grep -v ^diagnostic, | cut -d, -f1-13,15- >"$tmp/table"
	for kind in json pftrace; do
		"$proftrace" report --format csv "$tmp/t.$kind" | grep -v -e ^diagnostic, -e ,pause, | cut -d, -f1-13,15- >"$tmp/report"
		check "$mode: dumps() is what report prints of the $kind" diff "$tmp/report" "$tmp/table"
	done
	equal "$mode: dumps(): all names" "$(wc -l <"$tmp/table")" 5
	equal "$mode: self times of TimerHook are the measured time" "$(sed -n 's/^hook //p' "$tmp/out")" "adds up"
	recorded "$mode: one process of several" "$python" "$tests/roles.py"
	check_account "$mode: one process of several" "$tmp/s"
	equal "$mode: one process of several: what was paused is counted" "$(field "$tmp/s" paused)" "$(said "$tmp/out" paused)"
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		check "$mode: one process of several, in $kind" python3 "$verify" "$tmp/out" "$tmp/canon"
	done
	recorded "$mode: bad input" "$python" "$tests/bad_input.py"
	equal "$mode: bad input: all is well" "$(tail -1 "$tmp/out")" "all is well"
	equal "$mode: bad input: the account adds up" "$(field "$tmp/s" adds_up)" true
	for kind in json pftrace; do
		equal "$mode: bad input: marks in the last moments of the interpreter, in $kind" "$("$canon" "$tmp/t.$kind" |
			sed -nE 's/.* (BEGIN|INSTANT|COUNTER) [0-9]+ (at exit|last) .*/\1 \2/p' | sort -u | xargs)" \
			"BEGIN last COUNTER last INSTANT at exit INSTANT last"
	done
done

# From the first instruction. On a busy machine the recorder may come later than the first mark, and says so.
"$proftrace" record -q -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$python" "$tests/marks.py" 4 100 20 5 >"$tmp/out"
equal "started by the recorder: exit status" $? 0
if [ "$(field "$tmp/s" attached_late)" = 0 ]; then
	holds_all "started by the recorder"
else
	skip "started by the recorder: what happened" "the recorder attached late"
fi

mode=exact
# Modules of PyTorch, and of what has the same interface.
recorded "modules: a stand-in" "$python" "$tests/modules.py" standin
holds_all "modules: a stand-in"
if "$python" -c 'import torch' 2>/dev/null; then
	recorded "modules: PyTorch" "$python" "$tests/modules.py" torch
	holds_all "modules: PyTorch"
else
	skip "modules: PyTorch" "it is not installed (python3-torch)"
fi

# A handler in Python, in its own process; one that cannot be loaded.
export PYTHON=$python MINE=$tmp/called
plugin=$("$python" -m proftrace.handlers)
options="--handler $plugin=$tests/mine.py:Mine"
recorded "a handler in Python" "$python" "$tests/vocabularies.py"
check "a handler in Python: it is called for everything" "$python" "$tests/verify_handler.py" "$tmp/out" "$tmp/called"
"$proftrace" record -e none -o "$tmp/none" --handler "$plugin=nothing:Mine" -- true >"$tmp/out" 2>&1
equal "a handler that is not there" "$?$(grep -c "No module named 'nothing'" "$tmp/out")" 11

# A program that starts its recordings itself.
for how in record mxnet; do
	rm -f "$tmp"/t.*
	"$python" "$tests/records.py" "$tmp" $how >"$tmp/out" 2>"$tmp/said"
	equal "$how: it starts a recording of itself" "$?$(tail -3 "$tmp/said")" 0
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		check "$how: what happened, in $kind" python3 "$verify" "$tmp/out" "$tmp/canon"
	done
done

options="--buffer 256M"
recorded "a million marks" "$python" "$tests/marks.py" 4 20800 100 20
holds_all "a million marks"
check "a million marks: there are as many" test "$(field "$tmp/s" marked)" -ge 1000000
finish
