#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/growth.sh [quick]
#
# How time and memory grow with the number of names, threads, processes, libraries, open slices and arguments
# (growth.c): of the program, not recorded and recorded, of the recorder, and of report. The recorder's memory is that of
# the largest of its processes, which may be the program. Where the time of one of them
# grows, something grows faster than its work. Called by `make bench`; `quick` leaves out the largest numbers.
set -eu
cd "$(dirname "$0")/../.."
proftrace=$PWD/build/proftrace
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build="${CC:-cc} -D_GNU_SOURCE -O2 -g -Wall -Wextra -Iinclude"
$build tools/bench/growth.c -o "$tmp/growth" -ldl -lpthread
cat >"$tmp/library.c" <<'END'
#include <proftrace.h>
void mark_in_library(void);
void mark_in_library(void)
{
	PROF_BEGIN("library");
	PROF_END();
}
END
$build -fPIC -shared "$tmp/library.c" -o "$tmp/library.so"
cd "$tmp"

number() { # NAME FILE
	sed -n "s/^ *\"\{0,1\}$1\"\{0,1\}:\{0,1\} \([0-9.]*\),\{0,1\}$/\1/p" "$2" | head -1
}

measure() { # WHAT N
	if [ "$1" = libraries ]; then
		i=0
		while [ $i -lt "$2" ]; do
			[ -e library-$i.so ] || cp library.so library-$i.so
			i=$((i + 1))
		done
	fi
	if ! ./growth "$1" "$2" >off 2>why; then
		printf '%-10s %8s  this machine does not allow so many: %s\n' "$1" "$2" "$(head -1 why)"
		return
	fi
	if ! ./growth measure "$proftrace" -q --mode exact -o trace.pftrace --summary-json summary -- \
		"$tmp/growth" "$1" "$2" >on 2>why; then
		printf '%-10s %8s  %s\n' "$1" "$2" "$(head -1 why)"
		return
	fi
	./growth measure "$proftrace" report trace.pftrace >report 2>&1 || true
	printf '%-10s %8s %10s %10s %8s %8s %10s %9s %10s %9s %9s %7s\n' "$1" "$2" "$(number each_us off)" \
		"$(number each_us on)" "$(number memory_mib off)" "$(number memory_mib on)" \
		"$(awk '$1 == "all_ms" { all = $2 } $1 == "cpu_ms" { own = $2 } END { print all - own }' on)" \
		"$(number most_mib on)" "$(number all_ms report)" "$(number most_mib report)" "$(number marked summary)" \
		"$(number lost_total summary)"
}

printf '%-10s %8s %10s %10s %8s %8s %10s %9s %10s %9s %9s %7s\n' "" "" "each, us" "recorded" "MiB" "recorded" \
	"rec. ms" "rec. MiB" "report ms" "rep. MiB" "marks" "lost"
sizes() { # WHAT N...
	what=$1
	shift
	for count; do
		measure "$what" "$count"
	done
}
full=
[ "${1:-}" = quick ] || full=full
sizes names 10 1000 10000 100000 ${full:+1000000}
sizes threads 1 10 100 1000 ${full:+10000}
sizes processes 1 10 100 1000 ${full:+5000}
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 # or else 200 libraries with markers can be open (proftrace(3))
sizes libraries 1 10 100 ${full:+1000}
unset GLIBC_TUNABLES
sizes open 10 1000 100000 ${full:+1000000}
sizes arguments 10 1000 100000 ${full:+1000000}
