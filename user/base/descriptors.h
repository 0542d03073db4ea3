/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROFTRACE_BASE_DESCRIPTORS_H
#define PROFTRACE_BASE_DESCRIPTORS_H

/*
 * A process of ours keeps of what it inherited the descriptors from 3 to `last`. Its standard streams become /dev/null: whoever
 * takes over the process could write into the terminal of the user, or into a trace on standard output. And who reads
 * a pipe of ours until its end does not wait for this process.
 */
void descriptors_keep_to(int last);

#endif
