#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Call stacks: the shares of functions among samples (--sample) agree with the CPU time that they measure; those of
# marks (--stack) with the number of calls by each caller; those of blocked threads (--offcpu) with the number of
# sleeps.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
stacks=$root/build/tests/tools/stacks
hz=997

# Of the samples in slices `work`: how many in all, and in each of the functions.
counts() { # STACKS
	awk '$1 == "sample" && $4 == "work" {
			n++
			if (match($0, /;(alpha|beta|gamma_)(;|$)/))
				in_[substr($0, RSTART + 1, 4)]++
		}
		END { print n + 0, in_["alph"] + 0, in_["beta"] + 0, in_["gamm"] + 0 }' "$1"
}

# Six times the spread that as many independent samples would have, and a fiftieth of all. Squared: not
# every awk can take a root.
shares_agree() { # STACKS SAID
	echo "$(counts "$1") $(said "$2" alpha) $(said "$2" beta) $(said "$2" gamma)" | awk '
		{
			all = $5 + $6 + $7
			for (i = 2; i <= 4; i++) {
				p = $(i + 3) / all
				off = $i - $1 * p
				beyond = (off < 0 ? -off : off) - $1 / 50
				if (beyond > 0 && beyond * beyond > 36 * $1 * p * (1 - p))
					bad = 1
				printf "%d of %d samples, %.3f of the time\n", $i, $1, p
			}
			exit $1 < 100 || bad
		}'
}

# As many samples as the CPU time has periods, within a factor: a virtual CPU may be taken away.
enough() { # STACKS SAID
	echo "$(counts "$1") $(said "$2" alpha) $(said "$2" beta) $(said "$2" gamma)" |
		awk -v hz=$hz '{ want = ($5 + $6 + $7) / 1e9 * hz
			print $1, "samples, expected", want; exit $1 < want / 2 || $1 > want * 1.5 }'
}

record() { # BASE COMMAND...
	base=$1
	shift
	# On a slow machine, the time for which a thread is held may end before its first marks are attached.
	for _ in 1 2 3; do
		"$proftrace" -q --sample $hz -e none --summary-json "$base.sum" -o "$base" -- "$@" \
			>"$base.said" 2>"$base.err"
		status=$?
		[ "$(field "$base.sum" attached_late)" != 0 ] || break
	done
	equal "$base: exit status" $status 0
	"$stacks" "$base.pftrace" >"$base.stacks"
	check_account "$base" "$base.sum"
	equal "$base: no stack is lost" "$(field "$base.sum" stacks_lost)" 0
	equal "$base: the file has as many as the account" "$(grep -c '^sample' "$base.stacks")" \
		"$(field "$base.sum" stacks)"
	check "$base: functions have their shares" shares_agree "$base.stacks" "$base.said"
	check "$base: a sample for each period of CPU time" enough "$base.stacks" "$base.said"
}

# Stacks of marks are in both outputs, and stay when one is made of the other. JSON has no files for
# what has no name.
named() { # FILE
	"$stacks" "$1" | sed 's/\[[^] ]*\]/?/g; s/[^; ]*+0x[0-9a-f]*/?/g' | sort
}
check_json() { # NAME BASE
	named "$2.pftrace" >perfetto.named
	named "$2.json" >json.named
	check "$1: JSON has the stacks, too" diff perfetto.named json.named
	"$proftrace" convert -q -o back.pftrace "$2.json"
	"$proftrace" convert -q -o back.json "$2.pftrace"
	named back.pftrace >back.named
	check "$1: and they stay in Perfetto made of it" diff json.named back.named
	named back.json >back.named
	check "$1: and in JSON made of Perfetto" diff json.named back.named
	check "$1: JSON names them in the event" grep -q '"args":{.*"stack":\["[^"]' "$2.json"
}

if ! "$proftrace" -q --sample $hz -o try.pftrace -- true 2>try.err && grep -q sampl try.err; then
	skip "samples of call stacks" "$(head -1 try.err)"
	finish
fi

record threads "$programs/sampled" 3 0.3
equal "threads: each of them is sampled" \
	"$(awk '$4 == "work" { print $2 }' threads.stacks | sort -u | wc -l)" 3
record static "$programs/sampled-static" 1 0.4
record child sh -c "$programs/sampled 1 0.3; exit \$?"

