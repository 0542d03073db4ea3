#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program opens a library of its own without markers, whose size it has chosen so that it is taken for another
# user's library: the thread that opens that one would not be held, and its marks would be missing.
. "$(dirname "$0")/lib.sh"
need_tracing
mkdir "$tmp/memory" "$tmp/lib"
# Only a file system in memory has files of any size.
if ! mount -t tmpfs none "$tmp/memory" 2>/dev/null; then
	skip "same key" "cannot mount a tmpfs"
	finish
fi
trap 'umount "$tmp/memory"; remove_test_users; rm -rf "$tmp"' EXIT
files= chosen=0
for i in $(seq 10); do
	cp "$programs/library.so" "$tmp/lib/$i.so"
	"$attacks/same_key" "$programs/opened.so" "$tmp/memory/$i.so" "$tmp/lib/$i.so" >"$tmp/size" && chosen=$((chosen + 1))
	files="$files $tmp/memory/$i.so $tmp/lib/$i.so"
done
equal "there are such libraries" $chosen 10
start_recorder -e none -n libraries --wait --strict --summary-json "$tmp/s"
"$programs/libraries" 1 1 $files >"$tmp/out"
kill -TERM $recorder
ends $recorder
never_else "the marks of all constructors are recorded, or it is said that they are not" \
	"$(($(field "$tmp/s" marked) == $(said "$tmp/out" marked) || $(field "$tmp/s" attached_late) > 0))" 1
finish
