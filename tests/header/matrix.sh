#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Compiles small programs against include/proftrace.h with the compilers, language versions,
# optimisations and linkers that it promises to work with, runs them, and reads their notes as a
# tracer would (tests/header/notes.c). Says what it finds in TAP. Run from the root of the tree.
set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$(cd "$here/../../include" && pwd)
programs=$here/programs
# Without an argument it runs itself once for each part, two at a time, in a folder for each.
if [ $# -eq 0 ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	cc -std=gnu11 -Wall -Wextra -Werror -O1 -o "$dir/notes" "$here/notes.c" || exit 1
	for part in link rejects says brings; do
		for compiler in gcc clang g++ clang++; do echo $part-$compiler; done
	done >"$dir/parts"
	echo rest >>"$dir/parts"
	(cd "$dir" && xargs mkdir <parts)
	xargs -P 2 -I @ sh -c '"$0" "$1" @ >"$1/@/tap" 2>&1; echo $? >"$1/@/status"' "$here/matrix.sh" "$dir" <"$dir/parts"
	while read -r part; do
		cat "$dir/$part/tap"
		[ "$(cat "$dir/$part/status")" = 0 ] || echo "not ok - $part is complete"
	done <"$dir/parts" | awk '/^(not )?ok - / { sub(/ok/, "ok " ++n) } 1'
	exit 0
fi
cd "$1/$2" || exit 1
part=$2

warn="-Wall -Wextra -pedantic -Wshadow -Wconversion -Wold-style-cast -Werror -I$include"
cwarn="-Wall -Wextra -pedantic -Wshadow -Wconversion -Werror -I$include"

have() { command -v "$1" >/dev/null 2>&1; }
ok() { echo "ok - $1"; }
skip() { echo "ok - $1 # SKIP $2"; }
not_ok() {
	echo "not ok - $1"
	[ ! -s log ] || head -25 log | sed 's/^/# /'
}
# check NAME COMMAND...: the command succeeds
check() {
	name=$1
	shift
	if "$@" >log 2>&1; then ok "$name"; else not_ok "$name"; fi
}

# language COMPILER: what it takes to compile these .c files with it, warnings included
language() {
	case $1 in
	*++*) echo "-x c++ $warn" ;;
	*) echo "$cwarn" ;;
	esac
}

# --- what every file must have: one stub for each domain and kind, however many markers --------------

. "$here/../kinds.sh"
{
	for kind in $domain_kinds; do printf 'default %s\nnet.rpc %s\n' "$kind" "$kind"; done
	printf 'default batch\nnet.rpc batch\n'
	printf ' %s\n' flush read_strings $control_kinds
} | sort >expected.all

# The markers of main.c and second.c use all of them but thread_name, which main.c uses, so even where
# unused sections are dropped the set is the same.
# So it is, but for the domain of what is made at run time: there the functions decide that a program has in use.
same_sites() {
	../notes "$1" >sites.raw && sort sites.raw | grep -v '^(run time) ' >sites && diff expected.all sites
}

# --- link FLAGS: main.c and second.c, and library.c as a shared library, unless the program is static --

link() {
	compiler=$1
	shift
	lang=$(language "$compiler")
	case " $* " in
	*" -static "* | *" -static-pie "*)
		$compiler $lang "$@" -DLIBRARY_IS_LINKED_IN=1 "$programs/main.c" "$programs/second.c" \
			"$programs/library.c" -o program && ./program && same_sites program
		return
		;;
	esac
	shared=
	for flag; do
		case $flag in
		-pie | -no-pie | -fPIE | -fno-pie) ;;
		*) shared="$shared $flag" ;;
		esac
	done
	$compiler $lang $shared -fPIC -shared "$programs/library.c" -o liblibrary.so &&
		$compiler $lang "$@" -DLIBRARY_IS_LINKED_IN=0 "$programs/main.c" "$programs/second.c" \
			-o program -L. -llibrary -Wl,-rpath,. &&
		./program && same_sites program && ../notes liblibrary.so >sites.library
}

