#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The service under systemd as process 1: in an emulated machine that has Debian 12, its kernel, and the package. What
# is tested there is in guest/systemd.sh.
. "$(dirname "$0")/lib.sh"
need qemu-system-x86_64
if [ "$(uname -m)" != x86_64 ]; then
	skip "a machine with systemd" "the package is not for x86-64"
	finish
fi
kernels=$root/tests/kernels
set -- "$root"/build/deb/proftrace_*_amd64.deb
[ -e "$1" ] || check "build" make -s -C "$root" deb
mkdir -p "$root/build/kernels"
[ -s "$root/build/kernels/amd64-6.1/vmlinuz" ] || "$kernels/apt.sh" amd64 update
if ! image=$("$kernels/fetch.sh" amd64 6.1 2>"$tmp/why"); then
	skip "a machine with systemd" "$(tail -1 "$tmp/why")"
	finish
fi
if ! make_root bookworm || ! apt_in bookworm update; then
	skip "a machine with systemd" "${why:-packages cannot be downloaded: $(tail -1 "$tmp/apt")}"
	finish
fi
give bookworm "$root"/build/deb/proftrace_*_amd64.deb "$programs/scripted" "$root/tests/integration/lib.sh" \
	"$root/tests/packages/guest/systemd.sh"
check "apt install, beside systemd" apt_in bookworm install systemd cpio procps libmicrohttpd12 \
	"/given/$(cd "$given" && ls proftrace_*.deb)"
cat >"$tmp/layers/bookworm/upper/etc/systemd/system/given.service" <<'END'
[Unit]
Description=The test
[Service]
ExecStart=/bin/sh -c 'echo "@@ begin systemd 0"; /given/systemd.sh; echo "@@ end systemd $$? 0"; echo "@@ done"; systemctl poweroff -ff'
StandardOutput=file:/dev/ttyS0
StandardError=inherit
[Install]
WantedBy=multi-user.target
END
# It is small, for the emulator, and nobody logs in.
enter bookworm sh -c 'systemctl enable -q given.service; systemctl mask -q getty.target systemd-udevd.service
	ln -s lib/systemd/systemd /init; cd /
	find . -xdev \( -path "./var/cache/*" -o -path "./var/lib/apt/*" -o -path "./usr/share/locale/*" -o -path "./usr/share/doc/*" \) \
		-prune -o -print | cpio -o -H newc --quiet' >"$tmp/systemd.cpio"
"$kernels/boot.sh" "Debian 12" amd64 "$image" "$tmp/systemd.cpio" 1 systemd.show_status=0
finish
