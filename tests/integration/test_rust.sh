#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Marks from Rust (bindings/rust): a program prints each mark that it makes, and both traces contain exactly those,
# in exact and in buffered mode, recorded from the first instruction and attached to, in a library, after
# link-time optimisation. Nothing is left in the program.
. "$(dirname "$0")/lib.sh"
need_tracing

if ! command -v cargo >/dev/null || ! cargo --version >/dev/null 2>&1; then
	skip "Rust" "there is no cargo"
	finish
fi
target=$root/build/rust
build() { # MANIFEST OPTION...
	manifest=$1
	shift
	check "cargo build $*" cargo build --offline --locked --manifest-path "$root/$manifest/Cargo.toml" \
		--target-dir "$target" "$@"
}

# What the program expects: of each thread in order, of the process sorted.
expected() { # FILE
	sed -n 's/^expect //p' "$1" | sed '/^- /d' | LC_ALL=C sort -s -k1,1
	sed -n 's/^expect - //p' "$1" | LC_ALL=C sort
}

# The same of a trace: without times, the training step, and counters that the program did not name.
recorded() { # FILE
	"$canon" "$1" | sed -E '/^(process|thread) /d; s/ epoch=n:-?[0-9]+ batch=n:-?[0-9]+$//' >"$tmp/canon"
	awk '$2 ~ /^[1-9]/ && $3 != "COUNTER" { $1 = ""; sub(/^ /, ""); print }' FS=' ' "$tmp/canon" |
		sed -E 's/^([0-9]+ [A-Z_]+) [0-9]+ /\1 /' | LC_ALL=C sort -s -k1,1
	sed -nE 's/^[0-9]+ (0 )?(ASYNC_BEGIN|ASYNC_END|SLICE_AT|INSTANT_AT|COUNTER) [0-9]+ /\2 /p' "$tmp/canon" |
		grep -vE '^COUNTER (blocks|step) ' | LC_ALL=C sort
}

exactly() { # NAME BASE OUT
	check_account "$1" "$2.s"
	equal "$1: marks" "$(field "$2.s" written)" "$(said "$3" total)"
	check_agree "$1" "$2"
	expected "$3" >"$tmp/expected"
	check "$1: something is expected" test -s "$tmp/expected"
	for kind in json pftrace; do
		recorded "$2.$kind" >"$tmp/recorded"
		check "$1: the marks of the program, in the $kind" diff "$tmp/expected" "$tmp/recorded"
		"$canon" "$2.$kind" >"$tmp/canon"
		# A counter for each of the two changes of the pool, and two for each step.
		equal "$1: steps, in the $kind" "$(grep -c ' COUNTER [0-9]* step epoch ' "$tmp/canon")" "$(said "$3" "count step")"
		equal "$1: changes of the pool, in the $kind" "$(grep -c ' COUNTER [0-9]* blocks ' "$tmp/canon")" \
			$((2 * $(said "$3" "count alloc")))
		equal "$1: names of threads, in the $kind" \
			"$(sed -n 's/^thread [0-9]* \([0-9]* worker\)/\1/p' "$tmp/canon" | sort)" \
			"$(sed -n 's/^thread //p' "$3" | sort)"
	done
}

# Bytes of a section of the program in memory.
section() { # PID FILE NAME
	base=$((0x$(sed -n '1s/-.*//p' "/proc/$1/maps")))
	set -- "$1" $(readelf -SW "$2" | sed -n "s/^ *\[ *[0-9]*\] *\\$3 //p")
	dd if="/proc/$1/mem" bs=64k iflag=skip_bytes,count_bytes skip=$((base + 0x$3)) count=$((0x$5)) status=none
}

build tests/integration/programs/rust --release
build tests/integration/programs/rust --profile fat
[ $failures -eq 0 ] || finish

for profile in release fat; do
	for mode in exact batch-now; do
		"$proftrace" -q -e none --mode $mode --strict -o "$tmp/t" --summary-json "$tmp/t.s" -- \
			"$target/$profile/rust_marks" 4 "${ROUNDS:-100}" >"$tmp/out"
		equal "$profile, $mode: exit status" $? 0
		exactly "$profile, $mode" "$tmp/t" "$tmp/out"
	done
done

# Attached to, and what is left in it.
for mode in exact batch-now; do
	program=$target/release/rust_marks
	rm -f "$tmp/in" "$tmp/err"
	mkfifo "$tmp/in"
	rm -f "$tmp/out"
	"$program" 3 50 wait <"$tmp/in" >"$tmp/out" &
	pid=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	section $pid "$program" .text >"$tmp/text"
	section $pid "$program" .probes >"$tmp/semaphores"
	equal "-p, $mode: the semaphores are off" "$(tr -d '\0' <"$tmp/semaphores" | wc -c)" 0
	rm -f "$tmp/err"
	"$proftrace" -vv -e none --mode $mode -p $pid -o "$tmp/p" --summary-json "$tmp/p.s" >/dev/null 2>"$tmp/err" 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: attached to .*rust_marks'"
	equal "-p, $mode: the semaphores are on" \
		"$(section $pid "$program" .probes | cmp -s - "$tmp/semaphores" && echo off)" ""
	echo >&9
	wait_for "$tmp/out" total
	kill -INT $recorder
	wait $recorder
	equal "-p, $mode: exit status" $? 0
	exactly "-p, $mode" "$tmp/p" "$tmp/out"
	check "-p, $mode: something was compared" test -s "$tmp/text" -a -s "$tmp/semaphores"
	section $pid "$program" .text >"$tmp/text.after"
	section $pid "$program" .probes >"$tmp/semaphores.after"
	check "-p, $mode: the code is unchanged" cmp "$tmp/text" "$tmp/text.after"
	check "-p, $mode: the semaphores are off again" cmp "$tmp/semaphores" "$tmp/semaphores.after"
	exec 9>&-
	wait $pid
	equal "-p, $mode: the program ends well" $? 0
