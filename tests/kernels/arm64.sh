#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds proftrace and its tests for arm64 into build/arm64, and packs build/kernels/arm64.cpio. The
# compiler is the machine's cross compiler; libraries come from packages for arm64, unpacked into
# build/kernels/arm64-root, where nothing is installed. The BPF programs are compiled against the types
# of the arm64 kernel, which are in its image: those of the machine's own are x86's. With --static it only builds
# build/arm64/static/proftrace.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/kernels
build=$root/build/arm64
sysroot=$work/arm64-root
triplet=aarch64-linux-gnu
CC=$triplet-gcc
CXX=$triplet-g++

for compiler in $CC $CXX; do
	command -v $compiler >/dev/null || { echo "no cross compiler for arm64 ($compiler)"; exit 1; }
done

# What proftrace is built with, less what is the machine's: compilers' parts, and tests that run here.
libraries=$("$root/tools/packages.sh" --list | tr ' ' '\n' | grep -E '^(lib|zlib).*-dev$' |
	grep -vE '^lib(c6|clang|cmocka)')
tools="bpftool mawk"

# Unpacked aside, so that it is either complete or not there.
if [ "$(cat "$sysroot/packages" 2>/dev/null)" != "$libraries" ]; then
	rm -rf "$sysroot" "$sysroot.part"
	mkdir -p "$sysroot.part/debs"
	cd "$sysroot.part/debs"
	"$here/apt.sh" arm64 update
	if ! "$here/apt.sh" arm64 closure $libraries $tools ||
		! "$here/apt.sh" arm64 get busybox-static dash; then
		echo "the libraries for arm64 cannot be downloaded"
		exit 1
	fi
	for package in *.deb; do
		case $package in
		libc6-dev_* | linux-libc-dev_*) ;; # the cross compiler has its own
		*) dpkg-deb -x "$package" .. ;;
		esac
	done
	cd "$root"
	rm -rf "$sysroot.part/debs"
	# Links into / mean the sysroot's.
	find "$sysroot.part" -type l -lname '/*' | while read -r link; do
		ln -sfr "$sysroot.part$(readlink "$link")" "$link"
	done
	echo "$libraries" >"$sysroot.part/packages"
	mv "$sysroot.part" "$sysroot"
fi

# The kernel's types: a header of 24 bytes, of which the first eight are always these, then what its
# lengths at 12 and 20 say.
image=$(KERNEL_IMAGE= "$here/fetch.sh" arm64 6.12)
number() { # OFFSET
	od -An -tu4 -j "$1" -N 4 "$image" | tr -d ' '
}
if [ ! -s "$build/gen/vmlinux.h" ]; then
	mkdir -p "$build/gen"
	for at in $(LC_ALL=C grep -aobP '\x9f\xeb\x01\x00\x18\x00\x00\x00' "$image" | cut -d: -f1); do
		size=$((24 + $(number $((at + 16))) + $(number $((at + 20)))))
		tail -c +$((at + 1)) "$image" | head -c $size >"$build/gen/btf"
		bpftool=$(command -v bpftool /usr/sbin/bpftool | head -1)
		"$bpftool" btf dump file "$build/gen/btf" format c >"$build/gen/vmlinux.part" 2>/dev/null || continue
		grep -q 'struct user_pt_regs {' "$build/gen/vmlinux.part" || continue
		mv "$build/gen/vmlinux.part" "$build/gen/vmlinux.h"
		break
	done
fi
[ -s "$build/gen/vmlinux.h" ] || { echo "no types in the arm64 kernel's image"; exit 1; }

# From here on whatever fails is ours.
touch "$work/arm64.had"
cd "$root"
programs="plugin.so handler.so opened.so part.so library.so executes-static sampled-static steps-static functions"
for source in tests/integration/programs/*.c; do
	case $source in
	*/plugin.c | */handler.c | */leaf.c | */backwards.c | */opened.c | */part.c | */library.c | */collector.c) ;;
	*/later_libbpf.c) ;;
	*/unwound.c) ;; # below
	*/device.c) ;; # its probe has registers of x86-64
	*) programs="$programs $(basename "$source" .c)" ;;
	esac
done
targets="all static build/arm64/gen/bpf_names"
for tool in canon stacks filters foreign let_go; do targets="$targets build/arm64/tests/tools/$tool"; done
for program in $programs; do targets="$targets build/arm64/tests/programs/$program"; done
[ "${1:-}" != --static ] || targets=static
make --no-print-directory B=build/arm64 ARCH=arm64 CC=$CC CXX=$CXX \
	VMLINUX_RELEASE="$(cat "$(dirname "$image")/release")" \
	CFLAGS="-O2 -g -idirafter $sysroot/usr/include -idirafter $sysroot/usr/include/$triplet" \
	LDFLAGS="-L$sysroot/usr/lib/$triplet -L$sysroot/lib/$triplet \
		-Wl,-rpath-link,$sysroot/usr/lib/$triplet:$sysroot/lib/$triplet" \
	$targets
[ "${1:-}" != --static ] || exit 0
for level in O2 O3; do
	for compiler in "gcc $CC" "clang clang --target=$triplet"; do
		${compiler#* } -std=gnu11 -Iinclude -g -$level tests/integration/programs/leaf.c \
			-o "$build/tests/programs/leaf-${compiler%% *}-$level" -lpthread
	done
done

unwound() { # NAME COMPILER...
	name=$1
	shift
	"$@" -std=gnu11 -Iinclude -g tests/integration/programs/unwound.c -o "$build/tests/programs/unwound-$name" -lpthread
}
# Return addresses are signed, where the processor can.
unwound gcc-O0 $CC -O0 -fomit-frame-pointer -mbranch-protection=standard
unwound gcc-O2 $CC -O2 -fomit-frame-pointer -mbranch-protection=standard
unwound gcc-O2-fp $CC -O2 -fno-omit-frame-pointer -mbranch-protection=standard
unwound clang-O2 clang --target=$triplet -O2 -fomit-frame-pointer -mbranch-protection=pac-ret+leaf

$CC -std=gnu11 -Iinclude -g -O2 tests/kernels/programs/loops.c -o "$build/tests/programs/loops" -lpthread

bin() { # NAME
	ls "$sysroot/bin/$1" "$sysroot/usr/bin/$1" "$sysroot/sbin/$1" "$sysroot/usr/sbin/$1" 2>/dev/null |
		head -1
}
"$here/root.sh" "$build" $triplet "$work/arm64.cpio" \
	"$sysroot/lib/$triplet" "$sysroot/usr/lib/$triplet" "/usr/$triplet/lib" -- \
	"$(bin busybox)" "$(bin bpftool)" sh="$(bin dash)" awk="$(bin mawk)"
