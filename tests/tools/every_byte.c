/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * every_byte all FILE	      asks the broker about all functions of the file
 * every_byte attach FILE N M S
 *			      asks about every Nth, then to be attached to each byte of its code, one by one,
 *			      M bytes after the first S
 * every_byte beginnings FILE  asks about each byte of its code as the beginning of a function, then the same
 * every_byte memory FILE N    attaches to every Nth function of a file that this process and its child have mapped, and looks
 * every_byte twins DIR FILE OTHER
 *			      asks about the functions of FILE, and attaches at their addresses to OTHER, which has the same numbers:
 *			      device, inode, size and times. Both are in an overlay at DIR whose metadata is one file's.
 *
 * What a recorder would do that was taken over: it asks for a breakpoint at every byte of the code of a file
 * that others execute. Prints what the broker says belongs to functions (begin or exit ADDRESS SYMBOL), what
 * it attached to (granted ADDRESS; returns ADDRESS with a return probe), and bytes in memory that are not those of the file (differs ADDRESS BYTE);
 * then how many requests were refused. Exit status 2: it cannot be tried here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "privilege/broker/broker.h"
#include "tracee/code/prove.h"
#include "tracee/elf_functions.h"

#define MOST_SITES 1000000

static struct broker *broker;
static struct elf_file *elf;
static int fd;
static pid_t target; /* a child, which waits */
static uint64_t sites[MOST_SITES];
static unsigned n_sites;

static void start(void)
{
	const struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.functions = true,
		.return_probes = true,
		.prove = prove_functions,
		.pids = &target,
		.n_pids = 1,
	};
	struct broker_loaded loaded;
	struct failure f = { 0 };

	target = fork();
	if (!target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (target < 0 || broker_start(&config, &broker, &loaded, &f)) {
		printf("%s: %s\n", f.what, f.reason);
		exit(2);
	}
}

static void keep(const char *what, uint64_t vaddr, uint64_t symbol)
{
	printf("%s %" PRIx64 " %" PRIx64 "\n", what, vaddr, symbol);
	if (n_sites < MOST_SITES)
		sites[n_sites++] = vaddr;
}

static void ask(const uint64_t *vaddrs, unsigned n)
{
	static struct broker_functions answer;
	const struct proved_function *function;
	const struct proved_exit *exits;
	struct proved_reader reader;
	const char *refusal;
	struct failure f;
	unsigned at = 0;
	uint32_t i;

	while (at < n) {
		if (broker_functions(broker, fd, vaddrs + at,
				     n - at < PROVER_MAX_REQUESTED ? n - at : PROVER_MAX_REQUESTED,
				     &answer, &f)) {
			printf("%s: %s\n", f.what, f.reason);
			exit(1);
		}
		reader = (struct proved_reader){ (uint8_t *)answer.bytes, answer.size };
		while (proved_next(&reader, &function, &exits, &refusal) > 0) {
			at++;
			if (refusal)
				continue;
			keep("begin", function->entry, function->vaddr);
			for (i = 0; i < function->n_exits; i++)
				keep("exit", exits[i].vaddr, function->vaddr);
		}
	}
}

static void ask_functions(unsigned every)
{
	struct elf_functions all = { 0 };
	uint64_t *vaddrs;
	unsigned i, n = 0;

	if (elf_functions_add(&all, elf))
		exit(1);
	elf_functions_sort(&all);
	vaddrs = calloc(all.n + 1, sizeof(*vaddrs));
	for (i = 0; vaddrs && i < all.n; i += every)
		vaddrs[n++] = all.list[i].vaddr;
	ask(vaddrs, n);
	free(vaddrs);
	elf_functions_free(&all);
}

/* All addresses of its code, one after the other. */
static bool next_byte(uint64_t *vaddr)
{
	unsigned i;

	for (i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		if (*vaddr < s->vaddr)
			*vaddr = s->vaddr;
		else if (*vaddr - s->vaddr < s->filesz)
			++*vaddr;
		if (*vaddr - s->vaddr < s->filesz)
			return true;
	}
	return false;
}

static void ask_each_byte(void)
{
	uint64_t vaddrs[PROVER_MAX_REQUESTED], vaddr = 0;
	unsigned n = 0;

	while (next_byte(&vaddr)) {
		vaddrs[n++] = vaddr;
		if (n == PROVER_MAX_REQUESTED) {
			ask(vaddrs, n);
			n = 0;
		}
	}
	ask(vaddrs, n);
}