done

# A library that comes and goes, whose domain has the name of one of the program's.
for profile in release fat; do
	for mode in exact batch-now; do
		for try in 1 2 3 4 5; do
			"$proftrace" -q -e none --mode $mode -o "$tmp/l" --summary-json "$tmp/l.s" -- \
				"$target/$profile/rust_marks" 0 0 "$target/$profile/librust_library.so" >"$tmp/out"
			[ "$(field "$tmp/l.s" attached_late)" -gt 0 ] || break
		done
		never_else "library, $profile, $mode: the account adds up" "$(field "$tmp/l.s" adds_up)" true
		equal "library, $profile, $mode: marks" "$(field "$tmp/l.s" written)" "$(said "$tmp/out" library)"
		equal "library, $profile, $mode: of its domain" "$("$canon" "$tmp/l.json" | grep -c ' from the library net.rpc ')" 1000
	done
	"$proftrace" list "$target/$profile/rust_marks" >"$tmp/list"
	check "list, $profile: the built-in domain" grep -q '^ *domain default: begin end instant counter' "$tmp/list"
	check "list, $profile: its own domain" grep -q '^ *domain net.rpc: .*flow_out flow_in' "$tmp/list"
	check "list, $profile: the control site" grep -q '^ *control: thread_name step' "$tmp/list"
	"$proftrace" list "$target/$profile/librust_library.so" >"$tmp/list"
	check "list, $profile: the library's" grep -q '^ *domain net.rpc: begin end' "$tmp/list"
done

# C and Rust in one program share the buffers of buffered mode.
for linker in "" -fuse-ld=lld "-ffunction-sections -Wl,--gc-sections"; do
	check "mixed $linker: linked" cc -O2 $linker -I"$root/include" "$root/tests/integration/programs/rust/mixed.c" \
		"$target/release/librust_library.a" -o "$tmp/mixed" -lpthread -ldl
	for mode in exact batch; do
		"$proftrace" -q -e none --mode $mode --strict -o "$tmp/m" --summary-json "$tmp/m.s" -- "$tmp/mixed" 2 >"$tmp/out"
		check_account "mixed $linker, $mode" "$tmp/m.s"
		equal "mixed $linker, $mode: marks" "$(field "$tmp/m.s" written)" "$(said "$tmp/out" total)"
		# All that a mark carries is the same in both languages, and there is as much of it: of each form 2,000, which are
		# 7 forms of instants, 4 of scopes, and 3 of counters, with 1 + 2 + 6 series.
		"$canon" "$tmp/m.json" | sed -nE 's/^.* (INSTANT|BEGIN|COUNTER) [0-9]+ of (C|Rust)/\2 \1/p' >"$tmp/marks"
		for language in C Rust; do
			sed -n "s/^$language //p" "$tmp/marks" | LC_ALL=C sort >"$tmp/of.$language"
			equal "mixed $linker, $mode: of $language" "$(cut -d' ' -f1 "$tmp/of.$language" | uniq -c | xargs)" \
				"8000 BEGIN 18000 COUNTER 14000 INSTANT"
		done
		check "mixed $linker, $mode: C and Rust mark the same" cmp "$tmp/of.C" "$tmp/of.Rust"
	done
done

# With the feature `disable` nothing of it is in the program, which does the same.
build tests/integration/programs/rust --release --features disable --bin rust_marks
"$proftrace" list "$target/release/rust_marks" >"$tmp/list" 2>&1
equal "disabled: no domain" "$(grep -cE 'domain|control' "$tmp/list")" 0
equal "disabled: no symbol" "$(readelf -sW "$target/release/rust_marks" | grep -c prof_domain)" 0
equal "disabled: the same program" "$("$target/release/rust_marks" 2 3 | grep -c '^expect')" \
	"$("$target/fat/rust_marks" 2 3 | grep -c '^expect' | awk '{ print $1 + 2 * 2 * 3 }')"

# The sample.
build bindings/rust --release --examples
"$proftrace" -q -e none -o "$tmp/e" --summary-json "$tmp/e.s" -- "$target/release/examples/pipeline" 500 >"$tmp/out"
equal "sample: it computes" "$(cat "$tmp/out")" "$("$target/release/examples/pipeline" 500)"
check_account "sample" "$tmp/e.s"
check_agree "sample" "$tmp/e"
equal "sample: slices of a function" "$("$canon" --count "$tmp/e.json" | sed -n 's/^BEGIN pipeline::factors //p')" 500
finish