# can COMPILER FLAGS: whether the toolchain can do this at all, without the header
echo 'int main(void) { return 0; }' >empty.c
can() {
	compiler=$1
	shift
	case $compiler in *++*) set -- -x c++ "$@" ;; esac
	$compiler "$@" empty.c -o empty >/dev/null 2>&1
}

linked() {
	[ "$part" = "link-$1" ] || return 0
	name="links and runs: $*"
	if ! have "$1"; then
		skip "$name" "no $1"
	elif ! can "$@"; then
		skip "$name" "the toolchain cannot"
	else
		check "$name" link "$@"
	fi
}

linked gcc -std=c99 -O0
linked gcc -std=c11 -O3
linked gcc -std=c17 -O2 -flto
linked gcc -std=c11 -O2 -fPIE -pie
linked gcc -std=c11 -O1 -fno-pie -no-pie
linked gcc -std=c11 -O2 -static
linked gcc -std=c11 -O2 -static-pie -fPIE
linked gcc -std=c11 -O2 -flto -static
linked gcc -std=c11 -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
linked gcc -std=c11 -O2 -fuse-ld=gold -Wl,--icf=all
linked gcc -std=c11 -O2 -fuse-ld=gold -ffunction-sections -Wl,--gc-sections
linked gcc -std=c11 -O2 -fuse-ld=lld -Wl,--icf=all
linked gcc -std=gnu11 -O2 -fcf-protection=full -fstack-clash-protection -masm=intel
linked gcc -std=gnu11 -O1 -fsanitize=address,undefined
linked clang -std=c99 -O0
linked clang -std=c11 -O3
linked clang -std=c17 -O2 -fPIE -pie
linked clang -std=c11 -O2 -static
linked clang -std=c11 -O1 -fno-pie -no-pie
linked clang -std=c11 -O2 -fuse-ld=lld -Wl,--icf=all
linked clang -std=c11 -O2 -fuse-ld=lld -flto
linked clang -std=c11 -O2 -fuse-ld=lld -flto=thin
linked clang -std=c11 -O2 -fuse-ld=lld -flto=thin -Wl,--icf=all -ffunction-sections -Wl,--gc-sections
linked clang -std=c11 -O2 -fuse-ld=gold -Wl,--icf=all
linked clang -std=c11 -O2 -fno-integrated-as
linked g++ -std=c++11 -O0
linked g++ -std=c++14 -O2
linked g++ -std=c++17 -O2 -flto
linked g++ -std=c++20 -O3
linked g++ -std=c++17 -O2 -static -Wl,--gc-sections
linked clang++ -std=c++11 -O0
linked clang++ -std=c++14 -O2 -fuse-ld=lld -flto=thin
linked clang++ -std=c++17 -O1 -static
linked clang++ -std=c++20 -O2

# Files of one program need not come from one compiler.
mixed() {
	gcc $cwarn -std=c99 -O2 -flto -DLIBRARY_IS_LINKED_IN=1 -c "$programs/main.c" -o a.o &&
		clang++ -x c++ $warn -std=c++17 -O2 -c "$programs/second.c" -o b.o &&
		g++ -x c++ $warn -std=c++11 -O0 -c "$programs/library.c" -o c.o &&
		gcc -O2 -flto a.o b.o c.o -lstdc++ -o program && ./program && same_sites program
}
if [ "$part" != link-clang++ ]; then
	:
elif have clang++; then
	check "gcc with LTO, clang++ and g++ in one program" mixed
else
	skip "gcc with LTO, clang++ and g++ in one program" "no clang++"
fi

# --- what must not compile -----------------------------------------------------------------------------

