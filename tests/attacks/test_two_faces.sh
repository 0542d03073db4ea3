#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A file system in user space (FUSE) shows another file to whoever examines a program than the program runs: always, or at
# every second read. In that file each marker is some bytes further on, which in the one that runs is in the middle of an
# instruction. Nothing may be attached there.
. "$(dirname "$0")/lib.sh"
need_tracing
if ! [ -c /dev/fuse ]; then
	skip "a file with two faces" "no /dev/fuse"
	finish
fi
[ "$(uname -m)" = x86_64 ] || { skip "a file with two faces" "the markers of other machines have no places that are worth it"; finish; }
rounds=20000
mkdir "$tmp/mnt" "$tmp/file" "$tmp/layers"
mkfifo "$tmp/in"
cp "$programs/checksum" "$tmp/file/program"
"$tmp/file/program" 2 $rounds <&- >"$tmp/alone"

begin() { # KIND BYTES [COMMAND]
	cp "$tmp/file/program" "$tmp/other"
	check "$attack: the markers are moved" test "$("$attacks/move_sites" "$tmp/other" "$2" | cut -d' ' -f2)" -gt 10
	rm -f "$tmp/target"
	"$programs/unanswered" "$1=$tmp/other" "$tmp/file/program" "$tmp/mnt" ${3:-"$tmp/mnt/program"} 2 $rounds <"$tmp/in" >"$tmp/target" 2>"$tmp/server" &
	server=$!
	exec 9>"$tmp/in"
	for _ in $(seq 1 400); do
		grep -q '^ready' "$tmp/target" && break
		if grep -q '^cannot' "$tmp/target"; then
			skip "a file with two faces" "$(grep '^cannot' "$tmp/target")"
			finish
		fi
		sleep 0.05
	done
	target=$(said "$tmp/target" ready)
}
end() {
	exec 9>&-
	wait $server
	equal "$attack: the program ends well" $? 0
	never_else "$attack: its result is the same, its semaphores off, its code as before" \
		"$(said "$tmp/target" sum) $(said "$tmp/target" semaphore)$(said "$tmp/target" code)" "$(said "$tmp/alone" sum) 00"
}
record() { # OPTION...
	timeout -k 5 60 "$proftrace" -e none -p $target -d 100ms -o "$tmp/r" "$@" 9>&- >"$tmp/out" 2>"$tmp/err"
}

# Shown the same file as the one that runs, it is recorded: it is not the file system that is refused.
for fails in '' 1; do
	attack="the same file${fails:+, statfs fails}"
	[ -z "$fails" ] || export NO_STATFS=1
	begin FILE 0
	record
	equal "$attack: recorded" "$?$(grep -c 'other bytes' "$tmp/err")" 00
	# But no functions: a prover reads all their code, of which nobody can compare each byte with those that run.
	record -f main
	never_else "$attack: functions are refused, and it is said why" "$(grep -c 'main.*could show other code' "$tmp/err")" 1
	end
done
unset NO_STATFS
# An overlay above it does not say what it is made of.
cat >"$tmp/overlay" <<END
#!/bin/sh
mount -t tmpfs none "$tmp/layers" && cd "$tmp/layers" && mkdir upper work merged &&
	mount -t overlay -o "lowerdir=$tmp/mnt,upperdir=upper,workdir=work" none merged || { echo cannot mount an overlay; exit 1; }
exec "$tmp/layers/merged/program" "\$@"
END
chmod 755 "$tmp/overlay"
for bytes in 0 5; do
	attack="below an overlay, $bytes bytes further"
	begin FILE $bytes "$tmp/overlay"
	for options in '' '--mode batch' '-f main'; do
		record $options
		status=$?
		if [ $bytes = 0 ]; then
			equal "$attack, ${options:-exact}: recorded" $status 0
		else
			never_else "$attack, ${options:-exact}: refused, with the reason" \
				"$status $(grep -o "merged/program': its file system shows other bytes" "$tmp/err" | sort -u | wc -l)" "1 1"
		fi
	done
	end
done
for kind in FILE TURNS; do
	# Of these, 3, 5, 6 and 7 are places that the kernel takes for instructions.
	for bytes in 1 2 3 4 5 6 7 8; do
		attack="$kind, $bytes bytes further"
		begin $kind $bytes
		for options in '' '--mode batch' "-u *:* -f main"; do
			set -f
			record $options
			status=$?
			set +f
			check "$attack, ${options:-exact}: it ends in order, and attaches nothing or says why" \
				sh -c '[ '$status' -le 1 ] && { [ '$status' -eq 0 ] || grep -qE "^proftrace: .*(cannot|refused|no markers)" "$1"; }' sh "$tmp/err"
		done
		check "$attack: the other file was read" grep -q '^swapped' "$tmp/target"
		end
	done
done
check_nothing_left "two faces"
finish
