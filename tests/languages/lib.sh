# SPDX-License-Identifier: BSD-2-Clause
#
# What the tests of the languages share, besides tests/integration/lib.sh. A program is called with the number of its
# threads, their rounds, tasks and their turns, and perhaps `wait`: then it prints `ready PID` and waits for a line. It prints
# `expected` and what a trace of it must hold, as tests/python/expect.py does.

. "$(dirname "$0")/../integration/lib.sh"

verify=$root/tests/python/verify.py
installed=$root/build/languages
build_log=$tmp/build.log

# The library where programs in other languages look for it.
install_library() {
	make -s -C "$root" install PREFIX="$installed" >"$build_log" 2>&1 ||
		not_ok "make install" "$(tail -5 "$build_log")"
	export PKG_CONFIG_PATH="$installed/lib/pkgconfig" LD_LIBRARY_PATH="$installed/lib"
}

# A copy of a binding, to be built outside of the tree.
copy_binding() { # LANGUAGE TO
	mkdir -p "$2" && cp -R -p "$root/bindings/$1/." "$2"
}

build() { # NAME COMMAND...
	name=$1
	shift
	"$@" >"$build_log" 2>&1 || not_ok "$name" "$(tail -20 "$build_log")"
}

# Attached to before its first mark, so that none is missed on a busy machine.
recorded() { # NAME COMMAND ARGS...: $mode and $options apply
	name=$1
	shift
	rm -f "$tmp/in" "$tmp/t.json" "$tmp/t.pftrace" "$tmp/out" "$tmp/err" "$tmp/s"
	mkfifo "$tmp/in"
	"$@" wait <"$tmp/in" >"$tmp/out" 2>"$tmp/said" &
	program=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	"$proftrace" record -e none --mode $mode $options -o "$tmp/t" --summary-json "$tmp/s" -p $program 2>"$tmp/err" 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	echo >&9
	exec 9>&-
	wait $program
	equal "$name: the program's exit status" "$?$(head -5 "$tmp/said")" 0
	wait $recorder
	equal "$name: the recorder's exit status" $? 0
}

holds_all() { # NAME
	check_account "$1" "$tmp/s"
	equal "$1: marks" "$(field "$tmp/s" marked)" "$(sed -n 's/^expected {"marks": *\([0-9]*\).*/\1/p' "$tmp/out")"
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		check "$1: what happened, in $kind" python3 "$verify" "$tmp/out" "$tmp/canon"
	done
	check_agree "$1" "$tmp/t"
}

# Both modes, or the one that this machine has.
find_modes() {
	modes=exact
	if ! "$proftrace" --mode batch-now -o "$tmp/try" -- true 2>&1 | grep -q 'no batches'; then
		modes="exact batch-now"
	fi
}

# From its first instruction. On a busy machine the recorder may come later than the first mark, and says so.
started() { # NAME COMMAND...: $mode applies
	name=$1
	shift
	for try in 1 2 3 4 5 6; do
		"$proftrace" record -q -e none --mode $mode -o "$tmp/t" --summary-json "$tmp/s" -- "$@" >"$tmp/out" 2>"$tmp/said"
		status=$?
		[ "$status" -ne 0 ] || [ "$(field "$tmp/s" attached_late)" -gt 0 ] || break
	done
	equal "$name: exit status" "$status$(head -5 "$tmp/said")" 0
}

# A program of marks in each mode: attached to, and from its first instruction.
check_marks() { # COMMAND...
	find_modes
	options=
	for mode in $modes; do
		recorded "$mode, attached to" "$@" 4 200 100 5
		holds_all "$mode, attached to"
		started "$mode, started" "$@" 4 200 100 5
		holds_all "$mode, started"
	done
	equal "nobody records: the program does the same" \
		"$("$@" 2 20 10 2 | sed -n 's/^\(expected {"marks"\).*/\1/p')" 'expected {"marks"'
}

# The sample: it computes the same, and its slices are in the trace.
check_sample() { # SLICES COMMAND...
	wanted=$1
	shift
	mode=exact
	started "the sample" "$@" 100
	equal "the sample: it computes" "$(cat "$tmp/out")" "$("$@" 100)"
	check_account "the sample" "$tmp/s"
	check_agree "the sample" "$tmp/t"
	equal "the sample: its slices" "$("$canon" --count "$tmp/t.json" | grep -E '^(ASYNC_)?BEGIN ')" "$wanted"
}