# rejects STATEMENT [DEFINITION]: the compiler does, while it takes the same frame without them
frame() {
	cat <<-END
		#include <proftrace.h>
		struct pair { int a, b; };
		union either { int a; float b; };
		extern int *ip; extern struct pair sp; extern const char *name; extern long double ld;
		extern double *dp; extern int id;
		PROF_MARKER(marker, prof_default, "marker", .categories = "a");
		PROF_TASK(task, prof_default, "task");
		$2
		void f(void);
		void f(void) { $1; }
	END
}
rejects() {
	compiler=$1
	case $compiler in *++*) std="-std=c++11 -x c++" ;; *) std=-std=c11 ;; esac
	if [ ! -e good.c ]; then
		frame "PROF_INSTANT(\"x\", \"k\", id)" "" >good.c
		$compiler $std -w -I"$include" -fsyntax-only good.c || { rm good.c && return 1; }
	fi
	frame "$2" "${3:-}" >bad.c
	! $compiler $std -w -I"$include" -S -o /dev/null bad.c
}
for compiler in gcc clang g++ clang++; do
	[ "$part" = "rejects-$compiler" ] || continue
	if ! have $compiler; then
		skip "what must not compile: $compiler" "no $compiler"
		continue
	fi
	while read -r what statement; do
		check "$compiler rejects $what" rejects $compiler "$statement"
	done <<-'END'
		an-int-pointer PROF_INSTANT("x", "k", ip)
		a-double-pointer-in-a-counter PROF_COUNTERS("x", "k", dp)
		a-128-bit-integer PROF_INSTANT("x", "k", (__int128)1)
		a-long-double PROF_INSTANT("x", "k", ld)
		a-structure PROF_INSTANT("x", "k", sp)
		a-name-that-is-no-literal PROF_INSTANT(name)
		a-key-that-is-no-literal PROF_BEGIN("x", name, 1)
		a-pool-that-is-no-literal PROF_FREE(name, ip)
		seven-pairs PROF_BEGIN("x","a",1,"b",2,"c",3,"d",4,"e",5,"f",6,"g",7)
		a-key-without-a-value PROF_BEGIN("x", "a", 1, "b")
		a-lone-key PROF_END("a")
		a-string-as-a-counter PROF_COUNTER("x", name)
		a-pointer-as-an-id PROF_FLOW_OUT(ip)
		an-unknown-domain PROF_BEGIN_IN(nowhere, "x")
		a-string-in-a-marker's-counter prof_marker_counter(&marker, "k", name)
		a-key-without-a-value-in-it prof_marker_counter(&marker, "k")
		an-integer-as-a-marker prof_marker_start(id + 1.5)
	END
	while read -r what definition; do
		check "$compiler rejects $what" rejects $compiler "(void)0" "$definition"
	done <<-'END'
		a-marker-whose-name-is-no-literal PROF_MARKER(x, prof_default, name);
		a-task-of-an-unknown-domain PROF_TASK(x, nowhere, "x");
		an-option-that-there-is-not PROF_MARKER(x, prof_default, "x", .colour = 1);
		a-counter-whose-name-is-no-literal PROF_COUNTER_OBJECT(x, prof_default, name, 0);
	END
	case $compiler in *++) ;; *) continue ;; esac
	while read -r what statement; do
		check "$compiler rejects $what" rejects $compiler "$statement"
	done <<-'END'
		a-task-as-a-marker prof_marker_start(&task)
		a-guard-that-is-copied proftrace::task_scope a(task), b(a)
		a-guard-that-is-assigned proftrace::task_scope a(task), b; b = a
		a-guard-of-another-object proftrace::task_scope a(marker)
		a-guard-of-what-does-not-last proftrace::task_scope a((prof_task_t()))
		a-pool's-guard-that-is-moved proftrace::memory_scope a("x"), b(static_cast<proftrace::memory_scope &&>(a))
	END
done

# --- what the compiler says of a mistake ------------------------------------------------------------------

