/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the known files a process has mapped.
 *
 * /proc/PID/maps and BPF programs show the device of the file system and the number of the inode. Of most file systems no two
 * files have the same. But all subvolumes of btrfs show one device, and each has inode numbers of its own, so any user makes
 * a subvolume with a file of any number; and an overlay shows one device with the inode numbers of its layers. If such numbers
 * were believed, one file would stand for another, and nothing would be attached to that one.
 *
 * So files of other file systems than these are opened each time, and known by the numbers of stat(). Those are another device
 * for each subvolume and for each layer on another file system. If an overlay has two subvolumes as its layers, also two of its
 * files have the same: then the kernel is asked whether it is one inode, which has one inotify watch.
 *
 * Two containers of one image have an overlay each, and what both show of a layer are two files with two inodes. But the kernel
 * attaches to the file of the layer. If it were attached to by both, every mark would count double. No call says of two
 * files that they are one below. So it is known by what an overlay hands on of the file below, and by the process: if it has
 * mapped the file of one overlay, and has our breakpoints although only that of the other is attached to, both are one.
 */
#include "capture/file_watch.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/descriptors.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#ifndef EROFS_SUPER_MAGIC_V1
#define EROFS_SUPER_MAGIC_V1 0xe0f5e1e2
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define ZFS_SUPER_MAGIC 0x2fc12fc1

/*
 * Those whose inodes have different numbers as long as they are open, and whose stat() shows the device of the file system. NFS
 * is not among them: its server may have btrfs. Before Linux 6.7, a file of an overlay is mapped with the numbers of its layer, by
 * which two containers of one image have one file. Only file systems on one block device have its number, and btrfs has not.
 */
bool file_numbers_are_shared(int fd, uint64_t device)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	switch ((uint32_t)fs.f_type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case ZFS_SUPER_MAGIC:
		return false;
	case OVERLAYFS_SUPER_MAGIC:
		return !(device >> 32);
	default:
		return true;
	}
}

int64_t file_born_ns(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BTIME, &st) ||
	    !(st.stx_mask & STATX_BTIME))
		return 0;
	return st.stx_btime.tv_sec * 1000000000ll + st.stx_btime.tv_nsec;
}

/* Whether this is the open file, given that it has its numbers. */
static bool file_is(struct capture *c, const struct file *file, int fd)
{
	if (!file->is_ambiguous || file->fd < 0)
		return true;
	return file->watch ? file_is_watched_as(c, file, fd) : file->born_ns == file_born_ns(fd);
}

/*
 * The process may have mapped another file since its mappings were read, so their numbers count only where stat() has none that say
 * which file it is.
 */
bool files_key_of(struct capture *c, int fd, const struct file_key *mapped, struct file_key *ret)
{
	const struct file *file;
	struct stat st;

	if (descriptors_stat(fd, &st))
		return false;
	if (mapped && mapped->device >> 32 && mapped->inode == st.st_ino && file_has_layers(fd)) {
		*ret = *mapped;
		return true;
	}
	*ret = (struct file_key){
		.device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev),
		.inode = st.st_ino,
	};
	while ((file = files_find(c, ret)) && !file_is(c, file, fd))
		ret->nth++;
	return true;
}

struct file_key mapping_numbers(const struct mapping *m)
{
	return (struct file_key){
		.device = (uint64_t)m->device_major << 32 | m->device_minor,
		.inode = m->inode,
	};
}

/* They are searched one by one. */
#define RESOLVED_MOST 1024

static bool mapping_is(const struct resolved_mapping *r, const struct mapping *m)
{
	const struct file_key numbers = mapping_numbers(m);

	return r->start == m->start && r->end == m->end && r->offset == m->offset &&
	       r->numbers.device == numbers.device && r->numbers.inode == numbers.inode;
}

const struct file_key *mapping_resolved(struct capture *c, pid_t pid, const struct mapping *m)
{
	const struct traced_process *p = process_find(c, pid);

	for (uint32_t i = 0; p && i < p->n_resolved; i++) {
		if (mapping_is(&p->resolved[i], m))
			return &p->resolved[i].key;
	}
	return NULL;
}

void mapping_resolve(struct capture *c, pid_t pid, const struct mapping *m, const struct file *file)
{
	struct traced_process *p = process_find(c, pid);

	if (!p || !file->is_ambiguous || p->n_resolved >= RESOLVED_MOST ||
	    !array_reserve(p->resolved, p->n_resolved, p->resolved_capacity, 64))
		return;
	p->resolved[p->n_resolved++] = (struct resolved_mapping){ m->start, m->end, m->offset,
								  mapping_numbers(m), file->key };
}

static bool times_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/*
 * An overlay may put the number of the layer's file system into the upper bits of the inode's (xino). When it has copied the known
 * file, that has the times of the copy: so those count that it had.
 */
static bool files_are_alike(const struct file *known, const struct file *file)
{
	return known->size == file->size && (uint32_t)known->st_ino == (uint32_t)file->st_ino &&
	       times_equal(known->written, file->written) &&
	       (file_has_layers(known->fd) || file_has_layers(file->fd)) &&
	       (known->born_ns ?: file_born_ns(known->fd)) == file_born_ns(file->fd);
}

/* Links of one process run for no other. */
static bool file_is_attached_for_all(const struct capture *c, const struct file *file)
{
	return !capture_attaches_each(c) && !file->alone && file->elf && file->fd >= 0 &&
	       (file->n_links || file->n_data_links);
}

struct file *file_find_same(struct capture *c, const struct file *file, pid_t pid,
			    const struct mapping *m)
{
	hash_each (c->files, known) {
		if (m && file_is_attached_for_all(c, known) && files_are_alike(known, file) &&
		    file_runs_attached(c, file, known, pid, m))
			return known;
	}
	return NULL;
}

bool file_may_have_same(struct capture *c, int fd)
{
	struct stat st;

	if (descriptors_stat(fd, &st))
		return false;
	hash_each (c->files, known) {
		const struct file file = {
			.fd = fd,
			.st_ino = st.st_ino,
			.size = (uint64_t)st.st_size,
			.written = st.st_mtim,
		};

		if (file_is_attached_for_all(c, known) && files_are_alike(known, &file))
			return true;
	}
	return false;
}

bool file_is_outdated(struct capture *c, const struct file *file)
{
	if (file->same && file_has_changed(file->same))
		file_retire(c, file->same);
	return file_has_changed(file) || (file->same && file->same->fd < 0);
}
