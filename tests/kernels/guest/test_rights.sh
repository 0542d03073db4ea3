#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A kernel that wants CAP_SYS_ADMIN for uprobes says so before anything is attached, and to a user who
# has it gives what is that user's own.
. "$(dirname "$0")/../integration/lib.sh"
need_tracing
mkdir "$tmp/theirs"
chown 1000 "$tmp/theirs"
as() { # CAPABILITIES COMMAND...
	"$programs/rights" user 1000 "$@"
}

as bpf,perfmon "$proftrace" check >"$tmp/check"
equal "two capabilities: check: exit status" $? 1
check "two capabilities: check says what is missing" \
	grep -qE '^privileges +no +missing: CAP_SYS_ADMIN$' "$tmp/check"
check "two capabilities: check says what to do" \
	grep -q '^hint: .*setcap cap_bpf,cap_perfmon,cap_sys_admin+ep' "$tmp/check"
as bpf,perfmon "$proftrace" -v -o "$tmp/theirs/t" -- "$programs/executes" 1 2>"$tmp/err"
equal "two capabilities: recording: exit status" $? 1
check "two capabilities: recording says why not" grep -q 'before 6.6 require CAP_SYS_ADMIN' "$tmp/err"
equal "two capabilities: nothing was attached" "$(grep -c 'attached to' "$tmp/err")" 0
as bpf,perfmon,sys_admin "$proftrace" -q -o "$tmp/theirs/t" --summary-json "$tmp/theirs/s" -- "$programs/executes" 3 \
	2>"$tmp/err"
equal "with CAP_SYS_ADMIN: exit status" $? 0
check_account "with CAP_SYS_ADMIN" "$tmp/theirs/s"
equal "with CAP_SYS_ADMIN: every mark" "$(field "$tmp/theirs/s" marked)" 13
sed 's/^/# /' "$tmp/err"
finish