# The first error that it prints has this in it.
says() { # COMPILER TEXT STATEMENT
	case $1 in *++*) std="-std=c++11 -x c++" ;; *) std=-std=gnu11 ;; esac
	frame "$3" "" >bad.c
	! $1 $std -w -I"$include" -fsyntax-only bad.c 2>errors && grep -m1 'error:' errors >log && grep -qF "$2" log
}
says_old() { # COMPILER STANDARD
	case $1 in *++*) std="-std=$2 -x c++" ;; *) std=-std=$2 ;; esac
	echo '#include <proftrace.h>' >bad.c
	! $1 $std -w -I"$include" -fsyntax-only bad.c 2>errors && grep -m1 'error:' errors >log &&
		grep -qF 'proftrace.h needs C99 or C++11 (-std=gnu99 or later)' log
}
for compiler in gcc clang g++ clang++; do
	[ "$part" = "says-$compiler" ] || continue
	if ! have $compiler; then
		skip "mistakes: $compiler" "no $compiler"
		continue
	fi
	while IFS='|' read -r text statement; do
		check "$compiler says: $text: $statement" says $compiler "proftrace: $text" "$statement"
	done <<-'END'
		the name must be a string literal; use PROF_BEGIN_DYN|PROF_BEGIN(name)
		the name must be a string literal; use PROF_INSTANT_DYN|PROF_INSTANT(name, "k", 1)
		the name must be a string literal; use PROF_SCOPE_DYN|PROF_SCOPE(name, "k", 1)
		the name must be a string literal|PROF_COUNTER(name, 1)
		the name must be a string literal|PROF_ASYNC_BEGIN(name, 1)
		the name must be a string literal|PROF_FREE(name, ip)
		a value is an integer of up to 64 bits|PROF_INSTANT("x", "k", ip)
		a value is an integer of up to 64 bits|PROF_SCOPE("x", "k", sp)
		a value is an integer of up to 64 bits|PROF_INSTANT("x", "k", (__int128)1)
		a value is an integer of up to 64 bits|PROF_INSTANT("x", "k", ld)
		the value of a counter is an integer of up to 64 bits|PROF_COUNTER("x", name)
		the value of a counter is an integer of up to 64 bits|PROF_COUNTERS("x", "k", dp)
		a key without a value|PROF_BEGIN("x", "a", 1, "b")
		a key without a value|PROF_END("a")
		a marker takes at most six pairs|PROF_BEGIN("x","a",1,"b",2,"c",3,"d",4,"e",5,"f",6,"g",7)
		a marker takes at most six pairs|PROF_END("a",1,"b",2,"c",3,"d",4,"e",5,"f",6,"g",7,"h",8,"i")
	END
	case $compiler in *++) old=c++98 ;; *) old=c89 ;; esac
	check "$compiler -std=$old is told what is needed" says_old $compiler $old
done

# --- what including it brings ----------------------------------------------------------------------------

# Macros, besides its own and those of the headers that it promises.
leaks_nothing() {
	echo '#include <proftrace.h>' >with.c
	printf '#include <%s>\n' stdint.h stddef.h stdbool.h >without.c
	"$@" -I"$include" -dM -E with.c | sort >with && "$@" -dM -E without.c | sort >without &&
		grep -q '^#define PROF_BEGIN' with &&
		! comm -23 with without | grep -v '^#define \(PROF\|prof_\)' >log
}
# Ten objects that differ in the name of their function.
ten() { # OBJECT
	for i in 1 2 3 4 5 6 7 8 9; do
		objcopy --redefine-sym f0=f$i --rename-section .text.f0=.text.f$i "$1"0.o "$1"$i.o || return 1
	done
}
# A file without markers has nothing of it, and ten of them no more than ten that do not include it.
adds_nothing() {
	printf '#include <proftrace.h>\nint f0(void);\nint f0(void) { return 0; }\n' >with.c
	printf 'int f0(void);\nint f0(void) { return 0; }\n' >without.c
	"$@" -I"$include" -c with.c -o with0.o && "$@" -c without.c -o without0.o &&
		ten with && ten without && size with0.o without0.o >log &&
		awk 'NR > 1 { n[NR] = $4 } END { exit n[2] != n[3] }' log || return 1
	"$@" -nostdlib -shared -fPIC with?.o -o with.so && "$@" -nostdlib -shared -fPIC without?.o -o without.so &&
		size with.so without.so >log &&
		awk 'NR > 1 { n[NR] = $4 } END { exit !(n[2] - n[3] <= 200) }' log
}
# Ten files with one marker each: what they share is there once (by GNU ld and gold).
shares() {
	printf '#include <proftrace.h>\nvoid f0(void);\nvoid f0(void) { PROF_INSTANT("x"); }\n' >with.c
	"$@" -I"$include" -c with.c -o with0.o && ten with || return 1
	gcc -shared with0.o -o one.so && gcc -shared with?.o -o ten.so && size one.so ten.so >log &&
		awk 'NR > 1 { n[NR] = $1 + $2 } END { print (n[3] - n[2]) / 9, "bytes a file"
			exit !(n[3] - n[2] <= 9 * 320) }' log >more || { cat more >>log; return 1; }
}
# What people have turned on, with every kind of marker.
quiet() {
	# gcc has warnings that only the optimiser finds; all of clang's are found without it.
	case $1 in clang*) only=-fsyntax-only ;; *) only='-S -o /dev/null' ;; esac
	"$@" -I"$include" $only "$programs/quiet.c" && "$@" -I"$include" $only "$programs/quiet_locks.c" &&
		"$@" -I"$include" -DPROFTRACE_DISABLE -fsyntax-only "$programs/quiet_locks.c"
}
loud="-Werror -Wall -Wextra -Wpedantic -Wredundant-decls -Wshadow -Wundef -Wconversion -Wsign-conversion
	-Wcast-qual -Wcast-align -Wmissing-declarations"
