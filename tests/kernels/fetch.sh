#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/kernels/fetch.sh ARCH SERIES
#
# Downloads the newest stock cloud kernel of a series, unless that was done before, and prints the
# path of its image: build/kernels/ARCH-SERIES/vmlinuz. `release` beside it says which one it is.
# Where that cannot be done it prints why on standard error and fails. KERNEL_IMAGE is taken instead, where it is set.
set -eu
if [ -n "${KERNEL_IMAGE:-}" ]; then
	echo "$KERNEL_IMAGE"
	exit 0
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
arch=$1 series=$2
dir=$root/build/kernels/$arch-$series
if [ -s "$dir/vmlinuz" ]; then
	echo "$dir/vmlinuz"
	exit 0
fi
rm -rf "$dir.part"
mkdir -p "$dir.part"
trap 'rm -rf "$dir.part"' EXIT
cd "$dir.part"
package=$("$here/apt.sh" "$arch" kernel "$series") || {
	echo "no package of a $series kernel for $arch in this machine's sources" >&2
	exit 1
}
"$here/apt.sh" "$arch" get "$package" || {
	echo "$package cannot be downloaded" >&2
	exit 1
}
dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards --no-anchored 'vmlinuz*'
image=$(find . -type f -name 'vmlinuz*' | head -1)
[ -n "$image" ] || {
	echo "$package holds no kernel" >&2
	exit 1
}
rm ./*.deb
mv "$image" vmlinuz
echo "$package" | sed -E 's/^linux-(image|binary)-//' >release
rm -rf "$dir"
cd "$root"
mv "$dir.part" "$dir"
echo "$dir/vmlinuz"
