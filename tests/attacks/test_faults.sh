#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A disk that fails at any write, at close(), or at any read of a trace: each file gives a message, the exit status
# is 1, the written part loads, and proftrace ends.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ] || ! [ -c /dev/fuse ]; then
	skip "faults" "needs root and /dev/fuse"
	finish
fi
mkdir "$tmp/disk"

# A recording of a program with outputs on the faulty disk; they are copied from it.
fail_writes() { # KIND N FILE...
	kind=$1 nth=$2
	shift 2
	attack="$kind at write $nth of $*"
	for file; do
		set -- "$@" -o "$tmp/disk/$file"
		shift
	done
	rm -rf "$tmp/o" && mkdir "$tmp/o"
	"$attacks/faulty" "$kind" "$nth" "$tmp/disk" /bin/sh -c '
		disk=$1 copy=$2
		shift 2
		timeout -k 2 20 "$@"
		status=$?
		for file in t.json t.pftrace t.json.gz; do [ -e "$disk/$file" ] && cat "$disk/$file" >"$copy/$file" 2>/dev/null; done
		exit $status' sh "$tmp/disk" "$tmp/o" "$proftrace" -q -e none --dump-period 20ms --summary-json "$tmp/s" \
		"$@" -- "$programs/every_kind" 2 3000 >"$tmp/out" 2>"$tmp/err"
	status=$?
	if grep -q '^cannot' "$tmp/out"; then
		skip "faults" "$(cat "$tmp/out")"
		finish
	fi
	check "$attack: there were faults" test "$(said "$tmp/out" faults)" -gt 0
	never_else "$attack: the account adds up" "$(field "$tmp/s" adds_up)" true
}

fails_well() { # WHY FILE...
	why=$1
	shift
	equal "$attack: exit status" $status 1
	equal "$attack: one message for each file" "$(grep -c "^proftrace: cannot write '.*': $why" "$tmp/err")" $#
	equal "$attack: no other but a hint" "$(grep -vc '^hint: ' "$tmp/err")" $#
	equal "$attack: written + lost = marked" \
		"$(($(field "$tmp/s" written) + $(field "$tmp/s" lost_total)))" "$(field "$tmp/s" marked)"
	for file; do
		[ -e "$tmp/o/$file" ] || continue
		check "$attack: the $file that was written loads" "$canon" "$tmp/o/$file"
		"$proftrace" report "$tmp/o/$file" >"$tmp/table" 2>"$tmp/report.err"
		equal "$attack: report reads the $file" $? 0
	done
}

for n in 1 2 4 9; do
	fail_writes ENOSPC $n t.json t.pftrace
	fails_well 'No space left on device' t.json t.pftrace
	fail_writes EIO $n t.json t.pftrace
	fails_well 'Input/output error' t.json t.pftrace
	fail_writes once $n t.json t.pftrace
	fails_well 'Input/output error' t.json t.pftrace
	fail_writes half $n t.json.gz t.pftrace
	fails_well 'No space left on device' t.json.gz t.pftrace
	# Nothing is wrong with a write that has to be continued.
	fail_writes short $n t.json t.pftrace
	equal "$attack: exit status" "$status$(cat "$tmp/err")" 0
	check_account "$attack" "$tmp/s"
	check_agree "$attack" "$tmp/o/t"
done
fail_writes close 1 t.json t.pftrace
fails_well 'Input/output error' t.json t.pftrace

# Reads of a trace that was recorded before.
"$proftrace" -q -e none -o "$tmp/t" -- "$programs/every_kind" 2 3000 >"$tmp/out"
gzip -k "$tmp/t.json"
fail_reads() { # N FILE VERB [OPTION...]
	nth=$1 file=$2
	shift 2
	attack="read $nth of the ${file#t.} ($1)"
	"$attacks/faulty" read "$nth" "$tmp/disk" /bin/sh -c '
		cat "$1" >"$2" || exit 9
		shift 2
		exec timeout -k 2 20 "$@"' sh "$tmp/$file" "$tmp/disk/$file" "$proftrace" "$@" "$tmp/disk/$file" \
		>"$tmp/out" 2>"$tmp/err"
	equal "$attack: exit status" $? 1
	check "$attack: there were faults" test "$(said "$tmp/out" faults)" -gt 0
	equal "$attack: one message" "$(grep -c "^proftrace: cannot read '$tmp/disk/$file': Input/output error" "$tmp/err")" 1
	equal "$attack: no other" "$(grep -c '^proftrace: ' "$tmp/err")" 1
}
for n in 1 2 3; do
	for file in t.json t.json.gz t.pftrace; do
		fail_reads $n $file report -q
		fail_reads $n $file convert -q -o "$tmp/c"
		check "$attack: no output is left" test ! -e "$tmp/c.json" -a ! -e "$tmp/c"
		fail_reads $n $file merge -q -o "$tmp/m.pftrace" "$tmp/t.json"
	done
done
finish