loud_c="$loud -Wdeclaration-after-statement -Wstrict-prototypes -Wmissing-prototypes"
# Not of C++98, of what a structure leaves free, of an object that may go unused, nor of the one event that is
# sent past its buffer.
everything="-Werror -Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-padded
	-Wno-used-but-marked-unused -Wno-alloca"
for compiler in gcc clang g++ clang++; do
	[ "$part" = "brings-$compiler" ] || continue
	if ! have $compiler; then
		skip "what including it brings: $compiler" "no $compiler"
		continue
	fi
	case $compiler in *++) x="-x c++" standards="c++11 c++14 c++17 c++20" ;; *) x='' standards="c99 c11 gnu11 c2x" ;; esac
	for standard in $standards; do
		check "it defines macros of its own only: $compiler -std=$standard" \
			leaks_nothing $compiler $x -std=$standard
		case $compiler in
		*++) set -- $loud -Wold-style-cast ;;
		*) set -- $loud_c ;;
		esac
		[ $compiler != g++ ] || set -- "$@" -Wuseless-cast
		for level in -O0 -O2; do
			check "no warning: $compiler -std=$standard $level" quiet $compiler $x -std=$standard $level "$@"
		done
		case $compiler in clang*)
			check "no warning: $compiler -std=$standard -Weverything" quiet $compiler $x -std=$standard $everything
			;;
		esac
	done
	case $compiler in *++) continue ;; esac
	for level in -O0 -O1 -O2 -O3 "-O2 -ffunction-sections"; do
		check "a file without markers has nothing of it: $compiler $level" adds_nothing $compiler -fPIC $level
		check "files with markers share what they can: $compiler $level" shares $compiler -fPIC $level
	done
done

[ "$part" = rest ] || exit 0

# --- the binary interface: what the stubs are handed ---------------------------------------------------

