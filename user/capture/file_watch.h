/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are written to while they are attached to.
 *
 * The kernel keeps the offsets of probes by the file's inode, and puts breakpoints there into whoever maps the file, whatever
 * it contains by then. A new program that was written over the old one would have them in the middle of its instructions, and
 * be killed. So the recorder is notified of writes and detaches at once, and the file is read again by the next process that
 * maps it. The kernel does not let anybody execute a file that is still open for writing.
 */
#ifndef PROFTRACE_CAPTURE_FILE_WATCH_H
#define PROFTRACE_CAPTURE_FILE_WATCH_H

#include "capture/internal.h"

/* Where nothing can be watched, files are compared when they are mapped or executed. */
void file_watch_open(struct capture *c);
void file_watch_close(struct capture *c);

/* Before the file is read. */
void file_watch(struct capture *c, struct file *file);
void file_unwatch(struct capture *c, struct file *file);
/* Whether the open file is this one, which is watched. */
bool file_is_watched_as(struct capture *c, const struct file *file, int fd);
/* Detaches from files that have been written to, and forgets them. */
void file_watch_read(struct capture *c);

/* Whether the file has been written to since it was read. */
bool file_has_changed(const struct file *file);
/* Threads of processes that map it wait for us again. */
void file_forget_known(struct capture *c, const struct file *file);
/* Detaches from a file. It is read again when a process maps it. */
void file_retire(struct capture *c, struct file *file);

#endif
