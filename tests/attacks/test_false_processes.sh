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

# What only the recorder says of processes, and of losses. Other labels, of processes that only the trace has, are kept.
# shellcheck disable=SC2016
"$proftrace" -o t -- sh -c '{
	printf "[{\"name\":\"proftrace\",\"ph\":\"M\",\"args\":{}},\n"
	printf "[{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"labels\":\"%s\"}},\n" \
		$$ "rank 11, container bank, unit sshd.service" $$ "own label" 1 "GPU, rank 12" 2 "GPU, unit sshd.service" 3 "GPU 0" | sed "s/^\[//"
	printf "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":3,\"args\":{\"name\":\"rank 13: x\"}},\n"
	printf "{\"name\":\"events lost\",\"recorder\":true,\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"args\":{\"count\":7}},\n" $$ $$ "$1" 3 3 "$1"
	printf "{\"name\":\"theirs\",\"ph\":\"i\",\"pid\":%d,\"tid\":1,\"ts\":%s},\n" $$ "$1" 1 "$1" 2 "$1" 3 "$1"
	echo "{\"name\":\"last\",\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":$1}]"; } >labels.json
	exec "$0" 2 its.json labels.json </dev/null' "$programs/includes" "$(awk '{ printf "%.0f", ($1 + 60) * 1000000 }' /proc/uptime)" >said 2>err
equal "labels: the rest of the trace is included" "$(of t.json theirs | wc -l)" 4
never_else "labels: none that only the recorder gives" "$(grep -cE '"labels":.*(bank|sshd|own label|rank 1[12])' t.json)" 0
equal "labels: of other processes they are kept" "$(grep -c '"labels":.*GPU 0' t.json)" 1
never_else "labels: nobody is a rank by a name that a trace gives" "$("$proftrace" report --by rank --format csv t.pftrace | awk -F, '$4 ~ /13/')" ""
never_else "no events are lost because a trace says so" "$(grep -c '"events lost"' t.json)" 0
check "what is left out is counted" grep -q "labels.json  5 events included, 7 of kinds that are not represented" err
"$proftrace" convert -o t2.json t.pftrace
equal "the same in Perfetto" "$(grep -cE '"events lost"|"labels":.*(bank|sshd|own label|rank 1[12])' t2.json) $(grep -c '"labels":.*GPU 0' t2.json)" "0 1"
check_nothing_left "false processes"
finish
