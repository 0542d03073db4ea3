#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program with another root (chroot, a container) executes a relative path by a link. The link leads nowhere there, and
# to a file of root's outside.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ]; then
	skip "jailed" "needs root for chroot"
	finish
fi
begin_recording
mkdir "$tmp/jail"
mkdir -m 700 "$tmp/roots"
cp "$programs/every_kind" "$tmp/roots/program"
mkfifo "$tmp/in"
try() { # NAME LINK
	ln -sfn "$2" "$tmp/jail/program"
	rm -f "$tmp/said"
	"$proftrace" -q -o "$tmp/t" -- "$attacks/jailed" "$tmp/jail" <"$tmp/in" >"$tmp/said" 2>"$tmp/err" &
	recorder=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/said" tried
	never_else "$1: the recorder has opened files of root's" "$(find "/proc/$recorder/fd" -lname "$tmp/roots/*" | wc -l)" 0
	exec 9>&-
	wait $recorder
}
try "an absolute link" "$tmp/roots/program"
try "a link that climbs" ../roots/program
check "its marks are there" test "$("$proftrace" report --format csv "$tmp/t.pftrace" | grep -c jailed)" -ge 1
check_nothing_left "jailed"
finish