static int attach_at(enum broker_program program, uint64_t vaddr, unsigned *ret_link)
{
	struct broker_site site = { 0 };
	struct failure f;

	if (elf_file_offset(elf, vaddr, ELF_EXECUTABLE, &site.offset))
		exit(1);
	return broker_attach(broker, program, target, fd, &site, 1, ret_link, &f);
}

static void attach_each_byte(unsigned most, unsigned skipped)
{
	unsigned refused = 0, link;
	uint64_t vaddr = 0;

	while (skipped && next_byte(&vaddr))
		skipped--;
	while (most-- && next_byte(&vaddr)) {
		int error = attach_at(BROKER_FUNCTIONS, vaddr, &link);

		if (!error) {
			printf("granted %" PRIx64 "\n", vaddr);
			broker_detach(broker, &link, 1, false);
		} else if (error == -EBADMSG || error == -EINVAL) {
			refused++;
		} else {
			printf("error %d at %" PRIx64 "\n", error, vaddr);
		}
		/* Few bytes may have one: those of functions, and some others. */
		if ((!error || vaddr % 8 == 0) && !attach_at(BROKER_RETURNS, vaddr, &link)) {
			printf("returns %" PRIx64 "\n", vaddr);
			broker_detach(broker, &link, 1, false);
		}
	}
	printf("refused %u\n", refused);
}

/* Where the file's code is in this process, less where the file says that it is. */
static uint64_t find_mapped(const char *path)
{
	char line[4096 + 256], real[4096];
	uint64_t begin, offset, at = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps || !realpath(path, real))
		exit(1);
	while (fgets(line, sizeof(line), maps)) {
		unsigned i;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%*x r-xp %" SCNx64, &begin, &offset) != 2 ||
		    strlen(line) < strlen(real) || strcmp(line + strlen(line) - strlen(real), real))
			continue;
		for (i = 0; i < elf->n_segments; i++) {
			const struct elf_segment *s = &elf->segments[i];

			if (s->type == PT_LOAD && s->flags & PF_X &&
			    (s->offset & ~4095ull) == offset)
				at = begin - (s->vaddr & ~4095ull);
		}
	}
	fclose(maps);
	return at;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void attach_all(void)
{
	static struct broker_site some[BROKER_MAX_SITES];
	unsigned i, n = 0, link;
	struct failure f;

	qsort(sites, n_sites, sizeof(*sites), compare);
	for (i = 0; i < n_sites; i++) {
		if (i && sites[i] == sites[i - 1])
			continue;
		if (elf_file_offset(elf, sites[i], ELF_EXECUTABLE, &some[n].offset))
			exit(1);
		if (++n < BROKER_MAX_SITES && i + 1 < n_sites)
			continue;
		if (broker_attach(broker, BROKER_FUNCTIONS, target, fd, some, n, &link, &f))
			printf("error: %s\n", f.reason);
		n = 0;
	}
}

static void compare_segment(const struct elf_segment *s, int memory, uint64_t base)
{
	uint8_t *is = malloc(s->filesz), *was = malloc(s->filesz);
	uint64_t i;

	if (!is || !was || pread(fd, was, s->filesz, (off_t)s->offset) != (ssize_t)s->filesz ||
	    pread(memory, is, s->filesz, (off_t)(base + s->vaddr)) != (ssize_t)s->filesz)
		exit(1);
	for (i = 0; i < s->filesz; i++) {
		if (is[i] != was[i])
			printf("differs %" PRIx64 " %02x\n", s->vaddr + i, is[i]);
	}
	free(is);
	free(was);
}

static void look_at_memory(const char *path)
{
	uint64_t base = find_mapped(path);
	char of_target[32];
	unsigned i;
	int memory;

	snprintf(of_target, sizeof(of_target), "/proc/%d/mem", (int)target);
	memory = open(of_target, O_RDONLY | O_CLOEXEC);
	if (!base || memory < 0)
		exit(2);
	attach_all();
	for (i = 0; i < elf->n_segments; i++) {
		if (elf->segments[i].type == PT_LOAD && elf->segments[i].flags & PF_X)
			compare_segment(&elf->segments[i], memory, base);
	}
	close(memory);
}

