#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Processes with generated code say in which file its names are. Each names a large one, so that the recording ends late.
. "$(dirname "$0")/lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || { skip "jitdump files" "the code that is generated is for x86-64"; finish; }
begin_recording
jit=$attacks/jit_dumps
"$jit" make "$tmp/jit-0.dump" 1
"$jit" make "$tmp/jit-1.dump" 400000
for i in 2 3 4 5 6 7 8; do cp "$tmp/jit-1.dump" "$tmp/jit-$i.dump"; done

# Sets `took`: the CPU time in milliseconds of a recording of jit_dumps.
recorded() { # run|stop FILE...
	took=$(cpu_time "$tmp/said" "$proftrace" --sample 199 -o "$tmp/t" -- "$jit" "$@")
}
same() { seq 8 | sed "s|.*|$tmp/jit-$1.dump|"; }

recorded run $(same 0)
small=$took
recorded run "$tmp"/jit-[1-8].dump
each=$(((took - small) / 8))
[ "$each" -ge 50 ] || { skip "jitdump files" "this machine reads one in $each ms, too fast to compare"; finish; }
recorded run $(same 1)
never_else "one that many processes have mapped is read once ($took ms)" "$([ "$took" -lt $((small + 4 * each)) ] && echo yes)" yes
recorded stop "$tmp"/jit-[1-8].dump
never_else "a second signal ends the reading ($took ms)" "$([ "$took" -lt $((small + 4 * each)) ] && echo yes)" yes
check "and it is said why names are missing" grep -q "no names: a second signal ended the wait" "$tmp/said"
check_nothing_left "jitdump files"
finish
