/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies the types that the BPF programs refer to out of the kernel's BTF (kernel_types.h says
 * why).
 *
 * One pass over all types, which takes most of the time, records a key of how the name of each begins, by which nearly all of
 * the others are left out when names are looked for, and where some of the types are: others are found from these. Where each
 * is would be half a megabyte, and the kernel clears memory before it gives it. A pass over the keys finds the types whose
 * names the programs use.
 * These are copied together with the types of their members, with new numbers, to which all
 * references are changed.
 */
#include "privilege/loader/kernel_types.h"

#include <bpf/btf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRIDE	  8
#define KEYS_EACH 64 /* are compared at once */

struct kernel_types {
	void *mapped; /* for munmap() */
	size_t mapped_size;
	const char *types, *strings; /* the two sections */
	uint32_t types_size, strings_size;
	uint32_t *at; /* offsets in the section of every STRIDE-th type, from number 1 on */
	uint16_t *
		keys; /* of the names, by the number of the type; behind the last one zeros, to a multiple of KEYS_EACH */
	uint32_t n; /* types, including number 0, which is void */
};

/*
 * --- going through all of them
 * ----------------------------------------------------------------------
 */

static const char *name_of(const struct kernel_types *k, const struct btf_type *t)
{
	return k->strings + t->name_off;
}

