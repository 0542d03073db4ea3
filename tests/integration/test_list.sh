#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `list` names each marker that the source names: in programs and libraries, stripped, linked with optimisation, and
# from damaged files it says so.
. "$(dirname "$0")/lib.sh"
. "$root/tests/kinds.sh"

cat >"$tmp/named.c" <<'END'
#include <proftrace.h>
PROF_DOMAIN(net, "net.rpc");
PROF_DOMAIN(own, "own");
PROF_DEFAULT_DOMAIN(own);
PROF_TASK(parse, net, "parse " "it");
PROF_FRAME(tick, own, "tick");
PROF_COUNTER_OBJECT(queue, own, "queue", 0);
PROF_MARKER(request, own, "request", .categories = "http");
static inline void twice(int i)
{
	PROF_BEGIN("50 % {a|b}", "k", i);
	PROF_END();
}
int main(int argc, char **argv)
{
	PROF_SCOPE("caf\303\251", "argc", argc);
	PROF_FUNCTION();
	twice(1);
	twice(2);
	PROF_INSTANT_IN(net, "sent", "what", *argv);
	PROF_INSTANT_IN(prof_default, "by default");
	PROF_COUNTER("load", 1);
	PROF_COUNTERS("shares", "a", 1, "b", 2);
	PROF_ALLOC("pool", argv, 1);
	PROF_FREE("pool", argv);
	PROF_INSTANT_DYN(argv[0]);
	PROF_STEP(1, 2);
	return 0;
}
END
cat >"$tmp/wanted" <<END
  domain default: $domain_kinds ($n_domain_kinds sites)
    instant: by default
  domain net.rpc: $domain_kinds ($n_domain_kinds sites)
    begin: parse it
    instant: sent
  domain own: $domain_kinds ($n_domain_kinds sites)
    begin: 50 % {a|b}, café, request
    counter: load, queue, shares
    async_begin: tick
    alloc: pool
    free: pool
  control: $control_kinds ($n_control_kinds sites)
END

lists() { # FILE
	"$proftrace" list "$1" >"$tmp/out" && sed 1d "$tmp/out" | diff "$tmp/wanted" -
}
built() { # NAME COMPILER...
	name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$name" "no $1"
	elif "$@" -I"$root/include" "$tmp/named.c" -o "$tmp/named" 2>"$tmp/err"; then
		check "$name" lists "$tmp/named"
	else
		not_ok "$name" "$(cat "$tmp/err")"
	fi
}
built "not optimised" cc -O0
built "optimised" cc -O3
built "a library" cc -O2 -fPIC -shared
built "at a fixed address" cc -O2 -no-pie
built "optimised by the linker" cc -O2 -flto
built "clang" clang -O2
built "clang, not optimised" clang -O0
built "C++" g++ -x c++ -std=c++20 -O2
built "compressed" cc -O2 -gz
strip -o "$tmp/stripped" "$tmp/named"
"$proftrace" list "$tmp/stripped" >"$tmp/out"
grep -v '^    ' "$tmp/wanted" >"$tmp/kinds"
check "stripped: the kinds are there" sh -c "sed 1d '$tmp/out' | diff '$tmp/kinds' -"

# An inline function that several files have is linked once, and with it the names of its markers.
printf '#include <proftrace.h>\nPROF_DOMAIN(net, "net");\ninline void both(int i) { PROF_SCOPE_IN(net, "both", "i", i); }\n' >"$tmp/both.h"
printf '#include "both.h"\nvoid other(); void other() { both(1); }\n' >"$tmp/a.cpp"
printf '#include "both.h"\nvoid other(); int main() { both(2); other(); }\n' >"$tmp/b.cpp"
for linker in bfd gold lld; do
	command -v ld.$linker >/dev/null || continue
	check "inline functions: $linker" g++ -O0 -fuse-ld=$linker -I"$root/include" "$tmp/a.cpp" "$tmp/b.cpp" -o "$tmp/both"
	equal "inline functions: the name, $linker" "$("$proftrace" list "$tmp/both" | grep '^    ')" "    begin: both"
done

