#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Traces of other profilers: samples of their published formats, damaged ones, and large ones in bounded memory.
. "$(dirname "$0")/lib.sh"
data=$root/tests/data
cd "$tmp" || exit 1

count() { # FILE KIND-AND-NAME
	"$canon" --count "$1" 2>/dev/null | sed -n "s/^$2 \([0-9]*\)$/\1/p"
}

said_in() { # NAME FILE PATTERN
	if grep -qE -- "$3" "$2"; then ok "$1"; else not_ok "$1" "$(cat "$2")"; fi
}

# There and back, it stays what it was.
stays() { # NAME FILE
	"$canon" "$2" >a.canon 2>/dev/null
	for form in there.pftrace back.json again.pftrace; do
		"$proftrace" convert -q -o $form "${previous:-$2}"
		previous=$form
		"$canon" $form >b.canon 2>/dev/null
		if cmp -s a.canon b.canon; then ok "$1: the same in $form"; else
			not_ok "$1: the same in $form" "$(diff a.canon b.canon | head -4)"
		fi
	done
	previous=
	equal "$1: nests" "$("$canon" --nest there.pftrace | cut -d, -f1)" ok
}

# --- Chromium --------------------------------------------------------------------------------------

"$proftrace" convert -o chromium.pftrace "$data/chromium.json" 2>err
equal "Chromium: exit status" $? 0
said_in "Chromium: what has no place is counted by kind" err '6 events were skipped.*\(M 2, O 1, P 2, v 1\)'
said_in "Chromium: an event without a time is counted" err ' 1  malformed'
equal "Chromium: slices" "$("$canon" --count chromium.pftrace | grep -c '^BEGIN ')" 5
equal "Chromium: a call lies in its task" \
	"$("$canon" chromium.pftrace | awk '$1 == 3120 && $2 == 3125 { print $3, $5 }' | sed -n '1,5p' | tr '\n' ' ')" \
	"BEGIN ThreadControllerImpl::RunTask FLOW_IN id=0x4d2000001a BEGIN FunctionCall FLOW_IN id=0x4fdb805f73dea58b END - "
equal "Chromium: both ends of each arrow" "$("$canon" chromium.pftrace | grep -oE 'FLOW_.* id=[^ ]*' | sed 's/.*id=//' | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "2 2 "
equal "Chromium: asynchronous slices from thread to thread" \
	"$(count chromium.pftrace 'ASYNC_BEGIN URLRequest')$(count chromium.pftrace 'ASYNC_END URLRequest')$(count chromium.pftrace 'ASYNC_END PipelineReporter')" 111
equal "Chromium: dictionaries are spread, lists are text" \
	"$("$canon" chromium.pftrace | grep -oE 'data.frame=[^ ]*|data.cpuProfileNodes=[^ ]*' | tr '\n' ' ')" \
	'data.frame=s:"0B5A3C" data.cpuProfileNodes=s:"[1,2,3]" '
equal "Chromium: series" "$(count chromium.pftrace 'COUNTER UpdateCounters nodes')$(count chromium.pftrace 'COUNTER UpdateCounters jsHeapSizeUsed')" 11
equal "Chromium: names" "$("$canon" chromium.pftrace | grep -cE '^(process 3001 Browser|process 3120 Renderer|thread 3120 3125 CrRendererMain)$')" 3
stays "Chromium" "$data/chromium.json"

# --- PyTorch ---------------------------------------------------------------------------------------

"$proftrace" convert -o pytorch.pftrace "$data/pytorch.json" 2>err
equal "PyTorch: exit status" $? 0
said_in "PyTorch: what has no place is counted by kind" err '3 events were skipped.*\(M 3\)'
equal "PyTorch: slices" "$("$canon" --count pytorch.pftrace | awk '/^BEGIN / { n += $NF } END { print n }')" 8
equal "PyTorch: operators nest, whatever their order" \
	"$("$canon" pytorch.pftrace | awk '$1 == 2117 && $2 == 2117 && $3 == "BEGIN" { print $5 }' | tr '\n' ' ')" \
	"ProfilerStep#1 aten::convolution aten::empty cudaLaunchKernel "
equal "PyTorch: since 1970" "$("$canon" pytorch.pftrace | awk '$5 == "ProfilerStep#1" { print $4 }')" 1743529691488300000
equal "PyTorch: arrows of the same id and another kind are others" \
	"$("$canon" pytorch.pftrace | grep -oE 'FLOW_.* id=[^ ]*' | sed 's/.*id=//' | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "2 2 "
equal "PyTorch: an arrow ends at the kernel" \
	"$("$canon" pytorch.pftrace | awk '$2 == 7 { print $3 }' | tr '\n' ' ')" "BEGIN END BEGIN FLOW_IN END "
