#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Children that share the memory of their parent (vfork() and the like) mark in its buffer, fill it and hand it
# over. Each mark is recorded once, whoever hands it over.
. "$(dirname "$0")/lib.sh"
need_tracing
need_batches "batches of children with the same memory"

vforks() { # HOW ROUNDS MARKS
	"$proftrace" -q --mode batch ${children:-} -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/vforks" "$@" >"$tmp/out" 2>"$tmp/err"
	equal "$1: exit status" "$?$(cat "$tmp/err")" 0
	made=$(said "$tmp/out" marks) marked=$(field "$tmp/s" marked) unread=$(field "$tmp/s" batches_unread)
	# Never more than there were, wherever.
	never_else "$1: of $made marks, too many" $((marked > made ? marked - made : 0)) 0
	if [ "$marked" -lt "$made" ] && [ "$unread" -gt 0 ]; then
		skip "$1: all marks" "this kernel told of the end when the memory was gone: $marked of $made"
		return
	fi
	check_account "$1" "$tmp/s"
	equal "$1: all marks" "$marked" "$made"
	equal "$1: all are written" "$(field "$tmp/s" written)" "$made"
	equal "$1: no batch was not read" "$unread" 0
	for output in json pftrace; do
		"$canon" "$tmp/t.$output" >"$tmp/canon" 2>"$tmp/err"
		equal "$1: $output: the children's instants" \
			"$(awk '$3 == "INSTANT" && $5 == "child"' "$tmp/canon" | wc -l)" "$(said "$tmp/out" child)"
	done
	check_agree "$1" "$tmp/t"
}

# With 1022 of these marks a batch is full: some children fill one, some go on with what the last one left.
for how in exit exec clone first nested thread; do
	vforks $how 8 700
done
vforks exit 4 2500
vforks first 3 10
vforks spawn 8 0
children=--no-children
vforks exit 4 2500
vforks nested 8 700

# Without root each process has links of its own, and what such a child hands over before it has them is lost: counted.
user=1000 capabilities=bpf,perfmon
mkdir "$tmp/bin" "$tmp/theirs"
grep -qE '^uprobe_multi links +no' "$tmp/check" && capabilities=$capabilities,sys_admin
cp "$proftrace" "$programs/vforks" "$tmp/bin"
chmod 755 "$tmp/bin"/*
if [ "$(id -u)" -ne 0 ] || ! chown $user "$tmp/theirs" ||
	! "$programs/rights" file "$tmp/bin/proftrace" $capabilities 2>"$tmp/err"; then
	skip "without root" "no capabilities can be handed out here"
else
	for option in "" --no-children; do
		for how in "exit 8 700" "nested 8 700" "thread 8 700" "first 8 700" "first 3 10" "exec 3 2500" ${option:-"forked 4 10"}; do
			[ "$how" != "$option" ] || continue
			"$programs/rights" user $user "" "$tmp/bin/proftrace" -q -e none --mode batch-now $option -o "$tmp/theirs/t" \
				--summary-json "$tmp/theirs/s" -- "$tmp/bin/vforks" $how >"$tmp/out" 2>"$tmp/err"
			name="without root${option:+, $option}, $how"
			equal "$name: exit status" "$?$(cat "$tmp/err")" 0
			made=$(said "$tmp/out" marks) marked=$(field "$tmp/theirs/s" marked) written=$(field "$tmp/theirs/s" written)
			never_else "$name: the account adds up" "$(field "$tmp/theirs/s" adds_up)" true
			if [ "$marked" -lt "$made" ] && [ "$(field "$tmp/theirs/s" batches_unread)" -gt 0 ]; then
				skip "$name: every mark is accounted for" "this kernel told of the end when the memory was gone"
			else
				equal "$name: every mark is accounted for" "$marked" "$made"
			fi
			equal "$name: written or lost" "$((written + $(field "$tmp/theirs/s" lost_total)))" "$marked"
			# Fewer than a batch has space for: nothing has been handed over before there were links.
			case $how in
			*" 10") equal "$name: all are written" "$written" "$made" ;;
			esac
		done
	done
fi
check_nothing_left "vfork"
finish
