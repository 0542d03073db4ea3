#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The sample programs: a recording contains exactly the marks that they report.
. "$(dirname "$0")/lib.sh"
need_tracing
samples=$root/build/samples

mkdir "$tmp/tree" && cp -r "$root/user" "$root/include" "$tmp/tree"
cd "$tmp" || exit 1
"$proftrace" -q -o all --summary-json all.account -- "$samples/compress" -n 3 -j 4 -o archive.gz tree >said
equal "compress: exit status" $? 0
check_account "compress" all.account
equal "compress: every mark it passed" "$(field all.account marked)" "$(said said marks)"
equal "compress: its files" "$(said said files)" $((3 * $(find tree -type f | wc -l)))
find tree -type f -exec cat {} + | wc -c >wanted
equal "compress: nothing of them is missing" "$(gzip -dc archive.gz | wc -c)" "$(cat wanted)"
check_agree "compress" all
equal "compress: nothing is open at the end" "$(field all.account open_at_end)" 0

"$proftrace" -q -D '!queue' -D '!memory' -o some --summary-json some.account -- \
	"$samples/compress" -o archive.gz tree >said
# A file passes 8 marks of queues and 4 of memory; a thread's last look into its queue is 2 more.
equal "compress: without two of its domains" "$(field some.account marked)" \
	$(($(said said marks) - 12 * $(said said files) - 2 * 3))

for hello in hello hello-cpp; do
	"$proftrace" -q -o $hello --summary-json $hello.account -- "$samples/$hello"
	equal "$hello: exit status" $? 0
	equal "$hello: every mark it passed" "$(field $hello.account marked)" 200
	check "$hello: its name" sh -c "'$proftrace' report $hello.pftrace | grep -qE 'tick +100'"
done

# How many of a kind and name a trace holds.
count_of() { # FILE KIND NAME
	"$canon" --count "$1" | sed -n "s/^$2 $3 \([0-9]*\)$/\1/p"
}

"$proftrace" -q -o train --summary-json train.account -- "$samples/train" 3 20 >said
equal "train: exit status" $? 0
check "train: it learns" grep -q '^weights ' said
check_account "train" train.account
check_agree "train" train
# The loader may put a batch or two on the shelf while the program has paused its recording.
for what in "BEGIN batch" "BEGIN take" "BEGIN forward" "BEGIN backward" "BEGIN update" \
	"BEGIN layer 0" "BEGIN layer 2" "COUNTER progress loss"; do
	equal "train: $what" "$(count_of train.json "${what%% *}" "${what#* }")" 60
done
equal "train: what it paused for is not in there" "$(count_of train.json BEGIN evaluate)" ""
equal "train: moments at both ends of a checkpoint" "$(count_of train.pftrace INSTANT checkpoint)" 6
equal "train: nobody starts twice" "$(field train.account started_twice)" 0

"$proftrace" -q -o service --summary-json service.account -- "$samples/service-cpp" 100 >said
equal "service: exit status" $? 0
equal "service: it counts its requests" "$(cat said)" "served 100, in flight 0"
check_account "service" service.account
check_agree "service" service
for what in "ASYNC_BEGIN request" "ASYNC_END request" "ASYNC_BEGIN tick" "ASYNC_END tick" \
	"BEGIN handle" "BEGIN parse" "INSTANT parse" "INSTANT headers" "COUNTER served"; do
	equal "service: $what" "$(count_of service.pftrace "${what%% *}" "${what#* }")" 100
done
equal "service: every change of its counter" "$(count_of service.json COUNTER "in flight")" 200
equal "service: nothing is open at the end" "$(field service.account open_at_end)" 0

# Between them, the samples use everything there is to copy.
for word in PROF_BEGIN PROF_END PROF_SCOPE PROF_FUNCTION PROF_INSTANT PROF_COUNTER PROF_COUNTERS \
	PROF_ASYNC_BEGIN PROF_ASYNC_END PROF_FLOW_OUT PROF_FLOW_IN PROF_THREAD_NAME PROF_STEP PROF_ALLOC \
	PROF_FREE PROF_DOMAIN PROF_MARKER prof_marker_start prof_marker_finish prof_marker_mark \
	PROF_MARKER_SCOPE prof_marker_counter PROF_TASK prof_task_start prof_task_stop PROF_FRAME \
	prof_frame_start prof_frame_stop PROF_EVENT PROF_COUNTER_OBJECT prof_counter_increment \
	prof_counter_decrement prof_counter_value prof_marker_get PROF_CALL PROF_SCOPE_GLOBAL \
	PROF_ON_ACTIVE prof_pause prof_resume prof_dump prof_stop prof_is_enabled prof_scope_push \
	prof_scope_pop prof_include_chrome_json; do
	grep -rqw "$word" "$root/tools/samples" || not_ok "samples: $word" "no sample uses it"
done
finish
