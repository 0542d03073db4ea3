/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collectives STEPS [LATE]
 *
 * A job of MPI: a barrier, then one MPI_Allreduce in each step. Rank LATE sleeps for 20 ms before each fourth of them.
 * Prints how many collectives each rank made, and their result.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

int main(int argc, char **argv)
{
	int rank, steps = argc > 1 ? atoi(argv[1]) : 0, late = argc > 2 ? atoi(argv[2]) : -1, i;
	const struct timespec delay = { .tv_nsec = 20000000 };
	long value, sum, calls = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	value = rank + 1;
	PROF_BEGIN("MPI_Barrier");
	MPI_Barrier(MPI_COMM_WORLD);
	PROF_END();
	calls++;
	for (i = 0; i < steps; i++) {
		PROF_STEP(1, i);
		if (rank == late && i % 4 == 3) {
			PROF_BEGIN("load");
			nanosleep(&delay, NULL);
			PROF_END();
		}
		PROF_BEGIN("MPI_Allreduce");
		MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		PROF_END();
		calls++;
		value = sum % 1000003 + rank;
	}
	printf("rank %d calls %ld result %ld\n", rank, calls, sum);
	MPI_Finalize();
	return 0;
}
