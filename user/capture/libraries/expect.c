/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches to files before a program maps them: the program itself, its dynamic linker, and the libraries that it is
 * linked with (linked.c). A thread in the dynamic linker is held for half a second at most, which is too short for hundreds of
 * libraries on a busy machine: each breakpoint takes the memory lock of the process, and the thread may lose its CPU
 * while it has the lock. Attached to before, a file costs nothing then: the process puts the breakpoints into its memory
 * itself, as it maps the file.
 *
 * A library that is not found, or that is another one than the linker finds, is attached to as soon as it is mapped.
 */
#include "capture/libraries/internal.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/file_limits.h"
#include "capture/stacks/stacks.h"

#define WITHIN_NS 300000000 /* while a thread is held that executes the program */

/*
 * Whether a library may be attached to before anything maps it. Of some, only the memory of the process shows whether
 * the kernel would find the right places: those whose file system may show other bytes than it runs, and those that
 * have a page of the file in two writable mappings.
 */
static bool library_is_certain(int fd)
{
	struct elf_file *elf;
	bool is_certain;

	if (file_is_served(fd) || elf_file_open(fd, &elf, NULL))
		return false;
	is_certain = !elf_shares_writable_page(elf);
	elf_file_free(elf);
	return is_certain;
}

/* A library that cannot be attached to yet is tried again when it is mapped, unless it is refused then as well. */
static void expect_library(struct linked_search *l, int fd, const char *path)
{
	const struct file *file;
	struct failure f = { 0 };
	enum file_news news;
	struct file_key key;

	l->found = files_key_of(l->c, fd, NULL, &key);
	if (l->found && !files_known(l->c, &key, l->pid, &news) && !files_full(l->c, &f) &&
	    library_is_certain(fd) &&
	    files_add(l->c, fcntl(fd, F_DUPFD_CLOEXEC, 0), &key, path, l->pid, NULL, &news, &f))
		files_report_refused(l->c, path, &f);
	file = l->found ? files_find(l->c, &key) : NULL;
	linked_add(l, file, path);
	if (file && l->c->stacks)
		stacks_expect_file(l->c->stacks, file);
	close(fd);
}

void libraries_expect(struct capture *c, const struct file *program, pid_t pid,
		      const char *directory)
{
	struct linked_search l = {
		.c = c, .pid = pid, .directory = directory, .expect = expect_library
	};
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", program->fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	/* In a container the path leads elsewhere. */
	if (!program->elf || stat(path, &st) || st.st_dev != program->st_dev ||
	    st.st_ino != program->st_ino || !linked_find_requester(&l.requester, pid, &st))
		return;
	if (!linked_begin(&l))
		return;
	/* To attach may take as long as it needs while nothing is held. */
	l.until_ns = *directory ? monotonic_now() + WITHIN_NS : UINT64_MAX;
	l.lookups_within_ns = *directory ? LOOKUPS_HELD_NS : LOOKUPS_NS;
	linked_add(&l, program, path);
	while (l.at < l.n)
		linked_search_next(&l);
	linked_end(&l);
}

int file_expect(struct capture *c, int fd, pid_t pid, struct failure *f)
{
	char link[32], path[PATH_MAX];
	const struct file *file;
	enum file_news news;
	struct file_key key;
	int error = 0;
	ssize_t n;

	if (fd < 0 || !files_key_of(c, fd, NULL, &key))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	c->expects = true;
	if (!files_known(c, &key, pid, &news))
		error = files_add(c, fcntl(fd, F_DUPFD_CLOEXEC, 0), &key, path, pid, NULL, &news,
				  f);
	c->expects = false;
	file = files_find(c, &key);
	if (error || !file)
		return error;
	if (c->stacks)
		stacks_expect_file(c->stacks, file);
	libraries_expect(c, file, pid, "");
	file_set_expected(c, file);
	return 0;
}

/*
 * Whether nothing is to be done for one more process that executes these files, which are attached to for all: a library
 * that is another one by now is attached to when it is mapped, as any that was not found.
 */
bool files_are_expected(struct capture *c, const int *fds, unsigned n)
{
	if (capture_attaches_each(c) || !c->loaded.can_hold || c->stacks)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct file *file;
		enum file_news news;
		struct file_key key;

		if (!files_key_of(c, fds[i], NULL, &key) || !files_known(c, &key, 0, &news))
			return false;
		file = files_find(c, &key);
		if (!file || !file->is_expected || file->refused || file->alone)
			return false;
	}
	return n > 0;
}

void file_expect_for_all(struct capture *c, int fd)
{
	struct failure f = { 0 };

	if (file_expect(c, fd, 0, &f))
		files_report_refused(c, f.object, &f);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *base = strrchr(info->dlpi_name, '/');

	if (!base || (strncmp(base, "/libc.so", 8) && strncmp(base, "/libc-2.", 8)))
		return 0;
	(void)size;
	*(int *)context = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	return 1;
}

void libc_expect(struct capture *c)
{
	int fd = -1;

	dl_iterate_phdr(find_libc, &fd);
	if (fd < 0)
		return;
	file_expect_for_all(c, fd);
	close(fd);
}
