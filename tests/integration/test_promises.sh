#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each promise of proftrace(7) names tests, and these exist.
. "$(dirname "$0")/lib.sh"
page=$root/tools/man/proftrace.7.scd

missing=
for test in $(grep -oE 'test_[a-z0-9_]+' "$page" | sort -u); do
	[ -f "$root/tests/unit/$test.c" ] || [ -x "$root/tests/integration/$test.sh" ] || [ -x "$root/tests/attacks/$test.sh" ] ||
		[ -f "$root/tests/kernels/guest/$test.sh" ] || missing="$missing $test"
done
equal "the tests that are named exist" "$missing" ""

# And each attack belongs to something that the page says.
unnamed=
for test in "$root"/tests/attacks/test_*.sh; do
	test=$(basename "$test" .sh)
	grep -qw "$test" "$page" || unnamed="$unnamed $test"
done
equal "the page names all attacks" "$unnamed" ""

# A promise begins at the margin with a *, and goes on indented.
equal "every promise names a test" "$(awk '
	/^# / { promises = $0 ~ /NEVER HAPPENS|LOST WHEN/ }
	/^\*/ { if (name && !shown) print name; name = promises ? $0 : ""; shown = 0 }
	/\*test_/ { shown = 1 }
	END { if (name && !shown) print name }' "$page")" ""
# Who, what they might gain, what prevents it, the test: of each threat.
equal "every threat names a test" "$(awk '
	/^# / { threats = /THREATS/ }
	threats && /^\[\[ \*Who/ { rows = 1 }
	threats && /^\[\[ \*Request/ { rows = 0 }
	rows && /^\|/ { cell = 0; who = $0 }
	rows && /^:/ && ++cell == 3 && !/test_/ { print who }' "$page")" ""
check "there are promises" test "$(grep -c 'test_' "$page")" -ge 15
finish