equal "PyTorch: shapes are text" "$("$canon" pytorch.pftrace | grep -c 'Input Dims=s:"\[\[1,3,224,224\],\[64,3,7,7\],\[\],')" 1
equal "PyTorch: processes called by a word" "$("$canon" pytorch.pftrace | grep -cE '^process [0-9]+ (Spans|Traces)$')" 2
stays "PyTorch" "$data/pytorch.json"

# --- damaged ---------------------------------------------------------------------------------------

size=$(wc -c <"$data/pytorch.json")
before=0
for part in 2 3 5 7 9; do
	head -c $((size * part / 10)) "$data/pytorch.json" >cut.json
	"$proftrace" convert -o cut.pftrace cut.json 2>err
	status=$?
	n=$("$canon" --count cut.pftrace | awk '/^BEGIN / { n += $NF } END { print n + 0 }')
	if [ $status -eq 0 ] && [ "$n" -ge $before ] && grep -q 'truncated at byte' err; then
		ok "cut at $part tenths: $n slices are whole"
	else
		not_ok "cut at $part tenths" "status $status, $n slices: $(cat err)"
	fi
	before=$n
done
gzip -c "$data/pytorch.json" >whole.json.gz
head -c $(($(wc -c <whole.json.gz) * 2 / 3)) whole.json.gz >cut.json.gz
"$proftrace" convert -o cut.pftrace cut.json.gz 2>err
equal "a cut gzip file: exit status" $? 0
said_in "a cut gzip file: is told" err 'truncated at byte'
printf '[\n{"ph":"B","ts":1,"pid":1,"tid":1,"name":"a"},\n{"ph":"E","ts":2,"pid":1,"tid":1},\n' >open.json
equal "an array without its end" "$("$proftrace" report -q open.json | grep -c ' a ')" 1
printf '[{"ph":"B","ts":1} what' >bad.json
"$proftrace" convert -q -o x bad.json 2>err
equal "no JSON: exit status" $? 1
said_in "no JSON: the byte where it ends to make sense" err "at byte 1[89]: "

# --- large, in bounded memory ----------------------------------------------------------------------

many=$root/build/tests/tools/many_events
if [ -x "$many" ] && [ -z "${PROFTRACE_SANITIZED:-}" ]; then
	"$many" 60 >many.json 2>many.said
	slices=$(said many.said slices)
	printf '[{"name":"x","ph":"X","ts":1000000,"dur":5,"pid":1,"tid":1}]' >one.json
	(ulimit -v 160000 && exec "$proftrace" merge -q -o merged.pftrace many.json one.json) 2>err
	equal "60 MB of JSON within 160 MB of addresses" "$? $(cat err)" "0 "
	"$proftrace" report -q -n 1000 merged.pftrace >table
	equal "60 MB of JSON: all of it" "$(awk '$1 == "cpu_op" { n += $3 } END { print n }' table)" "$slices"
	equal "60 MB of JSON: nothing became asynchronous for want of order" "$(grep -c 'Asynchronous\|^net' table)" 2
	(ulimit -v 160000 && exec "$proftrace" convert -q -o back.json merged.pftrace) 2>err
	equal "and back within the same" "$? $(cat err)" "0 "
else
	skip "60 MB of JSON" "$many is not built"
fi

# --- beside a recording ----------------------------------------------------------------------------

need_tracing
RANK=0 "$proftrace" -q -o ours -- "$programs/executes" 2 >/dev/null
clock() { # NAME
	head -1 ours.json | sed -n "s/.*\"$1\":\"\([0-9]*\)\".*/\1/p"
}
base=$(($(clock realtime) - 8093488300000 + 1000000))
sed "s/\"baseTimeNanoseconds\": [0-9]*/\"baseTimeNanoseconds\": $base/" "$data/pytorch.json" >theirs.json
"$proftrace" merge -o both ours.pftrace theirs.json 2>err
equal "beside a recording: exit status" $? 0
said_in "beside a recording: by the wall clock" err 'theirs.json \(rank 1\): .* by the realtime clocks'
equal "beside a recording: when it was" \
	"$("$canon" both.pftrace | awk '$5 == "ProfilerStep#1" { print $4 }')" $(($(clock monotonic) + 1000000))
equal "beside a recording: the graphics card is no process 0" "$("$canon" both.json | grep -c '^process [1-9][0-9]* rank 1: python (pid 0)$')" 1
equal "beside a recording: both are there" "$(count both.json 'BEGIN ProfilerStep#1')$([ "$(count both.json 'BEGIN generation')" -gt 0 ] && echo ours)" 1ours
check_agree "beside a recording" both

# What was recorded a year ago, on a machine that had not booted then.
ago=$(($(clock realtime) - $(clock monotonic) - 1743529691488300000))
"$proftrace" merge -o old ours.pftrace "$data/pytorch.json" 2>err
said_in "a year ago: said" err '^all traces: \+[0-9.]* s, since some begin before'
step=$("$canon" old.pftrace | awk '$5 == "ProfilerStep#1" { print $4 }')
first=$("$canon" old.pftrace | awk '$5 == "generation" { print $4; exit }')
was=$("$canon" ours.pftrace | awk '$5 == "generation" { print $4; exit }')
equal "a year ago: so much before" $((first - step)) $((was + ago))
check_agree "a year ago" old
finish
