#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/peers.sh NAME DIRECTORY PROGRAM PID
#
# Has another tracer record the event of the target PID, a process of PROGRAM, into DIRECTORY. Prints
# `ready TRACER` once it does (0: not known which process it is; or `left out: <why>` and ends), works until its standard input ends, undoes
# everything and prints what it knows of:
#
#	bytes N		written
#	kept N		events that are in the recording
#	lost N		events that are not
#	cpu N		ns of CPU time that the tracer has used in all (build/bench/timed)
#	late: WHAT	what was waited for and did not come: its figures are worth nothing
#
# Nothing is waited for without a bound: a tracer that does not end is killed (by `timed`), and so is
# a command that does not answer.
#
# tools/bench/peers.sh --install: installs those that Debian has.
set -u

packages='bpftrace lttng-tools liblttng-ust-dev uftrace linux-perf libsqlite3-dev'

if [ "${1:-}" = --install ]; then
	as_root=
	[ "$(id -u)" -eq 0 ] || as_root=sudo
	apt() {
		$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
			-o DPkg::Lock::Timeout=120 "$@" </dev/null >/dev/null 2>&1
	}
	apt update
	apt install --no-install-recommends $packages ||
		echo "bench: apt-get could not install all of: $packages" >&2
	exit 0
fi

name=$1 dir=$2 program=$3 pid=$4
# Ctrl-C reaches the bench, and its end ends our input: then everything is undone in order.
trap '' INT
rm -rf "$dir"
mkdir -p "$dir" || exit 1

exec 5>&1
tracer=

left_out() {
	[ -z "$tracer" ] || stop_tracer INT "$tracer" "$name"
	echo "left out: $*"
	rm -rf "$dir"
	exit 0
}

late() {
	echo "late: $*" >&5
}

# A command that answers soon or never; what it prints is not what we print.
bounded() { # COMMAND...
	timeout -k 5 20 "$@" 5>&-
	ended=$?
	case $ended in 124 | 137) late "'$*' did not end within 20 s and was killed" ;; esac
	return $ended
}

# `timed` waits 20 s for its end, then kills it.
stop_tracer() { # SIGNAL PROCESS NAME
	kill "-$1" "$2" 2>/dev/null
	wait "$2"
	[ $? -ne 124 ] || late "$3 did not end within 20 s of SIG$1 and was killed"
}

need() { # COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || left_out "$1 is not installed (package $2)"
}

ready() { # TRACER
	echo ready "${1:-0}"
	while read -r _; do :; done
}

# `$1` appears in file `$2` while process `$3` lives.
appears() {
	for _ in $(seq 1 600); do
		grep -q "$1" "$2" 2>/dev/null && return 0
		kill -0 "$3" 2>/dev/null || return 1
		sleep 0.05
	done
	late "$name did not say '$1' within 30 s"
	return 1
}

size() {
	find "$@" -type f -exec stat -c %s {} + | awk '{ sum += $1 } END { print "bytes", sum + 0 }'
}

# An asynchronous command of a script ignores SIGINT for good: env gives it back.
interruptible() {
	exec env --default-signal=INT build/bench/timed "$dir/cpu" "$@" 5>&-
}

cpu() {
	[ ! -s "$dir/cpu" ] || echo "cpu $(cat "$dir/cpu")"
}

# Where events of the kernel and of perf probe are found; undone by whoever asked for it.
mount_tracefs() { # TRACER
	mounted=
	[ ! -e /sys/kernel/tracing/uprobe_events ] || return 0
	mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null ||
		left_out "$1: tracefs cannot be mounted on /sys/kernel/tracing"
	mounted=1
}

run_bpftrace() { # PROGRAM: not with -p, since that switches the markers on before it is attached
	need bpftrace bpftrace
	interruptible bpftrace -e "$1" >"$dir/out" 2>"$dir/err" &
	tracer=$!
	appears '^Attaching' "$dir/out" $tracer || left_out "bpftrace: $(tail -1 "$dir/err")"
	ready $tracer
	stop_tracer INT $tracer bpftrace
	cpu
}

# The last probe is on a marker: while it is attached, the target's switch is on, which tells that all are.
count_with_bpftrace() { # PROBE [FILTER [MORE]]
	mount_tracefs bpftrace
	run_bpftrace "$1 ${2:-} { @ = count(); ${3:-} } usdt:$program:prof_default:instant { @unused = count(); }"
	sed -n 's/^@: \([0-9]*\)$/kept \1/p' "$dir/out"
	[ -z "$mounted" ] || umount /sys/kernel/tracing
}

# Defines perf events by `perf probe` and removes them at the end; tracefs is where it finds them.
run_perf() { # EVENTS WHAT: the events, separated by commas, and what defines them: sdt, function, nothing
	need perf linux-perf
	mount_tracefs perf
	perf="perf --buildid-dir $dir/buildid"
	perf_undefine "$1" "$2" 2>/dev/null # of a bench that was killed
	if perf_define "$1" "$2" 2>"$dir/err"; then
		record_with_perf -e "$1"
	else
		echo "left out: perf: $(head -1 "$dir/err")"
	fi
	perf_undefine "$1" "$2" 2>/dev/null
	[ -z "$mounted" ] || umount /sys/kernel/tracing
}

