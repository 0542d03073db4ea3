#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/rpm.sh FOLDER VERSION
#
# Builds the packages for rpm in FOLDER: `make rpm`. On Debian rpm knows of no installed packages, so what is needed
# to build is that of tools/packages.sh there, and the package of Python is left out.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(cd "$1" && pwd) version=$2
command -v rpmbuild >/dev/null || { echo "rpm: rpmbuild is missing; see: tools/packages.sh --distribution" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(tools/stage.sh "$folder/source")
export SOURCE_DATE_EPOCH
nodeps=
! command -v dpkg >/dev/null || nodeps=--nodeps
rpmbuild -bb --quiet $nodeps --define "_topdir $folder/top" --define "_rpmdir $folder" --define "sources $folder/source" \
	--define "version_of_sources $version" --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
	--define "_smp_mflags -j$(nproc)" tools/proftrace.spec
rm -rf "$folder/source" "$folder/top"
cd "$folder"
ls -- *.rpm
