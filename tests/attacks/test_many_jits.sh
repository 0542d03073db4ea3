#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user starts more programs with generated code than are kept until the end of a recording. The generated code of another user has
# its names, whether it ran before or runs afterwards; what the user itself lost is counted and said, and makes --strict fail.
. "$(dirname "$0")/lib.sh"
need_tracing
need_users
make_user one && one_uid=$made_uid one_gid=$made_gid && make_user two && two_uid=$made_uid two_gid=$made_gid ||
	{ skip "many processes with generated code" "cannot make users"; finish; }
chmod 755 "$tmp"
jit=$tmp/jits-$$
cp "$attacks/many_jits" "$jit"
start_recorder -e none --sample 997 --strict --summary-json "$tmp/s" -n "$(basename "$jit")" --wait
as "$two_uid" "$two_gid" "$jit" 2 early_code 500
as "$one_uid" "$one_gid" "$jit" 300 many_code 40
as "$two_uid" "$two_gid" "$jit" 2 late_code 500
kill -TERM $recorder
ends $recorder
equal "some have no names: --strict fails" $? 3
"$root/build/tests/tools/stacks" "$tmp/t.pftrace" | grep -o '[a-z]*_code$' | sort | uniq -c >"$tmp/codes"
for code in early late many; do
	check "there are names of ${code}_code" test "$(awk -v code=${code}_code '$2 == code { print $1 }' "$tmp/codes")" -gt 10
done
check "it is counted" test "$(field "$tmp/s" frames_unnamed)" -ge 20
check "it is said" grep -q 'code addresses have no name: too many processes with generated code' "$tmp/said"
# The dynamic linker and the C library may have no symbols here for what was sampled in them.
equal "and no map is said to be missing" "$(grep 'no perf map' "$tmp/said")" ""
find /tmp -maxdepth 1 -name 'perf-*.map' \( -user "$one_uid" -o -user "$two_uid" \) -delete
check_nothing_left "many processes with generated code"
finish
