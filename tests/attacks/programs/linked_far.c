/* SPDX-License-Identifier: BSD-2-Clause */
/* Its libraries are searched for in two thousand directories that are all "0" (Makefile), relative to where it is started. */
int main(void)
{
	return 0;
}
