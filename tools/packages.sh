#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/packages.sh [--kernels] [--page] [--languages] [--distribution] [--list]
#
# Installs the Debian packages that building and testing need, as far as they are missing; with
# --kernels also those for tests in other kernels, with --page the browser that tests pages, with --languages those
# for tests in other languages and of libraries that have annotations, with --distribution those for building and testing
# packages. Where none is missing it asks neither apt nor sudo for anything. --list only prints their names.
set -u

packages='
	gcc g++ make binutils libc6-dev pkgconf
	clang lld clang-format libclang-rt-dev
	bpftool libbpf-dev libelf-dev libdw-dev libiberty-dev zlib1g-dev libdeflate-dev liblzma-dev libbz2-dev
	libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libyajl-dev libpfm4-dev libmicrohttpd-dev libcurl4-openssl-dev uthash-dev
	libdebuginfod1 libncurses-dev libseccomp-dev libcmocka-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	scdoc git procps curl openssl xz-utils btrfs-progs cmake meson ninja-build zsh fish
	rustc cargo python3-dev python3-pip
	python3.11 postgresql-15 openjdk-17-jre-headless ruby3.1
'

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

if [ "${1:-}" = --kernels ]; then
	packages="$packages qemu-system-x86 qemu-system-arm busybox-static cpio xz-utils g++-aarch64-linux-gnu"
	shift
fi
if [ "${1:-}" = --page ]; then
	packages="$packages chromium fonts-dejavu-core"
	shift
fi
if [ "${1:-}" = --languages ]; then
	packages="$packages golang-go nodejs openjdk-17-jdk-headless python3-torch libtbb-dev libomp-dev libdnnl-dev
		openmpi-bin libopenmpi-dev slurm-wlm munge iproute2"
	# Packages of nodejs that are not Debian's have the headers themselves.
	[ -e /usr/include/node/node_api.h ] || packages="$packages libnode-dev"
	shift
fi
if [ "${1:-}" = --distribution ]; then
	packages="$packages debhelper dh-python lintian rpm rpmlint debootstrap musl-tools busybox-static qemu-system-x86"
	shift
fi
if [ "${1:-}" = --list ]; then
	echo $packages
	exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "packages: no apt-get here; install the equivalents of: $(echo $packages)" >&2
	echo "packages: if they are there already, \`make\` and \`make check\` do without this script" >&2
	exit 1
fi
missing=
for package in $packages; do
	installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "packages: installing$missing"
as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "packages: neither root nor sudo; run as root: apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi

# Non-interactive by an argument of env: sudo drops variables. dpkg may be busy after a boot.
apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

if ! apt update; then
	echo "packages: apt-get update failed; trying with the package lists that are there" >&2
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! apt install --no-install-recommends $missing >"$log" 2>&1; then
	tail -20 "$log" >&2
	echo "packages: apt-get could not install:$missing" >&2
	exit 1
fi
