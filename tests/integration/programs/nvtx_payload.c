/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that passes payloads with schemas, by the payload extension of NVTX. It speaks the public protocol from its
 * own declarations.
 *
 *	nvtx_payload ROUNDS
 *
 * Each line of its input is a word: `work` makes events with payloads; `bad` makes some that no program should. It ends
 * with its input, and prints what a trace of that contains.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, n_payloads;
	uint64_t payload;
	int32_t message_type;
	const char *message;
};
struct payload {
	uint64_t schema;
	size_t size;
	const void *data;
};
struct entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const void *more[2];
};
struct schema {
	uint64_t mask;
	const char *name;
	uint64_t type, flags;
	const struct entry *entries;
	size_t n, size, alignment;
	uint64_t id;
	void *more;
};
struct value {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};
struct values {
	uint64_t mask;
	const char *name;
	const struct value *values;
	size_t n, size;
	uint64_t id;
	void *more;
};

enum {
	STATIC = 1,
	DYNAMIC = 2,
	INT = 5,
	CHAR = 1,
	UINT8 = 12,
	UINT16 = 14,
	INT64 = 17,
	FLOAT = 19,
	DOUBLE = 20,
	LONG_DOUBLE = 21,
	STRING = 75,
	ARRAY = 1 << 4,
	TO_ZERO = 2 << 4,
	BY_ENTRY = 3 << 4,
	HIDE = 1 << 9,
	MESSAGE = 1 << 10,
};

static void (*mark_ex)(void *, const struct attributes *);
static void *(*domain_create)(const char *);
static void **core2[16] = { [1] = (void **)&mark_ex, [12] = (void **)&domain_create };

static int get_table(int module, void ****table, unsigned *size)
{
	*table = core2;
	*size = 16;
	return module == 5;
}
static const struct {
	size_t size;
	int (*get)(int, void ****, unsigned *);
} callbacks = { sizeof(callbacks), get_table };
static const void *export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static struct {
	uint64_t (*schema)(void *, const struct schema *);
	uint64_t (*values)(void *, const struct values *);
	void (*mark)(void *, const struct payload *, size_t);
	int (*push)(void *, const struct payload *, size_t);
	int (*pop)(void *, const struct payload *, size_t);
	uint64_t (*start)(void *, const struct payload *, size_t);
	void (*end)(void *, uint64_t, const struct payload *, size_t);
	uint8_t (*is_enabled)(void *);
	void *more[55];
} slots;
static struct {
	size_t number, n;
	void *functions;
} segment = { 0, 63, &slots };
static struct extension {
	uint16_t nvtx_version, size, module, version;
	size_t n;
	void *segments, *get_export;
	const void *info;
} extension = { 3, sizeof(struct extension), 2, 0x0104, 1, &segment, NULL, NULL };

static int load_tool(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(const void *(*)(uint32_t)) = NULL, (*init_extension)(void *) = NULL;

	if (!library)
		return 0;
	*(void **)&init = dlsym(library, "InitializeInjectionNvtx2");
	*(void **)&init_extension = dlsym(library, "InitializeInjectionNvtxExtension");
	return init && init(export_table) && init_extension && init_extension(&extension);
}

static void *domain;
static int worked, were_bad;

static uint64_t add_schema(const char *name, uint64_t type, const struct entry *entries, size_t n,
			   size_t size)
{
	const struct schema s = { 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | (size ? 1 << 6 : 0),
				  name,
				  type,
				  0,
				  entries,
				  n,
				  size,
				  0,
				  0,
				  NULL };

	return slots.schema(domain, &s);
}
#define ADD(name, type, entries, size) \
	add_schema(name, type, entries, sizeof(entries) / sizeof(*entries), size)

struct whole {
	int number;
	double part;
	char text[12];
	uint8_t color;
	float list[3];
	const char *pointed;
	int64_t hidden;
};
struct __attribute__((packed)) counted {
	uint16_t n;
	uint16_t list[3];
	char word[6];
	int64_t tail;
};
static uint64_t whole, counted, message, nested, colors;

static void add_schemas(void)
{
	static const struct value values[] = { { "red", 1, 0 }, { "green", 7, 0 } };
	static const struct values described = {
		1 << 2 | 1 << 3 | 1 << 4, "color", values, 2, 1, 0, NULL
	};
	struct entry wholes[] = {
		{ 0, INT, "number", NULL, 0, 0, { 0 } },
		{ 0, DOUBLE, "part", NULL, 0, 0, { 0 } },
		{ ARRAY, CHAR, "text", NULL, 12, 0, { 0 } },
		{ 0, 0, "color", NULL, 0, 0, { 0 } },
		{ ARRAY, FLOAT, "list", NULL, 3, offsetof(struct whole, list), { 0 } },
		{ 0, STRING, "pointed", NULL, 0, 0, { 0 } },
		{ HIDE, INT64, "hidden", NULL, 0, 0, { 0 } },
	};
	static const struct entry counteds[] = {
		{ 0, UINT16, "n", NULL, 0, 0, { 0 } },
		{ BY_ENTRY, UINT16, "list", NULL, 0, 0, { 0 } },
		{ TO_ZERO, CHAR, "word", NULL, 0, 0, { 0 } },
		{ 0, INT64, "tail", NULL, 0, offsetof(struct counted, tail), { 0 } },
	};
	static const struct entry messages[] = {
		{ MESSAGE, STRING, "message", NULL, 0, 0, { 0 } }
	};
	struct entry nesteds[] = { { 0, 0, "inner", NULL, 0, 0, { 0 } },
				   { 0, INT, "after", NULL, 0, 0, { 0 } } };

	colors = wholes[3].type = slots.values(domain, &described);
	whole = ADD("Whole", STATIC, wholes, sizeof(struct whole));
	counted = ADD("Counted", DYNAMIC, counteds, 0);
	message = ADD("Message", STATIC, messages, 8);
	nesteds[0].type = whole;
	nested = ADD("Nested", STATIC, nesteds, sizeof(struct whole) + 8);
}