/* The size of the data behind struct btf_type: a part that all types of a kind have, and one for each member. */
static const struct {
	uint8_t is_known, once, each;
} kinds[32] = {
	[BTF_KIND_INT] = { 1, sizeof(uint32_t), 0 },
	[BTF_KIND_PTR] = { 1, 0, 0 },
	[BTF_KIND_ARRAY] = { 1, sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT] = { 1, 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { 1, 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { 1, 0, sizeof(struct btf_enum) },
	[BTF_KIND_FWD] = { 1, 0, 0 },
	[BTF_KIND_TYPEDEF] = { 1, 0, 0 },
	[BTF_KIND_VOLATILE] = { 1, 0, 0 },
	[BTF_KIND_CONST] = { 1, 0, 0 },
	[BTF_KIND_RESTRICT] = { 1, 0, 0 },
	[BTF_KIND_FUNC] = { 1, 0, 0 },
	[BTF_KIND_FUNC_PROTO] = { 1, 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { 1, sizeof(uint32_t), 0 },
	[BTF_KIND_DATASEC] = { 1, 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_FLOAT] = { 1, 0, 0 },
	[BTF_KIND_DECL_TAG] = { 1, sizeof(uint32_t), 0 },
	[BTF_KIND_TYPE_TAG] = { 1, 0, 0 },
	[BTF_KIND_ENUM64] = { 1, 0, sizeof(struct btf_enum64) },
};

static size_t size_of_rest(const struct btf_type *t)
{
	unsigned kind = btf_kind(t);

	return kinds[kind].once + (size_t)btf_vlen(t) * kinds[kind].each;
}

static const struct btf_type *type_of(const struct kernel_types *k, uint32_t number)
{
	const char *at = k->types + k->at[(number - 1) / STRIDE];
	const struct btf_type *t = (const struct btf_type *)at;

	for (unsigned i = (number - 1) % STRIDE; i; i--) {
		at += sizeof(*t) + size_of_rest(t);
		t = (const struct btf_type *)at;
	}
	return t;
}

#define KEY_BYTES 8

/* In the highest bit of each byte: whether the byte is `c`. */
static uint64_t bytes_equal(uint64_t bytes, unsigned char c)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f;
	uint64_t differs = bytes ^ c * (uint64_t)0x0101010101010101;

	return ~(((differs & low) + low) | differs | low);
}

/*
 * The first bytes of a name, with zeros after its end, or after what may be the end before a flavour (below), so that
 * names that differ in their flavours alone begin in the same way. `left` bytes are there, the last one of which is 0.
 */
static uint64_t beginning_of(const char *name, size_t left)
{
	const uint64_t last_byte = (uint64_t)0xff << 56;
	uint64_t bytes = 0, lines, ends;

	memcpy(&bytes, name, left < KEY_BYTES ? left : KEY_BYTES);
	bytes = le64toh(bytes);
	/* Two underscores in a row, not at the beginning and not after a third; or one, with the next byte out of sight. */
	lines = bytes_equal(bytes, '_');
	ends = lines & (lines >> 8 | last_byte) & ~(lines << 8) & ~(uint64_t)0xff;
	ends |= bytes_equal(bytes, 0);
	return ends ? bytes & (((ends & -ends) >> 7) - 1) : bytes;
}

/* Four of five names are of functions. By a bit of their own they are left out when other types are looked for. */
static uint16_t key_of_beginning(uint64_t beginning, bool is_function)
{
	return beginning * 0x9e3779b97f4a7c15 >> 49 << 1 | is_function;
}

static uint16_t key_of(const char *name, bool is_function)
{
	return key_of_beginning(beginning_of(name, strlen(name) + 1), is_function);
}

static int number_types(struct kernel_types *k)
{
	uint32_t at = 0, capacity = k->types_size / sizeof(struct btf_type) + 1;

	k->at = malloc((capacity / STRIDE + 1) * sizeof(*k->at));
	k->keys = malloc((capacity + KEYS_EACH) * sizeof(*k->keys));
	if (!k->at || !k->keys)
		return -ENOMEM;
	k->keys[0] = 0;
	for (k->n = 1; at < k->types_size; k->n++) {
		const struct btf_type *t = (const struct btf_type *)(k->types + at);
		size_t rest;

		if (k->types_size - at < sizeof(*t) || !kinds[btf_kind(t)].is_known)
			return -EINVAL;
		rest = size_of_rest(t);
		if (k->types_size - at - sizeof(*t) < rest || t->name_off >= k->strings_size)
			return -EINVAL;
		k->keys[k->n] = 0;
		if (t->name_off)
			k->keys[k->n] = key_of_beginning(
				beginning_of(name_of(k, t), k->strings_size - t->name_off),
				btf_is_func(t));
		if (k->n % STRIDE == 1)
			k->at[k->n / STRIDE] = at;
		at += sizeof(*t) + rest;
	}
	memset(k->keys + k->n, 0, KEYS_EACH * sizeof(*k->keys));
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
	free(k->keys);
	free(k);
}

/* Without a branch for each key, the compiler compares several with one instruction. */
static bool keys_have(const uint16_t keys[KEYS_EACH], uint16_t key)
{
	uint16_t found = 0;

	for (unsigned i = 0; i < KEYS_EACH; i++)
		found |= keys[i] == key;
	return found;
}

static int kernel_types_find(const struct kernel_types *k, unsigned kind, const char *name)
{
	uint16_t key = key_of(name, kind == BTF_KIND_FUNC);

	for (uint32_t first = 0; first < k->n; first += KEYS_EACH) {
		if (!keys_have(k->keys + first, key))
			continue;
		for (uint32_t i = first ?: 1; i < first + KEYS_EACH && i < k->n; i++) {
			const struct btf_type *t;

			if (k->keys[i] != key)
				continue;
			t = type_of(k, i);
			if (btf_kind(t) == kind && !strcmp(name_of(k, t), name))
				return i;
		}
	}
	return -ENOENT;
}

int kernel_types_tracepoint(const struct kernel_types *k, const char *name)
{
	char type[128];
	int length = snprintf(type, sizeof(type), "btf_trace_%s", name);

	if (length < 0 || (size_t)length >= sizeof(type))
		return -ENOENT;
	return kernel_types_find(k, BTF_KIND_TYPEDEF, type);
}

int kernel_types_function(const struct kernel_types *k, const char *name)
{
	return kernel_types_find(k, BTF_KIND_FUNC, name);
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

#define NAME_SLOTS 4096 /* a power of two, more than twice the number of names in our programs */

struct wanted {
	unsigned n;
	uint64_t keys[(UINT16_MAX + 1) / 64]; /* bits: whether any wanted name has the key */
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

	if (!strstr(name, "___"))
		return length;
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
		uint16_t key;

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
		key = key_of(name, false);
		w->keys[key / 64] |= (uint64_t)1 << key % 64;
	}
	return 0;
}

static bool is_wanted(const struct wanted *w, const struct kernel_types *k, uint32_t number)
{
	const uint16_t key = k->keys[number];
	const struct btf_type *t;
	const char *name;

	if (!(w->keys[key / 64] >> key % 64 & 1))
		return false;
	t = type_of(k, number);
	if (!can_be_wanted(t))
		return false;
	name = name_of(k, t);
	return w->slots[slot_of(w, name, essential_length(name))].name != NULL;
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
	uint16_t *number; /* number in the copy, by number in the kernel; 0: not copied */
	uint32_t *order;  /* number in the kernel, by number in the copy */
	uint32_t n;
	struct bytes types, strings;
	int error;
};

static void *add_bytes(struct copy *c, struct bytes *b, const void *data, size_t size)
{
	if (b->capacity - b->n < size) {
		size_t capacity = 2 * b->capacity + size + 32768;
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
	if (!c->number[number] && c->n == UINT16_MAX) {
		c->error = -E2BIG;
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
		if (is_wanted(w, c->k, i))
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

/* As calloc(), but written now: each page that is read before it is written takes two page faults. */
static void *zeroed(size_t size)
{
	void *memory = malloc(size);

	if (memory)
		explicit_bzero(memory, size);
	return memory;
}

int kernel_types_subset(const struct kernel_types *k, const struct btf *programs, void **ret_data,
			size_t *ret_size)
{
	struct wanted *w = zeroed(sizeof(*w));
	struct copy c = { .k = k };
	int error = -ENOMEM;

	c.number = zeroed(k->n * sizeof(*c.number));
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
