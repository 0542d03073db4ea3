#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded program's libraries are searched for in very many directories, each of which is a chain of links that the kernel needs
# milliseconds to follow. Root's recorder looks for the libraries before the program maps them.
. "$(dirname "$0")/lib.sh"
need_tracing
begin_recording
mkdir -p "$tmp/links/d" && cd "$tmp/links" || exit 1
long=$(printf 'd/../%.0s' $(seq 815))
for k in $(seq 0 36); do
	ln -s "$long$((k + 1))" "$k"
done
ln -s "${long}none" 37

# Sets `took`: the CPU time in milliseconds of a recording of PROGRAM...
recorded() { # PROGRAM...
	took=$(cpu_time "$tmp/said" "$proftrace" -q -o "$tmp/t" -- "$@")
}

recorded "$attacks/names_files" "$attacks/names_files"
usual=$took
# The directories are beside the program, wherever the recorder looks for them.
list=$(grep -ao '0:0:0:0[0:]*' "$attacks/linked_far" | head -1)
beside=$(printf '$ORIGIN/0:%.0s' $(seq $((${#list} / 10))))
while [ ${#beside} -lt ${#list} ]; do beside=$beside:; done
LC_ALL=C sed "s|$list|$beside|" "$attacks/linked_far" >"$tmp/links/beside" && chmod 755 "$tmp/links/beside"
recorded "$attacks/names_files" "$tmp/links/beside"
never_else "executed: the recorder does not follow the links for long ($took ms of CPU time, without them $usual ms)" \
	"$([ "$took" -lt $((usual + 800)) ] && echo yes)" yes
check "and the marks are there" \
	test "$("$proftrace" report --format csv "$tmp/t.pftrace" | grep -c tried)" -ge 1
recorded "$attacks/linked_far"
never_else "recorded from its start: the recorder does not follow the links for long either ($took ms)" "$([ "$took" -lt $((usual + 4000)) ] && echo yes)" yes
check_nothing_left "long links"
finish
