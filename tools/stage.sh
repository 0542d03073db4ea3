#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/stage.sh FOLDER
#
# Puts the sources into a new folder, from which packages are built. Prints the time of the last change as
# SOURCE_DATE_EPOCH has it, unless that is set already: all times in packages are this one.
set -eu
cd "$(dirname "$0")/.."
rm -rf "$1"
mkdir -p "$1"
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -co --exclude-standard -z | xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' - |
		tar -c --null -T - | tar -x -C "$1"
	epoch=$(git log -1 --format=%ct)
else
	tar -c --exclude=./build . | tar -x -C "$1"
	epoch=$(stat -c %Y Makefile)
fi
epoch=${SOURCE_DATE_EPOCH:-$epoch}
find "$1" -exec touch -h -d "@$epoch" {} +
echo "$epoch"