# Kernel frames are root's to see.
if [ "$(id -u)" = 0 ]; then
	"$proftrace" -q --sample $hz -e none -o kernel.pftrace -- head -c 400000000 /dev/zero >/dev/null
	"$stacks" kernel.pftrace >kernel.stacks
	check "samples in the kernel have its functions" \
		grep -q '^sample [0-9]* kernel .*;[a-z_0-9]*syscall' kernel.stacks
fi

# What was sampled stays in a copy of a copy, and JSON says that it has none.
"$proftrace" convert -q -o copy.pftrace threads.pftrace && "$proftrace" convert -q -o again.pftrace copy.pftrace
"$stacks" again.pftrace >again.stacks
check "convert keeps samples, slices around them and names" cmp threads.stacks again.stacks
"$proftrace" merge -q -o merged.pftrace threads.pftrace static.pftrace
"$stacks" merged.pftrace >merged.stacks
equal "merge keeps the samples of both" "$(grep -c '^sample' merged.stacks)" \
	"$(cat threads.stacks static.stacks | grep -c '^sample')"
"$proftrace" convert -o none.json threads.pftrace 2>none.err
check "JSON: left out, and it says so" grep -q "samples of call stacks not written" none.err
check_agree "threads" threads

# None while the process is paused, and none of processes that are not recorded.
"$proftrace" -q --sample $hz -e none -o alone.pftrace -- "$programs/sampled" 1 0.2 >alone.said &
"$programs/sampled" 1 0.2 >/dev/null
wait $!
"$stacks" alone.pftrace >alone.stacks
equal "processes that are not recorded are not sampled" \
	"$(awk '$1 == "sample" && $4 == "work" { print $2 }' alone.stacks | sort -u | wc -l)" 1

# Of marks: each that fits, and no other, from the caller that it had.
"$proftrace" -q --stack 'wanted.*' -e none --summary-json marks.sum -o marks -- "$programs/stacked" 300 >marks.said
equal "--stack: exit status" $? 0
"$stacks" marks.pftrace >marks.stacks
check_account "--stack" marks.sum
for caller in left right; do
	equal "--stack: of every slice, called from $caller" \
		"$(grep -c "^at [0-9]* wanted.slice .*;${caller}s;$caller;leaf\$" marks.stacks)" \
		"$(said marks.said $caller)"
done
equal "--stack: of every instant" "$(grep -c '^at [0-9]* wanted.moment .*;leaf$' marks.stacks)" \
	"$(said marks.said moments)"
equal "--stack: of no other mark" "$(grep -vc '^at [0-9]* wanted' marks.stacks)" 0
equal "--stack: the account counts them" "$(field marks.sum stacks)" "$(wc -l <marks.stacks)"
check_agree "--stack" marks
"$proftrace" convert -q -o marks2.pftrace marks.pftrace
"$stacks" marks2.pftrace >marks2.stacks
check "--stack: convert keeps them" cmp marks.stacks marks2.stacks
check_json "--stack" marks
"$proftrace" --mode batch-now --stack x -- true 2>/dev/null
equal "--stack has no place in --mode batch-now" $? 2

# Probes of others and functions have them, too.
"$proftrace" -q --stack 'probes:*' -u probes:copied -e none --summary-json probes.sum -o probes -- "$programs/probes" 50 >probes.said
equal "--stack, of probes: exit status" $? 0
check_account "--stack, of probes" probes.sum
check "--stack, of probes: there are some" test "$(field probes.sum stacks)" -ge 50
"$proftrace" -q --stack live -f live -e none --summary-json calls.sum -o calls -- "$programs/births" 20 >calls.said
equal "--stack, of functions: exit status" $? 0
check_account "--stack, of functions" calls.sum
equal "--stack, of functions: of every call" "$(field calls.sum stacks)" "$(said calls.said threads)"

# Where a thread blocks: as often as it slept that long in a slice, there, and for no less.
"$proftrace" -q --offcpu 10ms -e none --summary-json blocked.sum -o blocked -- "$programs/blocked" 20 >blocked.said
equal "--offcpu: exit status" $? 0
"$stacks" blocked.pftrace >blocked.stacks
check_account "--offcpu" blocked.sum
# Some kernels hide the switches of the first process of a sandbox; who gets its CPU from that is not seen to wake up.
# A stack from before its unwind table was read is there, but ends below main. Both are counted.
check "--offcpu: where it slept for long, each time" awk -v n="$(said blocked.said longer)" \
	-v pending="$(field blocked.sum stacks_pending)" -v hidden="$(field blocked.sum sched_lost)" '
	/^at [0-9]* blocked .*;main;longer;/ { found++ }
	END { print found + 0, pending, hidden, n; exit !(found <= n && found + pending + hidden >= n && found > n / 2) }' \
	blocked.stacks
