#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A signal while proftrace is still attaching ends it like any recording: soon, with complete files, which may be
# empty, and nothing stays behind.
. "$(dirname "$0")/lib.sh"
need_tracing

# Files with so many sites that attaching to all of them takes seconds; it is said of each when it is done.
files=40
mkfifo "$tmp/in"
"$programs/hostile" maps "$programs/sites" $files <"$tmp/in" >"$tmp/out" &
target=$!
exec 9>"$tmp/in"
wait_for "$tmp/out" ready
attached() { grep -c "attached to [0-9]* sites of '.*copy'" "$tmp/err"; }

# Leaves how it ended in $status, and to how many of the files it had attached in $reached.
interrupt() { # MODE AFTER SIGNAL...
	mode=$1 after=$2
	shift 2
	rm -f "$tmp"/t.* "$tmp/s"
	: >"$tmp/err"
	timeout -s KILL 120 "$proftrace" -v --mode "$mode" -p $target -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" 9>&- &
	limit=$!
	until [ "$(attached)" -ge "$after" ] || ! kill -0 $limit; do sleep 0.01; done
	recorder=$(pgrep -P $limit -x proftrace)
	for signal; do kill -$signal $recorder; done
	wait $limit
	status=$?
	reached=$(attached)
	[ $status -eq 0 ] || tail -5 "$tmp/err" | sed 's/^/# /'
}

check_end() { # NAME
	equal "$1: exit status" $status 0
	equal "$1: the account adds up" "$(field "$tmp/s" adds_up)" true
	check "$1: the Perfetto file is whole" "$canon" "$tmp/t.pftrace"
	check "$1: so is the JSON" grep -q '"orderly": *true' "$tmp/t.json"
	check "$1: the program goes on" kill -0 $target
}

# A shell that does not get its turn may be too late with the signal, but not each time.
for _ in 1 2 3; do
	interrupt exact 1 INT
	[ "$reached" -lt $files ] && break
done
check "after the first file: it does not attach to all of them first" test "$reached" -lt $files
equal "after the first file: nothing is recorded" "$(field "$tmp/s" written)" 0
check_end "after the first file"
# Each has hundreds of domains, and a limit of links that one link for each of these would reach after a few files.
interrupt auto 10 TERM
check_end "after ten files"
interrupt auto 20 INT INT
check "two signals: twenty files are attached" test "$reached" -ge 20
check_end "two signals"

exec 9>&-
wait $target
equal "the program ends well" $? 0
equal "its markers are off" "$(said "$tmp/out" semaphore)" 0
finish