# The built-in domain is there where one of its markers is, whichever form that has.
lists_domains() { # WANTED SOURCE COMPILER...
	wanted=$1
	printf '#include <proftrace.h>\n#include <proftrace/runtime.h>\n%s\n' "$2" >"$tmp/domains.c"
	shift 2
	"$@" -I"$root/include" "$tmp/domains.c" -o "$tmp/domains" &&
		[ "$("$proftrace" list "$tmp/domains" | sed -n 's/^  domain \([^:]*\):.*/\1/p' | tr '\n' ' ')" = "$wanted" ]
}
net='PROF_DOMAIN(net, "net"); PROF_DEFAULT_DOMAIN(net); PROF_TASK(task, net, "task");'
marks='PROF_SCOPE("a", "b", c); PROF_COUNTER("c", c); PROF_INSTANT_DYN(*v); PROF_CALL("d", c + 1); PROF_SLICE_AT("e", 1, 2);'
marks="$marks PROF_THREAD_NAME(\"f\"); PROF_STEP(1, 2); PROF_ALLOC(\"g\", v, 1); prof_task_start(&task); prof_scope_push(\"h\");"
while read -r compiler; do
	command -v ${compiler%% *} >/dev/null || continue
	while IFS='|' read -r what wanted file main; do
		check "the built-in domain, $what: $compiler" lists_domains "$wanted" "$file int main(int c, char **v) {
			(void)c; (void)v; $main }" $compiler
	done <<-END
		markers of another|net |$net|$marks return prof_is_enabled(&prof_default);
		its own|default |PROF_TASK(task, prof_default, "task");|$marks
		both|default net |$net|$marks PROF_INSTANT_IN(prof_default, "i");
		an object|default net |$net PROF_EVENT(event, "j");|$marks
		a dynamic name|default ||PROF_INSTANT_DYN(*v);
		made at run time|(run time) default ||prof_task_start(prof_task_get(prof_domain_get(*v), *v));
		named as the file's|default ||PROF_INSTANT("k");
		named as the file's by PROF_DEFAULT_DOMAIN|default |PROF_DEFAULT_DOMAIN(prof_default);|PROF_INSTANT("k");
	END
done <<-END
	cc -O0
	clang++ -x c++ -O1
END

# Linkers that drop what nobody calls may drop what lists objects; no others are named than there are.
sed -nE '/parse it$|tick$/d; s/, request$//; s/(load), queue/\1/; s/^    /&/p' "$tmp/wanted" >"$tmp/rest"
for linker in bfd gold lld; do
	command -v ld.$linker >/dev/null || continue
	cp "$tmp/rest" "$tmp/some"
	cc -O2 -fuse-ld=$linker -ffunction-sections -Wl,--gc-sections -I"$root/include" "$tmp/named.c" -o "$tmp/small"
	"$proftrace" list "$tmp/small" >"$tmp/out"
	equal "without unused sections, $linker" $? 0
	grep '^    ' "$tmp/out" >"$tmp/names"
	grep '^    ' "$tmp/wanted" | cmp -s - "$tmp/names" || cp "$tmp/names" "$tmp/some"
	check "without unused sections, $linker: the names" diff "$tmp/rest" "$tmp/some"
	equal "without unused sections, $linker: nothing is damaged" "$(grep -c 'left out' "$tmp/out")" 0
done

cc -O2 -I"$root/include" "$tmp/named.c" -o "$tmp/named"
section() { # SECTION: its offset and size in the file
	readelf -SW "$tmp/named" | sed -n "s/.* $1 *[A-Z]* *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/0x\1 0x\2/p"
}
set -- $(section '\.debug_proftrace')
check "there is a section" test $# -eq 2
# The second and the third word of each.
for i in $(seq 0 $(($2 / 24 - 1))); do
	head -c 16 /dev/zero | tr '\0' '\377' | dd of="$tmp/named" bs=1 seek=$(($1 + 24 * i + 8)) conv=notrunc 2>/dev/null
done
"$proftrace" list "$tmp/named" >"$tmp/out"
equal "damaged names: exit status" $? 0
equal "damaged names are counted" "$(sed -n 's/^  left out: \([0-9]*\) (damaged name of a marker)$/\1/p' "$tmp/out")" $(($2 / 24))
check "damaged names: the sites are there" grep -q '^  domain net.rpc: ' "$tmp/out"
finish
