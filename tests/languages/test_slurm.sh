#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The ranks of a job of Slurm: all that are on this machine are recorded by one recorder, and the job does the same. A
# cluster of its own runs for it, of two names of this machine.
. "$(dirname "$0")/lib.sh"
need_tracing
if [ "$(id -u)" -ne 0 ]; then
	skip "Slurm" "its daemons need root here"
	finish
fi
PATH=$PATH:/usr/sbin
for program in srun slurmctld slurmd munged mpicc; do
	command -v $program >/dev/null || { skip "Slurm" "$program is not installed" && finish; }
done
cd "$tmp" || exit 1

# --- the cluster ----------------------------------------------------------------------------------------

address=127.$(($$ % 200 + 1)).7.7
if ! ip addr add $address/32 dev lo 2>ip.err; then
	skip "Slurm" "the loopback device gets no address: $(cat ip.err)"
	finish
fi
daemons() {
	cat "$tmp"/*.pid 2>/dev/null
}
# Each daemon writes its number into a file of its own; those of others are not touched.
end_cluster() {
	pids=$(daemons)
	[ -z "$pids" ] || kill $pids 2>/dev/null
	for _ in $(seq 1 200); do
		for pid in $pids; do [ -d "/proc/$pid" ] && sleep 0.05 && continue 2; done
		break
	done
	ip addr del $address/32 dev lo 2>/dev/null
}
trap 'end_cluster; rm -rf "$tmp"' EXIT

free_port() {
	python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
mkdir munge state spool-one spool-two
chmod 755 munge
(umask 077 && head -c 128 /dev/urandom >key)
cat >slurm.conf <<-END
	ClusterName=test
	SlurmctldHost=$(hostname)(127.0.0.1)
	SlurmctldPort=$(free_port)
	AuthType=auth/munge
	AuthInfo=socket=$tmp/munge/socket
	CredType=cred/munge
	SlurmUser=root
	SlurmdUser=root
	StateSaveLocation=$tmp/state
	SlurmdSpoolDir=$tmp/spool-%n
	SlurmctldPidFile=$tmp/slurmctld.pid
	SlurmdPidFile=$tmp/slurmd-%n.pid
	SlurmctldLogFile=$tmp/slurmctld.log
	SlurmdLogFile=$tmp/slurmd-%n.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SelectType=select/linear
	SchedulerType=sched/builtin
	SwitchType=switch/none
	MpiDefault=pmix
	SlurmdParameters=config_overrides
	NodeName=one NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$(free_port) CPUs=16
	NodeName=two NodeHostname=$(hostname) NodeAddr=$address Port=$(free_port) CPUs=16
	PartitionName=all Nodes=one,two Default=YES State=UP OverSubscribe=FORCE
END
echo CgroupPlugin=cgroup/v1 >cgroup.conf
export SLURM_CONF="$tmp/slurm.conf"
munged --force --key-file="$tmp/key" --socket="$tmp/munge/socket" --pid-file="$tmp/munged.pid" --seed-file="$tmp/seed" \
	--log-file="$tmp/munged.log" && slurmctld -c && slurmd -N one && slurmd -N two
idle=0
for _ in $(seq 1 200); do
	idle=$(sinfo -h -t idle -o %D 2>/dev/null)
	[ "${idle:-0}" = 2 ] && break
	sleep 0.05
done
if [ "${idle:-0}" != 2 ]; then
	skip "Slurm" "its daemons do not start here: $(tail -n 2 slurmctld.log slurmd-one.log munged.log 2>/dev/null | tr '\n' ' ')"
	finish
fi

# --- jobs -----------------------------------------------------------------------------------------------

if ! mpicc -O2 -I"$root/include" "$root/tests/integration/programs/mpi/collectives.c" -o collectives 2>mpicc.err; then
	skip "Slurm" "mpicc does not work here"
	finish
fi
# More ranks than processors, which wait for each other.
export OMPI_MCA_mpi_yield_when_idle=1
job() { # OPTION... PROGRAM...
	timeout 60 srun -Q "$@" 2>err
}
if ! job -n4 ./collectives 10 >out || [ "$(grep -c calls out)" -ne 4 ]; then
	skip "Slurm" "srun starts no job of Open MPI here: $(tail -n 2 err)"
	finish
fi

recorded() { # NAME RANKS STEPS
	job -n"$2" ./collectives "$3" | sort >alone
	equal "$1: the job without proftrace" "$(wc -l <alone)" "$2"
	job -n"$2" "$proftrace" -v -e none -o job --summary-json "$tmp/s" -- ./collectives "$3" 2 >out
	equal "$1: exit status" $? 0
	sort out | cmp -s - alone
	equal "$1: the same result" $? 0
	equal "$1: the others hand their process over" "$(grep -c 'of the same job is recorded$' err)" $(($2 - 1))
	equal "$1: one recorder" "$(grep -c '^job.pftrace' err)" 1
	check_account "$1" "$tmp/s"
	# A barrier, and in each step the step itself and a collective; one rank loads in each fourth step.
	equal "$1: every mark" "$(field "$tmp/s" written)" $(($2 * (2 + 3 * $3) + 2 * ($3 / 4)))
	"$proftrace" report -q --ranks --format json job.pftrace >report
	equal "$1: all collectives are joined" \
		"$(grep -c "\"name\": \"MPI_.*\"ranks\": $2," report) of $(grep -c '"name": "MPI_' report)" "$(($3 + 1)) of $(($3 + 1))"
}
late_rank() { # FILE
	"$proftrace" report -q --ranks --format json "$1" | grep '"straggler": true' | sed 's/.*"rank": "\([^"]*\)".*/\1/'
}
recorded "four ranks" 4 100
equal "four ranks: the late rank is named" "$(late_rank job.pftrace)" "rank 2"
recorded "sixteen ranks" 16 20

# Without one recorder: a file for each rank, which are put together.
job -n4 "$proftrace" -q -e none -o "rank{rank}" -- ./collectives 100 2 >out
"$proftrace" merge -q -o all rank?.pftrace
equal "a file of each rank: all collectives are joined" \
	"$("$proftrace" report -q --ranks --format json all.pftrace | grep -c '"name": "MPI_.*"ranks": 4,')" 101
equal "a file of each rank: the late rank is named" "$(late_rank all.pftrace)" "rank 2"

# One recorder on each node.
job --mpi=none -N2 -n4 sh -c 'exec "$0" -v -e none -o "node-$SLURMD_NODENAME" -- "$1" 1 3' "$proftrace" "$programs/forks" >out
equal "two nodes: exit status" $? 0
equal "two nodes: a recorder for each" "$(grep -c '^node-.*\.pftrace' err)" 2
equal "two nodes: the others hand their process over" "$(grep -c 'of the same job is recorded$' err)" 2
"$proftrace" merge -q -o nodes node-one.pftrace node-two.pftrace
equal "two nodes: every mark of the four ranks" "$("$canon" --count nodes.json | awk '/^(BEGIN|END) / { n += $NF } END { print n + 0 }')" \
	"$(awk '$1 == "pairs" { n += 2 * $2 } END { print n + 0 }' out)"
equal "two nodes: the ranks" "$("$proftrace" report -q --by rank --format csv nodes.pftrace | awk -F, '$1 == "slice" { print $4 }' | sort -u | tr '\n' ' ')" "0 1 2 3 "
finish