# Enough memory for all, so that nothing is lost. It says when its events are enabled.
record_with_perf() { # WHAT...: options that say what is recorded
	mkfifo "$dir/control" "$dir/answers"
	interruptible perf --buildid-dir "$dir/buildid" record -N -m 32M -o "$dir/data" "$@" \
		-D -1 --control "fifo:$dir/control,$dir/answers" -p "$pid" >"$dir/out" 2>&1 &
	tracer=$!
	exec 3<>"$dir/control" 4<>"$dir/answers"
	echo enable >&3
	for _ in $(seq 1 20); do
		timeout 1 head -c 4 <&4 >"$dir/answer" && break
		kill -0 $tracer 2>/dev/null || break
	done
	[ -s "$dir/answer" ] ||
		late "perf ended, or did not say within 20 s that its event is enabled: $(tail -1 "$dir/out")"
	ready $tracer
	stop_tracer INT $tracer perf
	cpu
	size "$dir/data"
	sed -n 's/.*(\([0-9]*\) samples).*/kept \1/p' "$dir/out"
}

perf_define() { # EVENTS WHAT
	case $2 in
	sdt)
		bounded $perf buildid-cache --add "$program" || return
		for event in $(echo "$1" | tr , ' '); do
			bounded $perf probe -q "$event" || return
		done
		;;
	function)
		bounded $perf probe -q -x "$program" 'proftrace_bench:entry=bench_called' &&
			bounded $perf probe -q -x "$program" 'proftrace_bench:exit=bench_called%return'
		;;
	esac
}

perf_undefine() {
	case $2 in
	sdt) for event in $(echo "$1" | tr , ' '); do bounded $perf probe -q -d "$event"; done ;;
	function) bounded $perf probe -q -d 'proftrace_bench:*' ;;
	esac
}

run_lttng() {
	need lttng lttng-tools
	[ -x "$program" ] || left_out "lttng: no headers when the target was built (package liblttng-ust-dev)"
	lttng="bounded lttng --no-sessiond"
	$lttng list >/dev/null 2>&1
	answers=$?
	[ $answers -lt 124 ] || left_out "lttng does not answer"
	if [ $answers -ne 0 ]; then
		build/bench/timed "$dir/cpu" lttng-sessiond --no-kernel >"$dir/daemon" 2>&1 5>&- &
		tracer=$!
		for _ in $(seq 1 100); do
			$lttng list >/dev/null 2>&1 && break
			[ $? -lt 124 ] || left_out "lttng does not answer"
			kill -0 $tracer 2>/dev/null || break
			sleep 0.05
		done
	fi
	session=proftrace-bench-$$
	if {
		$lttng create "$session" --output="$dir/trace" &&
			$lttng enable-channel --userspace --num-subbuf=8 --subbuf-size=1M bench &&
			$lttng enable-event --userspace --channel=bench 'proftrace_bench:*' &&
			$lttng start
	} >"$dir/out" 2>&1; then
		ready $tracer
		$lttng stop "$session" >"$dir/out" 2>&1
		$lttng list "$session" | sed -n 's/.*Discarded events: \([0-9]*\).*/lost \1/p' | head -1
		$lttng destroy "$session" >"$dir/out" 2>&1
		size "$dir/trace"
	else
		echo "left out: lttng: $(tail -1 "$dir/out")"
		$lttng destroy "$session" >"$dir/out" 2>&1
	fi
	if [ -n "$tracer" ]; then
		stop_tracer TERM $tracer lttng-sessiond
		cpu
	fi
}

[ -x build/bench/timed ] || left_out "build/bench/timed is not built (make bench-programs)"
case $name in
bpftrace-count)
	run_bpftrace "usdt:$program:prof_default:instant { @ = count(); }"
	sed -n 's/^@: \([0-9]*\)$/kept \1/p' "$dir/out"
	;;
bpftrace-print)
	run_bpftrace "usdt:$program:prof_default:instant {
		printf(\"%llu %d %s %llu\n\", nsecs, tid, str(arg0), *arg5); }"
	size "$dir/out"
	echo "kept $(grep -c '^[0-9]* [0-9]* ' "$dir/out")"
	;;
bpftrace-switch) count_with_bpftrace 'tracepoint:sched:sched_switch' "/pid == $pid/" ;;
bpftrace-sample) # the rate that samples.c has
	count_with_bpftrace 'profile:hz:10000' "/pid == $pid/" '@stacks[ustack(), kstack()] = count();'
	;;
bpftrace-syscall) count_with_bpftrace 'tracepoint:raw_syscalls:sys_enter, tracepoint:raw_syscalls:sys_exit' "/pid == $pid/" ;;
bpftrace-probe) count_with_bpftrace "usdt:$program:proftrace_bench:hit" ;;
bpftrace-call) count_with_bpftrace "uprobe:$program:bench_called, uretprobe:$program:bench_called" ;;
perf) run_perf sdt_prof_default:instant sdt ;;
perf-slices) run_perf sdt_prof_default:begin,sdt_prof_default:end sdt ;;
perf-switch) run_perf sched:sched_switch nothing ;;
perf-syscall) run_perf raw_syscalls:sys_enter,raw_syscalls:sys_exit nothing ;;
perf-sample)
	need perf linux-perf
	record_with_perf -F 10000 -g
	;;
perf-sample-dwarf) # copies 8 KiB of the stack with each sample
	need perf linux-perf
	record_with_perf -F 10000 --call-graph dwarf
	;;
perf-probe) run_perf sdt_proftrace_bench:hit sdt ;;
perf-call) run_perf proftrace_bench:entry,proftrace_bench:exit__return function ;;
lttng) run_lttng ;;
uftrace) # it starts the target itself: the bench does that
	need uftrace uftrace
	ready
	size "$dir/data"
	cpu
	;;
*) left_out "nobody knows how to run $name" ;;
esac
rm -rf "$dir"
