/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies the types that the BPF programs refer to out of the kernel's BTF (kernel_types.h says
 * why).
 *
 * One pass records where each type is. A second one finds the types whose names the programs use.
 * These are copied together with the types of their members, with new numbers, to which all
 * references are changed.
 */
#include "privilege/loader/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct kernel_types {
	void *mapped; /* for munmap() */
	size_t mapped_size;
	const char *types, *strings; /* the two sections */
	uint32_t types_size, strings_size;
	uint32_t *at; /* offsets in the section, by the number of the type */
	uint32_t n;   /* types, including number 0, which is void */
};

/*
 * --- going through all of them
 * ----------------------------------------------------------------------
 */

static const struct btf_type *type_of(const struct kernel_types *k, uint32_t number)
{
	return (const struct btf_type *)(k->types + k->at[number]);
}

static const char *name_of(const struct kernel_types *k, const struct btf_type *t)
{
	return k->strings + t->name_off;
}

/* The size of the data behind struct btf_type; -1: a kind that is unknown here. */
static long size_of_rest(const struct btf_type *t)
{
	unsigned n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	default:
		return -1;
	}
}

static int number_types(struct kernel_types *k)
{
	uint32_t at = 0, capacity = k->types_size / sizeof(struct btf_type) + 1;

	k->at = malloc(capacity * sizeof(*k->at));
	if (!k->at)
		return -ENOMEM;
	for (k->n = 1; at < k->types_size; k->n++) {
		const struct btf_type *t = (const struct btf_type *)(k->types + at);
		long rest;

		if (k->types_size - at < sizeof(*t))
			return -EINVAL;
		rest = size_of_rest(t);
		if (rest < 0 || k->types_size - at - sizeof(*t) < (unsigned long)rest ||
		    t->name_off >= k->strings_size)
			return -EINVAL;
		k->at[k->n] = at;
		at += sizeof(*t) + rest;
	}
	return 0;
}

int kernel_types_of(const void *data, size_t size, struct kernel_types **ret_types)
{
	const struct btf_header *h = data;
	struct kernel_types *k;
	uint64_t end;
	int error;

	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) ||
	    h->hdr_len % sizeof(uint32_t) || h->type_off % sizeof(uint32_t))
		return -EINVAL;
	end = (uint64_t)h->hdr_len + h->type_off + h->type_len;
	if (end > size)
		return -EINVAL;
	end = (uint64_t)h->hdr_len + h->str_off + h->str_len;
	if (end > size || !h->str_len || ((const char *)data)[end - 1])
		return -EINVAL;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->types = (const char *)data + h->hdr_len + h->type_off;
	k->types_size = h->type_len;
	k->strings = (const char *)data + h->hdr_len + h->str_off;
	k->strings_size = h->str_len;
	error = number_types(k);
	if (error) {
		kernel_types_free(k);
		return error;
	}
	*ret_types = k;
	return 0;
}

/* Kernels before 6.16 do not support mmap() of the file, and reads return it page by page. */
static void *map_or_read(int fd, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	size_t n = 0;

	if (p != MAP_FAILED)
		return p;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
		 0);
	if (p == MAP_FAILED)
		return NULL;
	while (n < size) {
		ssize_t got = read(fd, p + n, size - n);

		if (got <= 0) {
			munmap(p, size);
			return NULL;
		}
		n += got;
	}
	return p;
}

int kernel_types_open(struct kernel_types **ret_types)
{
	int fd = open(KERNEL_TYPES_PATH, O_RDONLY | O_CLOEXEC), error;
	struct stat st;
	void *data;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size <= 0) {
		close(fd);
		return -EINVAL;
	}
	data = map_or_read(fd, st.st_size);
	close(fd);
	if (!data)
		return -EIO;
	error = kernel_types_of(data, st.st_size, ret_types);
	if (error) {
		munmap(data, st.st_size);
		return error;
	}
	(*ret_types)->mapped = data;
	(*ret_types)->mapped_size = st.st_size;
	return 0;
}

void kernel_types_free(struct kernel_types *k)
{
	if (!k)
		return;
	if (k->mapped)
		munmap(k->mapped, k->mapped_size);
	free(k->at);
	free(k);
}

