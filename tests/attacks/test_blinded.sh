#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user maps a file that root records, and makes its own memory such that the kernel refuses to attach to all processes
# of this file. Each process that is recorded is recorded all the same, or it is said which are not.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user stranger || { skip "blinded" "cannot make a user"; finish; }
mkfifo "$tmp/in" "$tmp/blinds"
cp "$programs/every_kind" "$tmp/target"
cp "$programs/sandboxed" "$tmp/sandboxed"
marks() { said "$1" total; }

# False with a skip if the kernel has no guard pages. Until blind_ends.
blind_begins() { # WHAT FILE [guard]
	blinded=$1
	shift
	: >"$tmp/blind"
	# The program that waits at descriptor 9 must see its end.
	(exec 9>&-; as "$made_uid" "$made_gid" "$attacks/blind" "$@") <"$tmp/blinds" >"$tmp/blind" &
	blind=$!
	exec 8>"$tmp/blinds"
	wait_for "$tmp/blind" '\(ready\|none\)'
	grep -q ready "$tmp/blind" && return
	blind_ends
	skip "$blinded" "this kernel has no guard pages"
	false
}
blind_ends() {
	exec 8>&-
	wait $blind
}

for how in "semaphores" "guard pages"; do
	blind_begins "$how" "$tmp/target" $(test "$how" = semaphores || echo guard) || continue
	start_recorder -n target --wait --strict --summary-json "$tmp/s.json" 8>&-
	"$tmp/target" 1 10 8>&- >"$tmp/1"
	"$tmp/target" 2 20 8>&- >"$tmp/2" &
	second=$!
	"$tmp/target" 1 30 8>&- >"$tmp/3"
	wait $second
	kill -TERM $recorder
	ends $recorder
	never_else "$how: processes that begin later are recorded, or it is said that they are not" \
		"$(($(field "$tmp/s.json" marked) >= $(marks "$tmp/1") + $(marks "$tmp/2") + $(marks "$tmp/3")))$(field "$tmp/s.json" files_refused)" 10
	check "$how: and it is said why each is attached to by itself" \
		grep -q "target' is attached to for each process by itself" "$tmp/said"
	blind_ends
done

# Another thread than the first executes a program: it takes over the number, and the links were of the first thread.
cp "$programs/followed" "$tmp/renewed"
for how in "semaphores" "guard pages"; do
	blind_begins "$how, executed by another thread" "$tmp/renewed" $(test "$how" = semaphores || echo guard) || continue
	start_recorder -n renewed --wait --strict --summary-json "$tmp/s.json" 8>&-
	for i in 1 2 3; do
		echo | "$tmp/renewed" self 10 8>&-
	done >"$tmp/out"
	kill -TERM $recorder
	ends $recorder
	blind_ends
	check "$how, executed by another thread: each process gets links of its own" \
		grep -q "renewed' is attached to for each process by itself" "$tmp/said"
	check "$how, executed by another thread: every mark, once, or it is said that some are missing" test \
		"$(field "$tmp/s.json" marked)" = "$(grep -c '^mark' "$tmp/out")" -o "$(field "$tmp/s.json" attached_late)" -gt 0 \
		-o "$(field "$tmp/s.json" files_refused)" -gt 0
done

# Its children have their links after the fork, which is counted; if a machine is busy, so is what is not attached to in time.
for how in "semaphores" "guard pages"; do
	blind_begins "$how, children that execute" "$tmp/renewed" $(test "$how" = semaphores || echo guard) || continue
	start_recorder -n renewed --wait --summary-json "$tmp/s.json" 8>&-
	echo | "$tmp/renewed" exec 12 3 8>&- >"$tmp/out"
	kill -TERM $recorder
	ends $recorder
	blind_ends
	made=$(grep -c '^mark' "$tmp/out") marked=$(field "$tmp/s.json" marked)
	check "$how, children that execute: hardly a mark is missing, and none is twice ($marked of $made)" \
		test "$marked" -le "$made" -a "$marked" -gt $((made / 2))
	check "$how, children that execute: what is missing is counted" \
		test "$marked" = "$made" -o "$(field "$tmp/s.json" attached_late)" -gt 0
done

