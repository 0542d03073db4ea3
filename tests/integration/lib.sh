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

finish() {
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

# Both outputs of a recording hold the same, and it nests.
check_agree() { # NAME BASE
	"$canon" "$2.json" >"$tmp/json.canon" 2>"$tmp/json.err" &&
		"$canon" "$2.pftrace" >"$tmp/pf.canon" 2>"$tmp/pf.err" ||
		{ not_ok "$1: both outputs can be read" "$(cat "$tmp/json.err" "$tmp/pf.err")"; return; }
	if cmp -s "$tmp/json.canon" "$tmp/pf.canon"; then
		ok "$1: JSON and Perfetto agree on $(wc -l <"$tmp/json.canon") lines"
	else
		not_ok "$1: JSON and Perfetto agree" "$(diff "$tmp/json.canon" "$tmp/pf.canon" | head -8)"
	fi
	equal "$1: slices nest" "$("$canon" --nest "$2.pftrace" | head -1 | cut -d, -f1)" ok
}

check_account() { # NAME SUMMARY: nothing lost, and it adds up
	equal "$1: the account adds up" "$(field "$2" adds_up)" true
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

can_trace() {
	"$proftrace" check >"$tmp/check" 2>&1
}

# Every test here needs a kernel that can be traced: one that cannot skips all of them.
need_tracing() {
	if ! [ -x "$proftrace" ]; then
		not_ok "$(basename "$0" .sh)" "$proftrace is not built"
		finish
	fi
	if ! can_trace; then
		skip "$(basename "$0" .sh)" "this machine cannot record: $(grep '^proftrace:' "$tmp/check")"
		finish
	fi
}

# What the kernel holds of ours.
leftovers() {
	n=0
	for bpftool in /usr/sbin/bpftool bpftool; do
		if command -v $bpftool >/dev/null 2>&1; then
			programs='mark|usdt|aggregate|flush|executes|libraries_changed?|libraries_chang|on_(fork|exec|exit|rename|switch|tick|sched_switch|waking|waking_blind|wakeup_new|prepare_exec|sample|offcpu)'
			maps='traced|holds|records|record_buffers|thread_slots|threads|batches_more|told_tasks|usdt_specs|sampled_stacks|blocked_threads'
			n=$({
				$bpftool prog show 2>/dev/null | grep -E "name ($programs) "
				$bpftool map show 2>/dev/null | grep -E "name ($maps) "
			} | wc -l)
			break
		fi
	done
	echo "$n"
}

# Programs are freed a moment after the last descriptor goes: waits for that. Somebody else's recording
# on this machine has programs of the same names.
check_nothing_left() { # NAME
	for _ in $(seq 1 100); do
		[ "$(leftovers)" -eq 0 ] && break
		sleep 0.05
	done
	if [ "$(leftovers)" -ne 0 ] && pgrep -x proftrace >/dev/null; then
		skip "$1: no BPF program or map is left" "another recording is running on this machine"
	else
		equal "$1: no BPF program or map is left" "$(leftovers)" 0
	fi
}
