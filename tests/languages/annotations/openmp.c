/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with OpenMP, unmodified: at each `work` it enters some parallel regions, and counts that. */
#include <stdio.h>

int main(void)
{
	char line[64];
	double sum = 0;
	long regions = 0;
	int i, k;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (k = 0; k < 30; k++, regions++) {
#pragma omp parallel for reduction(+ : sum)
			for (i = 0; i < 10000; i++)
				sum += i * 0.5;
		}
		puts("did");
		fflush(stdout);
	}
	printf("regions %ld\nsum %g\ndone\n", regions, sum);
	return 0;
}