static int kernel_types_find(const struct kernel_types *k, unsigned kind, const char *prefix,
			     const char *name)
{
	size_t length = strlen(prefix);

	for (uint32_t i = 1; i < k->n; i++) {
		const struct btf_type *t = type_of(k, i);
		const char *found = name_of(k, t);

		if (btf_kind(t) == kind && !strncmp(found, prefix, length) &&
		    !strcmp(found + length, name))
			return i;
	}
	return -ENOENT;
}

int kernel_types_tracepoint(const struct kernel_types *k, const char *name)
{
	return kernel_types_find(k, BTF_KIND_TYPEDEF, "btf_trace_", name);
}

int kernel_types_function(const struct kernel_types *k, const char *name)
{
	return kernel_types_find(k, BTF_KIND_FUNC, "", name);
}

int kernel_types_arguments(const struct kernel_types *k, const char *name)
{
	int number = kernel_types_tracepoint(k, name);
	const struct btf_type *t;

	if (number < 0)
		return number;
	/* A typedef of a pointer to a function. */
	t = type_of(k, number);
	for (unsigned i = 0; i < 2; i++) {
		if (!t->type || t->type >= k->n)
			return -EINVAL;
		t = type_of(k, t->type);
	}
	return btf_kind(t) == BTF_KIND_FUNC_PROTO ? btf_vlen(t) : -EINVAL;
}

/*
 * --- names that are looked for -------------------------------------------------------------------
 */

#define NAME_SLOTS 8192 /* a power of two, more than twice the number of names in our programs */

struct wanted {
	unsigned n;
	bool begins[256]; /* by first byte: whether any wanted name begins with it */
	struct {
		const char *name;
		size_t length;
	} slots[NAME_SLOTS];
};

static unsigned hash_of(const char *name, size_t length)
{
	unsigned hash = 2166136261u;

	while (length--)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash;
}

/* The length of a name without its flavour: libbpf relocates struct rq___old as struct rq. */
static size_t essential_length(const char *name)
{
	size_t length = strlen(name), i;

	for (i = length; i-- > 1;) {
		const char *at = name + i;

		if (at[-1] != '_' && !strncmp(at, "___", 3) && at[3] && at[3] != '_')
			return i;
	}
	return length;
}

/* The slot with this name, or the free slot for it. */
static unsigned slot_of(const struct wanted *w, const char *name, size_t length)
{
	unsigned i = hash_of(name, length) & (NAME_SLOTS - 1);

	while (w->slots[i].name &&
	       (w->slots[i].length != length || memcmp(w->slots[i].name, name, length) != 0))
		i = (i + 1) & (NAME_SLOTS - 1);
	return i;
}

/* Whether a relocation may begin with a type of this kind. */
static bool can_be_wanted(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t));
}

static int want_all(struct wanted *w, const struct btf *programs)
{
	unsigned i, n = btf__type_cnt(programs);

	for (i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(programs, i);
		const char *name;
		size_t length;
		unsigned slot;

		if (!can_be_wanted(t))
			continue;
		name = btf__name_by_offset(programs, t->name_off);
		length = name ? essential_length(name) : 0;
		if (!length)
			continue;
		slot = slot_of(w, name, length);
		if (w->slots[slot].name)
			continue;
		if (++w->n > NAME_SLOTS / 2)
			return -E2BIG;
		w->slots[slot].name = name;
		w->slots[slot].length = length;
		w->begins[(unsigned char)*name] = true;
	}
	return 0;
}

static bool is_wanted(const struct wanted *w, const char *name)
{
	size_t length;

	if (!w->begins[(unsigned char)*name])
		return false;
	length = essential_length(name);
	return w->slots[slot_of(w, name, length)].name != NULL;
}

/*
 * --- copying -------------------------------------------------------------------------------------
 */

struct bytes {
	char *data;
	size_t n, capacity;
};

struct copy {
	const struct kernel_types *k;
	uint32_t *number; /* number in the copy, by number in the kernel; 0: not copied */
	uint32_t *order;  /* number in the kernel, by number in the copy */
	uint32_t n;
	struct bytes types, strings;
	int error;
};

static void *add_bytes(struct copy *c, struct bytes *b, const void *data, size_t size)
{
	if (b->capacity - b->n < size) {
		size_t capacity = 2 * b->capacity + size + 4096;
		char *grown = realloc(b->data, capacity);

		if (!grown) {
			c->error = -ENOMEM;
			return NULL;
		}
		b->data = grown;
		b->capacity = capacity;
	}
	memcpy(b->data + b->n, data, size);
	b->n += size;
	return b->data + b->n - size;
}