equal "--offcpu: not outside of slices" "$(grep -c ';outside;' blocked.stacks)" 0
check "--offcpu: a short sleep at most as often as it took long" \
	[ "$(grep -c ';shorter;' blocked.stacks)" -le "$(said blocked.said late)" ]
"$proftrace" report --format csv --unit ms blocked.pftrace >blocked.csv
check "--offcpu: as slices of that length" awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) if (tolower($i) ~ /^min/) min = i }
	$0 ~ /blocked/ { found = 1; if ($min + 0 < 10) exit 1 }
	END { exit !(found && min) }' blocked.csv
check_agree "--offcpu" blocked
check_json "--offcpu" blocked

# While proftrace attaches, a thread is held, and spins. Those are no samples of the functions in which it is held.
if command -v cc >/dev/null; then
	echo 'int other;' | cc -shared -x c - -o libother.so
	for i in $(seq 40); do
		mkdir other$i && cp libother.so other$i
	done
	cat >held.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	volatile long sum = 0;
	char name[64];

	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "./other%d/libother.so", i);
		if (!dlopen(name, RTLD_NOW))
			return 1;
	}
	for (long i = 0; i < 10000000; i++)
		sum += i;
	return 0;
}
END
	cc -O1 held.c -o held -ldl
	"$proftrace" -q --sample 4999 -e none --summary-json held.sum -o held.pftrace -- ./held
	equal "held threads: exit status" $? 0
	"$stacks" held.pftrace >held.stacks
	check "held threads: there are some" [ "$(field held.sum threads_held)" -gt 20 ]
	check "held threads: they are not sampled" awk -v holds="$(field held.sum threads_held)" '
		/;main$/ { own++ }
		/(dl_main|dl_open_worker_begin|_dl_debug_state)$/ { held++ }
		END { print own + 0, held + 0; exit !(own && held < holds / 2) }' held.stacks
else
	skip "held threads: they are not sampled" "no cc"
fi

for wrong in 0 -1 x 100000000 '1e3' ''; do
	"$proftrace" --sample "$wrong" -- true 2>/dev/null
	equal "--sample '$wrong' is refused" $? 2
done
"$proftrace" --sample 100 --stats-only -- true 2>/dev/null
equal "--sample has no place in --stats-only" $? 2
"$proftrace" check >checked 2>&1
for what in 'call stacks (--sample)' 'call stacks (--offcpu)'; do
	check "check: $what" grep -q "^$what  *yes" checked
done
check_nothing_left "afterwards"

# The parsers of symbols and of unwind tables do not reply, as if they waited for a file: a second signal ends the wait.
mkfifo stopped.in
"$programs/scripted" <stopped.in >stopped.said &
target=$!
exec 9>stopped.in
wait_for stopped.said ready
"$proftrace" -p $target -e none --stack tick -o stopped.pftrace 9>&- 2>stopped.err &
recorder=$!
wait_for stopped.err "proftrace: recording"
echo "ticks 5" >&9
wait_for stopped.said "done 1"
parsers=
for supervisor in $(cat /proc/$recorder/task/$recorder/children); do
	for process in $(cat "/proc/$supervisor/task/$supervisor/children"); do
		[ "$(cat "/proc/$process/comm")" != symbols ] || parsers="$parsers $process"
	done
done
equal "stopped parsers, two signals: there are both" "$(echo $parsers | wc -w)" 2
kill -STOP $parsers
kill -TERM $recorder
kill -HUP $recorder
wait $recorder
equal "stopped parsers, two signals: exit status" $? 0
check "stopped parsers, two signals: what is missing, and why" \
	grep -q 'the last [1-9][0-9]* address.* in call stacks ha.* no names: a second signal ended the wait' stopped.err
equal "stopped parsers, two signals: the marks are there" "$("$canon" --count stopped.pftrace | sed -n 's/^INSTANT tick //p')" 5
check "stopped parsers, two signals: they have ended" sh -c "for p in $parsers; do ! kill -0 \$p 2>/dev/null || exit 1; done"
exec 9>&-
wait $target
finish
