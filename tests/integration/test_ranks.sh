#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report --ranks: collectives are joined over ranks, who came last is right, and a rank that is late again and again is named.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

field() { # KEY LINE: of JSON
	echo "$2" | sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"
}

# --- three ranks whose times are known ------------------------------------------------------------------

# Rank r comes 1 us after rank r - 1, in steps of 10 ms. In each tenth step rank 1 loads for 5 ms more. All
# go on 2 us after the last has come. Rank 2 has no step 7.
write_rank() { # RANK
	awk -v rank="$1" 'BEGIN {
		print "[{\"name\":\"proftrace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"version\":\"x\",\"clock\":\"monotonic\",\"base_ns\":0,\"monotonic\":\"1000\",\"realtime\":\"1700000000000000000\",\"boot_id\":\"b\",\"host\":\"h\",\"rank\":\"" rank "\"}}"
		own = sprintf("\"pid\":%d,\"tid\":%d", 100 + rank, 100 + rank)
		for (i = 0; i < 200; i++) {
			if (rank == 2 && i == 7)
				continue
			step = sprintf(",\"args\":{\"epoch\":1,\"batch\":%d}", i)
			at = 1000000 + i * 10000 + rank
			printf ",\n{\"name\":\"compute\",\"ph\":\"X\",\"ts\":%d,\"dur\":100,%s}", at, own
			come = at + 200
			last = come - rank + (i == 7 ? 1 : 2)
			if (i % 10 == 9) {
				last = come - rank + 5001
				if (rank == 1) {
					printf ",\n{\"name\":\"load\",\"ph\":\"X\",\"ts\":%d,\"dur\":5000,%s}", at + 100, own
					come = last
				}
			}
			printf ",\n{\"name\":\"MPI_Allreduce\",\"ph\":\"B\",\"ts\":%d,%s%s}", come, own, step
			printf ",\n{\"ph\":\"E\",\"ts\":%d,%s}", last + 2, own
		}
		print "]"
	}'
}
for rank in 0 1 2; do write_rank $rank >rank$rank.json; done
"$proftrace" merge -q -o job.pftrace rank?.json
"$proftrace" report -q --ranks --format json rank?.json >files
equal "three ranks: exit status" $? 0
equal "three ranks: collectives" "$(grep -c '"name": "MPI_Allreduce"' files)" 200
equal "three ranks: not in all" "$(field not_in_all "$(sed -n 2p files)")" 1
worst=$(grep -m1 '"name": "MPI_Allreduce"' files)
equal "three ranks: the worst" "$(for key in epoch batch number last late_ns others_waited_ns slice; do field $key "$worst"; done | tr '\n' ' ')" \
	'1 9 1 "rank 1" 4999000 10000000 "load" '
