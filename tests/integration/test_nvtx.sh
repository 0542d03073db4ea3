#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# NVTX: a program that is annotated for it, and knows nothing of proftrace, counts its own calls. Both traces hold exactly
# those, late or from the first instruction, and beside another tool, which counts the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/annotations.sh"

# Nobody records.
printf 'begin\nwork\nend\nbad\nopen\n' | NVTX_INJECTION64_PATH=$annotations "$programs/nvtx" 4 10 >"$tmp/out" 2>&1
equal "nobody records: exit status" "$? $(tail -1 "$tmp/out")" "0 done"
check_chains NVTX_INJECTION64_PATH PROFTRACE_NVTX_CHAIN "$programs/nvtx" 1 1
need_tracing

export NVTX_INJECTION64_PATH=$annotations
for mode in $(batch_modes); do
	start_service "$programs/nvtx" 4 25
	check_attached $mode
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		for value in 's:"18446744073709551615"' n:-9223372036854775808 d:0.25 n:4000000000 n:-7 d:1.5; do
			equal "$mode, $kind: payload $value" "$(grep -c " INSTANT [0-9]* payload nvtx payload=$value\$" "$tmp/canon")" 200
		done
		equal "$mode, $kind: a category without a name" \
			"$(grep -c ' INSTANT [0-9]* in_category client.domain category=n:99$' "$tmp/canon")" 200
	done
	equal "$mode: threads have their names" "$(grep -o '"name":"worker [0-3]"' "$tmp/t.json" | sort -u | wc -l)" 4

	# What began before, what never ends, and slices of two domains that cross.
	start_service "$programs/nvtx" 1 1
	tell begin
	attach --mode $mode
	tell end
	tell cross
	tell open
	end_service "$mode: cut"
	equal "$mode: cut: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$mode: cut: ranges that began before" "$(field "$tmp/s" async_unmatched)" 16
	equal "$mode: cut: pushes that were before, or crossed" "$(field "$tmp/s" lost_total)" 2
	equal "$mode: cut: what never ended" "$(($(field "$tmp/s" open_at_end) + $(field "$tmp/s" unfinished)))" 3

	# What no program should do is counted.
	start_service "$programs/nvtx" 1 1
	attach --mode $mode
	tell bad
	end_service "$mode: bad calls"
	for kind in json pftrace; do
		equal "$mode: bad calls, $kind: each is counted" "$(for what in 'NVTX attributes of an unknown version' \
			'NVTX messages of an unknown type' 'NVTX strings that were not registered' 'NVTX payloads of an unknown type' \
			'NVTX domains that were not created' 'NVTX names of other threads'; do
			counted "$tmp/t.$kind" "$what"; done | xargs)" "6 3 3 3 3 3"
	done

	# Payloads by a schema: its names, in the places where it says they are, and never outside the payload.
	start_service "$programs/nvtx_payload" 50
	attach --mode $mode
	tell work
	tell bad
	end_service "$mode: payloads"
	check_account "$mode: payloads" "$tmp/s"
	check_said "$mode: payloads"
	list='n=n:3 list[0]=n:4 list[1]=n:5 list[2]=n:65535 word=s:"word" tail=n:-9'
	whole='@number=n:-5 @part=d:0.5 @text=s:"abc" @color=s:"green" @list[0]=d:1 @list[1]=d:2.5 @list[2]=d:-3 @pointed=s:"elsewhere"'
	for kind in json pftrace; do
		"$canon" "$tmp/t.$kind" >"$tmp/canon"
		for wanted in "100 BEGIN X Counted payloads $list" "50 END X - - $list" "50 INSTANT X named_by_its_payload payloads $list" \
			"50 INSTANT X with_schema payloads $(echo "$whole" | tr -d @)" \
			"50 INSTANT X Nested payloads $(echo "$whole" | sed 's/@/inner./g') after=n:11"; do
			equal "$mode, $kind: $(echo "$wanted" | cut -d" " -f1,2,4) with its arguments" "$(sed 's/^[0-9 ]* \([A-Z_]*\) [0-9]* /\1 X /' "$tmp/canon" |
				sed 's/^ASYNC_\(.*\) id=[0-9a-fx]*/\1/' | grep -cxF "${wanted#* }")" "${wanted%% *}"
		done
		equal "$mode, $kind: bad payloads are counted" "$(for what in 'shorter than their schema' 'of an unknown schema'; do
			counted "$tmp/t.$kind" "NVTX payloads $what"; done | xargs) $(counted "$tmp/t.$kind" 'NVTX schemas of an unknown form') $(
			counted "$tmp/t.$kind" 'NVTX payload entries of an unknown type') $(
			counted "$tmp/t.$kind" 'NVTX payload values beyond the 32nd') $(
			counted "$tmp/t.$kind" 'NVTX payload entries beyond the 1024th')" '3 3 4 3 1 1'
	done
	equal "$mode: payloads: enabled while somebody records" "$(grep -c '^enabled 1' "$tmp/out")" 2
done

# Another tool is called as well, and counts the same.
export COLLECTOR_OUT=$tmp/called
for mode in $(batch_modes); do
	NVTX_INJECTION64_PATH=$programs/collector.so check_with_other_tool $mode --nvtx "$programs/nvtx"
	equal "$mode: another tool: it was called for each" \
		"$(called nvtx_1_1 nvtx_1_2 nvtx_1_3 nvtx_2_1) $(called nvtx_1_8 nvtx_1_9 nvtx_1_10 nvtx_2_4) $(called nvtx_1_11 nvtx_2_5) $(called nvtx_1_4 nvtx_1_5 nvtx_1_6 nvtx_2_2) $(called nvtx_1_7 nvtx_2_3)" \
		"$(number_of "$tmp/t.pftrace" INSTANT) $(number_of "$tmp/t.pftrace" BEGIN) $(number_of "$tmp/t.pftrace" END) $(number_of "$tmp/t.pftrace" ASYNC_BEGIN) $(number_of "$tmp/t.pftrace" ASYNC_END)"
	rm -f "$tmp/called"
done
unset COLLECTOR_OUT NVTX_INJECTION64_PATH

"$proftrace" record --nvtx -p 1 >"$tmp/out" 2>&1
equal "a program that runs: exit status" $? 2
check "a program that runs: says what to do" grep -q 'proftrace-annotations(7)' "$tmp/out"
finish