# Static programs are held nowhere but before they begin, and these are over at once.
if gcc -O2 -I"$root/include" -static "$root/tests/integration/programs/steps.c" -o "$tmp/static" 2>"$tmp/err"; then
	blind_begins "a static program" "$tmp/static"
	start_recorder -n static --wait --summary-json "$tmp/s.json" 8>&-
	for i in 1 2 3 4 5; do "$tmp/static" >"$tmp/$i" 8>&-; done
	kill -TERM $recorder
	ends $recorder
	never_else "a static program: all marks, or it is said that some are missing" \
		"$(($(field "$tmp/s.json" marked) >= 5 * $(said "$tmp/1" marks) || $(field "$tmp/s.json" attached_late) >= 5))" 1
	blind_ends
else
	skip "a static program" "cannot be linked"
fi

# Nobody can be held in a dynamic linker that is blinded before there is any process to record. It is a copy, which those see
# that are recorded, and the recorder.
linker=$(ldd "$programs/scripted" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\).*/\1/p')
linker=$(readlink -f "$linker")
cp "$linker" "$tmp/linker"
cp "$programs/scripted" "$tmp/opening"
# shellcheck disable=SC2016
beside() { exec unshare -m sh -c 'mount --make-rprivate / && mount --bind "$0" "$1" && shift && exec "$@"' "$tmp/linker" "$linker" "$@"; }
if (beside true) 2>"$tmp/err" && blind_begins "a linker" "$tmp/linker" guard; then
	rm -f "$tmp/said"
	beside "$proftrace" -o "$tmp/t" -n opening --wait --summary-json "$tmp/s.json" >"$tmp/said" 2>&1 8>&- &
	recorder=$!
	wait_for "$tmp/said" 'proftrace: recording'
	for i in 1 2 3 4 5; do
		nsenter -t $recorder -m "$tmp/opening" "load $programs/plugin.so" "ticks 5" >"$tmp/$i" 8>&-
	done
	kill -TERM $recorder
	ends $recorder
	never_else "a linker: all marks, or it is said that some are missing" \
		"$(($(field "$tmp/s.json" marked) >= 5 * 25 || $(field "$tmp/s.json" attached_late) > 0))" 1
	blind_ends
else
	skip "a linker" "no mount namespaces, or no guard pages"
fi

# The kernel begins to refuse when a program is being recorded, and its domains go over to another mode meanwhile: each mark is
# recorded once, whether by the links for all processes or by those of the program alone.
cp "$programs/swings" "$tmp/swings"
for how in "semaphores" "guard pages"; do
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	exec 9<>"$tmp/in"
	"$tmp/swings" 1 3 20000 <&9 9>&- >"$tmp/out" &
	program=$!
	start_recorder --mode auto --summary-json "$tmp/s" -p $program 9>&-
	blind_begins "$how, while it is recorded" "$tmp/swings" $(test "$how" = semaphores || echo guard)
	begun=$?
	echo >&9
	exec 9>&-
	wait $program
	wait $recorder
	[ $begun = 0 ] || continue
	blind_ends
	if ! grep -q '"modes"' "$tmp/s"; then
		skip "$how, while it is recorded" "the processor's counter is of no use here: all was exact"
		continue
	fi
	check "$how, while it is recorded: each process gets links of its own" \
		grep -q "swings' is attached to for each process by itself" "$tmp/said"
	equal "$how, while it is recorded: every mark, once" "$(field "$tmp/s" marked)" "$(said "$tmp/out" total)"
	equal "$how, while it is recorded: all are written" "$(field "$tmp/s" written)" "$(said "$tmp/out" total)"
	equal "$how, while it is recorded: nothing is late" "$(field "$tmp/s" attached_late)" 0
done

