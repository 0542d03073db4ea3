#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# While proftrace attaches to a program, the file that the program executes or maps is replaced by one with probe
# sites at other offsets, which are inside instructions of the mapped file. Only bytes at probe sites change, and
# the program computes the same. Nobody who runs the other file has a byte changed.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user owner || { skip "swaps" "cannot make a user"; finish; }
rounds=50000 alone=
mkdir "$tmp/o" "$tmp/lower" "$tmp/merged" && chown "$made_uid" "$tmp/o"
trap 'umount "$tmp/merged" 2>/dev/null; umount "$tmp/o" 2>/dev/null; remove_test_users; rm -rf "$tmp"' EXIT
mkfifo "$tmp/in" "$tmp/swapping" "$tmp/hold"
exec 8<>"$tmp/swapping"

start_target() { # COMMAND...
	# The same computation has the same result, wherever its file is.
	if [ "$alone" != "$computed" ]; then
		"$@" <&- 8>&- >"$tmp/alone" || not_ok "$attack: it runs" "$?"
		alone=$computed
	fi
	rm -f "$tmp/target.out"
	(exec 8>&- "$@" <"$tmp/in" >"$tmp/target.out") &
	exec 9>"$tmp/in"
	wait_for "$tmp/target.out" ready
	target=$(said "$tmp/target.out" ready)
}

# Recordings one after the other, as long as it computes. Where bytes are changed is collected in a file.
record_often() { # RECORDINGS PLACES
	: >"$2" >"$tmp/others"
	recordings=0 complete=0 disorderly=
	while [ $recordings -lt "$1" ] && ! grep -q '^sum' "$tmp/target.out"; do
		rm -f "$tmp/o/r.json" "$tmp/err"
		timeout -k 5 30 $recorder -q -e none -p "$target" -d 60ms -o "$tmp/o/r.json" 8>&- 9>&- 2>"$tmp/err" &
		recording=$!
		while kill -0 $recording 2>/dev/null; do
			"$attacks/changed_bytes" "$target" where 2>/dev/null | grep '^at' >>"$2"
			"$attacks/changed_bytes" $bystander where 2>/dev/null | grep "^at $other " >>"$tmp/others"
		done
		wait $recording
		status=$?
		[ $status -le 1 ] || disorderly="$disorderly $status: $(cat "$tmp/err")"
		[ $status -ne 0 ] && ! grep -q 'its overlay has copied it' "$tmp/err" || complete=$((complete + 1))
		recordings=$((recordings + 1))
	done
	sort -u "$2" -o "$2"
}

# Bytes that are not within the five of a probe site: those are where a recording of the unswapped file begins to change.
elsewhere() { # SITES PLACES
	awk 'NR == FNR { site[$2 " " $3] = 1; next }
		{ for (i = 0; i < 5; i++) if (($2 " " ($3 - i)) in site) next; print }' "$1" "$2" | head -5
}

