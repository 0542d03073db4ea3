#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Call stacks without frame pointers: known call chains, by two compilers with several flags; and tables that lie.
. "$(dirname "$0")/lib.sh"
need_tracing
cd "$tmp" || exit 1
stacks=$root/build/tests/tools/stacks
hz=1997
ms=${UNWIND_MS:-40}
if ! "$proftrace" -q --sample $hz -o try.pftrace -- true 2>try.err && grep -q sampl try.err; then
	skip "call stacks by unwind tables" "$(head -1 try.err)"
	finish
fi

record() { # BASE COMMAND...
	base=$1
	shift
	"$proftrace" -q --sample $hz -e none --summary-json "$base.sum" -o "$base" -- "$@" \
		>"$base.said" 2>"$base.err"
}

# Each stack ended in some way, and at least 95 of 100 at the beginning of their thread, or the SHARE that is given.
whole() { # SUMMARY [SHARE]
	awk -v share="${2:-0.95}" -F'[:,]' '/"stacks/ { gsub(/[ "]/, "", $1); n[$1] = $2 + 0 }
		END {
			ended = n["stacks_whole"] + n["stacks_cut"] + n["stacks_unmapped"] + n["stacks_no_table"] + \
				n["stacks_pending"] + n["stacks_refused"] + n["stacks_unsupported"] + n["stacks_unreadable"]
			for (name in n)
				if (n[name])
					printf "%s %d  ", name, n[name]
			print ""
			exit n["stacks"] < 20 || ended < n["stacks"] || n["stacks_whole"] < share * n["stacks"]
		}' "$1"
}

# --- known call chains ---------------------------------------------------------------------------------

# The samples in slices SLICE: each that is at the end of the chain has all of it, and most are there. Not
# every awk can count in an expression, so `deep` becomes its number.
follows() { # STACKS SLICE CHAIN
	awk -v slice="$2" -v chain="$3" '
		$1 == "sample" && $3 == "user" && $4 == slice {
			n++
			stack = $0
			sub(/^sample [^ ]* [^ ]* [^ ]* /, ";", stack)
			sub(/.*;run_chain/, "", stack)
			deep = gsub(/;deep/, "", stack)
			if (deep)
				sub(/;leaf/, ";deep*" deep ";leaf", stack)
			if (stack ~ ("^" chain "$"))
				complete++
			else if (stack ~ /;leaf$/)
				wrong = "\n" stack
		}
		END {
			printf "%d samples, %d of the whole chain%s\n", n, complete, wrong
			exit n < 10 || wrong != "" || complete < 0.9 * n
		}' "$1"
}

chains() { # BASE COMMAND...
	record "$@"
	equal "$1: exit status" $? 0
	check_account "$1" "$1.sum"
	"$stacks" "$1.pftrace" >"$1.stacks"
	for name in plain:outer threaded:outer dynamic:dynamic aligned:aligned large:large; do
		check "$1: ${name%%:*}" follows "$1.stacks" "${name%%:*}" ";${name#*:};middle;leaf"
	done
	check "$1: called back by the C library" follows "$1.stacks" sorted ";sorted;.*qsort.*;compare;leaf"
	check "$1: in a signal's handler" follows "$1.stacks" signalled ";signalled;.*raise.*;handler;middle;leaf"
	check "$1: recursive" follows "$1.stacks" recursive ";recursive;deep.61;leaf"
}

# Emulators are slow, so the programs of another machine are recorded together. There the stack pointer of a
# caller is not known behind the frame record of generated code, in which they are for an eighth of their time.
if [ "$(uname -m)" != x86_64 ]; then
	if [ -n "${WANT_SIGNED:-}" ]; then
		check "all: the processor signs return addresses" grep -qw paca /proc/cpuinfo
	fi
	chains all sh -c 'for program; do "$program" 20; done' sh "$root"/build/tests/programs/unwound-*
	equal "all: of all programs" "$(grep -c done all.said)" "$(ls "$root"/build/tests/programs/unwound-* | wc -l)"
	check "all: from the beginning of the process" whole all.sum 0.85
	finish
fi

for compiler in gcc clang; do
	for level in O0 O2 O3 lto; do
		for kind in "" -fp; do
			program=unwound-$compiler-$level$kind
			[ -x "$root/build/tests/programs/$program" ] || continue
			chains "$program" "$root/build/tests/programs/$program" "$ms"
			check "$program: through generated code" follows "$program.stacks" generated ";generated;[^;]*;middle;leaf"
			check "$program: from the beginning of the process" whole "$program.sum"
		done
	done
