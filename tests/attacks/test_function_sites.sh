#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorder that was taken over requests a breakpoint at every byte of the code (-f) of a library that all
# processes map, and of a set-user-ID program. objdump, which is independent of proftrace, says where instructions
# begin.
. "$(dirname "$0")/lib.sh"
tool=$root/build/tests/tools/every_byte
# With a breakpoint in a wrong place it computes something else, perhaps for ever: that takes CPU time, of which the limit is.
# On a busy machine the kernel waits for the memory locks of all processes that map the library, at each site.
every_byte() { (ulimit -t 100 && exec timeout -k 5 400 "$tool" "$@"); }
if ! can_trace || ! command -v objdump >/dev/null || ! every_byte all /proc/self/exe >/dev/null 2>&1; then
	skip "a breakpoint at every byte" "needs BPF and objdump"
	finish
fi
libc=$(ldd "$tool" | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')
su=$(command -v su)

# What is not as it should be of the addresses that a tool printed: an instruction must begin there, and at
# an exit it must be one that leaves.
wrong() { # FILE SAID
	instructions=$tmp/${1##*/}.instructions
	[ -s "$instructions" ] || objdump -d --no-show-raw-insn "$1" | grep -E '^ *[0-9a-f]+:' >"$instructions"
	awk -v said="$2" '
		/^ *[0-9a-f]+:\t/ {
			address = $1; sub(/:$/, "", address)
			instruction[address] = $0; sub(/^ *[0-9a-f]+:\t/, "", instruction[address])
		}
		END {
			while ((getline < said) > 0) {
				if ($1 !~ /^(begin|exit|granted|differs)$/) continue
				if (!($2 in instruction)) print "not an instruction:", $0
				else if ($1 == "exit" && instruction[$2] !~ /^(notrack |bnd |rep |repz )*(ret|j)/)
					print "does not leave:", $0, instruction[$2]
			}
		}' "$instructions"
}
lines_of() { grep -c "^$2 " "$1"; }
some() { [ "$(lines_of "$1" "$2")" -ge "$3" ]; }

# --- what is proved ----------------------------------------------------------------------------------
every_byte all "$libc" >"$tmp/all"
equal "libc: the broker answers for all functions" "$?" 0
check "libc: of more than a thousand functions" some "$tmp/all" begin 1000
never_else "libc: where these begin and are left are instructions that do" "$(wrong "$libc" "$tmp/all" | head -5)" ""
# (What chooses a function is one itself, by a name that only debug files have.)
readelf -W --dyn-syms -s "$libc" | awk '$4 ~ /^I?FUNC$/ && $7 != "UND" { sub(/^0*/, "", $2); print $2 }' | sort -u >"$tmp/symbols"
sed -n 's/^begin [^ ]* //p' "$tmp/all" | sort -u >"$tmp/named"
never_else "libc: each by a symbol that readelf finds as well" "$(comm -13 "$tmp/symbols" "$tmp/named" | head -5)" ""

# --- every byte, one by one: around another function in each run -------------------------------------------
asked=40000
code=$(readelf -lW "$libc" | awk '$1 == "LOAD" && $7 $8 == "RE" { print $3; exit }')
every_byte attach "$libc" 10 0 | awk '$1 == "begin" { print $2 }' >"$tmp/tenth"
around=0x$(sed -n "$(($$ % $(wc -l <"$tmp/tenth") + 1))p" "$tmp/tenth")
skipped=$((around - code > asked / 2 ? around - code - asked / 2 : 0))
every_byte attach "$libc" 10 $asked $skipped >"$tmp/libc"
grep -E '^(begin|exit) ' "$tmp/libc" | cut -d' ' -f2 | sort -u >"$tmp/proved"
sed -n 's/^granted //p' "$tmp/libc" | sort -u >"$tmp/granted"
equal "libc: every byte was asked for ($asked after the first $skipped)" $(($(said "$tmp/libc" refused) + $(lines_of "$tmp/libc" granted))) $asked
check "libc: something is granted" test -s "$tmp/granted"
never_else "libc: nothing that was not proved" "$(comm -13 "$tmp/proved" "$tmp/granted" | head -5)" ""
awk '$1 == "begin" { print $2 }' "$tmp/libc" | sort -u >"$tmp/begin"
sed -n 's/^returns //p' "$tmp/libc" | sort -u >"$tmp/returns"
check "libc: a return probe is granted" test -s "$tmp/returns"
never_else "libc: return probes at nothing but the beginnings of functions" "$(comm -13 "$tmp/begin" "$tmp/returns" | head -5)" ""
never_else "libc: nothing but the beginnings of instructions" "$(wrong "$libc" "$tmp/libc" | head -5)" ""
never_else "libc: no request ends otherwise" "$(grep '^error' "$tmp/libc" | head -3)" ""

# --- a program that runs as root -------------------------------------------------------------------------
if [ -r "$su" ] && [ -u "$su" ]; then
	every_byte beginnings "$su" >"$tmp/su"
	equal "su: no byte of it is a function because the recorder says so" \
		"$(wrong "$su" "$tmp/su" | head -3)$(readelf -W --dyn-syms -s "$su" | awk '$4 == "FUNC" && $7 != "UND"' | wc -l)" \
		"$(lines_of "$tmp/su" begin)"
	never_else "su: nothing is attached to but what its symbols say" "$(lines_of "$tmp/su" granted)" \
		"$(grep -E '^(begin|exit) ' "$tmp/su" | cut -d' ' -f2 | sort -u | wc -l)"
	check "su: every byte was asked for" some "$tmp/su" refused 1
else
	skip "su" "there is no set-uid su that can be read"
fi

# --- in memory --------------------------------------------------------------------------------------------
every_byte memory "$libc" 10 >"$tmp/memory"
equal "the library that the attacker has mapped is looked at" "$?" 0
# Other recordings may have theirs in the same library.
grep -E '^(begin|exit) ' "$tmp/all" | cut -d' ' -f2 | sort -u >"$tmp/proved"
sed -n 's/^differs \(.*\) cc$/\1/p' "$tmp/memory" | sort -u >"$tmp/breakpoints"
check "there are breakpoints in it" test -s "$tmp/breakpoints"
equal "no other byte is changed" "$(grep '^differs' "$tmp/memory" | grep -cv ' cc$')" 0
never_else "none but where it was proved" "$(comm -13 "$tmp/proved" "$tmp/breakpoints" | head -3)" ""
never_else "none in the middle of an instruction" "$(wrong "$libc" "$tmp/memory" | head -3)" ""

# --- another file with the same numbers -----------------------------------------------------------------------
# Device, inode, size and times of a file of an overlay do not say whose bytes it has. What was proved of one is not true of the other.
mkdir "$tmp/twins"
cp -L "${libc%/*}/libm.so.6" "$tmp/twin" # which is smaller
truncate -s "$(stat -L -c %s "$libc")" "$tmp/twin"
every_byte twins "$tmp/twins" "$tmp/twin" "$libc" >"$tmp/twins.out"
status=$?
if [ $status -eq 2 ]; then
	skip "another file with the same numbers" "no overlay with layers of bytes alone (Linux 6.5)"
else
	check "another file with the same numbers: it is attached to what was proved" some "$tmp/twins.out" exit 100
	never_else "another file with the same numbers: not a byte of it is changed" \
		"$status $(grep '^differs' "$tmp/twins.out" | head -3)" "0 "
fi
finish
