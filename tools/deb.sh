#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/deb.sh FOLDER VERSION
#
# Builds the Debian packages in FOLDER: `make deb`. Two builds of the same sources on the same kind of machine give
# the same bytes, wherever the folders are.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(cd "$1" && pwd) version=$2
command -v dh >/dev/null || { echo "deb: debhelper is missing; see: tools/packages.sh --distribution" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(tools/stage.sh "$folder/source")
export SOURCE_DATE_EPOCH
cd "$folder/source"
cp -r tools/debian debian
mkdir debian/source
echo "3.0 (native)" >debian/source/format
cat >debian/changelog <<-END
	proftrace ($version) unstable; urgency=medium

	  * This version.

	 -- The proftrace developers <proftrace@packages.invalid>  $(LC_ALL=C date -Rud "@$SOURCE_DATE_EPOCH")
END
cat >debian/copyright <<-END
	Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
	Upstream-Name: proftrace
	Source: this source package

	Files: *
	Copyright: 2026 The proftrace authors
	License: BSD-2-Clause

	Files: bpf/*
	Copyright: 2026 The proftrace authors
	License: GPL-2 or BSD-2-Clause

	License: BSD-2-Clause
	$(sed -n '/^Redistribution/,$s/^/ /p' LICENSES/BSD-2-Clause.txt | sed 's/^ $/ ./')

	License: GPL-2
	 The GNU General Public License, version 2. On Debian systems its text is in
	 /usr/share/common-licenses/GPL-2.
END
dpkg-buildpackage -b -us -uc -J"$(nproc)"
cd ..
rm -rf source
ls -- *.deb
