#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program names a trace to be included that has the number of another recorded process: nothing of it is in that
# process, nor on the tracks of the machine.
. "$(dirname "$0")/lib.sh"
need_tracing
begin_recording
cd "$tmp" || exit 1
of() { "$canon" "$1" | awk -v name="$2" '$5 == name { print $1 }' | sort -u; } # FILE NAME: the processes that have it

# shellcheck disable=SC2016
"$proftrace" -q -o t -- sh -c '"$0" 3 victim.json; "$0" 2 own.json own.json </dev/null; "$0" 2 its.json victim.json </dev/null' \
	"$programs/includes" >said
victim=$(sed -n 's/^pid //p' said | head -n 1)
own=$(sed -n 's/^pid //p' said | sed -n 2p)
equal "three processes have marks" "$(of t.json outer | wc -l)" 3
never_else "none of the trace's events is in the other process" "$(of t.json theirs | grep -c "^$victim$")" 0
equal "they are in a process of their own, and the others' in theirs" "$(of t.json theirs | grep -vc "^$own$") $(of t.json theirs | grep -c "^$own$")" "1 1"
check "its name says which file it is from" test "$(grep -o "victim.json: python (pid $victim)" t.json | wc -l)" -ge 1
never_else "the other process has its own name" "$("$canon" t.json | grep -c "^process $victim python$")" 0

# Who names a path first does not take it from the process whose trace it is.
# shellcheck disable=SC2016
"$proftrace" -q -o t -- sh -c '"$0" 2 its.json "$PWD/second.json" </dev/null; "$0" 4 second.json "$PWD/second.json" </dev/null' \
	"$programs/includes" >said
own=$(sed -n 's/^pid //p' said | sed -n 2p)
equal "another process has named it: its own events are in it, all the same" "$("$canon" t.json | awk -v pid="$own" '$1 == pid && $5 == "theirs"' | wc -l)" 4
equal "and once more in a process of their own" "$("$canon" t.json | awk -v pid="$own" '$1 != pid && $5 == "theirs"' | wc -l)" 4

cat >machine.json <<-END
	[{"name":"falsified","ph":"C","ts":$(awk '{ printf "%.0f", ($1 + 60) * 1000000 }' /proc/uptime),"pid":0,"args":{"falsified":666}}]
END
"$proftrace" -q -o t -- "$programs/includes" 2 its.json machine.json </dev/null >said
equal "a counter without a process is in one of its own" "$(of t.json falsified | grep -vcx 0)" 1
check_nothing_left "false processes"
finish
