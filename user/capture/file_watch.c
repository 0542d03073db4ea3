/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices that a file has been written to: by inotify, and by its times and its size where that says nothing. */
#include "capture/file_limits.h"
#include "capture/file_watch.h"
#include "capture/probes/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "proftrace.skel.h"

#define READ_BYTES 4096

void file_watch_open(struct capture *c)
{
	c->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (c->watch_fd < 0)
		capture_log(c, 0, "cannot watch whether files are written to: %s", strerror(errno));
}

void file_watch_close(struct capture *c)
{
	if (c->watch_fd >= 0)
		close(c->watch_fd);
	c->watch_fd = -1;
}

/*
 * By a path of /proc, where the kernel makes an entry for each descriptor that it is asked for, which is a quarter of the cost. That
 * of a copy, which has the lowest number that is free, is there from the time before. IN_CLOSE_WRITE because of writes
 * through shared mappings, of which there is no other event. Who may not read the file by its mode may not watch it.
 */
static int watch_descriptor(const struct capture *c, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), watch, error;
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", copy < 0 ? fd : copy);
	watch = inotify_add_watch(c->watch_fd, link, IN_MODIFY | IN_CLOSE_WRITE);
	error = errno;
	if (copy >= 0)
		close(copy);
	errno = error;
	return watch;
}

void file_watch(struct capture *c, struct file *file)
{
	struct stat st;

	if (descriptors_stat(file->fd, &st))
		return;
	file->size = (uint64_t)st.st_size;
	file->written = st.st_mtim;
	file->changed = st.st_ctim;
	if (c->watch_fd < 0)
		return;
	file->watch = watch_descriptor(c, file->fd);
	if (file->watch >= 0)
		return;
	file->watch = 0;
	if (errno != ENOSPC || c->watches_full)
		return;
	c->watches_full = true;
	capture_log(c, 0, "cannot watch whether more files are written to: %s",
		    "the user has too many watches (fs.inotify.max_user_watches)");
}

bool file_is_watched_as(struct capture *c, const struct file *file, int fd)
{
	const int watch = watch_descriptor(c, fd);

	if (watch == file->watch)
		return true;
	hash_each (c->files, other) {
		if (other->watch == watch)
			return false;
	}
	if (watch >= 0)
		inotify_rm_watch(c->watch_fd, watch);
	return false;
}

static bool times_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/*
 * Its ctime changes as well when it is renamed, linked or gets another mode. What has written to it and set its mtime back
 * is known if it is watched.
 */
bool file_has_changed(const struct file *file)
{
	struct stat st;

	/* What is no ELF file has no links, and is written by whoever lists code that it generates (jitdump). */
	if (file->fd < 0 || (!file->elf && !file->has_other_key))
		return false;
	if (descriptors_stat(file->fd, &st))
		return true;
	return (uint64_t)st.st_size != file->size || !times_equal(st.st_mtim, file->written) ||
	       (!file->watch && !times_equal(st.st_ctim, file->changed));
}

void file_forget_known(struct capture *c, const struct file *file)
{
	uint64_t key =
		known_file_key(file->device >> 32 << 20 | (uint32_t)file->device, file->inode);
	struct known_file *slots = c->shared->known_files + known_file_slots(key);

	for (unsigned i = 0; key && i < KNOWN_FILE_SLOTS; i++) {
		if (slots[i].key == key)
			__atomic_store_n(&slots[i].key, 0, __ATOMIC_RELAXED);
	}
}

void file_unwatch(struct capture *c, struct file *file)
{
	int watch = file->watch;

	file->watch = 0;
	/* Of an inode with several device numbers there is one watch. */
	hash_each (c->files, other) {
		if (other->watch == watch)
			return;
	}
	if (watch)
		inotify_rm_watch(c->watch_fd, watch);
}

/* Nobody can write to a program that runs, but to a library that a process has mapped. Then that process has lost it. */
static void detach_written(struct capture *c, struct file *file)
{
	struct failure f;
	char path[PATH_MAX];

	file_path(file, path);
	if (c->processes && !elf_file_is_program(file->elf)) {
		failure_set(&f, -ESTALE, "detached from", path,
			    "it was written to, and processes that had mapped it are not recorded "
			    "there any more");
		files_report_refused(c, path, &f);
	} else {
		capture_log(c, 0,
			    "detached from '%s', which was written to: it is read again when it is "
			    "mapped",
			    path);
	}
	file_detach(c, file);
}

static void refuse_retired(struct capture *c, struct file *file)
{
	struct failure f;
	char path[PATH_MAX];

	failure_set(&f, -EMFILE, "cannot attach again to", "",
		    "too many recorded files have been written to");
	files_report_refused(c, file_path(file, path), &f);
	files_refuse_open(c, file, file->fd);
	file->fd = -1;
}

/*
 * Records of its sites may be on their way, and call stacks refer to it: so what was read of it stays. Its names cannot be
 * read any more.
 */
void file_retire(struct capture *c, struct file *file)
{
	bool full = files_too_many_retired(c);

	HASH_DEL(c->files, file);
	hash_each (c->files, other)
		c->files_parted |= other->same == file;
	file_forget_known(c, file);
	if (file->n_links || file->n_data_links)
		detach_written(c, file);
	file_unwatch(c, file);
	if (file->fd >= 0 && files_too_many_retired(c))
		refuse_retired(c, file);
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	if (file->elf)
		file->elf->fd = -1;
	file->next_retired = c->retired;
	c->retired = file;
	c->n_retired++;
	/* Its sites are kept. Beyond the limit they count like those of files that are attached to. */
	if (full)
		return;
	c->n_retired_sites += file->n_sites + file->n_probes;
	probes_give_back(c, file);
}

static void handle_event(struct capture *c, const struct inotify_event *e)
{
	hash_each (c->files, file) {
		if (e->mask & IN_Q_OVERFLOW ? !file_has_changed(file)
					    : e->wd != file->watch || !file->watch)
			continue;
		if (e->mask & (IN_MODIFY | IN_Q_OVERFLOW) || file_has_changed(file))
			file_retire(c, file);
	}
}

void file_watch_read(struct capture *c)
{
	char buffer[READ_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	if (c->watch_fd < 0)
		return;
	n = read(c->watch_fd, buffer, sizeof(buffer));
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const void *)(buffer + at);

		if (!(e->mask & IN_IGNORED))
			handle_event(c, e);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
}
