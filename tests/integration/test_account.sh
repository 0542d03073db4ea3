#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The accounting of a recording agrees with the counts that the program keeps of its own marks, in every mode: each
# mark is in both outputs or in exactly one other slot. test_batch_account.sh is the same for buffered mode.
. "$(dirname "$0")/lib.sh"
need_tracing
mode=${mode:-exact}
if [ $mode = batch ] && ! has_batches; then
	skip "$(basename "$0" .sh)" "no batches on this machine"
	finish
fi
mkdir -m 700 "$tmp/run"
export XDG_RUNTIME_DIR=$tmp/run

# Of some classes of marks in some ledgers, the sum: about to be made (2), made (3).
ledgers() { # COLUMN CLASSES LEDGER...
	ledgers_before "" "$@"
}
# The same of just before a step.
ledgers_before() { # STEP COLUMN CLASSES LEDGER...
	step=$1
	column=$2
	classes=$3
	shift 3
	for ledger; do "$programs/ledger" "$ledger" $step; done |
		awk -v c="$column" -v classes=" $classes " '{ if (index(classes, " " $1 " ")) sum += $c } END { print sum + 0 }'
}
# What was lost, as the reasons add up.
lost() { sed -n 's/.*"lost": {\(.*\)}.*/\1/p' "$1" | tr ',' '\n' | awk -F: '{ sum += $2 } END { print sum }'; }
marks_in() { # FORMAT NAME: of all its files
	for file in "$tmp/$2"*."$1"; do
		[ -e "$file" ] && "$canon" --marks "$file"
	done | awk '{ sum += $1 } END { print sum + 0 }'
}

everything="control default plain io cpu"

# The kernel saw what the program made; what it saw is somewhere; what was written is in the files. All
# that is seldom said of what is as it should be is said once.
check_ledgers() { # NAME CLASSES LEDGER...
	of=$1
	classes=$2
	shift 2
	s=$tmp/$of.s
	equal "$of: the account adds up" "$(field "$s" adds_up)" true
	sum=$(lost "$s")
	for slot in written paused unscheduled switched_off left_out unrecorded; do
		sum=$((sum + $(field "$s" $slot)))
	done
	marked=$(field "$s" marked)
	equal "$of: marked = written + lost by reason + what was not asked for" "$marked" $sum
	made=$(ledgers 3 "$classes" "$@") about=$(ledgers 2 "$classes" "$@")
	if [ "$marked" -lt "$made" ] && [ "$(field "$s" batches_unread)" -gt 0 ]; then
		skip "$of: marked is what the program made" \
			"this kernel tells of a thread's end when its memory is gone: $marked of $made"
	else
		check "$of: marked is what the program made: ${least:-$made} to $about, $marked" \
			test "$marked" -ge "${least:-$made}" -a "$marked" -le "$about"
	fi
	check "$of: that is something" test "$made" -gt 1000
	if [ -n "${no_files:-}" ]; then return; fi
	equal "$of: written is what is in the JSON files" "$(marks_in json "$of.")" "$(field "$s" written)"
	equal "$of: and in those of Perfetto" "$(marks_in pftrace "$of.")" "$(field "$s" written)"
}

# Slots that must have something in them, or nothing.
some() { # NAME SLOT...
	of=$1
	shift
	for slot; do check "$of: there are $slot" test "$(field "$tmp/$of.s" "$slot")" -gt 0; done
}
none() {
	of=$1
	shift
	for slot; do equal "$of: there are no $slot" "$(field "$tmp/$of.s" "$slot")" 0; done
}

command() { # NAME ROUNDS US OPTIONS...: recorded from its first mark to its last
	of=$1
	rounds=$2
	us=$3
	shift 3
	"$proftrace" -q -e none --mode $mode -o "$tmp/$of.{n}" --summary-json "$tmp/$of.s" "$@" -- \
		"$programs/ledger" "$tmp/$of.ledger" 3 "$rounds" "$us" </dev/null >"$tmp/out" 2>"$tmp/err"
	equal "$of: exit status" "$?$(cat "$tmp/err")" 0
}

