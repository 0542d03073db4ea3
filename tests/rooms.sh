#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each folder of user/ has one subject, and calls go down: a file may include headers of its own folder and of those
# below it. This reads every #include of user/ against the order below, and fails if one goes up or names a private
# header of another folder. It also fails if a folder of user/ or bpf/ has more
# than 30 files, or cmd/ more than 25.
cd "$(dirname "$0")/.." || exit 1

# From the top; folders on one line may not include each other. What is not named here (bpf/, include/,
# generated headers) is below all of them. main.c may include anything.
order='
cmd
record
viewer
reports
merge
formats
plugin
otlp
capture
symbols counters system
timeline
tracee
privilege
base
'

# "FILE HEADER reason": includes that go up and are there for a reason.
exceptions='
user/privilege/broker/broker.h counters/counters.h the broker opens the counters that the recorder names
user/privilege/broker/instruction.c tracee/code/x86_instruction.h one decoder, which has no state and reads no file
user/privilege/broker/decode.c tracee/code/x86_instruction.h the same
'

n=0 failed=0
say() { # STATUS NAME OUTPUT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else failed=1 && echo "not ok $n - $2"; echo "$3" | head -40 | sed 's/^/#   /'; fi
}

folders=$(find user -mindepth 1 -maxdepth 1 -type d | sed 's|user/||')
out=$(for folder in $folders; do
	echo "$order" | tr ' ' '\n' | grep -qxF "$folder" || echo "user/$folder is not in the order of tests/rooms.sh"
done)
[ -z "$out" ]
say $? "every folder of user/ has its place" "$out"

# grep -n: FILE:LINE:#include "FOLDER/..."
includes=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z_]+/' user --include='*.[ch]' | sort)
[ "$(echo "$includes" | wc -l)" -gt 100 ]
say $? "there are includes to be read" "only $(echo "$includes" | wc -l)"

out=$(echo "$includes" | awk -v order="$order" -v exceptions="$exceptions" '
	BEGIN {
		n = split(order, lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], names, " ")
			for (j = 1; j <= m; j++)
				rank[names[j]] = i
		}
		n = split(exceptions, lines, "\n")
		for (i = 1; i <= n; i++)
			if (split(lines[i], words, " ") >= 3)
				excepted[words[1] " " words[2]] = 1
	}
	{
		split($0, parts, ":")
		file = parts[1]
		split($0, quoted, "\"")
		header = quoted[2]
		split(file, path, "/")
		split(header, of, "/")
		from = path[2]
		to = of[1]
		if (from == "main.c" || !(to in rank) || from == to)
			next
		if (file " " header in excepted) {
			used[file " " header] = 1
			next
		}
		if (rank[from] >= rank[to])
			print file ":" parts[2] ": " from " includes " header ", which is above it"
	}
	END {
		for (e in excepted)
			if (!(e in used))
				print "tests/rooms.sh: nothing needs the exception: " e
	}')
[ -z "$out" ]
say $? "includes go down" "$out"

out=$(echo "$includes" | grep -E '"[a-z_/]*(internal|state|wire)\.h"' | awk '
	{
		split($0, quoted, "\"")
		folder = quoted[2]
		sub("/.*", "", folder)
		if (index($0, "user/" folder "/") != 1)
			print
	}')
[ -z "$out" ]
say $? "private headers stay in their folders" "$out"

out=$(find user bpf -type d | while read -r folder; do
	files=$(find "$folder" -maxdepth 1 -type f | wc -l)
	most=30
	[ "$folder" = user/cmd ] && most=25
	[ "$files" -le "$most" ] || echo "$folder has $files files, at most $most"
done)
[ -z "$out" ]
say $? "no folder has too many files" "$out"
echo "1..$n"
exit $failed
