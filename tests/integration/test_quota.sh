#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Disks without free space: an exhausted quota, no space for the first block, no space for a directory entry. One
# message for each file, a hint, and the files load.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ]; then
	skip "quota" "needs root to mount"
	finish
fi
mkdir "$tmp/disk" "$tmp/theirs"
chown 1000 "$tmp/theirs"
trap 'umount "$tmp/disk" 2>/dev/null; rm -rf "$tmp"' EXIT

# --quota examines each file of its list, so the list has a limit. Here it names one file many times.
mkdir "$tmp/kept" && echo old >"$tmp/kept/old"
for n in 100001 100000; do
	yes "$(stat -c '%d %i old' "$tmp/kept/old")" | head -n $n >"$tmp/kept/.proftrace-kept"
	"$proftrace" -e none --max-size 1M --quota 1G -o "$tmp/kept/t-$n.json" -- "$programs/every_kind" 1 1 >/dev/null 2>"$tmp/err"
	equal "$n files within --quota: exit status" $? $((n > 100000))
	if [ $n -gt 100000 ]; then
		equal "$n files within --quota: says why, and what to do" \
			"$(grep -c "^proftrace: cannot keep --quota beside '.*': the list '.proftrace-kept' has more than 100000 files$\|^hint: remove old traces there" "$tmp/err")" 2
	else
		equal "$n files within --quota: says that one more is too many" \
			"$(grep -c "^proftrace: cannot save which files are within --quota: the list '.proftrace-kept' has more than 100000 files$" "$tmp/err")" 1
	fi
done

check_adds_up() { # NAME SUMMARY
	equal "$1: the account adds up" "$(field "$2" adds_up)" true
	equal "$1: written + lost = marked" \
		"$(($(field "$2" written) + $(field "$2" lost_total)))" "$(field "$2" marked)"
}

# A disk where user 1000 may have a megabyte: the kernel's memory has such, or btrfs.
with_quota() {
	if mount -t tmpfs -o size=64m,usrquota,usrquota_block_hardlimit=1M none "$tmp/disk" 2>/dev/null; then
		chmod 1777 "$tmp/disk"
		directory=$tmp/disk
		return 0
	fi
	command -v mkfs.btrfs >/dev/null 2>&1 || return 1
	truncate -s 128M "$tmp/image" && mkfs.btrfs -q "$tmp/image" >/dev/null 2>&1 || return 1
	mount -o loop "$tmp/image" "$tmp/disk" 2>/dev/null || return 1
	directory=$tmp/disk/share
	btrfs quota enable "$tmp/disk" && btrfs subvolume create "$directory" >/dev/null &&
		btrfs qgroup limit 1M "$directory" && chown 1000 "$directory" && return 0
	umount "$tmp/disk"
	return 1
}

if with_quota; then
	echo "# $(awk -v at="$tmp/disk" '$2 == at { print $3 }' /proc/mounts)"
	cp "$programs/checksum" "$tmp"
	"$programs/checksum" 2 5000 <&- >"$tmp/alone"
	# It begins when the files have their names.
	mkfifo "$tmp/in"
	rm -f "$tmp/sum.out"
	(
		cd "$directory" || exit
		SUDO_UID=1000 SUDO_GID=1000 exec timeout 60 "$proftrace" -o t \
			--dump-period 50ms --summary-json "$tmp/theirs/s" -- \
			sh -c "read -r line && exec '$tmp/checksum' 2 5000" <"$tmp/in"
	) >"$tmp/sum.out" 2>"$tmp/err" &
	recorder=$!
	exec 9>"$tmp/in"
	for _ in $(seq 1 400); do [ -s "$directory/t.json" ] && [ -s "$directory/t.pftrace" ] && break; sleep 0.05; done
	echo go >&9
	wait $recorder
	equal "quota: exit status" $? 1
	for kind in json pftrace; do
		equal "quota: the $kind: one line says so" \
			"$(grep -c "^proftrace: cannot write 't.$kind': Disk quota exceeded" "$tmp/err")" 1
		# One may have taken all of it before anything of the other was written.
		[ -e "$directory/t.$kind" ] || continue
		check "quota: the $kind that was written loads" "$canon" "$directory/t.$kind"
		check_cut "quota" "$directory/t.$kind"
	done
	check "quota: there is a file" test -e "$directory/t.json" -o -e "$directory/t.pftrace"
	equal "quota: what helps" "$(grep -c '^hint: limit the output with --max-size SIZE' "$tmp/err")" 1
	check_adds_up "quota" "$tmp/theirs/s"
	check "quota: what does not fit is lost" test "$(field "$tmp/theirs/s" output)" -gt 0
	wait_for "$tmp/sum.out" sum
	exec 9>&-
	wait_for "$tmp/sum.out" code
	never_else "quota: the program's result is the same, its semaphore off, its code as before" \
		"$(said "$tmp/sum.out" sum) $(said "$tmp/sum.out" semaphore)$(said "$tmp/sum.out" code)" "$(said "$tmp/alone" sum) 00"
	check_nothing_left "quota"
	umount "$tmp/disk"
else
	skip "quota" "neither this kernel's tmpfs nor btrfs (mkfs.btrfs) has one"
fi

if ! mount -t tmpfs -o size=16k none "$tmp/disk" 2>/dev/null; then
	skip "small disks" "no permission to mount one"
	finish
fi
# The JSON takes all of it: of the other file nothing is written, and it is not said that it was.
"$proftrace" -o "$tmp/disk/t" --summary-json "$tmp/s" -- "$programs/every_kind" 2 2000 >"$tmp/out" 2>"$tmp/err"
equal "16 KB: exit status" $? 1
for kind in json pftrace; do
	file=$tmp/disk/t.$kind
	if [ -e "$file" ]; then
		check "16 KB: the $kind that was written loads" "$canon" "$file"
		check_cut "16 KB" "$file"
		check "16 KB: the $kind is listed" grep -qE "^$file  [0-9.]+ KB, .*then no more" "$tmp/err"
	else
		check "16 KB: that there is no $kind is said" grep -q "^$file  was not written" "$tmp/err"
	fi
done
equal "16 KB: what helps" "$(grep -c '^hint: limit the output with --max-size SIZE' "$tmp/err")" 1
check_adds_up "16 KB" "$tmp/s"
check_nothing_left "16 KB"
umount "$tmp/disk"

# No room for a name: refused, before anything is attached.
mount -t tmpfs -o nr_inodes=2 none "$tmp/disk"
"$proftrace" -v -o "$tmp/disk/t" -- "$programs/every_kind" 2 20 >"$tmp/out" 2>"$tmp/err"
equal "no room for a name: exit status" $? 1
check "no room for a name: says so" grep -q "cannot write '$tmp/disk/t.*': No space left" "$tmp/err"
equal "no room for a name: nothing was attached" "$(grep -c 'attached' "$tmp/err")" 0
equal "no room for a name: the program did not run" "$(cat "$tmp/out")" ""
equal "no room for a name: nothing is left there" "$(ls -A "$tmp/disk")" ""
umount "$tmp/disk"
finish
