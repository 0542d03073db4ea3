# SPDX-License-Identifier: BSD-2-Clause
#
# What the integration tests share. A test program sources this, runs, and calls `finish`.
# It speaks TAP; everything it makes is in $tmp, which goes away with it.

set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
proftrace=$root/build/proftrace
programs=$root/build/tests/programs
canon=$root/build/tests/tools/canon
tmp=$(mktemp -d)
chmod 755 "$tmp"
trap 'rm -rf "$tmp"' EXIT
# dash does not run the above when a signal ends it.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
control_directories=$(echo /tmp/proftrace-[0-9]*)
bpftool=$(command -v /usr/sbin/bpftool || command -v bpftool)
export PROFTRACE_TEST="$tmp"
records=
test_number=0
failures=0

ok() { # NAME
	test_number=$((test_number + 1))
	echo "ok $test_number - $1"
}

not_ok() { # NAME WHY
	test_number=$((test_number + 1))
	failures=$((failures + 1))
	echo "not ok $test_number - $1"
	echo "#   ${2:-}" | head -c 2000
	echo
}

skip() { # NAME REASON
	test_number=$((test_number + 1))
	echo "ok $test_number - $1 # SKIP $2"
}

check() { # NAME COMMAND...: the command's success is the test
	name=$1
	shift
	if "$@" >"$tmp/check.out" 2>&1; then ok "$name"; else not_ok "$name" "$* failed: $(head -40 "$tmp/check.out" | sed '2,$s/^/#   /')"; fi
}

equal() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', wanted '$3'"; fi
}

# What may not be otherwise even once, however busy the machine is: no second try helps (tests/run.sh).
never_else() { # NAME GOT WANTED
	equal "$1 (each time)" "$2" "$3"
}

finish() {
	[ -z "$records" ] || check_nothing_left "in the end"
	# Where a user has no /run/user, control sockets lie here; the recorder leaves the directory for the next. A directory
	# of somebody else is part of another test.
	for directory in /tmp/proftrace-[0-9]*; do
		case " $control_directories " in
		*" $directory "*) ;;
		*) [ "$(stat -c %u "$directory" 2>/dev/null)" = "${directory##*-}" ] && rmdir "$directory" 2>/dev/null ;;
		esac
	done
	echo "1..$test_number"
	exit $((failures > 0))
}

# A number of the recording's account.
field() { # FILE FIELD
	sed -n "s/.*\"$2\": \([a-z0-9]*\).*/\1/p" "$1" | head -1
}

# A word's number in what a program printed: `marks 12`.
said() { # FILE WORD
	sed -n "s/^$2 //p" "$1" | tail -1
}

# Of each slice that ends in a Chrome JSON trace: how deep it is, the slice around it, its name, the event of its end.
ended_slices() { # FILE
	awk '
		/"ph":"[BE]"/ { match($0, /"tid":[0-9]*/); tid = substr($0, RSTART + 6, RLENGTH - 6) }
		/"ph":"B"/ {
			depth[tid]++
			name[tid, depth[tid]] = match($0, /"name":"[a-z0-9_]+"/) ? substr($0, RSTART + 8, RLENGTH - 9) : "?"
		}
		/"ph":"E"/ {
			around = depth[tid] > 1 ? name[tid, depth[tid] - 1] : "-"
			print depth[tid], around, name[tid, depth[tid]--], $0
		}' "$1"
}

# Both outputs of a recording hold the same, and it nests.
check_agree() { # NAME BASE
	"$canon" "$2.json" >"$tmp/json.canon" 2>"$tmp/json.err" &&
		"$canon" "$2.pftrace" >"$tmp/pf.canon" 2>"$tmp/pf.err" ||
		{ not_ok "$1: both outputs can be read" "$(cat "$tmp/json.err" "$tmp/pf.err")"; return; }
	# A recording's JSON has only some of the values of threads' counters; its slices have what was counted.
	if ! cmp -s "$tmp/json.canon" "$tmp/pf.canon"; then
		for canonical in json pf; do
			grep -v ' COUNTER .* thread [0-9]*$' "$tmp/$canonical.canon" >"$tmp/slices.canon"
			mv "$tmp/slices.canon" "$tmp/$canonical.canon"
		done
	fi
	if cmp -s "$tmp/json.canon" "$tmp/pf.canon"; then
		ok "$1: JSON and Perfetto agree on $(wc -l <"$tmp/json.canon") lines"
	else
		not_ok "$1: JSON and Perfetto agree" "$(diff "$tmp/json.canon" "$tmp/pf.canon" | head -8)"
	fi
	equal "$1: slices nest" "$("$canon" --nest "$2.pftrace" | head -1 | cut -d, -f1)" ok
}

# Of a trace that was not finished, report says so.
check_cut() { # NAME FILE...
	cut=$1
	shift
	for file; do
		"$proftrace" report "$file" >"$tmp/cut.table" 2>"$tmp/cut"
		equal "$cut: report reads the ${file##*.}" $? 0
		check "$cut: it says that the end of the ${file##*.} is missing" \
			grep -qE 'truncated at byte|the end is missing' "$tmp/cut"
	done
}

check_account() { # NAME SUMMARY: nothing lost, and it adds up
	never_else "$1: the account adds up" "$(field "$2" adds_up)" true
	equal "$1: nothing is lost" "$(field "$2" lost_total)" 0
}

