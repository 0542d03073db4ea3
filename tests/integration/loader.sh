# SPDX-License-Identifier: BSD-2-Clause
#
# What the tests with Perfetto's own loader share. It is not a package of any distribution: put
# trace_processor_shell into PATH, or name it in TRACE_PROCESSOR, or `make test-loader`.
loader=${TRACE_PROCESSOR:-$(command -v trace_processor_shell)}
if [ -z "$loader" ]; then
	skip "Perfetto's own loader" "trace_processor_shell is not in PATH"
	finish
fi
need_tracing

ask() { # FILE SQL: rows without the heading
	if "$loader" query "$1" "$2" >"$tmp/asked" 2>"$tmp/asked.err"; then
		sed 1d "$tmp/asked" | tr -d '"'
	else
		echo "not answered: $(tail -1 "$tmp/asked.err") $(tail -1 "$tmp/asked")"
	fi
}

bad="select name || ' ' || value from stats where value > 0 and (severity in ('error', 'data_loss')
	or name in ('track_event_parser_errors', 'track_hierarchy_missing_uuid',
	'flow_end_without_start', 'flow_step_without_start', 'compact_sched_switch_skipped')
	or name like 'packet_skipped%')"

check_loads() { # NAME BASE [LOSS]: what is lost, which only the one format can say
	for file in "$2.pftrace" "$2.json"; do
		kind=${file##*.}
		lost=
		[ "$kind" = pftrace ] && lost=${3:-}
		equal "$1: $kind loads without errors or losses" "$(ask "$file" "$bad")" "$lost"
		equal "$1: $kind has no nameless slice" \
			"$(ask "$file" "select count(*) from slice where name is null or category like 'unknown(%'")" 0
	done
}

# "name,count" of everything that is a slice to the loader; and of what we read in the file.
theirs() { # FILE
	ask "$1" "select name, count(*) from slice where name not like 'flow %' group by 1" | sort
}
ours() { # FILE
	"$canon" --count "$1" | awk '/^(BEGIN|INSTANT|ASYNC_BEGIN) / { n = $NF; $1 = $NF = ""
			gsub(/^ | $/, ""); count[$0] += n }
		END { for (name in count) print name "," count[name] }' | sort
}
their_counters() { # FILE
	ask "$1" "select t.name, count(*) from counter c join track t on c.track_id = t.id group by 1" | sort
}
our_counters() { # FILE
	"$canon" --count "$1" | sed -n 's/^COUNTER \(.*\) \([0-9]*\)$/\1,\2/p' | sort
}
their_threads() { # FILE
	ask "$1" "select distinct p.pid, t.tid, t.name from slice s join thread_track k on s.track_id = k.id
		join thread t using (utid) join process p using (upid)" | sort
}
our_threads() { # FILE
	"$canon" "$1" | awk '$1 == "thread" { pid = $2; tid = $3; $1 = $2 = $3 = ""; sub(/^ */, ""); name[pid "," tid] = $0 }
		($3 == "BEGIN" || $3 == "INSTANT") && $2 > 0 { slices[$1 "," $2] = 1 }
		END { for (t in slices) print t "," name[t] }' | sort
}

same() { # NAME GOT WANTED: names of functions of the file at hand
	"$2" "$file" >"$tmp/got"
	"$3" "$file" >"$tmp/wanted"
	if cmp -s "$tmp/got" "$tmp/wanted"; then ok "$1 ($(wc -l <"$tmp/got"))"; else
		not_ok "$1" "$(diff "$tmp/got" "$tmp/wanted" | head -8)"
	fi
}

# It loads, and what the loader has is what we read: names and threads of slices, and counters.
check_seen() { # NAME BASE
	check_loads "$1" "$2"
	for file in "$2.pftrace" "$2.json"; do
		kind=${file##*.}
		same "$1: $kind: slices by their names" theirs ours
		same "$1: $kind: threads with slices" their_threads our_threads
	done
	file=$2.pftrace
	same "$1: counters by their names" their_counters our_counters
}

number() { # FILE NAME: of such slices, as the loader counts them
	ask "$1" "select count(*) from slice where name = '$2'"
}
