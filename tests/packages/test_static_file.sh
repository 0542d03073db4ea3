#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The static file records in roots of distributions whose C library is older, newer or another one than ours: a program
# with marks that counts them, and a program of the distribution, of which it is known how often it calls a function.
. "$(dirname "$0")/lib.sh"
check "build" make -s -C "$root" static build/tests/programs/steps-static build/tests/programs/spans
"$root/tools/stage.sh" "$tmp/another-folder" >/dev/null
check "a second build elsewhere" env CCACHE_DISABLE=1 make -s -j"$(nproc)" -C "$tmp/another-folder" static
check "a second build elsewhere has the same bytes" cmp "$root/build/static/proftrace" "$tmp/another-folder/build/static/proftrace"
# The linker names the archives of which it takes something.
rm "$root/build/static/proftrace"
make -s -C "$root" static build/static/proftrace.spdx.json LDFLAGS=-Wl,-t | sed -nE 's|.*/lib([^/]*)\.a$|\1|p' | sed -E '
	s/^(dw|elf)$/elfutils/; s/^z$/zlib/; s/^yajl_s$/yajl/; s/^pfm$/libpfm4/; s/^(ncursesw|tinfo)$/ncurses/; s/^bz2$/bzip2/
	s/^(c|m.*|pthread)$/glibc/; s/^gcc_eh$/gcc/; s/^(bpf|deflate|iberty|lzma|seccomp|gcc)$/lib&/' | sort -u >"$tmp/linked"
equal "the bill of materials names each archive that is linked" "$(while read -r name; do
	grep -q "\"name\": \"$name\"" "$root/build/static/proftrace.spdx.json" || echo "$name"
done <"$tmp/linked")" ""
check "which are many" [ "$(wc -l <"$tmp/linked")" -ge 12 ]
for option in "--metrics 9999" "--otlp http://127.0.0.1:1"; do
	equal "$option needs a library: said, and that none can be loaded" \
		"$("$root/build/static/proftrace" $option -o "$tmp/x" -p $$ 2>&1 | grep -c 'is missing$\|^hint: a static proftrace loads no libraries')" 2
done
need_tracing

try_root() { # NAME
	give "$1" "$root/build/static/proftrace" "$programs/steps-static"
	enter "$1" /given/proftrace -q --summary-json /given/summary -o /given/t -- /given/steps-static 2 2 10 100 \
		>"$tmp/said" 2>"$tmp/err"
	equal "$1: records" "$?/$(cat "$tmp/err")" "0/"
	equal "$1: each mark" "$(field "$given/summary" written)" "$(said "$tmp/said" marks)"
	check_account "$1" "$given/summary"
	check_agree "$1" "$given/t"
	# ls reads each entry of a folder, and once more at its end.
	mkdir "$given/folder"
	touch "$given/folder/a" "$given/folder/b" "$given/folder/c"
	library=libc.so.6 call=readdir64
	ls "$kept/roots/$1"/lib*/libc.so.6 "$kept/roots/$1"/lib/*/libc.so.6 >"$tmp/libc" 2>/dev/null
	if [ ! -s "$tmp/libc" ]; then
		[ -e "$kept/roots/$1/lib/ld-musl-$(uname -m).so.1" ] || return
		try_musl "$1"
		# With a static busybox nobody calls the library.
		readelf -d "$kept/roots/$1/bin/busybox" | grep -q NEEDED || return
		library=ld-musl-$(uname -m).so.1 call=readdir
	fi
	enter "$1" /given/proftrace -q -f "$library:$call" -o /given/ls -- ls -a /given/folder >"$tmp/said" 2>"$tmp/err"
	equal "$1: a program of the distribution: status" "$?/$(cat "$tmp/err")" "0/"
	for format in json pftrace; do
		equal "$1: each call in the $format" "$(count_slices "$given/ls.$format" $call)" 6
	done
}

try_musl() { # NAME: a program with marks that has musl's own linker
	if ! command -v musl-gcc >/dev/null; then
		skip "$1: musl" "there is no musl-gcc"
		return
	fi
	musl-gcc -std=gnu11 -I"$root/include" -O2 "$root/tests/integration/programs/steps.c" -o "$given/steps" -lpthread
	enter "$1" /given/proftrace -q --summary-json /given/summary -o /given/t -- /given/steps 2 2 10 100 >"$tmp/said" 2>"$tmp/err"
	equal "$1: musl: status" "$?/$(cat "$tmp/err")" "0/"
	equal "$1: musl: each mark" "$(field "$given/summary" written)" "$(said "$tmp/said" marks)"
	check_account "$1: musl" "$given/summary"
}

for suite in bullseye bookworm trixie; do
	if make_root $suite; then try_root $suite; else skip "$suite" "$why"; fi
	[ $suite = bookworm ] && [ -d "$kept/roots/bookworm" ] || continue
	cp "$programs/spans" "$given/demoserver"
	enter bookworm sh -c "set -- /given/proftrace -q -n demoserver -d 3 --summary-json /given/summary -o /given/name
		$beside" >"$tmp/out" 2>"$tmp/err"
	equal "by its name: works" "$?/$(cat "$tmp/err")" "0/"
	check "by its name: a trace" test "$(count_slices "$given/name.pftrace" request)" -gt 50
	check_account "by its name" "$given/summary"
done
# A root without glibc, whose programs are busybox alone, and the C library of Alpine.
busybox=$(command -v busybox)
if [ -n "$busybox" ] && ! readelf -d "$busybox" | grep -q NEEDED; then
	mkdir -p "$kept/roots/busybox/bin" "$kept/roots/busybox/usr/bin" "$kept/roots/busybox/lib"
	cp "$busybox" "$kept/roots/busybox/bin"
	for name in sh ls env cat; do ln -sf /bin/busybox "$kept/roots/busybox/bin/$name"; done
	ln -sf /bin/busybox "$kept/roots/busybox/usr/bin/env"
	if command -v musl-gcc >/dev/null; then
		cp -L /lib/ld-musl-*.so.1 "$kept/roots/busybox/lib"
	else
		skip "busybox: musl" "there is no musl-gcc"
	fi
	try_root busybox
else
	skip "busybox" "there is no static busybox"
fi
for folder in "$kept"/roots/*/; do
	case $(basename "$folder") in bullseye | bookworm | trixie | busybox | *.part) ;; *) try_root "$(basename "$folder")" ;; esac
done
finish