/* The number of a type in the copy. Queues the type if it is not in the copy yet. */
static uint32_t copy_type_number(struct copy *c, uint32_t number)
{
	if (!number)
		return 0;
	if (number >= c->k->n) {
		c->error = -EINVAL;
		return 0;
	}
	if (!c->number[number]) {
		c->number[number] = ++c->n;
		c->order[c->n] = number;
	}
	return c->number[number];
}

static uint32_t copy_name(struct copy *c, uint32_t offset)
{
	const char *name = c->k->strings + offset;
	uint32_t at = c->strings.n;

	if (!offset)
		return 0;
	if (offset >= c->k->strings_size) {
		c->error = -EINVAL;
		return 0;
	}
	add_bytes(c, &c->strings, name, strlen(name) + 1);
	return at;
}

static void copy_members(struct copy *c, struct btf_type *t)
{
	struct btf_member *m = btf_members(t);

	for (unsigned i = 0; i < btf_vlen(t); i++) {
		m[i].name_off = copy_name(c, m[i].name_off);
		m[i].type = copy_type_number(c, m[i].type);
	}
}

static void copy_enumerators(struct copy *c, struct btf_type *t)
{
	for (unsigned i = 0; i < btf_vlen(t); i++) {
		if (btf_is_enum(t))
			btf_enum(t)[i].name_off = copy_name(c, btf_enum(t)[i].name_off);
		else
			btf_enum64(t)[i].name_off = copy_name(c, btf_enum64(t)[i].name_off);
	}
}

static void copy_type(struct copy *c, uint32_t number)
{
	const struct btf_type *from = type_of(c->k, number);
	struct btf_type *t = add_bytes(c, &c->types, from, sizeof(*from) + size_of_rest(from));

	if (!t)
		return;
	t->name_off = copy_name(c, t->name_off);
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
		break;
	case BTF_KIND_PTR: /* to void */
		t->type = 0;
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		t->type = copy_type_number(c, t->type);
		break;
	case BTF_KIND_ARRAY:
		btf_array(t)->type = copy_type_number(c, btf_array(t)->type);
		btf_array(t)->index_type = copy_type_number(c, btf_array(t)->index_type);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		copy_members(c, t);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		copy_enumerators(c, t);
		break;
	default: /* functions and variables, which are not part of other types */
		c->error = -EINVAL;
	}
}

static int copy_all(struct copy *c, const struct wanted *w)
{
	add_bytes(c, &c->strings, "", 1);
	for (uint32_t i = 1; !c->error && i < c->k->n; i++) {
		const struct btf_type *t = type_of(c->k, i);

		if (can_be_wanted(t) && is_wanted(w, name_of(c->k, t)))
			copy_type_number(c, i);
	}
	/* Copying a type may append its members to the list. */
	for (uint32_t i = 1; !c->error && i <= c->n; i++)
		copy_type(c, c->order[i]);
	return c->error;
}

static int put_together(const struct copy *c, void **ret_data, size_t *ret_size)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = c->types.n,
		.str_off = c->types.n,
		.str_len = c->strings.n,
	};
	char *data = malloc(sizeof(h) + c->types.n + c->strings.n);

	if (!data)
		return -ENOMEM;
	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), c->types.data, c->types.n);
	memcpy(data + sizeof(h) + c->types.n, c->strings.data, c->strings.n);
	*ret_data = data;
	*ret_size = sizeof(h) + c->types.n + c->strings.n;
	return 0;
}

int kernel_types_subset(const struct kernel_types *k, const struct btf *programs, void **ret_data,
			size_t *ret_size)
{
	struct wanted *w = calloc(1, sizeof(*w));
	struct copy c = { .k = k };
	int error = -ENOMEM;

	c.number = calloc(k->n, sizeof(*c.number));
	c.order = malloc(k->n * sizeof(*c.order));
	if (w && c.number && c.order)
		error = want_all(w, programs);
	error = error ?: copy_all(&c, w);
	if (!error && !c.n)
		error = -ENOENT;
	error = error ?: put_together(&c, ret_data, ret_size);
	free(w);
	free(c.number);
	free(c.order);
	free(c.types.data);
	free(c.strings.data);
	return error;
}
