#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Python processes have functions with long tables of lines, which the recorder reads.
. "$(dirname "$0")/lib.sh"
need_tracing
python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || { skip "long lines" "needs CPython 3.11 to 3.13"; finish; }
begin_recording

# Sets `most`: the most memory in MiB that the recorder, or a process of the recording, has had.
recorded() { # ARGUMENT...
	most=$(python3 -c 'import resource, subprocess, sys
with open(sys.argv[1], "w") as said:
    subprocess.run(sys.argv[2:], stdout=said, stderr=said)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' \
		"$tmp/said" "$proftrace" --sample 499 -o "$tmp/t" -- python3 "$root/tests/attacks/programs/long_lines.py" "$@")
}

recorded 6 200 250000
never_else "tables that processes share are kept once ($most MiB)" "$([ "$most" -lt 180 ] && echo yes)" yes
check "and all functions have lines" sh -c "! grep -q 'no lines' '$tmp/said'"
recorded 1 400 250000
check "beyond the limit, it is said that functions have no lines" \
	grep -q "Python functions in call stacks have no lines: the line tables of all processes are more than 64 MiB" "$tmp/said"
check_nothing_left "long lines"
finish