/* --- two files with the same numbers ----------------------------------------------------------------------- */

static void run(const char *format, ...)
{
	char command[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (system(command))
		exit(2);
}

static int open_in(const char *directory, const char *name, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, flags | O_CLOEXEC, 0644);
}

/*
 * An overlay takes the bytes of `a` and `b`, which are hard links of one file without bytes, from the first of two layers that
 * has a file. When `b` is opened, that is another one. Returns the descriptor of `b`.
 */
static int open_twins(const char *directory, const char *file, const char *other)
{
	struct stat a, b;
	int empty, twin;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", directory, "tmpfs", 0, NULL))
		exit(2);
	run("cd '%s' && mkdir meta one two upper work merged && cp '%s' one/file && cp '%s' "
	    "two/file",
	    directory, file, other);
	empty = open_in(directory, "meta/a", O_RDWR | O_CREAT);
	twin = open_in(directory, "two/file", O_RDONLY);
	if (empty < 0 || twin < 0 || fstat(twin, &b) || ftruncate(empty, b.st_size) ||
	    fsetxattr(empty, "trusted.overlay.metacopy", "", 0, 0) ||
	    fsetxattr(empty, "trusted.overlay.redirect", "/file", 5, 0))
		exit(2);
	close(empty);
	close(twin);
	run("cd '%s' && ln meta/a meta/b && mount -t overlay none merged -o "
	    "metacopy=on,lowerdir=meta::one::two,upperdir=upper,workdir=work",
	    directory);
	fd = open_in(directory, "merged/a", O_RDONLY);
	run("rm '%s/one/file'", directory);
	twin = open_in(directory, "merged/b", O_RDONLY);
	if (fd < 0 || twin < 0 || fstat(fd, &a) || fstat(twin, &b) || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino || a.st_size != b.st_size ||
	    memcmp(&a.st_ctim, &b.st_ctim, sizeof(a.st_ctim)))
		exit(2);
	printf("twins %d\n", elf_file_open(fd, &elf, NULL) == 0);
	return twin;
}

static void look_at_twin(int twin, const uint8_t *mapped, off_t size)
{
	uint8_t *was = malloc((size_t)size), *is = malloc((size_t)size);
	unsigned granted = 0, link;
	char of_target[32];
	int memory;

	snprintf(of_target, sizeof(of_target), "/proc/%d/mem", (int)target);
	memory = open(of_target, O_RDONLY | O_CLOEXEC);
	fd = twin;
	/* One by one: some are no instructions of the other file, at the first look. */
	for (unsigned i = 0; i < n_sites; i++)
		granted += !attach_at(BROKER_FUNCTIONS, sites[i], &link);
	if (!was || !is || pread(twin, was, (size_t)size, 0) != size ||
	    pread(memory, is, (size_t)size, (off_t)(uintptr_t)mapped) != size)
		exit(1);
	for (off_t i = 0; i < size; i++) {
		if (is[i] != was[i])
			printf("differs %jx %02x\n", (intmax_t)i, is[i]);
	}
	printf("attached %u\n", granted);
}

static int try_twins(const char *directory, const char *file, const char *other)
{
	int twin = open_twins(directory, file, other);
	const uint8_t *mapped;
	struct stat st;

	fstat(twin, &st);
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, twin, 0);
	if (mapped == MAP_FAILED)
		exit(2);
	start();
	ask_functions(1);
	look_at_twin(twin, mapped, st.st_size);
	broker_stop(broker, true);
	kill(target, SIGKILL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	struct failure f;

	if (argc < 3)
		return 3;
	if (!strcmp(what, "twins"))
		return argc > 4 ? try_twins(argv[2], argv[3], argv[4]) : 3;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_file_open(fd, &elf, &f))
		return 2;
	start();
	if (!strcmp(what, "beginnings"))
		ask_each_byte();
	else
		ask_functions(argc > 3 ? (unsigned)atoi(argv[3]) : 1);
	if (!strcmp(what, "attach") || !strcmp(what, "beginnings"))
		attach_each_byte(argc > 4 ? (unsigned)atoi(argv[4]) : UINT32_MAX,
				 argc > 5 ? (unsigned)atoi(argv[5]) : 0);
	else if (!strcmp(what, "memory"))
		look_at_memory(argv[2]);
	broker_stop(broker, true);
	kill(target, SIGKILL);
	return 0;
}
