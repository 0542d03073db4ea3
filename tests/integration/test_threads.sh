#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# More threads at once than slots in the kernel's table (bpf/threads.h); slots that are reused, also by a thread
# that executes a program and so gets another TID.
. "$(dirname "$0")/lib.sh"
need_tracing
crowd=$programs/crowd
cd "$tmp" || exit 1

record() { # BASE COUNTERS THREADS WAVES
	timeout 120 "$proftrace" -q -e "$2" -o "$1" --summary-json "$1.account" -- "$crowd" "$3" "$4" >"$1.said"
	status=$?
	if grep -q '^short' "$1.said"; then
		skip "$1" "the machine has only $(said "$1.said" short) threads for it"
		return 1
	fi
	equal "$1: exit status" $status 0
	equal "$1: the account adds up" "$(field "$1.account" adds_up)" true
	equal "$1: marks the kernel counted" "$(field "$1.account" marked)" "$(said "$1.said" marks)"
	equal "$1: cut ENDs are all that is lost" "$(field "$1.account" lost_total)" "$(said "$1.said" cut)"
	check_agree "$1" "$1"
	"$canon" --count "$1.pftrace" >counts
	equal "$1: slices that end without an END" "$(field "$1.account" unfinished)" \
		"$(($3 / 2 * $4 + 3))"
	equal "$1: instants" "$(awk '$1 == "INSTANT" { n += $NF } END { print n }' counts)" "$(($3 * $4))"
}

record waves none 64 "${WAVES:-20}"
record crowd none "${CROWD:-4400}" 1
# What perf events count is settled at switches, wherever the state lies.
if record counted cpu-clock "${CROWD:-4400}" 1; then
	equal "counted: ENDs with a value" "$(grep '"ph":"E"' counted.json | grep -c '"cpu_clock":')" \
		"$((${CROWD:-4400} * 3 / 2 + 1))"
fi
finish
