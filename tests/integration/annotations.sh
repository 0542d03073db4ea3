# SPDX-License-Identifier: BSD-2-Clause
#
# What the tests of annotations (NVTX, ITT) share: programs that do what is written into $tmp/in, one word a line, with a
# tool that the environment names. Sourced after lib.sh.

annotations=$root/build/lib/libproftrace-annotations.so

# Starts such a program as a service would be: it runs before anybody records.
start_service() { # COMMAND...: the environment is the caller's
	rm -f "$tmp/in" "$tmp/out" "$tmp/said"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/said" &
	service=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
}

# Tells it a word, and waits until that is done.
tell() { # WORD
	was=$(grep -c '^did' "$tmp/out")
	echo "$1" >&9
	for _ in $(seq 1 400); do
		[ "$(grep -c '^did' "$tmp/out")" -gt "$was" ] && return 0
		sleep 0.02
	done
	echo "# '$1' was not done"
	return 1
}

attach() { # OPTIONS...
	rm -f "$tmp"/t.* "$tmp/s" "$tmp/err"
	"$proftrace" record -e none "$@" -o "$tmp/t" --summary-json "$tmp/s" -p $service 2>"$tmp/err" 9>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
}

# The program ends with its input, and the recording with the program.
end_service() { # NAME
	exec 9>&-
	wait $service
	equal "$1: the program's exit status" "$?$(head -3 "$tmp/said")" 0
	wait $recorder
	equal "$1: the recorder's exit status" $? 0
}

# Records a command from its first instruction, and goes on when its annotations are marks.
record_command() { # OPTIONS... -- COMMAND...
	rm -f "$tmp"/t.* "$tmp/s" "$tmp/err" "$tmp/in" "$tmp/out" "$tmp/said"
	mkfifo "$tmp/in"
	"$proftrace" record -q -e none -o "$tmp/t" --summary-json "$tmp/s" "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	recorder=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready
	service=$(innermost $recorder)
	for _ in $(seq 1 200); do
		"$proftrace" list -p "$service" 2>/dev/null | grep -q '^  domain (run time): .*, on' && return 0
		sleep 0.05
	done
	echo "# the annotations were not recorded"
	return 1
}

end_command() { # NAME
	exec 9>&-
	wait $recorder
	equal "$1: exit status" "$?$(head -3 "$tmp/err")" 0
}

# What happened in a trace, in the words of the programs.
events() { # FILE
	"$canon" "$1" | awk '
		$3 == "ASYNC_BEGIN" && / frame=n:/ { n["FRAME " $5 " " $6]++; next }
		$3 == "BEGIN" || $3 == "INSTANT" || $3 == "ASYNC_BEGIN" { n[$3 " " $5 " " $6]++ }
		END { for (i in n) print i, n[i] }' | sort
}

# How many events of a kind there are.
number_of() { # FILE KIND
	"$canon" "$1" | awk -v kind="$2" '$3 == kind { n++ } END { print n + 0 }'
}

# The last value of a counter of what could not be recorded.
counted() { # FILE NAME
	"$canon" "$1" | sed -n "s/.* COUNTER [0-9]* $2 n:\([0-9]*\)$/\1/p" | sort -n | tail -1
}

# How often the other tool was called.
called() { # FUNCTION...
	for function; do sed -n "s/^$function //p" "$tmp/called"; done | awk '{ n += $1 } END { print n + 0 }'
}

# Both traces hold what the program said.
check_said() { # NAME
	sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
	for kind in json pftrace; do
		events "$tmp/t.$kind" >"$tmp/got"
		check "$1, $kind: what happened" diff "$tmp/wanted" "$tmp/got"
	done
	check_agree "$1" "$tmp/t"
}

batch_modes() {
	if ! has_batches; then
		echo exact
	else
		echo exact batch-now
	fi
}

# What the program of start_service() does when it is recorded is in both traces.
check_attached() { # MODE
	attach --mode "$1"
	tell work
	tell work
	end_service "$1"
	check_account "$1" "$tmp/s"
	equal "$1: marks" "$(field "$tmp/s" marked)" $(($(said "$tmp/out" calls) + $(said "$tmp/out" names)))
	check_said "$1"
}

# The same of a program that is started by the recorder, with another tool.
check_with_other_tool() { # MODE OPTION PROGRAM
	record_command --mode "$1" "$2" -- "$3" 4 25
	tell work
	end_command "$1: another tool"
	check_account "$1: another tool" "$tmp/s"
	check_said "$1: another tool"
}

# Another tool that is not one: the program goes on, and one message says what is wrong.
check_chains() { # VARIABLE CHAIN COMMAND...
	variable=$1 chain=$2
	shift 2
	cp "$annotations" "$tmp/copy.so"
	# For a processor that does not exist.
	cp "$annotations" "$tmp/foreign.so"
	printf '\377\377' | dd of="$tmp/foreign.so" bs=1 seek=18 conv=notrunc 2>/dev/null
	for other in "$tmp/foreign.so" /nonexistent.so "$annotations" "$tmp/copy.so" /lib/x86_64-linux-gnu/libc.so.6 "$programs/nvtx"; do
		[ -e "$other" ] || [ "$other" = /nonexistent.so ] || continue
		echo work | env "$variable=$annotations" "$chain=$other" "$@" >"$tmp/out" 2>"$tmp/said"
		equal "chained to ${other##*/}: the program goes on" "$? $(tail -1 "$tmp/out")" "0 done"
		equal "chained to ${other##*/}: one message" "$(wc -l <"$tmp/said") $(grep -c "^proftrace: cannot load '$other': \|^hint: $chain names it" "$tmp/said")" "2 2"
	done
}
