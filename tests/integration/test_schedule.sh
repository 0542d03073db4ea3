#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --schedule records exactly the steps that it names.
. "$(dirname "$0")/lib.sh"
need_tracing

# The batches of which a file holds marks, with how many instants: "epoch/batch xN".
batches() { # FILE...
	cat "$@" | grep '"name":"number"' | sed 's/.*"e":\([0-9]*\),"b":\([0-9]*\).*/\1\/\2/' | sort | uniq -c |
		awk '{ print $2 "x" $1 }' | xargs
}
mkdir "$tmp/a" "$tmp/b" "$tmp/c"

# Twelve batches in each of three epochs: the first is skipped, then twice one to wait, one to warm up and
# two to record.
"$proftrace" -q --strict -e none --schedule skip_first=1,wait=1,warmup=1,active=2,repeat=2 \
	-o "$tmp/a/{epoch}-{cycle}-{batch}" --summary-json "$tmp/s" -- "$programs/steps" 3 3 12 >"$tmp/out" 2>"$tmp/err"
equal "cycles: exit status, with --strict" "$?$(cat "$tmp/err")" 0
equal "cycles: files" "$(cd "$tmp/a" && echo *.json)" \
	"0-1-2.json 0-2-6.json 1-1-2.json 1-2-6.json 2-1-2.json 2-2-6.json"
equal "cycles: both formats" "$(ls "$tmp/a" | wc -l)" 12
for epoch in 0 1 2; do
	equal "cycles: epoch $epoch, first" "$(batches "$tmp/a/$epoch-1-2.json")" "$epoch/2x60 $epoch/3x60 $epoch/4x60"
	equal "cycles: epoch $epoch, second" "$(batches "$tmp/a/$epoch-2-6.json")" "$epoch/6x60 $epoch/7x60 $epoch/8x60"
	check_agree "cycles: epoch $epoch, first" "$tmp/a/$epoch-1-2"
	check_agree "cycles: epoch $epoch, second" "$tmp/a/$epoch-2-6"
done
# Of the three batches of a cycle one warms up. The begin has a name, in both its forms.
equal "warming up: a marker that is not for it is absent" \
	"$(cat "$tmp"/a/*.json | grep '"ph":"B"' | grep -c '"name":"limited"')" $((3 * 20 * 12))
equal "warming up: what others begin is there" "$(cat "$tmp"/a/*.json | grep -c '"name":"within"')" $((3 * 20 * 18))
# A slice that began in the last batch of a cycle ends in that cycle's file though nothing is recorded then;
# one that began before the first does not end in it.
equal "slices: those that began are there" "$(cat "$tmp"/a/*.json | grep '"ph":"b"' | grep -c '"in_batch"')" $((3 * 18))
equal "slices: and end" "$(cat "$tmp"/a/*.json | grep '"ph":"e"' | grep -c '"name":"across"')" $((3 * 18))
equal "slices: no END was without its BEGIN" "$(field "$tmp/s" async_unmatched)$(field "$tmp/s" open_at_end)" 00
equal "account: every mark is counted" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
equal "account: no step was late" "$(field "$tmp/s" late_steps)" 0
check_account "account" "$tmp/s"

# Long steps: while they are waited for, the probes are taken away, and are there again in time.
"$proftrace" -q -e none --schedule wait=8,warmup=0,active=2,repeat=0 -o "$tmp/b/{cycle}" --summary-json "$tmp/s" \
	-- "$programs/steps" 2 1 22 40000 >"$tmp/out" 2>"$tmp/err"
if [ "$(field "$tmp/s" late_steps)" -gt 0 ]; then
	skip "long steps: what is promised is recorded" "attaching took longer than a step here"
else
	equal "long steps: what is promised is recorded" "$(batches "$tmp"/b/*.json)" "0/18x40 0/19x40 0/8x40 0/9x40"
fi
if [ "$(said "$tmp/out" off)" -eq 0 ]; then
	skip "long steps: markers are off in between" "attaching takes too long here to detach at all"
else
	ok "long steps: markers are off in $(said "$tmp/out" off) of 22"
	check "long steps: and do not reach the kernel" test "$(field "$tmp/s" marked)" -lt "$(said "$tmp/out" marks)"
fi
equal "long steps: the account adds up" "$(field "$tmp/s" adds_up)" true

# repeat=0 is until the epoch ends, and cycles may follow each other at once.
"$proftrace" -q -e none --schedule warmup=0,active=2,repeat=0 -o "$tmp/c/all" --summary-json "$tmp/s" \
	-- "$programs/steps" 2 2 5 >"$tmp/out" 2>"$tmp/err"
equal "without waiting: all batches" "$(batches "$tmp"/c/*.json)" \
	"0/0x40 0/1x40 0/2x40 0/3x40 0/4x40 1/0x40 1/1x40 1/2x40 1/3x40 1/4x40"
equal "without waiting: a file for each cycle" "$(cd "$tmp/c" && echo *.json)" \
	"all-2.json all-3.json all-4.json all-5.json all-6.json all.json"
check_account "without waiting" "$tmp/s"

"$proftrace" diff "$tmp/a/0-1-2.json" -- "$tmp/c/all.json" >"$tmp/said" 2>"$tmp/err"
equal "diff says that two traces have different schedules" "$(grep -c "all.json': has another schedule than" "$tmp/err")" 1
"$proftrace" diff "$tmp/a/0-1-2.json" -- "$tmp/a/1-1-2.json" >"$tmp/said" 2>"$tmp/err"
equal "and nothing of those with the same" "$(grep -c "another schedule" "$tmp/err")" 0

"$proftrace" -e none --schedule active=2 -o "$tmp/none" -- "$programs/storm" 1 1000 </dev/null >/dev/null 2>"$tmp/err"
equal "no steps: exit status" $? 0
check "no steps: it is said" grep -q "PROF_STEP" "$tmp/err"
equal "no steps: no file" "$(ls "$tmp" | grep -c none)" 0
for wrong in active=0 wait=-1 wait=1,wait=2 wiat=1 "active=1," "" active; do
	"$proftrace" --schedule "$wrong" -- true >"$tmp/said" 2>&1
	equal "wrong usage: '$wrong'" "$?$(grep -c 'is not a schedule' "$tmp/said")" 21
done
finish
