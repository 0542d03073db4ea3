#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The live table: its numbers, its output on a terminal and elsewhere, and that it restores the terminal.
. "$(dirname "$0")/lib.sh"
need_tracing

# The target waits for a line: marks begin when everybody is there.
start() { # PROGRAM ARG...: its output is in $tmp/target, the line goes to $tmp/go
	rm -f "$tmp/go" "$tmp/target"
	mkfifo "$tmp/go"
	"$@" <"$tmp/go" >"$tmp/target" &
	target=$!
	exec 8>"$tmp/go"
	wait_for "$tmp/target" ready
}

go() {
	echo go >&8
	exec 8>&-
}

# The last of the tables in a file: lines "category|name|count".
last_table() {
	awk -F '  +' '/^[0-9.]+ s, / { n = 0 } { line[n++] = $1 "|" $2 "|" $4 }
		END { for (i = 0; i < n; i++) print line[i] }' "$1"
}

row() { # FILE CATEGORY NAME: its count in the last table
	last_table "$1" | awk -F '|' -v c="$2" -v n="$3" '$1 == c && $2 == n { print $3 }'
}

start "$programs/every_kind" 3 400 wait
rm -f "$tmp/lines"
"$proftrace" top -p $target -i 200ms >"$tmp/lines" 2>"$tmp/errors" &
top=$!
wait_for "$tmp/lines" "[0-9]"
go
wait $top
equal "lines: it ends with the process" $? 0
wait $target
equal "lines: nothing on standard error" "$(cat "$tmp/errors")" ""
equal "lines: slices are counted" "$(row "$tmp/lines" default round)" 1200
equal "lines: recursion too" "$(row "$tmp/lines" default factorial)" 3600
equal "lines: of another domain" "$(row "$tmp/lines" net.rpc encode)" 1200
equal "lines: asynchronous slices" "$(row "$tmp/lines" net.rpc connection)" 1200
equal "lines: instants" "$(row "$tmp/lines" net.rpc sent)" 1200
equal "lines: series of counters" "$(row "$tmp/lines" load user)" 1200
equal "lines: all marks are there" "$(sed -n 's/.* \([0-9]*\) marks, 0 lost$/\1/p' "$tmp/lines" | tail -1)" \
	"$(said "$tmp/target" total)"

start "$programs/every_kind" 1 1 wait
"$proftrace" top -p $target -i 100ms -n 3 >"$tmp/lines" 2>&1
equal "iterations: status" $? 0
equal "iterations: as many tables" "$(grep -c '^[0-9.]* s, ' "$tmp/lines")" 3
export TERM=xterm
"$programs/terminal" "$tmp/screen" "$proftrace" top -p $target -i 100ms >"$tmp/said" <<-END
	expect by total
	send sr
	expect self reversed
	send d
	expect last refresh
	resize 30 90
	expect by self reversed  since the last refresh
	send  z
	expect PAUSED
	resize 8 30
	expect proftrace top  PAUSED
	resize 40 120
	expect by self reversed  since the last refresh
	send cnamtq
END
equal "terminal: q ends it with status 0" "$(said "$tmp/said" status)" 0
equal "terminal: its settings are restored" "$(said "$tmp/said" restored)" yes
check "terminal: it left the alternate screen" grep -q "$(printf '\033\\[?1049l')" "$tmp/screen"
equal "terminal: all keys did what they should" "$(grep 'did not come' "$tmp/said")" ""
"$programs/terminal" "$tmp/screen" "$proftrace" top -p $target >"$tmp/said" <<-END
	expect by total
	send $(printf '\003')
END
equal "terminal: Ctrl-C ends it" "$(said "$tmp/said" status) $(said "$tmp/said" restored)" "0 yes"
TERM=nonsense "$programs/terminal" "$tmp/screen" "$proftrace" top -p $target >"$tmp/said" </dev/null
equal "terminal: one that is not known is an error" "$(said "$tmp/said" status)" 1
check "terminal: which says how to do without" grep -q "hint: .*cat" "$tmp/screen"
go
wait $target

# Names are the program's: none of their escapes may reach a terminal.
start "$programs/escapes"
"$programs/terminal" "$tmp/escapes" "$proftrace" top -p $target -i 100ms >"$tmp/said" <<-END &
	expect x1b[2Jcleared
	expect counted
	send q
END
screen=$!
wait_for "$tmp/escapes" ".*marks" && echo go >&8
wait $screen
equal "escapes: they are shown as text" "$(cat "$tmp/said")" "status 0
restored yes"
equal "escapes: none gets through" "$(grep -c "$(printf '\033\\[2Jcl\|\033]0;\|\233H')" "$tmp/escapes")" 0
rm -f "$tmp/lines"
"$proftrace" top -p $target -i 100ms -n 20 >"$tmp/lines" &
top=$!
wait_for "$tmp/lines" "[0-9]"
echo go >&8
wait $top
check "escapes: lines have them as text" grep -qF 'x1b[2Jcleared' "$tmp/lines"
equal "escapes: lines have no others" "$(tr -d '\n' <"$tmp/lines" | LC_ALL=C tr -cd '\000-\037\177' | wc -c)" 0
exec 8>&-
wait $target
finish
