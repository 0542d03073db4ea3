#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Packs build/kernels/amd64.cpio: what `make` has built, and a few programs of this machine's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ "$(uname -m)" != x86_64 ]; then
	echo "this machine does not build for x86-64"
	exit 1
fi
touch "$root/build/kernels/amd64.had"
bpftool=$(command -v bpftool /usr/sbin/bpftool | head -1)
"$here/root.sh" "$root/build" x86_64-linux-gnu "$root/build/kernels/amd64.cpio" \
	/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib64 -- \
	"$(command -v busybox)" "$bpftool" "$(command -v sh)" "$(command -v awk)"
