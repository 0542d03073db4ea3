/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library to preload into proftrace: libbpf then behaves as versions 1.3 to 1.5 in three ways. No descriptor of a map
 * can be had before all programs are loaded, except of one that was given to libbpf (but with EARLY_MAPS in the environment). Its options to load a program have
 * a further field at the end, which it writes. And the type of attachment is put into them after they were prepared. Adds to
 * the file LOADED the number of instructions of each program that proftrace loads itself.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct later_opts {
	struct bpf_prog_load_opts known;
	__u32 written;
};

typedef int (*prepare)(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie);
enum {
	GIVEN = 16,
	HANDLERS = 4
};

static const struct bpf_map *given[GIVEN];
static unsigned n_given, n_handlers;
static struct {
	prepare original;
	long cookie;
} handlers[HANDLERS];
static int loading;

static void *libbpf; /* proftrace opens it, and asks dlsym() for its functions */

static void *original_dlsym(void *handle, const char *name)
{
	void *(*original)(void *handle, const char *name);
	void *address = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

	memcpy(&original, &address, sizeof(original));
	return original(handle, name);
}

#define NEXT(name)                                     \
	__typeof__(&name) next;                        \
	void *address = original_dlsym(libbpf, #name); \
                                                       \
	memcpy(&next, &address, sizeof(next))

static int later_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton)
{
	NEXT(bpf_object__load_skeleton);
	int error;

	loading = 1;
	error = next(skeleton);
	loading = 0;
	return error;
}

static int later_bpf_map__reuse_fd(struct bpf_map *map, int fd)
{
	NEXT(bpf_map__reuse_fd);

	if (n_given < GIVEN)
		given[n_given++] = map;
	return next(map, fd);
}

static int later_bpf_map__fd(const struct bpf_map *map)
{
	NEXT(bpf_map__fd);

	if (!loading || getenv("EARLY_MAPS"))
		return next(map);
	for (unsigned i = 0; i < n_given; i++) {
		if (given[i] == map)
			return next(map);
	}
	return -1;
}

static int prepare_later(struct bpf_program *program, struct bpf_prog_load_opts *opts, long i)
{
	struct later_opts later = { .known = *opts };
	int error;
	NEXT(bpf_program__expected_attach_type);

	later.known.sz = sizeof(later);
	later.known.expected_attach_type = 0;
	error = handlers[i].original(program, &later.known, handlers[i].cookie);
	later.known.sz = opts->sz;
	later.known.expected_attach_type = next(program);
	*opts = later.known;
	return error;
}

static int later_libbpf_register_prog_handler(const char *section, enum bpf_prog_type type,
					      enum bpf_attach_type attach,
					      const struct libbpf_prog_handler_opts *opts)
{
	struct libbpf_prog_handler_opts later;
	NEXT(libbpf_register_prog_handler);

	if (!opts)
		return next(section, type, attach, opts);
	if (n_handlers == HANDLERS)
		return -1;
	later = *opts;
	handlers[n_handlers].original = later.prog_prepare_load_fn;
	handlers[n_handlers].cookie = later.cookie;
	later.prog_prepare_load_fn = prepare_later;
	later.cookie = n_handlers++;
	return next(section, type, attach, &later);
}

static void note_loaded(const char *name, size_t n)
{
	const char *path = getenv("LOADED");
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (!file)
		return;
	fprintf(file, "%s %zu\n", name, n);
	fclose(file);
}

static int later_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			       const struct bpf_insn *insns, size_t n_insns,
			       const struct bpf_prog_load_opts *opts)
{
	size_t size = opts ? opts->sz : 0;
	struct later_opts *later = (struct later_opts *)opts;
	int fd;
	NEXT(bpf_prog_load);

	note_loaded(name ? name : "-", n_insns);
	if (size < sizeof(*later))
		return next(type, name, license, insns, n_insns, opts);
	later->known.sz = sizeof(later->known);
	fd = next(type, name, license, insns, n_insns, opts);
	later->known.sz = size;
	later->written = 1;
	return fd;
}

void *dlsym(void *handle, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} later[] = {
#define LATER(name) { #name, (void (*)(void))later_##name }
		LATER(bpf_object__load_skeleton),    LATER(bpf_map__reuse_fd), LATER(bpf_map__fd),
		LATER(libbpf_register_prog_handler), LATER(bpf_prog_load),
	};
	void *address;

	for (unsigned i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		if (strcmp(name, later[i].name) != 0)
			continue;
		libbpf = handle;
		memcpy(&address, &later[i].function, sizeof(address));
		return address;
	}
	return original_dlsym(handle, name);
}