equal "three ranks: last, by rank" "$(for rank in 0 1 2; do field last "$(grep "{\"rank\": \"rank $rank\"" files)"; done | tr '\n' ' ')" "0 21 178 "
equal "three ranks: the straggler" "$(grep '"straggler": true' files | sed 's/.*"rank": "\([^"]*\)".*/\1/')" "rank 1"
equal "three ranks: how late" "$(field late_ns "$(grep '"straggler": true' files)")" $((20 * 4999000 + 1000))
"$proftrace" report -q --ranks --format json job.pftrace >merged
check "three ranks: the merged trace says the same" cmp files merged
"$proftrace" report -q --ranks rank?.json >table
equal "three ranks: the table names it" "$(grep -c '^\* rank 1 .* load$' table)" 1
equal "another name" "$("$proftrace" report -q --ranks='comp*' --format json job.pftrace | grep -c '"name": "compute"')" 200
equal "no such name" "$("$proftrace" report -q --ranks=nothing job.pftrace | head -1)" "no slice of that name is in several ranks"

# A clock that is 1 ms behind: one rank leaves before another one has come.
sed 's/"boot_id":"b"/"boot_id":"c"/; s/"realtime":"1700000000000000000"/"realtime":"1699999999999000000"/' rank1.json >behind.json
"$proftrace" report --ranks rank0.json behind.json >table 2>err
equal "a wrong clock: exit status" $? 0
check "a wrong clock: how it was aligned" grep -q '^behind.json (rank 1): by the realtime clocks' err
check "a wrong clock: noticed" grep -q '180  ended in a rank before another one came (by up to 997.000 us)' table
"$proftrace" report --ranks --where 'dur > 1ms' rank0.json 2>err
equal "--ranks with --where: exit status" $? 2

# --- two ranks that share a recorder, by the environment of a launcher ------------------------------------

# Its library is replaced when the first rank has mapped it: the second one, whose program is known, has another one.
make_library() { # FILE
	printf '#include <proftrace.h>\nvoid work(void);\nvoid work(void)\n{\n\tPROF_BEGIN("work");\n\tPROF_END();\n}\n' |
		gcc -O2 -fPIC -shared -I"$root/include" -xc - -o "$1"
}
mkdir linked
check "a library is built" make_library linked/libwork.so
printf '#include <stdio.h>\n#include <stdlib.h>\nvoid work(void);\nint main(void)\n{\n\tFILE *go = fopen(getenv("GO"), "re");\n\n\tif (!go || fgetc(go) != EOF)\n\t\treturn 1;\n\twork();\n\treturn 0;\n}\n' |
	gcc -O2 -xc - -o linked/program -Wl,-rpath,"$tmp/linked" -Llinked -lwork
check "a program is linked with it" test -x linked/program

need_tracing
# Where recorders and ranks meet; no other test's do.
mkdir -m 700 meet
export XDG_RUNTIME_DIR="$tmp/meet"
mkfifo go0 go1
rank() { # RANK
	SLURM_JOB_ID=1 OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_LOCAL_SIZE=2 GO=go$1 timeout 60 "$proftrace" -v -e none --strict -o linked.pftrace -- \
		linked/program
}
rank 0 2>rank0.err &
first=$!
exec 3>go0
make_library linked/new.so && mv linked/new.so linked/libwork.so
rank 1 2>rank1.err &
second=$!
exec 4>go1
exec 3>&- 4>&-
wait $first && wait $second
equal "a library is replaced: exit status" $? 0
equal "a library is replaced: one recorder" "$(cat rank0.err rank1.err | grep -c 'of the same job is recorded$')" 1
equal "a library is replaced: both ranks' marks" "$("$proftrace" report -q --by rank --format csv linked.pftrace |
	awk -F, '$1 == "slice" && $3 == "work" { print $4, $6 }' | sort | tr '\n' ,)" "0 1,1 1,"

# --- a program of Open MPI --------------------------------------------------------------------------------

if ! mpicc -O2 -I"$root/include" "$root/tests/integration/programs/mpi/collectives.c" -o collectives 2>mpicc.err; then
	skip "Open MPI: a rank that is late" "mpicc is not installed, or does not work here"
	finish
fi
mpi() {
	timeout 60 mpirun --allow-run-as-root --oversubscribe -n 4 "$@" 2>mpi.err
}
mpi ./collectives 100 | sort >alone
mpi "$proftrace" -q -e none --strict -o 'mpi{rank}' -- ./collectives 100 2 | sort >recorded
equal "Open MPI: four ranks, each with its count" "$(grep -c '^rank [0-3] calls 101 ' recorded)" 4
check "Open MPI: the same result as without" cmp alone recorded
"$proftrace" report -q --ranks --format json mpi?.pftrace >files
equal "Open MPI: all collectives are joined" "$(grep -c '"name": "MPI_.*"ranks": 4' files)$(grep -c '"name": "MPI_.*"ranks": [123]' files)" 1010
equal "Open MPI: the late rank is named" "$(grep '"straggler": true' files | sed 's/.*"rank": "\([^"]*\)".*/\1/')" "rank 2"

# --- one recorder for all ranks ---------------------------------------------------------------------------

# `load` is marked by the late rank, once in each fourth step; a step and a collective are two marks each.
mpi "$proftrace" -v -e none --strict -o shared -- ./collectives 100 2 >recorded
sort recorded | cmp -s - alone
equal "shared: the same result as without" $? 0
equal "shared: exit status" "$(grep -c 'exited with non-zero' mpi.err)" 0
equal "shared: the others hand their process over" "$(grep -c 'of the same job is recorded$' mpi.err)" 3
equal "shared: one recorder" "$(grep -c '^shared.pftrace' mpi.err)" 1
"$proftrace" report -q --ranks --format json shared.pftrace >job
equal "shared: all collectives are joined" "$(grep -c '"name": "MPI_.*"ranks": 4' job)$(grep -c '"name": "MPI_.*"ranks": [123]' job)" 1010
equal "shared: the late rank is named" "$(grep '"straggler": true' job | sed 's/.*"rank": "\([^"]*\)".*/\1/')" "rank 2"
"$proftrace" report -q --ranks --format json shared.json >job.json
check "shared: JSON says the same" cmp job job.json
for rank in 0 1 2 3; do
	equal "shared: collectives of rank $rank" \
		"$("$proftrace" report -q --by rank --format csv shared.pftrace | awk -F, -v rank=$rank '$1 == "slice" && $3 ~ /^MPI_/ && $4 == rank { n += $6 } END { print n + 0 }')" 101
done
# A launcher kills all ranks when one fails, also the recorder.
mpi sh -c 'exec "$0" -q -e none -o killed -- sh -c "[ \$OMPI_COMM_WORLD_RANK = 3 ] && kill -9 \$PPID"' "$proftrace" >/dev/null
mpi "$proftrace" -q -e none -o status -- true
equal "shared: nothing is left of the meeting" "$(ls meet/proftrace | grep -c '^job-')" 0

# What hands its process over has not loaded the libraries of a recorder.
mpi "$proftrace" -q -e none -o bare -- sh -c 'if grep -q libbpf "/proc/$PPID/maps"; then echo recorder; else echo rank; fi' | sort | uniq -c | xargs >bare
equal "shared: only the recorder loads its libraries" "$(cat bare)" "3 rank 1 recorder"

# The rank stays on the CPU that its launcher gave it. The recorder does not.
if [ "$(nproc)" -ge 2 ]; then
	timeout 60 mpirun --allow-run-as-root --oversubscribe --bind-to core -n 2 "$proftrace" -q -e none -o bound -- \
		sh -c 'echo "$OMPI_COMM_WORLD_RANK $(for pid in self $PPID; do
			grep -c "^Cpus_allowed_list:.*[-,]" /proc/$pid/status; done | tr "\n" " ")"' 2>mpi.err | sort >bound
	equal "bound: each rank to one CPU, one recorder to all" "$(sed 's/ $//; s/^[01] //' bound | sort | tr '\n' ,)" "0 0,0 1,"
else
	skip "bound: the recorder is not" "one CPU"
fi

# The command's own status counts, whoever records it.
mpi sh -c 'exec "$0" -q -e none -o status -- sh -c "exit \$((3 * (OMPI_COMM_WORLD_RANK == 3)))"' "$proftrace" >/dev/null
equal "shared: a rank's exit status" "$(sed -n 's/.*Exit code: *//p' mpi.err)" 3
finish