values() {
	program=$1
	compiler=$2
	shift 2
	gcc -O1 -c "$programs/capture.c" -o capture.o &&
		$compiler $(language "$compiler" | sed s/-Wold-style-cast//) "$@" -I"$programs" \
			-c "$programs/$program.c" -o values.o &&
		$compiler values.o capture.o -o values && ./values
}
for flags in "gcc -std=c99 -O0" "gcc -std=c11 -O2" "gcc -std=c11 -O1 -funsigned-char" \
	"clang -std=c99 -O2" "clang -std=c17 -O0" "g++ -std=c++11 -O2" "g++ -std=c++20 -O0" \
	"clang++ -std=c++11 -O0" "clang++ -std=c++20 -O2"; do
	if have "${flags%% *}"; then
		check "values arrive: $flags" values values $flags
		check "objects' marks arrive: $flags" values objects $flags
	else
		skip "values arrive: $flags" "no ${flags%% *}"
	fi
done

# --- notes ---------------------------------------------------------------------------------------------

link gcc -std=c11 -O2 >log 2>&1

readelf_finds() {
	readelf -n program | awk '/Provider:/ { p = $2 } /Name:/ { print p, $2 }' | sort -u >found &&
		for kind in $domain_kinds; do
			grep -qx "net $kind" found && grep -qx "prof_default $kind" found || return 1
		done && grep -qx "prof_control step" found
}
check "readelf -n lists every kind of each domain" readelf_finds

repeated() {
	{
		echo '#include <proftrace.h>'
		echo 'int main(int argc, char **argv) { (void)argv;'
		for i in 1 2 3 4 5 6 7 8 9 10; do
			echo "PROF_INSTANT(\"i$i\", \"argc\", argc); PROF_BEGIN(\"$i\"); PROF_END();"
		done
		echo 'return 0; }'
	} >many.c
	gcc $cwarn -O2 many.c -o many && ./many && ../notes many >sites.many &&
		[ "$(grep -c '^default ' sites.many)" -eq 11 ]
}
check "ten markers have as many stubs as one" repeated

unused() {
	gcc $cwarn -O2 -ffunction-sections -Wl,--gc-sections many.c -o many && ../notes many >sites.many &&
		printf 'default begin\ndefault end\ndefault instant\ndefault batch\n flush\n read_strings\n' | diff - sites.many
}
check "--gc-sections drops the stubs that nobody calls, and only those" unused

stripped() { "$1" -o stripped program && ./stripped && same_sites_of_stripped; }
same_sites_of_stripped() {
	../notes stripped | grep -v -e '^no .note.stapsdt$' -e '^(run time) ' | sort >sites && diff expected.all sites
}
for tool in strip llvm-strip; do
	if have $tool; then
		check "a binary keeps .note.proftrace through $tool" stripped $tool
	else
		skip "a binary keeps .note.proftrace through $tool" "no $tool"
	fi
done

named() {
	cat >named.c <<-'END'
		#include <proftrace.h>
		#define NAME "a" "." "b \"quoted\" \\ caf\303\251"
		PROF_DOMAIN(odd, NAME);
		int main(void) { PROF_BEGIN_IN(odd, "x"); PROF_END_IN(odd); return 0; }
	END
	$1 $cwarn named.c -o named && ../notes named | grep -qxF 'a.b "quoted" \ café end'
}
for compiler in gcc clang; do
	if have $compiler; then
		check "a domain's name may hold quotes and UTF-8, and be several literals: $compiler" \
			named $compiler
	else
		skip "odd names of domains: $compiler" "no $compiler"
	fi
done

# --- what is left of a marker that is off ----------------------------------------------------------------

# The way through one_marker() or one_object() that no branch leaves: a load, a test (or both in one), a branch, and
# back. That clang makes room on the stack before it looks is not the marker's doing.
off_is_cheap() {
	off_path one_marker && off_path one_object
}
off_path() {
	objdump -d --no-show-raw-insn shape.o |
		awk -v f="<$1>:" 'index($0, f) { on = 1; next }
			on && NF && !/%rsp$/ { print $2; if ($2 ~ /^ret/) exit }' >path &&
		[ "$(grep -c '^j' path)" -eq 1 ] && [ "$(wc -l <path)" -le 4 ] && ! grep -q call path &&
		tail -1 path | grep -q '^ret'
}
# A lock that is off: the same, then what it wraps.
lock_is_cheap() {
	objdump -dr --no-show-raw-insn shape.o | awk '/<one_lock>:/ { on = 1; next }
			on && /pthread_mutex_lock/ { exit } on && /^ *[0-9a-f]+:\t/ && !/R_X86_64/ { print $2 }' >path &&
		[ "$(grep -c '^j[^m]' path)" -eq 1 ] && [ "$(wc -l <path)" -le 4 ]
}
# one_scope() reads the switch once: its end looks at what it knows, not at the switch.
scope_reads_once() {
	objdump -dr shape.o | awk '/<one_scope.*>:/ { on = 1 } /^$/ { on = 0 } on' >path &&
		[ "$(grep -c prof_domain_prof_default path)" -eq 1 ] && ! grep -q 'call *\*' path
}
if [ "$(uname -m)" = x86_64 ]; then
	for compiler in gcc clang; do
		if have $compiler; then
			check "shape.c: $compiler" $compiler -O2 -fcf-protection=none -I"$include" -c "$programs/shape.c" -o shape.o
			check "a marker that is off is a load and a branch: $compiler" off_is_cheap
			check "a lock that is off is a load and a branch more: $compiler" lock_is_cheap
			check "a scope reads the switch once: $compiler" scope_reads_once
		else
			skip "a marker that is off is a load and a branch: $compiler" "no $compiler"
		fi
	done
else
	skip "a marker that is off is a load and a branch" "the test reads x86-64 code"
fi

# --- compiled to nothing -----------------------------------------------------------------------------

disabled() {
	compiler=$1
	shift
	$compiler $(language "$compiler") "$@" -DPROFTRACE_DISABLE -DLIBRARY_IS_LINKED_IN=1 \
		"$programs/main.c" "$programs/second.c" "$programs/library.c" -o off && ./off &&
		! nm off | grep -i ' prof_' && ! readelf -SW off | grep -E 'note.(stapsdt|proftrace)|probes'
}
for flags in "gcc -std=c99 -O0" "clang -std=c11 -O0" "g++ -std=c++11 -O0" "clang++ -std=c++20 -O1"; do
	if have "${flags%% *}"; then
		check "PROFTRACE_DISABLE leaves nothing: $flags" disabled $flags
	else
		skip "PROFTRACE_DISABLE leaves nothing: $flags" "no ${flags%% *}"
	fi
done

# --- arm64 ---------------------------------------------------------------------------------------------

cross=aarch64-linux-gnu-gcc
arm64() {
	compiler=$1
	shift
	for f in main second library; do
		$compiler $(language "$1") "$@" -DLIBRARY_IS_LINKED_IN=1 -c "$programs/$f.c" -o $f.o || return 1
	done
	$cross -static main.o second.o library.o -o program.arm64 && same_sites program.arm64 || return 1
	! have qemu-aarch64 || qemu-aarch64 ./program.arm64
}
sysroot=/usr/aarch64-linux-gnu/include
if have $cross; then
	check "arm64: $cross -O0" arm64 $cross -std=c99 -O0
	check "arm64: $cross -O2, branch protection" arm64 $cross -std=c11 -O2 -mbranch-protection=standard
	if have clang; then
		check "arm64: clang -O2" arm64 "clang --target=aarch64-linux-gnu -isystem $sysroot" -std=c11 -O2
	else
		skip "arm64: clang -O2" "no clang"
	fi
else
	skip "arm64" "no $cross"
fi

# --- trace handlers --------------------------------------------------------------------------------------

handler() { # COMPILER STANDARD
	$1 $(language "$1" | sed 's/-Wold-style-cast//') -std="$2" -shared -fPIC "$here/../../tools/samples/slow_slices.c" -o handler.so &&
		nm -D --defined-only handler.so | grep -q ' T .*proftrace_get_handler'
}
for compiler in "gcc c99" "clang c99" "g++ c++11" "clang++ c++11"; do
	if have ${compiler% *}; then
		check "handler.h: $compiler" handler $compiler
	else
		skip "handler.h: $compiler" "no ${compiler% *}"
	fi
done

# --- programs that other tests record --------------------------------------------------------------------

whole() {
	for level in -O0 -O2; do
		"$1" -std=gnu11 $cwarn $level "$here/../integration/programs/every_kind.c" -o every -pthread &&
			./every 2 3 >counts && grep -q '^total [1-9]' counts || return 1
	done
	for level in -O0 -O2 -O3; do
		"$1" -std=gnu11 $cwarn $level "$here/../integration/programs/leaf.c" -o leaf &&
			./leaf 1000 >sum$level || return 1
	done
	cmp sum-O0 sum-O2 && cmp sum-O0 sum-O3
}
for compiler in gcc clang; do
	if have $compiler; then
		check "every_kind.c and leaf.c: $compiler" whole $compiler
	else
		skip "every_kind.c and leaf.c: $compiler" "no $compiler"
	fi
done
exit 0
