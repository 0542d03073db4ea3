#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/kernels/root.sh BUILD TRIPLET OUT LIBDIR... -- PROGRAM...
#
# Packs the root file system of a guest: busybox, proftrace and the test programs of the build
# directory BUILD, the integration tests, whatever PROGRAMs are named besides (PATH or NAME=PATH, put
# into /bin), and the libraries all these need, which are looked for in the LIBDIRs. OUT is an initramfs, uncompressed:
# the emulated processor would take longer to unpack it than the disk takes to read it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$1 triplet=$2 out=$3
shift 3
libdirs=$build/lib
while [ "$1" != -- ]; do
	libdirs="$libdirs $1"
	shift
done
shift
tree=$out.tree
rm -rf "$tree"
mkdir -p "$tree/bin" "$tree/etc" "$tree/dev" "$tree/proc" "$tree/sys" "$tree/tmp" \
	"$tree/proftrace/build/tests/tools" "$tree/proftrace/build/static" "$tree/proftrace/build/gen" "$tree/lib/$triplet"
trap 'rm -rf "$tree"' EXIT

for program; do
	name=${program%%=*}
	cp -L "${program#*=}" "$tree/bin/${name##*/}"
done
cp "$here/guest/init" "$tree/init"
cp "$here/guest/pkill" "$tree/bin/pkill"
mkdir -p "$tree/proftrace/tests/integration" "$tree/proftrace/tests/kernels"
cp "$root"/tests/integration/*.sh "$tree/proftrace/tests/integration/"
cp "$here"/guest/test_*.sh "$tree/proftrace/tests/kernels/"
cp "$build/proftrace" "$tree/proftrace/build/"
cp "$build/static/proftrace" "$tree/proftrace/build/static/"
cp "$build/gen/bpf_names" "$tree/proftrace/build/gen/"
cp -r "$build/tests/programs" "$tree/proftrace/build/tests/"
for tool in canon stacks filters foreign let_go; do
	cp "$build/tests/tools/$tool" "$tree/proftrace/build/tests/tools/"
done
# A 32-bit process has a file mapped in guest/test_decoding.sh.
relative=$build/tests/attacks/relative
if [ "$triplet" = x86_64-linux-gnu ]; then
	page=$(readelf -lW "$relative" | awk '$1 == "LOAD" && $7 $8 == "RE" { print $2 }')
	mkdir "$tree/proftrace/build/tests/attacks"
	cp "$relative" "$tree/proftrace/build/tests/attacks/"
	as --32 --defsym page=$((page / 4096)) "$root/tests/attacks/programs/maps_file.s" -o "$out.o" &&
		ld -m elf_i386 "$out.o" -o "$tree/proftrace/build/tests/attacks/maps_file" ||
		echo "no assembler for 32-bit programs" >&2
	rm -f "$out.o"
fi
chmod 755 "$tree/init" "$tree/bin/"*
printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n' >"$tree/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$tree/etc/group"

# Copies what a file needs, then what that needs, until nothing is new.
close_over() { # FILE
	readelf -ld "$1" 2>/dev/null | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p; s/.*interpreter: (.*)\]/\1/p' |
		while read -r name; do
			base=${name##*/}
			target=lib/$triplet/$base
			case $name in /*) target=${name#/} ;; esac
			[ ! -e "$tree/$target" ] || continue
			for dir in $libdirs; do
				[ -e "$dir/$base" ] || continue
				mkdir -p "$(dirname "$tree/$target")"
				cp -L "$dir/$base" "$tree/$target"
				close_over "$dir/$base"
				break
			done
			[ -e "$tree/$target" ] || { echo "$1 needs $name, which is nowhere" >&2; return 1; }
		done
}
# And what proftrace loads while it runs, where it is to be had.
for name in $(grep -aoE '\blib(dw|deflate|lzma|yajl|ncursesw)\.so\.[0-9]+\b' "$build/proftrace" | sort -u); do
	for dir in $libdirs; do
		[ -e "$dir/$name" ] || continue
		cp -L "$dir/$name" "$tree/lib/$triplet/$name"
		break
	done
done
find "$tree" -type f -perm -u+x -o -type f -name '*.so*' | while read -r file; do
	close_over "$file"
done
(cd "$tree" && find . | cpio -o -H newc --quiet -R 0:0) >"$out.part"
mv "$out.part" "$out"