# Waits until a file has a line that begins with WORD: an event, polled without a guess at its time.
wait_for() { # FILE WORD
	for _ in $(seq 1 400); do
		grep -q "^$2" "$1" 2>/dev/null && return 0
		sleep 0.05
	done
	echo "# '$2' did not come in $1"
	return 1
}

# The last one of the processes that each started the next, as the kernel numbers it.
innermost() { # PID
	pid=$1
	while child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) && [ -n "$child" ]; do
		pid=${child%% *}
	done
	echo "$pid"
}

# What `check` says is in $tmp/check. It tries each feature, which takes seconds, and would say the same to each test of a run:
# the first one to which it says that this machine can record leaves that in the file CHECKED (tests/run.sh).
can_trace() {
	[ ! -s "${CHECKED:-}" ] || { cp "$CHECKED" "$tmp/check" && return; }
	"$proftrace" check >"$tmp/check" 2>&1 && { [ -z "${CHECKED:-}" ] || cp "$tmp/check" "$CHECKED"; }
}

# Whether `check` says yes to a feature of this kernel.
kernel_can() { # FEATURE, as it is in the first column
	[ -s "$tmp/check" ] || can_trace
	grep -q "^$1  *yes" "$tmp/check"
}

# Where a dynamic linker calls the function at which threads are held. (Its code is at the same offsets in the file.)
linker_calls() { # FILE
	objdump -d "$1" 2>/dev/null | sed -nE 's/^ *([0-9a-f]+):.*(call|jmp).*<_dl_debug_state(@[^+]*)?>$/\1/p'
}

# Every test here needs a kernel that can be traced: one that cannot skips all of them. Those that record
# leave nothing behind, whatever else they are about.
need_tracing() {
	if ! [ -x "$proftrace" ]; then
		not_ok "$(basename "$0" .sh)" "$proftrace is not built"
		finish
	fi
	if ! can_trace; then
		skip "$(basename "$0" .sh)" "this machine cannot record: $(grep '^proftrace:' "$tmp/check")"
		finish
	fi
	begin_recording
}

# Whether this machine can record in buffered mode.
has_batches() {
	! "$proftrace" --mode batch-now -o "$tmp/try" -- true 2>&1 | grep -q 'no batches'
}
need_batches() { # WHAT
	has_batches && return
	skip "$1" "no batches on this machine"
	finish
}

# A test that records from here on: what the kernel holds of ours already is not its own.
begin_recording() {
	records=1
	held_before=$(held)
}

# What the kernel holds of ours, a line for each program and map: its number and its name.
held() {
	{ "$bpftool" prog show && "$bpftool" map show; } 2>/dev/null | awk -v names="$root/build/gen/bpf_names" '
		BEGIN { while ((getline line < names) > 0) ours[line] = 1 }
		/^[0-9]+:/ { for (i = 2; i < NF; i++) if ($i == "name" && $(i + 1) in ours) print $1, $2, $(i + 1) }'
}

# All that was not there when this test began.
leftovers() {
	held | grep -vxF "$held_before"
}

# Recordings on this machine that are none of this test's: what they hold has the same names. A recorder may be
# gone before its broker is. Of a process that is ending nobody can tell whose it is: it counts where `unknown` does.
others_record() { # [unknown]
	for pid in $(pgrep -x proftrace; pgrep -x proftrace-broke); do
		tr '\0' '\n' 2>/dev/null >"$tmp/environ" <"/proc/$pid/environ"
		grep -qxF "PROFTRACE_TEST=$tmp" "$tmp/environ" && continue
		[ -s "$tmp/environ" ] || [ "${1:-}" = unknown ] && return 0
	done
	return 1
}

# Programs are freed a moment after the last descriptor goes, and their maps when no thread can be in them any
# more, seconds later in an emulator: waits for that. What is left is there each time that
# one looks; what others hold comes and goes, or they are there as well.
check_nothing_left() { # NAME
	if [ ! -s "$root/build/gen/bpf_names" ] || ! "$bpftool" map show >/dev/null 2>&1; then
		skip "$1: no BPF program or map is left" "bpftool cannot list them here"
		return
	fi
	left=$(leftovers) others=
	for _ in $(seq 1 300); do
		[ -z "$left" ] && break
		others_record && others=1
		sleep 0.05
		leftovers >"$tmp/left"
		# Where there is no pattern busybox's grep takes all.
		if [ -s "$tmp/left" ]; then left=$(echo "$left" | grep -xF -f "$tmp/left"); else left=; fi
	done
	if [ -n "$left" ] && { [ -n "$others" ] || others_record unknown; }; then
		skip "$1: no BPF program or map is left" "another recording is running on this machine"
	else
		never_else "$1: no BPF program or map is left" "$left" ""
	fi
}

# A control group that kills what takes more than its share: sets cgroup, and the names of its files: limit, usage, kills.
make_memory_group() {
	if [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
		cgroup=/sys/fs/cgroup/memory/proftrace-test-$$
		limit=memory.limit_in_bytes usage=memory.usage_in_bytes kills=memory.oom_control
		swap=memory.swappiness
	elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control; then
		cgroup=/sys/fs/cgroup/proftrace-test-$$
		limit=memory.max usage=memory.current kills=memory.events swap=memory.swap.max
	else
		return 1
	fi
	mkdir "$cgroup" || { cgroup='' && return 1; }
	# What can be swapped out kills nobody.
	echo 0 >"$cgroup/$swap"
	grep -q '^oom_kill ' "$cgroup/$kills" && echo 1000000000 >"$cgroup/$limit"
} 2>/dev/null
