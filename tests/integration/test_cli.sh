#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Wrong usage and bad input always give a message and an exit status. Also the forms of -o, and the exit status of
# the command.
. "$(dirname "$0")/lib.sh"

expect() { # NAME STATUS PATTERN COMMAND...
	name=$1 wanted=$2 pattern=$3
	shift 3
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	equal "$name: exit status" $status "$wanted"
	if grep -qE -- "$pattern" "$tmp/err"; then
		ok "$name: says why"
	else
		not_ok "$name: says why" "$(cat "$tmp/err")"
	fi
}

cd "$tmp" || exit 1
expect "no argument" 2 'Usage: proftrace' "$proftrace"
expect "unknown verb" 2 "unknown verb 'recrod'" "$proftrace" recrod
expect "nothing to record" 2 'nothing to record' "$proftrace" record
expect "bad option" 2 "^proftrace: unknown option '--frobnicate'$" "$proftrace" record --frobnicate -p 1
expect "bad option, and where help is" 2 '^hint: see `proftrace record --help`$' "$proftrace" --frobnicate=x
expect "bad option of one letter" 2 "unknown option '-Z'" "$proftrace" -qvZ -p 1
expect "an option that may be several" 2 "'--s' is ambiguous: .*--schedule.* --strict" "$proftrace" --s
expect "an option without its value" 2 "'--keep' needs a value: N" "$proftrace" --keep
expect "one of one letter" 2 "'-p' needs a value: LIST" "$proftrace" -qp
expect "an option that has none" 2 "'--strict' takes no value" "$proftrace" --str=3
for verb in $("$proftrace" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
	expect "$verb: wrong usage, in one form" 2 "^hint: see .proftrace $verb --help.$" "$proftrace" $verb --frobnicate
	equal "$verb: in two lines" "$(grep -c '^proftrace: ' "$tmp/err")$(wc -l <"$tmp/err")" 12
done
equal "argp has no words of its own left" "$(grep -rl 'argp_error\|argp_parse(&argp' "$root/user/cmd")" ""
expect "bad pid" 2 "'12x' is not a PID list" "$proftrace" -p 12x
expect "no pid between commas" 2 "'1,,2' is not a PID list" "$proftrace" -p 1,,2
expect "no pid at all" 2 "' ' is not a PID list" "$proftrace" -p ' '
expect "pids as pidof and pgrep print them" 1 "no such process" "$proftrace" -p ' 1073741822 1073741821
1073741823 , 1073741820 '
expect "bad duration" 2 "is not a time" "$proftrace" -p 1 -d soon
expect "bad size" 2 "is not a size" "$proftrace" -p 1 --buffer lots
expect "a directory for a name" 2 "'here/' is a directory" "$proftrace" -o here/ -p 1
expect "no trace to include something in" 2 'writes no trace' "$proftrace" --stats-only --include-json x -p 1
expect "no trace to go on in" 2 'writes no trace' "$proftrace" --stats-only --max-size 1M -p 1
expect "no files to delete" 2 'keep is for recordings with many files' "$proftrace" --keep 2 -p 1
expect "a device for a name" 2 "'/dev/null' is not a regular file" "$proftrace" -o /dev/null -p 1
expect "a mode that is not there" 2 "unknown mode 'swift'" "$proftrace" --mode swift -p 1
expect "two outputs in one file" 2 "'x.json' is given twice" "$proftrace" -o x -o x.json -p 1
expect "how often nothing is read" 2 'needs --system' "$proftrace" --system-interval 1s -p 1
check "help" "$proftrace" record --help
check "version" "$proftrace" --version
# Libraries that few commands use are loaded by these alone, and named where they are missing.
mkdir missing
for library in libyajl.so.2 libdeflate.so.0 liblzma.so.5; do
	: >missing/$library
done
equal "the program starts without them" "$(LD_LIBRARY_PATH=missing "$proftrace" --version | head -1)" "$("$proftrace" --version | head -1)"
echo '[]' >empty.json
expect "no library that reads JSON" 1 "cannot load 'libyajl.so.2': .*missing/libyajl.so.2: file too short" \
	env LD_LIBRARY_PATH=missing "$proftrace" report empty.json
equal "it is no matter of bytes, and the hint names the package" "$(grep -c 'at byte' "$tmp/err") $(grep '^hint:' "$tmp/err")" \
	"0 hint: on Debian: apt install libyajl2"
for library in libbpf.so.1 libelf.so.1 libz.so.1 libprotobuf-c.so.1 libseccomp.so.2; do
	: >missing/$library
	expect "no $library" 1 "cannot load '$library'" env LD_LIBRARY_PATH=missing "$proftrace" ctl
	expect "the recorder has no $library" 1 "cannot load '$library'" \
		env LD_LIBRARY_PATH=missing "$proftrace" -o missing/trace -- true
	rm missing/$library
done
expect "no library that compresses" 1 "cannot write 'out.json.gz': libdeflate.*cannot be loaded .*apt install libdeflate0" \
	env LD_LIBRARY_PATH=missing "$proftrace" merge -o out.json.gz "$root/tests/data"/*.json
expect "no library that unpacks symbols" 1 "cannot load 'liblzma.so.5'" env LD_LIBRARY_PATH=missing "$proftrace" list -f "$proftrace"
expect "report of a missing file" 1 "No such file" "$proftrace" report nothing.json
printf 'hello, world\n' >text
expect "report of a text file" 1 "not a trace|no trace" "$proftrace" report text
expect "report of an ELF file" 1 "ELF" "$proftrace" report "$proftrace"
expect "list of a text file" 1 "ELF" "$proftrace" list text
need_tracing
expect "the recorder has no library that reads JSON" 1 "cannot load 'libyajl.so.2'" \
	env LD_LIBRARY_PATH=missing "$proftrace" -e none -o missing/trace -- true
expect "nor one that unpacks symbols" 1 "cannot load 'liblzma.so.5'" \
	env LD_LIBRARY_PATH=missing "$proftrace" -e none -f main -o missing/trace -- true
expect "nor one that compresses" 1 "cannot load 'libdeflate.so.0'" \
	sh -c 'rm missing/libyajl.so.2; LD_LIBRARY_PATH=missing "$1" -e none -o missing/trace.json.gz -- true' - "$proftrace"

expect "no such process" 1 "no such process '999999999?'" "$proftrace" -p 99999999
expect "no such process: what helps" 1 "^hint: .*ps -e.*-n NAME" "$proftrace" -p 99999999
sleep 60 &
sleeper=$!
expect "no markers" 1 "no markers found in process '$sleeper'" "$proftrace" -p $sleeper
check "no markers: hint" grep -q '^hint: ' "$tmp/err"
kill $sleeper
expect "unwritable output" 1 "cannot write '/nowhere/x.pftrace': No such file" \
	"$proftrace" -o /nowhere/x -- "$programs/executes" 0
expect "command not found" 1 "cannot run 'no-such-program'" "$proftrace" -- no-such-program
expect "command not found: a hint" 1 "hint: is it in PATH" "$proftrace" -- no-such-program
expect "a path that is not there: a hint" 1 "hint: a relative path starts in the directory" "$proftrace" -- ./no-such-program
expect "the mode that is there" 0 'no markers found' "$proftrace" --mode exact --output nm -- true
expect "command without markers" 0 "no markers found" "$proftrace" -o nm -- true
expect "command without a domain that is wanted" 0 "in the domains of -D" \
	"$proftrace" -o nd -D 'no.such.*' -- "$programs/executes" 1
check "... hint" grep -q '^hint: .*domains' "$tmp/err"
"$proftrace" -q -o st -- sh -c 'exit 42'
equal "the command's exit status" $? 42
"$proftrace" -q -o - -- sh -c 'exit 42' >/dev/full 2>/dev/null
equal "the command's exit status, if the recording fails, too" $? 42
"$proftrace" -q -o - -- true >/dev/full 2>/dev/null
equal "the recording's, if the command succeeds" $? 1
"$proftrace" -q -o st -- sh -c 'kill -TERM $$'
equal "the command's signal" $? 143

"$proftrace" -q -o one.pftrace -o two.json -o three.json.gz -- "$programs/executes" 2
equal "only the outputs named" "$(ls one* two* three* | tr '\n' ' ')" "one.pftrace three.json.gz two.json "
gunzip -c three.json.gz | cmp -s - two.json
equal "the same, compressed" $? 0
"$proftrace" -q -o - -- "$programs/executes" 2 >stdout.pftrace
"$canon" --count stdout.pftrace >a; "$canon" --count one.pftrace >b
check "Perfetto on standard output" cmp a b
"$proftrace" -q -- "$programs/executes" 1
equal "default name" "$(ls | grep -cE '^proftrace-executes-[0-9]+\.(json|pftrace)$')" 2
"$proftrace" -v -o said -- "$programs/executes" 1 2>"$tmp/err"
check "-v: the command's program by its name" grep -q "attached to [0-9]* sites\{0,1\} of '/.*/executes'" "$tmp/err"
"$proftrace" -o again -- "$programs/executes" 2 2>"$tmp/err"
check "summary: files" grep -q 'again.pftrace' "$tmp/err"
check "summary: account" grep -qE '[0-9]+ marks: [0-9]+ written, 0 lost' "$tmp/err"
check "summary: table" grep -q 'generation' "$tmp/err"
"$proftrace" report again.json >json.table 2>&1
"$proftrace" report again.pftrace >pf.table 2>&1
check "report: the same from both files" cmp json.table pf.table
expect "report: one recording twice" 0 "'again.json': the same recording as 'again.pftrace', so its events are counted twice" \
	"$proftrace" report again.pftrace again.json
equal "report: nothing fits" "$("$proftrace" report --name 'no such*' again.json | grep -c '^no name and category matches')" 1
expect "merge: one recording twice" 0 "'again.json': the same recording as 'again.pftrace'" \
	"$proftrace" merge -o both again.pftrace again.json
equal "report: one recording once" "$("$proftrace" report again.json 2>&1 >"$tmp/out")" ""
check "report: has the names" grep -q generation json.table
check "list: of a file" sh -c "'$proftrace' list '$programs/executes' | grep -q default"
check "check" "$proftrace" check

if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	mkdir theirs && chown nobody theirs
	cp "$programs/executes" marked # the build may lie where that user cannot look
	for invoked in "SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody)" "PKEXEC_UID=$(id -u nobody)" DOAS_USER=nobody; do
		by=${invoked%%_*}
		(cd theirs && rm -f * && env $invoked "$proftrace" -q -o mine -- sh -c "id -u > uid; exec ../marked 1")
		equal "$by: the command runs as the user" "$(cat theirs/uid)" "$(id -u nobody)"
		equal "$by: the files are the user's" \
			"$(stat -c %U theirs/mine.json theirs/mine.pftrace | sort -u)" nobody
		check "$by: it was recorded" grep -q generation theirs/mine.json
	done
	# doas may be told to pass on what its caller put into the environment.
	for invoked in "SUDO_UID=1 DOAS_USER=nobody" "PKEXEC_UID=1 DOAS_USER=nobody" "SUDO_UID=0 DOAS_USER=nobody" \
		"SUDO_UID= DOAS_USER=nobody" "SUDO_UID=-1" "SUDO_UID=4294967295" DOAS_USER=no-such-user; do
		expect "$invoked: refused" 1 "cannot tell who calls '" env $invoked "$proftrace" -q -o mine -- sh -c 'id -u >uid'
	done
	check "a contradiction: no command runs" test ! -e uid
	env SUDO_UID="$(id -u nobody)" SUDO_GID=42 DOAS_USER=nobody "$proftrace" -q -o "$tmp/theirs/mine" -- id -g >gid
	equal "doas: the group is of the user" "$(cat gid)" "$(id -g nobody)"
else
	skip "under sudo" "not root, or no user nobody"
fi
finish
