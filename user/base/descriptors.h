/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that have to be at their numbers, and what is known of files without a request to their file system. */
#ifndef PROFTRACE_BASE_DESCRIPTORS_H
#define PROFTRACE_BASE_DESCRIPTORS_H

#include <sys/stat.h>

/*
 * The user may set the limit of each process of ours at any moment (prlimit(2)), so anything here may fail, and a descriptor
 * that is not in its place is another one: a process that cannot have its descriptors ends.
 */

/* dup2(2), whose error says what is the matter: -EMFILE where the limit leaves no such place. Returns 0 or negative errno. */
int descriptors_put(int fd, int place);

/*
 * A process of ours keeps of what it inherited *fd, which comes to `place`, and what is between the standard streams and that.
 * Its standard streams become /dev/null: whoever takes over the process could write into the terminal of the user, or into a
 * trace on standard output. And who reads a pipe of ours until its end does not wait for this process. Returns 0 or negative
 * errno, with *fd where it is.
 */
int descriptors_keep(int *fd, int place);

/*
 * The calling thread gets a table of descriptors of its own, with the standard streams and `keep` alone. Returns 0 or negative
 * errno.
 */
int descriptors_unshare(int keep);

/*
 * Makes the table of descriptors as large as it will be, by means of any descriptor, before there is a second thread: when a
 * table that threads share grows, the kernel waits for a grace period of RCU (expand_files()), 8 to 15 ms on Linux 6.18, for
 * each doubling. Nothing depends on it, so it may fail.
 */
void descriptors_reserve(int fd);

/*
 * fstat(2), by what the kernel has of the file: fstat() asks the server of a FUSE, and no signal ends the wait for one that has
 * read the question and does not answer. What others have written by way of the server may not be seen yet.
 */
int descriptors_stat(int fd, struct stat *ret);

#endif
