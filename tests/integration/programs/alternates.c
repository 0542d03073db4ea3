/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alternates ORDINARY SET-UID
 *
 * Two copies of this program that execute one another, the second one set-uid: one process that has now
 * its user's rights, now root's. Each says which it is, 'o' or 's' on standard output, and waits for a
 * byte from standard input before it goes on; at the end of that it ends.
 */
#define _GNU_SOURCE
#include <unistd.h>

int main(int argc, char **argv)
{
	const int is_set_uid = geteuid() != getuid();
	const char *other;
	char byte = is_set_uid ? 's' : 'o';

	if (argc != 3 || write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1)
		return argc != 3;
	other = argv[is_set_uid ? 1 : 2];
	if (is_set_uid && setresuid(getuid(), getuid(), getuid()))
		return 1;
	execl(other, other, argv[1], argv[2], NULL);
	return 1;
}
