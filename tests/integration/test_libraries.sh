#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Many libraries with markers: the marks of all their constructors are recorded, with no more links, waits and
# requests than necessary. (`make bench` measures the time.)
. "$(dirname "$0")/lib.sh"
need_tracing

n=200 files=
mkdir "$tmp/lib"
for i in $(seq $n); do
	cp "$programs/library.so" "$tmp/lib/$i.so"
	files="$files $tmp/lib/$i.so"
done

# A folder of plug-ins, two in three without markers. It is older than ten seconds when it is used, at the end.
mkdir "$tmp/plugins"
for i in $(seq 150); do
	source=opened
	[ $((i % 3)) -ne 0 ] || source=library
	cp "$programs/$source.so" "$tmp/plugins/$i.so"
	plugins="${plugins:-} $tmp/plugins/$i.so"
done
# A folder of plug-ins without markers, each linked with a library of its own that lies alone elsewhere.
mkdir "$tmp/users"
for i in $(seq 50); do
	mkdir -p "$tmp/used/$i"
	cp "$programs/opened.so" "$tmp/used/$i/$i.so"
	gcc -shared -o "$tmp/users/$i.so" -Wl,--no-as-needed -L"$tmp/used/$i" -l:"$i.so" -Wl,-rpath,"$tmp/used/$i" || exit 1
	users="${users:-} $tmp/users/$i.so"
done
made=$(date +%s)

# OPTION...: then what `libraries` is called with, in $call. A thread is held for half a second at most: where the
# machine was too busy for that, which the recording says, it is made again.
record() { # NAME OPTION...
	recorded=$1
	shift
	for try in 1 2 3 4 5; do
		timeout -k 5 120 "$proftrace" record -q "$@" -o "$tmp/t" --summary-json "$tmp/s" -- \
			"$programs/libraries" $call $files >"$tmp/out" 2>"$tmp/err"
		status=$?
		[ $status -eq 0 ] && [ "$(field "$tmp/s" attached_late)" -gt 0 ] || break
		echo "# $recorded: try $try attached $(field "$tmp/s" attached_late) late"
	done
	equal "$recorded: exit status" $status 0
	equal "$recorded: the account adds up" "$(field "$tmp/s" adds_up)" true
	equal "$recorded: no file was refused" "$(field "$tmp/s" files_refused)" 0
	[ "$(field "$tmp/s" files_refused)" = 0 ] || sed 's/^/#   /' "$tmp/err"
}

all_marks() {
	equal "$recorded: nothing was attached late" "$(field "$tmp/s" attached_late)" 0
	equal "$recorded: the marks of all constructors" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marked)"
	equal "$recorded: written" "$(field "$tmp/s" written)" "$(said "$tmp/out" marked)"
}

at_most() { # WHAT FIELD MOST
	check "$recorded: $1, at most $3" test "$(field "$tmp/s" "$2")" -le "$3"
}

# Besides the libraries: the program, the dynamic linker, the C library, and threads held as the program begins.
others=8
call="1 1"
for mode in exact auto batch batch-now; do
	record "$n libraries, $mode" --mode $mode
	all_marks
	case $mode in
	exact) links=$n ;;
	auto) links=$((3 * n)) ;;       # no domain changes its mode as long as threads wait for libraries
	*) links=$((2 * n + 64)) ;;     # that have their batches at once
	esac
	at_most "links" links_attached $((links + others))
	at_most "threads held: once for each library" threads_held $((n + others))
	at_most "requests to detach" detach_requests 2
done
# A program that is linked with them: they are attached to before it maps them, so that no time limit matters. The same
# where a child executes it, and where a directory is named.
# shellcheck disable=SC2086
check "a program is linked with $n libraries" gcc -O2 -I"$root/include" -rdynamic -o "$tmp/linked" \
	"$root/tests/integration/programs/libraries.c" -Wl,--no-as-needed $files -lpthread
mkdir "$tmp/named"
cp "$programs/library.so" "$tmp/named/libnamed.so"
check "a program is linked with a library by name" gcc -O2 -I"$root/include" -rdynamic -o "$tmp/named/program" \
	"$root/tests/integration/programs/libraries.c" -Wl,--no-as-needed -L"$tmp/named" -lnamed -lpthread \
	'-Wl,-rpath,$ORIGIN'
record_program() { # NAME OPTION... -- COMMAND...
	recorded=$1
	shift
	"$proftrace" record -q -o "$tmp/t" --summary-json "$tmp/s" "$@" >"$tmp/out" 2>"$tmp/err"
	equal "$recorded: exit status" "$?" 0
	equal "$recorded: the marks of all constructors" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marked)"
	equal "$recorded: written" "$(field "$tmp/s" written)" "$(said "$tmp/out" marked)"
}
for mode in exact batch-now; do
	record_program "linked, $mode" --mode $mode -- "$tmp/linked" 1 0 -
done
record_program "linked, no children" --no-children -- "$tmp/linked" 1 0 -
record_program "linked, executed by a child" -- sh -c "'$tmp/linked' 1 0 -; true"
record_program "linked by name" -- "$tmp/named/program" 1 0 -

