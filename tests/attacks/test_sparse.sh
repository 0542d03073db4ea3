#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Somebody sends a trace that is not compressed and takes a few blocks, but is up to 1 TiB long: it consists of holes. Or
# of white space. Each verb ends within two seconds of CPU time, and says in one line what it is about.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
event='{"ph":"i","name":"a","ts":1,"pid":1,"tid":1}'
printf '[%s]' "$event" >one.json
"$proftrace" convert -q -o one.pftrace one.json
filler=$(head -c 20000 /dev/zero | tr '\0' a)

hole() { # SIZE: at the end of `trace`
	truncate -s "+$1" trace
}
# A length of a Perfetto field: five bytes, so that all lengths have as many.
length() { # BYTES
	printf "\\$(printf %o $(($1 % 128 + 128)))\\$(printf %o $(($1 / 128 % 128 + 128)))\\$(printf %o $(($1 / 16384 % 128 + 128)))\\$(printf %o $(($1 / 2097152 % 128 + 128)))\\$(printf %o $(($1 / 268435456)))"
}
in_pieces() { # SIZE_IN_MIB PIECE_IN_MIB COMMAND...
	pieces=$(($1 / $2))
	[ $pieces -lt 20 ] || pieces=20
	[ $pieces -ge 1 ] || pieces=1
	shift 2
	for _ in $(seq $pieces); do "$@"; done
}

# What is behind the first event, by the size in MiB. More than 20 pieces would not say more.
json_hole() { hole "$1M"; printf '%s]' "$event" >>trace; }
json_end() { printf ']' >>trace; hole "$1M"; }
json_string() {
	printf '{"ph":"i","name":"' >>trace
	hole "$1M"
	printf '"}]' >>trace
}
long_string() { printf '{"a":"%s' "$filler" >>trace; hole "$piece"M; printf '"},' >>trace; }
json_strings() {
	piece=$(($1 < 200 ? $1 : 200))
	in_pieces "$1" $piece long_string
	printf '%s]' "$event" >>trace
}
perfetto_hole() { hole "$1M"; cat one.pftrace >>trace; }
perfetto_end() { hole "$1M"; }
# A packet of another kind: field 2000 of 60 MiB.
packet() { { printf '\012'; length $((60 * 1048576 + 7)); printf '\202\175'; length $((60 * 1048576)); } >>trace; hole 60M; }
perfetto_packets() { in_pieces "$1" 60 packet; cat one.pftrace >>trace; }
perfetto_unknown() { { printf '\022'; length $((($1 < 8192 ? $1 : 8192) * 1048576)); } >>trace; hole "$1M"; }

attack() { # KIND FORMAT STATUS LINE MIB
	kind=$1 format=$2 wanted=$3 line=$4 mib=$5
	if [ "$format" = json ]; then printf '[%s,' "$event" >trace; else cat one.pftrace >trace; fi
	[ "$kind" = json_end ] && printf '[%s' "$event" >trace
	if ! "$kind" "$mib" 2>err; then
		skip "$kind, $mib MiB" "$(head -1 err)"
		return
	fi
	check "$kind, $mib MiB: it takes less than 2 MiB" test "$(du -k trace | cut -f1)" -lt 2048
	for command in report "convert -o o.json" "merge -o o.pftrace one.json"; do
		(ulimit -t 2 && ulimit -v 1000000 && exec timeout 60 "$proftrace" $command trace) >out 2>err </dev/null
		equal "$kind, $mib MiB: ${command%% *}: exit status" $? "$wanted"
		[ -z "$line" ] || equal "$kind, $mib MiB: ${command%% *}: one line says so" \
			"$(grep -c "^proftrace: .*'trace': $line\$" err) $(grep -c '^proftrace: ' err)" "1 1"
		rm -f o.json o.pftrace
	done
}
holes='at byte [0-9]*: a sparse file with 16 MiB of holes and too few events'
for mib in 64 1024 1048576; do
	attack json_hole json 0 'truncated at byte 46, read up to there' $mib
	attack json_end json 0 '' $mib
	attack json_string json 1 'at byte [0-9]*: lexical error: invalid character inside string' $mib
	attack json_strings json 1 "$holes" $mib
	attack perfetto_hole perfetto 0 'truncated at byte [0-9]*, read up to there' $mib
	attack perfetto_end perfetto 0 'truncated at byte [0-9]*, read up to there' $mib
	attack perfetto_packets perfetto 1 "$holes" $mib
	attack perfetto_unknown perfetto 1 'at byte [0-9]*: a packet of [0-9]* bytes' $mib
done
rm -f trace
truncate -s 1T trace
for verb in report "convert -o o.json" "merge -o o.json one.json" list "list -f" open; do
	(ulimit -t 2 && ulimit -v 1000000 && exec timeout 60 "$proftrace" $verb trace) >out 2>err </dev/null
	equal "nothing but a hole: $verb: exit status" $? 1
	check "nothing but a hole: $verb: one line says so" grep -qE "^proftrace: (cannot read 'trace': not a trace: nothing but zeros|not an ELF file 'trace': .*|cannot serve 'trace': nothing but zeros)\$" err
done

# These are no holes, and a file as long as this is no bargain; what it can cost is bounded all the same.
{ printf '[%s,' "$event"; head -c 64M /dev/zero | tr '\0' ' '; printf '%s]' "$event"; } >trace
for command in report "convert -o o.json" "merge -o o.json one.json"; do
	(ulimit -t 2 && ulimit -v 1000000 && exec timeout 60 "$proftrace" $command trace) >out 2>err </dev/null
	equal "64 MiB of spaces: ${command%% *}: exit status" $? 1
	equal "64 MiB of spaces: ${command%% *}: one line says so" "$(grep -c "'trace': at byte [0-9]*: white space of more than 8 MiB\$" err) $(grep -c '^proftrace: ' err)" "1 1"
done
finish
