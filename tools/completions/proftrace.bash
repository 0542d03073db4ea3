# SPDX-License-Identifier: BSD-2-Clause
# bash completion for proftrace

_proftrace_pids() {
	local pids=${1##*,} before=
	[[ $1 == *,* ]] && before=${1%,*},
	COMPREPLY=($(compgen -P "$before" -W "$(cd /proc && echo [0-9]*)" -- "$pids"))
}

_proftrace() {
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=record i
	local verbs="
		bench
		check
		convert
		ctl
		diff
		list
		merge
		open
		record
		report
		top
	"
	COMPREPLY=()

	if [ "$COMP_CWORD" -gt 1 ] && [[ $verbs =~ [[:space:]]${COMP_WORDS[1]}[[:space:]] ]]; then
		verb=${COMP_WORDS[1]}
	fi
	if [ "$verb" = record ] || [ "$verb" = bench ]; then
		for ((i = 1; i < COMP_CWORD; i++)); do
			[ "${COMP_WORDS[i]}" = -- ] || continue
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
				COMPREPLY=($(compgen -c -- "$word"))
			else
				compopt -o default
			fi
			return
		done
	fi
	case $previous in
	-p | --pid)
		_proftrace_pids "$word"
		return
		;;
	-o | --output | --summary-json | --handler | --include-json)
		compopt -o default
		return
		;;
	-e | --counters)
		COMPREPLY=($(compgen -W "none task-clock page-faults context-switches cpu-migrations cpu-clock cycles instructions cache-misses branch-misses" -- "$word"))
		return
		;;
	--system)
		COMPREPLY=($(compgen -W "cpu memory disk network cpu,memory,disk,network" -- "$word"))
		return
		;;
	--trigger)
		COMPREPLY=($(compgen -W "slice: instant:" -- "$word"))
		return
		;;
	--mode)
		COMPREPLY=($(compgen -W "exact batch batch-now" -- "$word"))
		return
		;;
	-s | --sort)
		COMPREPLY=($(compgen -W "total self avg min max count name p50 p95 p99 share" -- "$word"))
		return
		;;
	--by)
		COMPREPLY=($(compgen -W "thread process rank epoch batch" -- "$word"))
		return
		;;
	--unit)
		COMPREPLY=($(compgen -W "auto ns us ms s" -- "$word"))
		return
		;;
	--format)
		if [ "$verb" = diff ] || [ "$verb" = bench ]; then
			COMPREPLY=($(compgen -W "table markdown json" -- "$word"))
		else
			COMPREPLY=($(compgen -W "table json csv" -- "$word"))
		fi
		return
		;;
	-n | --limit | --runs | --warmup | --against | --where | --from | --to | --per | --fail-over | --confidence | --iterations | -i | --interval | --columns | --name)
		return
		;;
	-d | --duration | -D | --domain | -u | --usdt | -f | --func | --buffer | --buffers | --dump-period | --max-size | --schedule | --max-overhead | --sample | --stack | --offcpu | --keep | --rank | --flight-recorder | --flight-memory | --system-interval | --counter-interval | --include-offset | --port | --viewer)
		return
		;;
	esac
	case $verb:$word in
	record:-*)
		COMPREPLY=($(compgen -W "--pid --output --duration --domain --usdt --func --counters --counter-interval --no-children --mode --buffer --buffers --dump-period --compress --max-size --keep --rank --flight-recorder --flight-memory --trigger --handler --itt --nvtx --sched --wait-reasons --syscalls --sample --stack --offcpu --system --system-interval --include-json --include-offset --schedule --max-overhead --stats-only --per-thread --summary-json --strict --quiet --verbose --help" -- "$word"))
		;;
	diff:-*)
		COMPREPLY=($(compgen -W "--per --fail-over --confidence --format --limit --flame --output --where --from --to --quiet --help" -- "$word"))
		;;
	bench:-*)
		COMPREPLY=($(compgen -W "--runs --against --output --warmup --ignore-failure --show-output --domain --usdt --func --counters --mode --sched --sample --buffer --per --fail-over --confidence --format --limit --where --quiet --help" -- "$word"))
		;;
	report:-*)
		COMPREPLY=($(compgen -W "--limit --sort --ascending --columns --domain --name --per-thread --slowest --critical --flame --html --where --from --to --by --output --unit --format --quiet --help" -- "$word"))
		;;
	list:-*)
		COMPREPLY=($(compgen -W "--pid --functions --counters --verbose --help" -- "$word"))
		;;
	open:-*)
		COMPREPLY=($(compgen -W "--no-browser --port --viewer --ui --help" -- "$word"))
		;;
	ctl:-*)
		COMPREPLY=($(compgen -W "--pid --format --sort --ascending --limit --reset --help" -- "$word"))
		;;
	ctl:*)
		COMPREPLY=($(compgen -W "pause resume dump reset stop status stats" -- "$word"))
		;;
	convert:-*)
		COMPREPLY=($(compgen -W "--output --compress --where --from --to --quiet --help" -- "$word"))
		;;
	merge:-*)
		COMPREPLY=($(compgen -W "--output --align --offset --join-flows --compress --where --from --to --quiet --help" -- "$word"))
		;;
	top:-*)
		COMPREPLY=($(compgen -W "--pid --interval --iterations --sort --since-refresh --domain --no-children --buffer --help" -- "$word"))
		;;
	check:-*)
		COMPREPLY=($(compgen -W "--help" -- "$word"))
		;;
	report:* | diff:* | list:* | open:* | convert:* | merge:*)
		compopt -o default
		;;
	record:*)
		[ "$COMP_CWORD" -eq 1 ] &&
			COMPREPLY=($(compgen -W "$verbs" -- "$word"))
		;;
	esac
}

complete -F _proftrace proftrace