static struct attributes attributes_of(const struct payload *p, int n)
{
	return (struct attributes){ .version = 3,
				    .size = sizeof(struct attributes),
				    .payload_type = (int32_t)0xdfbd0009,
				    .n_payloads = n,
				    .payload = (uint64_t)(uintptr_t)p,
				    .message_type = 1,
				    .message = "with_schema" };
}

static void work(void)
{
	static const struct counted c = { 3, { 4, 5, 65535 }, "word", -9 };
	struct whole w = { -5, 0.5, "abc", 7, { 1, 2.5, -3 }, "elsewhere", 1 };
	struct {
		struct whole w;
		int after;
	} both = { w, 11 };
	const char *const name = "named_by_its_payload";
	const struct payload whole_payload = { whole, SIZE_MAX, &w },
			     counted_payload = { counted, sizeof(c), &c },
			     two[2] = { { message, 8, &name }, counted_payload },
			     nested_payload = { nested, sizeof(both), &both };
	const struct attributes a = attributes_of(&whole_payload, 1);
	uint64_t id;

	mark_ex(domain, &a);
	slots.mark(domain, two, 2);
	slots.push(domain, &counted_payload, 1);
	slots.mark(domain, &nested_payload, 1);
	slots.pop(domain, &counted_payload, 1);
	id = slots.start(domain, &counted_payload, 1);
	slots.end(domain, id, &counted_payload, 1);
	worked++;
}

static void bad(void)
{
	static const struct counted c = { 60000, { 0 }, "", 0 };
	static const struct entry unknown[] = { { 0, 77, "x", NULL, 0, 0, { 0 } } },
				  far[] = { { 0, INT, "x", NULL, 0, UINT64_MAX - 2, { 0 } } },
				  later[] = { { BY_ENTRY, INT, "x", NULL, 5, 0, { 0 } } },
				  many[] = { { ARRAY, UINT8, "x", NULL, 40, 0, { 0 } } },
				  unread[] = { { 0, LONG_DOUBLE, "x", NULL, 0, 0, { 0 } } };
	const struct payload all[] = { { counted, sizeof(c), &c },
				       { counted, 1, &c },
				       { ADD("b", STATIC, unknown, 8), 8, &c },
				       { ADD("b", STATIC, far, 8), 8, &c },
				       { ADD("b", STATIC, later, 8), 8, &c },
				       { ADD("b", STATIC, unread, 16), 16, &c },
				       { 99, 8, &c },
				       { colors, 8, &c },
				       { counted, SIZE_MAX, NULL } };
	static const char zeros[64];
	/* A schema that contains itself 64 times, and so 64^5 entries to the depth that is read. */
	static struct entry selves[64];
	static const struct schema endless = { 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8,
					       "b",
					       STATIC,
					       0,
					       selves,
					       64,
					       1,
					       0,
					       1 << 25,
					       NULL };
	const struct payload self = { 1 << 25, sizeof(zeros), zeros };
	const struct payload one = { ADD("b", STATIC, many, 40), 40, zeros };

	slots.mark(domain, all, sizeof(all) / sizeof(*all));
	slots.mark(domain, &one, 1);
	for (int i = 0; i < 64; i++)
		selves[i] = (struct entry){ 0, 1 << 25, "x", NULL, 0, 8, { 0 } };
	slots.schema(domain, &endless);
	slots.mark(domain, &self, 1);
	slots.mark(domain, NULL, 5);
	slots.schema(domain, NULL);
	add_schema("b", STATIC, unknown, (size_t)1 << 40, 0);
	add_schema("b", 3, unknown, 1, 0);
	slots.values(domain, NULL);
	were_bad++;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	char line[16];
	int i;

	if (!load_tool() || !slots.mark || !slots.is_enabled) {
		fprintf(stderr, "nvtx_payload: there is no tool\n");
		return 1;
	}
	domain = domain_create("payloads");
	add_schemas();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (i = 0; i < rounds && !strncmp(line, "work", 4); i++)
			work();
		if (!strncmp(line, "bad", 3))
			bad();
		printf("enabled %d\ndid\n", slots.is_enabled(domain));
		fflush(stdout);
	}
	printf("saw INSTANT with_schema payloads %d\nsaw INSTANT named_by_its_payload payloads %d\n"
	       "saw INSTANT Nested payloads %d\nsaw BEGIN Counted payloads %d\n"
	       "saw ASYNC_BEGIN Counted payloads %d\n",
	       worked, worked, worked, worked, worked);
	printf("saw INSTANT Counted payloads %d\nsaw INSTANT b payloads %d\n"
	       "saw INSTANT (no message) %d\ndone\n",
	       were_bad, 2 * were_bad, were_bad);
	return 0;
}