command plain 128 0
check_ledgers plain "$everything" "$tmp/plain.ledger"
some plain paused unmatched too_deep
# Nobody can have begun anything before, but the parent of a process that was forked. What a batch begins
# with says nothing of what was before: there these are the first marks of the three threads, too.
cut=2
[ $mode = batch ] && cut=5
equal "plain: ends of what a parent had open, in children" "$(field "$tmp/plain.s" cut)" $cut
none plain unscheduled left_out unrecorded switched_off buffer_full

command domain 128 0 -D side
check_ledgers domain "control plain io cpu" "$tmp/domain.ledger"
none domain left_out unmatched too_deep

command category 150 0 -D side/io --max-size 64K
check_ledgers category "control io cpu" "$tmp/category.ledger"
some category left_out paused

command rotated 300 0 -D '!side/io' --max-size 64K
check_ledgers rotated "$everything" "$tmp/rotated.ledger"
some rotated left_out paused too_deep
check "rotated: there are several files" test "$(ls "$tmp"/rotated.*.json | wc -l)" -gt 3

# What the recorder learns besides marks is no mark: the scheduler, call stacks, slices where a thread waited.
command scheduler 160 1000 --sched --offcpu 100us
check_ledgers scheduler "$everything" "$tmp/scheduler.ledger"
some scheduler sched_events stacks
check "scheduler: slices where a thread was blocked" grep -q '"name":"blocked"' "$tmp/scheduler.1.json"

command samples 128 500 --sample 999 --compress
check_ledgers samples "$everything" "$tmp/samples.ledger"
some samples stacks

# What happens in the kernel at each mark there is not with batches.
if [ $mode = exact ]; then
	command stacks 128 500 --stack '*' -e task-clock --counter-interval 1ms
	check_ledgers stacks "$everything" "$tmp/stacks.ledger"
	some stacks stacks samples

	# The least that is marked of a domain which may go off: what is said of it then, or all.
	goes_off() { # DOMAIN CLASS...
		until_off=$(sed -n 's/.*{"domain": "'"$1"'",.* "marks": \([0-9]*\)}.*/\1/p' "$tmp/off.s")
		shift
		least=$((least + ${until_off:-$(ledgers 3 "$*" "$tmp/off.ledger")}))
	}

	command schedule 200 0 --schedule skip_first=1,wait=1,warmup=1,active=2,repeat=0
	check_ledgers schedule "$everything" "$tmp/schedule.ledger"
	some schedule unscheduled paused

	# While nothing is waited for but the end of the epoch, the probes are taken away, all but the steps'. Up to
	# there, three cycles of three steps, one step of waiting is not enough for that.
	classes="control default io cpu"
	command scheduled-category 240 3000 --schedule wait=1,warmup=1,active=1,repeat=3 -D side/io -D default
	ledger=$tmp/scheduled-category.ledger
	least=$(($(ledgers_before 9 3 "$classes" "$ledger") + $(ledgers 3 control "$ledger") - $(ledgers_before 9 3 control "$ledger")))
	check_ledgers scheduled-category "$classes" "$ledger"
	least=
	some scheduled-category unscheduled left_out
	none scheduled-category late_steps buffer_full

	no_files=1
	"$proftrace" -q --stats-only -D side -D default --summary-json "$tmp/table.s" -- \
		"$programs/ledger" "$tmp/table.ledger" 3 150 </dev/null >/dev/null
	check_ledgers table "$everything" "$tmp/table.ledger"
	some table paused too_deep
	no_files=

	# Whatever goes off, and when: what comes after that is the program's alone. What came before is said.
	command off 2000 200 --max-overhead 0.01
	least=$(ledgers 3 control "$tmp/off.ledger")
	goes_off default default
	goes_off side plain io cpu
	check_ledgers off "$everything" "$tmp/off.ledger"
	least=
	check "off: something was switched off" grep -q '"domain": "default"\|"domain": "side"' "$tmp/off.s"