# More processes at once than links for one process may have at a site: those of each count by themselves.
cp "$programs/waits" "$tmp/waits-many"
cp "$programs/swings" "$tmp/many"
begin_each() { # N COMMAND...: all of them wait for a line of $tmp/in, which is open as 9
	rm -f "$tmp/in" "$tmp"/each.*
	mkfifo "$tmp/in"
	exec 9<>"$tmp/in"
	each=
	for i in $(seq "$1"); do
		: >"$tmp/each.$i"
	done
	number=$1
	shift
	for i in $(seq "$number"); do
		"$@" <"$tmp/in" 9>&- 8>&- >"$tmp/each.$i" &
		each="$each $!"
	done
}
all_said() { # WORD
	cat "$tmp"/each.* | sed -n "s/^$1 //p" | awk '{ n += $1 } END { print n + 0 }'
}
for how in "semaphores" "guard pages"; do
	blind_begins "$how, seven at once" "$tmp/waits-many" $(test "$how" = semaphores || echo guard) || continue
	begin_each 7 "$tmp/waits-many" 10
	for i in $(seq 7); do
		wait_for "$tmp/each.$i" ready
	done
	start_recorder -n waits-many --wait --summary-json "$tmp/s" 8>&-
	# Each takes two lines, in whatever order.
	printf '%.0s\n' $(seq 14) >&9
	wait $each
	exec 9>&-
	kill -TERM $recorder
	ends $recorder
	blind_ends
	check "$how, seven at once: each process gets links of its own" \
		grep -q "waits-many' is attached to for each process by itself" "$tmp/said"
	equal "$how, seven at once: every mark of all" "$(field "$tmp/s" marked)" "$(all_said marks)"
	equal "$how, seven at once: nothing is refused" "$(field "$tmp/s" files_refused)" 0
done

# The same when the kernel begins to refuse only then: beside their own they have the links for all for a while.
for how in "semaphores" "guard pages"; do
	begin_each 5 "$tmp/many" 1 3 20000
	start_recorder --mode auto --summary-json "$tmp/s" $(printf ' -p %s' $each)
	blind_begins "$how, five that are recorded" "$tmp/many" $(test "$how" = semaphores || echo guard)
	begun=$?
	printf '\n\n\n\n\n' >&9
	exec 9>&-
	wait $each
	wait $recorder
	[ $begun = 0 ] || continue
	blind_ends
	if ! grep -q '"modes"' "$tmp/s"; then
		skip "$how, five that are recorded" "the processor's counter is of no use here: all was exact"
		continue
	fi
	check "$how, five that are recorded: each process gets links of its own" \
		grep -q "many' is attached to for each process by itself" "$tmp/said"
	equal "$how, five that are recorded: every mark, once" "$(field "$tmp/s" marked)" "$(all_said total)"
	equal "$how, five that are recorded: nothing is refused" "$(field "$tmp/s" files_refused)" 0
	equal "$how, five that are recorded: nothing is late" "$(field "$tmp/s" attached_late)" 0
done

# The domains are turned off in the middle of buffered mode, where the kernel refuses to turn them on in exact mode.
for how in "semaphores" "guard pages"; do
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	: >"$tmp/out"
	"$proftrace" -q --mode auto -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$tmp/sandboxed" counter 500 \
		<"$tmp/in" >"$tmp/out" 2>"$tmp/said" &
	started=$!
	exec 9<>"$tmp/in"
	wait_for "$tmp/out" ready
	if blind_begins "$how, auto" "$tmp/sandboxed" $(test "$how" = semaphores || echo guard); then
		echo >&9
		exec 9>&-
		wait $started
		status=$?
		blind_ends
		if [ $status = 2 ]; then
			skip "$how, auto" "this kernel does not forbid the counter"
			continue
		fi
		equal "$how, auto: the program that forbids itself the counter lives" $status 0
		check "$how, auto: its marks are recorded, or it is said that some are missing" test \
			"$(field "$tmp/s" written)" = "$(said "$tmp/out" marks)" -o "$(field "$tmp/s" attached_late)" -gt 0 \
			-o "$(field "$tmp/s" files_refused)" -gt 0
	else
		echo >&9
		exec 9>&-
		wait $started
	fi
done

# The dynamic linker, by which the recorder learns of libraries that are opened later.
linker=$(ldd "$programs/opens" | sed -n 's|^[[:space:]]*\(/[^ ]*/ld-[^ ]*\).*|\1|p')
if [ -n "$linker" ] && blind_begins "dynamic linker" "$linker" guard; then
	cp "$programs/plugin.so" "$tmp/plugin.so"
	"$proftrace" --strict -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/opens" 3 "$tmp/plugin.so" \
		8>&- >"$tmp/out" 2>"$tmp/said"
	equal "dynamic linker: nothing is missing" $? 0
	check "dynamic linker: and it is said why" grep -q "is attached to for each process by itself" "$tmp/said"
	blind_ends
fi
finish