done

# The names that a JIT compiler has written are in Chrome JSON, too, as soon as the code has been found.
jit=$root/build/tests/programs/unwound-gcc-O2
"$proftrace" -q --stack marked -e none -o jit -- "$jit" 300 names >jit.said 2>jit.err
equal "generated code: exit status" $? 0
rm -f "/tmp/perf-$(said jit.said pid).map"
check "generated code: its name is in the stacks of the JSON" awk '
	/"name":"marked"/ { n++; named += /"generated","trampoline","marked"\]/ }
	END { print n, named; exit n < 10 || named < n / 2 }' jit.json
equal "generated code: as in the other file" "$("$stacks" jit.pftrace | grep -c 'generated;trampoline;marked$')" \
	"$(grep -c '"generated","trampoline","marked"\]' jit.json)"

# Code that has replaced other code at the same address has its own name, also in a file that is written at the end.
record reused "$root/build/tests/programs/reused" "$tmp"
equal "code that replaces other code: exit status" $? 0
"$stacks" reused.pftrace >reused.stacks
check "code that replaces other code: each has its name" awk '
	$1 == "sample" && $3 == "user" && $4 ~ /^(red|green|blue|white)$/ && /;compute$/ {
		n[$4]++
		all++
		if ($0 ~ (";" $4 ";compute$"))
			right++
		else if ($0 !~ /;\[[^;]*;compute$/)
			wrong = "\n" $0
	}
	END {
		for (name in n)
			kinds++
		print all, right, kinds wrong
		exit all < 100 || right < 0.9 * all || kinds != 4 || wrong != ""
	}' reused.stacks

# Generated code that was mapped a moment ago, and is not known yet, calls code that is known.
whole_through_new() { # STACKS
	awk '
		$1 == "sample" && $3 == "user" && $4 ~ /^(red|green|blue|white)$/ && /compute$/ {
			all[$4]++
			whole[$4] += /main;.*compute$/
		}
		END {
			for (name in all) {
				kinds++
				few += whole[name] < 0.9 * all[name]
				print name, all[name], whole[name]
			}
			exit kinds != 4 || few
		}' "$1"
}
record fresh "$root/build/tests/programs/reused" "$tmp" fresh
equal "code that was just mapped: exit status" $? 0
"$stacks" fresh.pftrace >fresh.stacks
if kernel_can "code just mapped"; then
	check "code that was just mapped: stacks through it are whole" whole_through_new fresh.stacks
else
	skip "code that was just mapped: stacks through it are whole" "the kernel does not say what is mapped at an address"
	check "code that was just mapped: stacks that end there are counted" [ "$(field fresh.sum stacks_unmapped)" -gt 0 ]
fi

# V8 writes a jitdump file, which has the functions of a script.
if command -v node >/dev/null; then
	cat >hot.js <<'EOT'
function hotLeaf(n) { for (let i = 0; i < 300000; i++) n = (n * 31 + i) | 0; return n; }
let began = process.cpuUsage().user, n = 0;
while (process.cpuUsage().user - began < 400000) n ^= hotLeaf(n);
EOT
	record node node --perf-prof hot.js
	"$stacks" node.pftrace >node.stacks
	check "generated code: names of a jitdump file" awk '
		$1 == "sample" { n++; hot += / hot.js|JS:.*hotLeaf/ }
		END { print n, hot; exit n < 20 || hot < n / 5 }' node.stacks
else
	skip "generated code: names of a jitdump file" "node is not installed"
fi

cat >clock.c <<'EOT'
#include <time.h>
int main(void)
{
	struct timespec t;
	for (int i = 0; i < 6000000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	return 0;
}
EOT
${CC:-cc} -O2 clock.c -o clock && record clock ./clock
"$stacks" clock.pftrace >clock.stacks
if grep -q 'vdso' clock.stacks; then
	check "the kernel's code in the process has names" sh -c \
		"grep -q ';__vdso_clock_gettime$' clock.stacks && ! grep -q '\[vdso\]' clock.stacks"
else
	skip "the kernel's code in the process has names" "no sample was in it"
fi

# Of a process that runs already, the tables are there before its first sample.
"$root/build/tests/programs/unwound-gcc-O2" $((4 * ms)) >attached.said &
wait_for attached.said ready
"$proftrace" -q --sample $hz -e none --summary-json attached.sum -o attached -p $! 2>attached.err
equal "attached: exit status" $? 0
check "attached: from the beginning of the process" whole attached.sum

# A thousandth of the copies of 16 KB by which stacks can be walked later would be too good; a twentieth is not.
bytes=$(wc -c <unwound-gcc-O2.pftrace)
samples=$(field unwound-gcc-O2.sum stacks)
check "a sample takes less than a twentieth of a copy of its stack" \
	awk "BEGIN { print $bytes / $samples; exit $bytes / $samples > 16384 / 20 }"

# What the kernel does because of the marks, and what proftrace did before the program began, is not in any stack.
not_traced() { # STACKS...
	awk '$1 == "sample" {
			n++
			kernel += $3 == "kernel"
			if ($0 ~ /[; ](bpf_prog_|bpf_trace_|__traceiter_|uprobe_|asm_exc_int3)/ ||
			    $0 ~ /;begin_new_exec|\[\[uprobes\]\]/)
				wrong = "\n" $0
		}
		END {
			printf "%d samples, %d in the kernel%s\n", n, kernel, wrong
			exit n < 100 || !kernel || wrong != ""
		}' "$@"
}
check "nothing of the recorder is in the stacks" not_traced unwound-*.stacks

# Each library that is opened for the first time holds the thread in _dl_debug_state(), which the program knows nothing of.
# Meanwhile it waits for the memory's lock, which another thread takes again and again.
if ! kernel_can "holding new libraries"; then
	skip "nor where threads wait for it" "this kernel cannot hold threads"
elif ! command -v "${CC:-cc}" >/dev/null; then
	skip "nor where threads wait for it" "no cc"
else
	cat >opens.c <<'EOT'
#include <dlfcn.h>
#include <proftrace.h>
#include <pthread.h>
#include <sys/mman.h>
static volatile int ends;
static void *maps(void *arg)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
	while (!ends)
		munmap(mmap(0, 1 << 22, PROT_READ | PROT_WRITE, flags, -1, 0), 1 << 22);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	pthread_create(&thread, 0, maps, 0);
	PROF_BEGIN("opens");
	for (int i = 1; i < argc; i++)
		dlclose(dlopen(argv[i], RTLD_NOW));
	PROF_END();
	ends = 1;
	return pthread_join(thread, 0);
}
EOT
	${CC:-cc} -O2 -I"$root/include" opens.c -o opens -ldl -lpthread
	echo 'int opened;' | ${CC:-cc} -shared -fPIC -xc - -o opened.so
	set --
	for i in $(seq 40); do
		cp opened.so "opened$i.so"
		set -- "$@" "./opened$i.so"
	done
	"$proftrace" -q --sample $hz --offcpu 1us -e none --summary-json opens.sum -o opens -- ./opens "$@"
	"$stacks" opens.pftrace >opens.stacks
	# A sample may be taken on the way into the kernel, before the thread is held.
	check "nor where threads wait for it" awk '
		/"threads_held"/ { n = $2 + 0 }
		/^at .*;dl_open_worker_begin$/ { waits++ }
		/_dl_debug_state/ { wrong++ }
		END { print n, waits + 0, wrong + 0; exit n < 40 || waits || wrong }' opens.sum opens.stacks
fi

# --- tables that lie -----------------------------------------------------------------------------------

# No sample in a slice has a caller of the function of that name, since nothing true is known of one; but the lie begins
# with the fourth instruction, and a sample or two are taken before it.
no_callers() { # STACKS
	awk '$1 == "sample" && $3 == "user" && $4 != "-" && $5 ~ ("(^|;)" $4 "$") {
			n[$4]++
			if ($5 != $4 && ($5 !~ (";main;" $4 "$") || ++before[$4] > 2))
				wrong = wrong "\n" $5
		}
		END {
			for (name in n)
				kinds++
			printf "%d kinds%s\n", kinds, wrong
			exit kinds != 7 || wrong != ""
		}' "$1"
}

record lies "$root/build/tests/programs/unwind_lies" "$ms"
equal "lies: exit status" $? 0
"$stacks" lies.pftrace >lies.stacks
check "lies: no stack goes on where its table lies" no_callers lies.stacks
check "lies: as frames that are none" test "$(field lies.sum stacks_unreadable)" -ge 20
check "lies: and as rules that cannot be followed" test "$(field lies.sum stacks_unsupported)" -ge 10
check_account lies lies.sum

finish