fi

command flight 256 0 --flight-recorder 20ms --trigger instant:alarm
check_ledgers flight "$everything" "$tmp/flight.ledger"
some flight unrecorded paused dumps

command small-flight 256 0 --flight-recorder 1h --flight-memory 64K --trigger instant:alarm -D '!side/cpu'
check_ledgers small-flight "$everything" "$tmp/small-flight.ledger"
some small-flight unrecorded left_out dumps

# Attached to, and steered while they run: two processes, one of which is killed, as is what they fork.
attach() { # NAME OPTIONS...: to two processes that have made no mark yet; then they go
	of=$1
	shift
	for i in 1 2; do
		mkfifo "$tmp/$of.in$i"
		"$programs/ledger" "$tmp/$of.ledger$i" 2 0 200 <"$tmp/$of.in$i" >"$tmp/$of.out$i" &
		eval "target$i=$!"
	done
	exec 7>"$tmp/$of.in1" 8>"$tmp/$of.in2"
	wait_for "$tmp/$of.out1" ready
	wait_for "$tmp/$of.out2" ready
	rm -f "$tmp/$of.err"
	"$proftrace" -e none --mode $mode -p $target1,$target2 -o "$tmp/$of.{n}" --summary-json "$tmp/$of.s" "$@" \
		2>"$tmp/$of.err" 7>&- 8>&- &
	recorder=$!
	wait_for "$tmp/$of.err" "proftrace: recording"
	echo go >&7
	echo go >&8
}
made() { ledgers 3 "$everything" "$1"; }
until_made() { # LEDGER N: so many more than there are
	goal=$(($(made "$1") + $2))
	until [ "$(made "$1")" -gt $goal ]; do sleep 0.02; done
}
end() { # both are killed, as no program expects it
	kill -KILL $target1 $target2 2>/dev/null
	wait $target1 $target2 2>/dev/null
	exec 7>&- 8>&-
	wait $recorder
	equal "$of: exit status" $? 0
}

attach killed --max-size 64K -D '!side/cpu'
until_made "$tmp/killed.ledger1" 2500
kill -KILL $target1
"$proftrace" ctl pause -p $target2 >/dev/null
until_made "$tmp/killed.ledger2" 2000
"$proftrace" ctl resume -p $target2 >/dev/null
until_made "$tmp/killed.ledger2" 2000
end
check_ledgers killed "$everything" "$tmp/killed.ledger1" "$tmp/killed.ledger2"
some killed paused left_out

# The recorder is stopped for a while, and the buffer flows over.
attach flooded --buffer 64K --flight-recorder 1h --flight-memory 1M
until_made "$tmp/flooded.ledger1" 1000
kill -STOP $recorder
until_made "$tmp/flooded.ledger1" 4000
kill -CONT $recorder
until_made "$tmp/flooded.ledger2" 2000
"$proftrace" ctl dump -p $recorder >/dev/null
until_made "$tmp/flooded.ledger2" 1000
end
check_ledgers flooded "$everything" "$tmp/flooded.ledger1" "$tmp/flooded.ledger2"
some flooded buffer_full begin_lost unrecorded

if [ $mode = exact ]; then
	attach scheduled --schedule wait=1,warmup=0,active=1,repeat=0 --buffer 64K
	until_made "$tmp/scheduled.ledger1" 2000
	kill -STOP $recorder
	until_made "$tmp/scheduled.ledger2" 4000
	kill -CONT $recorder
	until_made "$tmp/scheduled.ledger2" 2000
	end
	check_ledgers scheduled "$everything" "$tmp/scheduled.ledger1" "$tmp/scheduled.ledger2"
	some scheduled unscheduled buffer_full
fi
finish