swap_and_record() { # ATTACK KIND FILE COMMAND...
	attack=$1 kind=$2 file=$3
	shift 3
	computed=${*##*/program }
	start_target "$@"
	record_often 3 "$tmp/sites"
	equal "$attack: recorded before" "$complete$disorderly" 3
	check "$attack: its probe sites are known" test "$(grep -c . "$tmp/sites")" -gt 10
	"$attacks/swap_file" "$kind" "$file" "${file%/*}/other" <"$tmp/swapping" >"$tmp/swaps" 2>&1 9>&- &
	swapper=$!
	record_often 12 "$tmp/places"
	echo over >&8
	wait $swapper
	read -r rest <&8
	check "$attack: swaps ($(cat "$tmp/swaps"))" test "$(said "$tmp/swaps" swaps)" -gt 50
	check "$attack: it was recorded meanwhile, or the reason given ($complete of $recordings)" test $complete -ge 1
	equal "$attack: all recordings end in order" "$disorderly" ""
	never_else "$attack: no byte is changed but at probe sites" "$(elsewhere "$tmp/sites" "$tmp/places")" ""
	never_else "$attack: none in a process that runs the other file" "$(sort -u "$tmp/others" | head -3)" ""
	exec 9>&-
	wait_for "$tmp/target.out" code
	never_else "$attack: the result is the same, the semaphores off, the code as before" \
		"$(said "$tmp/target.out" sum) $(said "$tmp/target.out" semaphore)$(said "$tmp/target.out" code)" "$(said "$tmp/alone" sum) 00"
}

cp "$programs/storm" "$tmp/lower/other"
cp "$programs/checksum" "$tmp/lower/program"
cp "$programs/plugin.so" "$tmp/lower/library.so"
chmod 755 "$tmp/lower"/*
"$tmp/lower/other" 1 1000 <"$tmp/hold" 8>&- >"$tmp/other.out" &
bystander=$!
exec 7>"$tmp/hold"
wait_for "$tmp/other.out" ready
other=$(stat -c %i "$tmp/lower/other")
recorder=$proftrace
swap_and_record "its program is replaced" rename "$tmp/lower/program" "$tmp/lower/program" 2 $rounds
swap_and_record "a library is replaced" rename "$tmp/lower/library.so" \
	env LD_PRELOAD="$tmp/lower/library.so" "$tmp/lower/program" 2 $rounds
swap_and_record "a library is cut" truncate "$tmp/lower/library.so" \
	env LD_PRELOAD="$tmp/lower/library.so" "$tmp/lower/program" 2 $((rounds / 2)) "$tmp/lower/library.so"

if mount -t tmpfs none "$tmp/o" 2>/dev/null && mkdir "$tmp/o/upper" "$tmp/o/work" &&
	mount -t overlay -o "lowerdir=$tmp/lower,upperdir=$tmp/o/upper,workdir=$tmp/o/work" none "$tmp/merged" 2>/dev/null; then
	# Its first link copies the program up: what is mapped is below, and what its name leads to is not.
	swap_and_record "an overlay covers its program" rename "$tmp/merged/program" "$tmp/merged/program" 2 $rounds
	# Without an attack: a change of the mode is enough. The kernel would attach to the copy, and record nothing.
	attack="an overlay copies a library"
	start_target env LD_PRELOAD="$tmp/merged/library.so" "$tmp/merged/program" 2 $((rounds / 5))
	chmod 700 "$tmp/merged/library.so"
	timeout -k 5 30 "$proftrace" -e none -p "$target" -d 60ms -o "$tmp/o/r.json" 8>&- 9>&- 2>"$tmp/err"
	never_else "$attack: it is said that it is not recorded" \
		"$?$(grep -c "cannot attach to '$tmp/merged/library.so': its overlay has copied it" "$tmp/err")" 01
	check "$attack: its program is recorded" grep -q '"round"' "$tmp/o/r.json"
	exec 9>&-
	wait_for "$tmp/target.out" code
	equal "$attack: the result is the same, the semaphores off, the code as before" \
		"$(said "$tmp/target.out" semaphore)$(said "$tmp/target.out" code)" 00
	umount "$tmp/merged"
else
	skip "an overlay covers its program" "cannot mount one"
fi
umount "$tmp/o" 2>/dev/null

# Without root files may have to be opened by their names.
if capable_copy "$tmp/proftrace"; then
	chown "$made_uid" "$tmp/lower" "$tmp/lower"/*
	recorder="setpriv --reuid=$made_uid --regid=$made_gid --clear-groups --inh-caps=-all $tmp/proftrace"
	swap_and_record "its program is replaced, without root" rename "$tmp/lower/program" \
		setpriv --reuid="$made_uid" --regid="$made_gid" --clear-groups "$tmp/lower/program" 2 $rounds

	# A name that leads to another file, as long as the recording lasts: this is not the file that is mapped.
	attack="a library is another file, without root"
	mv "$tmp/lower/library.so" "$tmp/lower/mapped.so" && ln "$tmp/lower/other" "$tmp/lower/library.so"
	start_target setpriv --reuid="$made_uid" --regid="$made_gid" --clear-groups env LD_PRELOAD="$tmp/lower/mapped.so" \
		"$tmp/lower/program" 2 $((rounds / 10))
	mv "$tmp/lower/library.so" "$tmp/lower/mapped.so"
	timeout -k 5 30 $recorder -e none -p "$target" -d 60ms -o "$tmp/o/r.json" 8>&- 9>&- 2>"$tmp/err"
	never_else "$attack: refused, with the reason" "$?$(grep -c "cannot open '$tmp/lower/mapped.so': deleted or replaced" "$tmp/err")" 01
	exec 9>&-
	wait_for "$tmp/target.out" code
else
	skip "its program is replaced, without root" "file capabilities cannot be set here"
fi
exec 7>&-
wait $bystander
never_else "the markers of the process that runs the other file were never on" "$(said "$tmp/other.out" semaphore)" 0
finish
