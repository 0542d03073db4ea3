/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alternates ORDINARY SET-ID FILE OFFSET
 *
 * Two copies of this program that execute one another, the second one set-user-ID or set-group-ID: one process that has
 * now its user's rights, now others. Each says which it is, 'o' or 's' on standard output, and waits for a byte from
 * standard input before it goes on; at the end of that it ends. For a '?' it writes the byte at the OFFSET of FILE, whose
 * code it has mapped, and waits again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int is_set_id = geteuid() != getuid() || getegid() != getgid();
	const char *other, *code;
	char byte = is_set_id ? 's' : 'o';
	unsigned long offset;

	if (argc != 5)
		return 1;
	offset = strtoul(argv[4], NULL, 10);
	code = mmap(NULL, offset + 1, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		    open(argv[3], O_RDONLY | O_CLOEXEC), 0);
	if (code == MAP_FAILED || write(1, &byte, 1) != 1)
		return 1;
	for (;;) {
		if (read(0, &byte, 1) != 1)
			return 0;
		if (byte != '?')
			break;
		if (write(1, code + offset, 1) != 1)
			return 1;
	}
	other = argv[is_set_id ? 1 : 2];
	if (is_set_id &&
	    (setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid())))
		return 1;
	execl(other, other, argv[1], argv[2], argv[3], argv[4], NULL);
	return 1;
}
