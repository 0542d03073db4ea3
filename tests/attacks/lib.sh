# SPDX-License-Identifier: BSD-2-Clause
#
# What the attacks share beside tests/integration/lib.sh: users that attack, who exist for this test alone,
# and copies of the program with file capabilities.

# ROUNDS=100 in the environment: the whole attack so often, at most three times in two seconds, because each starts
# recorders. Then each check says in how many rounds it held.
if [ "${ROUNDS:-1}" -gt 1 ]; then
	said=$(mktemp)
	trap 'rm -f "$said"' EXIT
	trap 'exit 143' HUP INT PIPE TERM
	for round in $(seq "$ROUNDS"); do
		ROUNDS=1 "$0" >"$said.now" 2>&1 || sed "s/^/# round $round: /" "$said.now"
		cat "$said.now" >>"$said"
		sleep 0.7
	done
	awk '
		/^(not )?ok / {
			held = /^ok /
			sub(/^(not )?ok [0-9]* - /, "")
			# Figures of a round are in parentheses.
			gsub(/ \([^)]*[0-9][^)]*\)/, "")
			if (!($0 in tried)) order[++n] = $0
			tried[$0]++
			ok[$0] += held
		}
		END {
			for (i = 1; i <= n; i++) {
				name = reason = order[i]
				if (!sub(/.* # SKIP/, " # SKIP", reason)) reason = ""
				sub(/ # SKIP.*/, "", name)
				failed += ok[order[i]] < tried[order[i]]
				print (ok[order[i]] == tried[order[i]] ? "ok" : "not ok"), i, "-", name ": in", ok[order[i]], "of", tried[order[i]], "rounds" reason
			}
			print "1.." n
			exit failed > 0
		}' "$said"
	status=$?
	rm -f "$said.now"
	exit $status
fi

. "$(dirname "$0")/../integration/lib.sh"
attacks=$root/build/tests/attacks
test_users=

# A user cannot be removed while a process of it lives, or while somebody else changes the list of users.
remove_test_users() {
	for test_user in $test_users; do
		test_uid=$(id -u "$test_user") || continue
		for _ in $(seq 1 100); do
			pkill -KILL -U "$test_uid"
			userdel "$test_user" >/dev/null 2>&1 && break
			sleep 0.1
		done
		rm -rf "/tmp/proftrace-$test_uid" "/tmp/proftrace-$test_uid".*
	done
	test_users=
}
# Leaves in $recorder one that records, or has ended with another message in $tmp/said. What an earlier one said is gone first: the
# new one may open the file after we have read it.
start_recorder() { # OPTION...
	rm -f "$tmp/said"
	"$proftrace" -v -o "$tmp/t" "$@" >"$tmp/said" 2>&1 9>&- &
	recorder=$!
	for _ in $(seq 400); do
		grep -qs '^proftrace: recording' "$tmp/said" && break
		kill -0 $recorder 2>/dev/null || break
		sleep 0.05
	done
}
trap 'remove_test_users; rm -rf "$tmp"' EXIT

# Everything here acts as several users.
need_users() {
	for needed in useradd userdel setpriv; do
		if [ "$(id -u)" -ne 0 ] || ! command -v "$needed" >/dev/null 2>&1; then
			skip "$(basename "$0" .sh)" "needs root, useradd, userdel and setpriv"
			finish
		fi
	done
}

# Makes a user with a name, without home and password, and sets made_uid and made_gid. The test's end removes
# all of them.
make_user() { # NAME
	test_user="$1-$$"
	test_users="$test_users $test_user"
	useradd --system --no-create-home --user-group --shell /usr/sbin/nologin "$test_user" || return 1
	made_uid=$(id -u "$test_user")
	made_gid=$(id -g "$test_user")
}

# Runs a command as a user without any capability.
as() { # UID GID COMMAND...
	as_uid=$1 as_gid=$2
	shift 2
	setpriv --reuid="$as_uid" --regid="$as_gid" --clear-groups --inh-caps=-all "$@"
}

# A copy of proftrace with the file capabilities that suffice on this kernel; 1 where none can be set.
capable_copy() { # FILE
	needed_capabilities=cap_bpf,cap_perfmon
	grep -qE '^uprobe_multi links +yes' "$tmp/check" || needed_capabilities=$needed_capabilities,cap_sys_admin
	cp "$proftrace" "$1" && chmod 755 "$1" && setcap "$needed_capabilities+ep" "$1" 2>/dev/null
}

# The CPU time in milliseconds of a command and of the processes that it waited for. What it says is in FILE.
cpu_time() { # FILE COMMAND...
	cpu_said=$1
	shift
	("$@" >"$cpu_said" 2>&1 </dev/null; times) | awk '
		function ms(t) { split(t, part, "[ms]"); return 1000 * (60 * part[1] + part[2]) }
		NR == 2 { print int(ms($1) + ms($2)) }'
}

# The exit status of a child, which is killed if it has not ended after 20 seconds: what a defence should have ended
# is a failed check then, not a test that hangs.
ends() { # PID
	for _ in $(seq 1 400); do
		grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null || break
		sleep 0.05
	done
	kill -KILL "$1" 2>/dev/null
	wait "$1"
}
