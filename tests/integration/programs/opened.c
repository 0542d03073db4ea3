/* SPDX-License-Identifier: BSD-2-Clause */
/* A library with a function that other functions of it are called by. */
int opened(int n);

static __attribute__((noinline)) int hidden(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int opened(int n)
{
	return hidden(n) * hidden(n + 1);
}