# The same for libraries of the system: nobody is held as a command begins that is linked with them alone.
if kernel_can "holding new libraries"; then
	echo 'int main(void) { return 0; }' | gcc -xc - -o "$tmp/system" -Wl,--no-as-needed -lm -lstdc++
	check "a program is linked with libraries of the system" "$tmp/system"
	"$proftrace" record -q -e none -o "$tmp/t" --summary-json "$tmp/s" -- "$tmp/system" 2>"$tmp/err"
	equal "libraries of the system: no thread is held" "$(field "$tmp/s" threads_held)" 0
else
	skip "libraries of the system: no thread is held" "this kernel cannot hold threads"
fi

record "$n libraries, no children" --no-children
all_marks
record "$n libraries, guarded" --max-overhead 90%
at_most "links: the domain's and the control site's of each" links_attached $((2 * n + others))

# Opened again, nothing is attached a second time; closing holds nobody.
call="1 3"
record "opened three times"
all_marks
at_most "links" links_attached $((n + others))
at_most "threads held: once for each library" threads_held $((n + others))

# A thread waits for a library without markers once: afterwards it is known, however often it is opened, and a new one
# with markers between them is found all the same.
marked_files=$files files=
for i in $(seq 100); do
	cp "$programs/opened.so" "$tmp/lib/without$i.so"
	files="$files $tmp/lib/without$i.so"
done
call="1 5"
for options in "--mode exact" "--mode batch" --no-children; do
	record "100 libraries without markers, five times, $options" $options
	at_most "threads held" threads_held $((100 + others))
done
mixed=$files
for i in $(seq 20); do mixed="$mixed $tmp/lib/$i.so $tmp/lib/without$i.so"; done
files=$mixed
for options in "--mode exact" "--mode batch" --no-children; do
	record "libraries with and without markers, $options" $options
	all_marks
	at_most "threads held: each time for a library with markers" threads_held $((100 + 5 * 20 + others))
done
files=$marked_files

files=$(echo $files | cut -d' ' -f-50)
# What is in the buffers of a library that is unloaded is handed over before it goes with it, and another one may
# then lie where it was.
for mode in batch batch-now; do
	record "opened three times, $mode" --mode $mode
	all_marks
	equal "$recorded: no buffer was looked for in vain" "$(field "$tmp/s" batches_unread)" 0
done

# Beside programs that want all processors: what releases a held thread comes before them.
call="1 1" busy=
for i in 1 2 3 4; do
	sh -c 'while :; do :; done' &
	busy="$busy $!"
done
for mode in exact batch batch-now; do
	record "beside busy programs, $mode" --mode $mode
	all_marks
done
kill $busy
wait $busy 2>/dev/null

call="4 2"
record "4 threads"
all_marks
at_most "links" links_attached $((50 + others))
record "4 threads, batch" --mode batch
all_marks
equal "$recorded: no buffer was looked for in vain" "$(field "$tmp/s" batches_unread)" 0

# After the second of a folder the others are read, at least one for each thread that was held, and those without markers
# hold nobody.
call="1 1" files=$plugins
while [ $(($(date +%s) - made)) -le 10 ]; do sleep 0.1; done
for options in "--mode exact" "--mode batch" --no-children; do
	record "a folder of plug-ins, $options" $options
	all_marks
	at_most "threads held: for those with markers, and half of the others" threads_held $((50 + 50 + others))
done
files=$users
for options in "--mode exact" --no-children; do
	record "plug-ins that are linked with libraries, $options" $options
	at_most "threads held: half as many as there are libraries" threads_held $((25 + others))
done
# What was read may be written over before it is opened.
record_program "a plug-in that is written over" -- "$programs/rewrites" "$tmp/plugins/1.so" "$tmp/plugins/2.so" \
	"$tmp/plugins/4.so" "$programs/library.so"

# The dynamic linker has its breakpoints where it calls the function at which threads are held, not in the function, where each
# costs ten times as much; without this its tests pass, and programs with many libraries begin late.
linker=$(ldd "$programs/libraries" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\).*/\1/p')
linker_calls "$linker" >"$tmp/calls"
if [ "$(uname -m)" != x86_64 ] || [ ! -s "$tmp/calls" ]; then
	skip "breakpoints at the calls of the linker" "not on x86-64, or no objdump"
elif grep -qw user_shstk /proc/cpuinfo || ! kernel_can "uprobe_multi links"; then
	skip "breakpoints at the calls of the linker" "this kernel cannot emulate calls for all programs, or has no links of many uprobes"
else
	inode=$(stat -L -c %i "$linker")
	"$proftrace" -q -e none -o "$tmp/t" -- sh -c "\"\$1\" \$\$ where; true" sh "$root/build/tests/attacks/changed_bytes" >"$tmp/out"
	while read -r address; do echo "at $inode $((0x$address))"; done <"$tmp/calls" | sort >"$tmp/expected"
	equal "breakpoints at the calls of the linker" "$(grep "^at $inode " "$tmp/out" | sort -u | comm -13 - "$tmp/expected")" ""
fi
finish
