#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program opens a library of its own without markers, which it has made so that it is taken for another user's library:
# the thread that opens that one would not be held, or nothing would be attached to it, and its marks would be missing.
. "$(dirname "$0")/lib.sh"
need_tracing
mkdir "$tmp/memory" "$tmp/lib" "$tmp/layers"
# Only a file system in memory has files of any size.
if ! mount -t tmpfs none "$tmp/memory" 2>/dev/null; then
	skip "same key" "cannot mount a tmpfs"
	finish
fi
trap 'umount "$tmp"/layers/* "$tmp/trees" "$tmp/memory" 2>/dev/null
	remove_test_users; rm -rf "$tmp"' EXIT

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

# The second program opens a library with the numbers, in its mappings, of the one that the first program has opened. Each is opened
# again, so that what was found out of it is used.
numbers() { # NAME LIBRARY VICTIM
	start_recorder -e none -n libraries --wait --strict --summary-json "$tmp/s"
	"$programs/libraries" 1 2 "$2" >"$tmp/plain"
	"$programs/libraries" 1 3 "$3" >"$tmp/out"
	"$programs/libraries" 1 2 "$2" >"$tmp/plain.again"
	"$programs/libraries" 1 3 "$3" >"$tmp/again"
	kill -TERM $recorder
	ends $recorder
	equal "$1: all marks are recorded once, and nothing is refused" "$? $(field "$tmp/s" marked)" \
		"0 $(cat "$tmp/plain" "$tmp/plain.again" "$tmp/out" "$tmp/again" | awk '{ n += $2 } END { print n }')"
}
# A folder with the library, whose number is not among the first ones.
fill() { # FOLDER
	for i in $(seq 100); do : >"$1/$i"; done
	cp "$programs/library.so" "$1/file.so"
	for i in $(seq 100); do rm "$1/$i"; done
}
overlay() { # FOLDER LAYER LAYER
	mount -t overlay -o "lowerdir=$2:$3" none "$1"
}

attack="an overlay of two file systems"
mkdir -p "$tmp/layers/lower" "$tmp/layers/upper" "$tmp/layers/merged"
if mount -t tmpfs none "$tmp/layers/lower" && mount -t tmpfs none "$tmp/layers/upper" && mkdir "$tmp/layers/lower/app" &&
	fill "$tmp/layers/lower/app" &&
	"$attacks/same_number" "$programs/opened.so" "$tmp/layers/upper/own" "$tmp/layers/lower/app/file.so" >"$tmp/number" &&
	overlay "$tmp/layers/merged" "$tmp/layers/upper" "$tmp/layers/lower"; then
	numbers "$attack" "$tmp/layers/merged/own/file.so" "$tmp/layers/merged/app/file.so"
else
	skip "$attack" "cannot be mounted"
fi

attack="two subvolumes"
mkdir "$tmp/trees" "$tmp/layers/trees"
truncate -s 128M "$tmp/image"
if command -v mkfs.btrfs >/dev/null && mkfs.btrfs -q "$tmp/image" >/dev/null && mount -o loop "$tmp/image" "$tmp/trees"; then
	mkdir "$tmp/trees/app"
	fill "$tmp/trees/app"
	"$attacks/same_number" "$programs/opened.so" "$tmp/trees/own" "$tmp/trees/app/file.so" >"$tmp/number"
	mkdir "$tmp/trees/own/own"
	ln "$tmp/trees/own/file.so" "$tmp/trees/own/own/file.so"
	numbers "$attack" "$tmp/trees/own/file.so" "$tmp/trees/app/file.so"
	mkdir "$tmp/trees/layer"
	mv "$tmp/trees/app" "$tmp/trees/layer"
	attack="$attack as the layers of an overlay"
	if overlay "$tmp/layers/trees" "$tmp/trees/own" "$tmp/trees/layer"; then
		numbers "$attack" "$tmp/layers/trees/own/file.so" "$tmp/layers/trees/app/file.so"
		# The own library has markers as well, and the user of the recorder has no watches left.
		attack="$attack, without watches"
		umount "$tmp/layers/trees"
		cat "$programs/library.so" >"$tmp/trees/own/file.so"
		if command -v strace >/dev/null && overlay "$tmp/layers/trees" "$tmp/trees/own" "$tmp/trees/layer"; then
			real=$proftrace proftrace=$tmp/unwatched
			printf '#!/bin/sh\nexec strace -qq -D -o /dev/null -e trace=inotify_add_watch -e inject=inotify_add_watch:error=ENOSPC "%s" "$@"\n' "$real" >"$proftrace"
			chmod 755 "$proftrace"
			numbers "$attack" "$tmp/layers/trees/own/file.so" "$tmp/layers/trees/app/file.so"
			proftrace=$real
		else
			skip "$attack" "needs strace"
		fi
	else
		skip "$attack" "cannot be mounted"
	fi
else
	skip "$attack" "no btrfs here"
fi
finish
