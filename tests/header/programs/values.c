/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each marker passes to its stub: every argument of the binary interface, every type of value.
 * Exits 0, or says which line found something else.
 */
#include <proftrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
#include <string>
#if __cplusplus >= 201703L
#include <string_view>
#endif
#endif
#include "capture.h"

static int failures;

#define CHECK(condition)                                                               \
	do {                                                                           \
		if (!(condition)) {                                                    \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                    \
		}                                                                      \
	} while (0)

#define CHECK_KIND(word, text)                                \
	CHECK(captured.kind && !strcmp(captured.kind, word)); \
	CHECK(captured.name && !strcmp(captured.name, text))

/* One value, its type and its bits. */
#define CHECK_VALUE(v, type, expected)                                                            \
	do {                                                                                      \
		const uint64_t strings = (type) == PROF_VALUE_STRING ? PROF_META_HAS_STRINGS : 0; \
		PROF_INSTANT("value", "key", v);                                                  \
		CHECK_KIND("instant", "value");                                                   \
		CHECK((captured.meta & ~PROF_META_OWNED) ==                                       \
		      (1 | (uint64_t)(type) << 8 | strings));                                     \
		CHECK(captured.values[0] == (uint64_t)(expected));                                \
		CHECK(captured.a == 0 && captured.b == 0);                                        \
		CHECK(!memcmp(captured.keys, "key", 4));                                          \
	} while (0)

static uint64_t image(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

enum small {
	SMALL_ONE = 1
};
enum wide {
	WIDE_NEGATIVE = -5
};

static void integers(void)
{
	char c = 'c';
	signed char sc = -3;
	unsigned char uc = 200;
	short s = -300;
	unsigned short us = 60000;
	int i = -70000;
	unsigned int u = 4000000000u;
	long l = INT64_MIN;
	unsigned long ul = UINT64_MAX;
	long long ll = -1;
	unsigned long long ull = 1ull << 63;
	size_t size = 12;
	const int ci = 7;
	volatile int vi = 8;
	enum wide negative = WIDE_NEGATIVE;

	CHECK_VALUE(c, ((char)-1 < 0 ? PROF_VALUE_INT : PROF_VALUE_UINT), 'c');
	CHECK_VALUE(sc, PROF_VALUE_INT, (int64_t)-3);
	CHECK_VALUE(uc, PROF_VALUE_UINT, 200);
	CHECK_VALUE(s, PROF_VALUE_INT, (int64_t)-300);
	CHECK_VALUE(us, PROF_VALUE_UINT, 60000);
	CHECK_VALUE(i, PROF_VALUE_INT, (int64_t)-70000);
	CHECK_VALUE(u, PROF_VALUE_UINT, 4000000000u);
	CHECK_VALUE(l, PROF_VALUE_INT, 1ull << 63);
	CHECK_VALUE(ul, PROF_VALUE_UINT, UINT64_MAX);
	CHECK_VALUE(ll, PROF_VALUE_INT, UINT64_MAX);
	CHECK_VALUE(ull, PROF_VALUE_UINT, 1ull << 63);
	CHECK_VALUE(size, PROF_VALUE_UINT, 12);
	CHECK_VALUE(ci, PROF_VALUE_INT, 7);
	CHECK_VALUE(vi, PROF_VALUE_INT, 8);
	CHECK_VALUE(negative, PROF_VALUE_INT, (int64_t)-5);
	PROF_INSTANT("enum", "key", SMALL_ONE);
	CHECK(captured.values[0] == 1);
	PROF_INSTANT("bit-field's sum", "key", i++ + 1);
	CHECK(captured.values[0] == (uint64_t)(int64_t)-69999 && i == -69999);
}

static void others(void)
{
	float f = 0.1f;
	double d = -1e300;
	bool yes = true, no = false;
	char buffer[8] = "buffer";
	const char *text = "\303\251t\303\251";
	signed char *st = (signed char *)buffer;
	const unsigned char *ut = (const unsigned char *)text;
	const char *nothing = NULL;
	void *p = buffer;
	const void *cp = text;

	CHECK_VALUE(f, PROF_VALUE_DOUBLE, image((double)f));
	CHECK_VALUE(d, PROF_VALUE_DOUBLE, image(-1e300));
	CHECK_VALUE(yes, PROF_VALUE_BOOL, 1);
	CHECK_VALUE(no, PROF_VALUE_BOOL, 0);
	CHECK_VALUE(buffer, PROF_VALUE_STRING, (uintptr_t)buffer);
	CHECK_VALUE(text, PROF_VALUE_STRING, (uintptr_t)text);
	CHECK_VALUE(st, PROF_VALUE_STRING, (uintptr_t)buffer);
	CHECK_VALUE(ut, PROF_VALUE_STRING, (uintptr_t)text);
	CHECK_VALUE(nothing, PROF_VALUE_STRING, 0);
	CHECK_VALUE(p, PROF_VALUE_POINTER, (uintptr_t)buffer);
	CHECK_VALUE(cp, PROF_VALUE_POINTER, (uintptr_t)text);
	PROF_INSTANT("literal", "key",
		     "lit"
		     "eral");
	CHECK(!strcmp((const char *)(uintptr_t)captured.values[0], "literal"));
#ifdef __cplusplus
	enum class scoped : unsigned char {
		five = 5
	};
	CHECK_VALUE(scoped::five, PROF_VALUE_UINT, 5);
	CHECK_VALUE(nullptr, PROF_VALUE_POINTER, 0);
	CHECK_VALUE(u'x', PROF_VALUE_UINT, 'x');
#endif
}

#ifdef __cplusplus
/* A string of a library of its own, which knows what std::string_view of C++17 does. */
struct view {
	using traits_type = std::string::traits_type;
	const char *bytes;
	size_t length;

	const char *data() const
	{
		return bytes;
	}
	size_t size() const
	{
		return length;
	}
};

/* What the marker passes of a view lives as long as its stub runs, so it is looked at in there. */
template <class View> static void look_at_view(View part, const char *expected)
{
	captured.expected = expected;
	PROF_INSTANT("view", "a", 1, "part", part, "b", 2);
	CHECK(captured.meta == (3 | 0x141 << 8 | PROF_META_HAS_STRINGS | PROF_META_OWNED));
	CHECK(captured.as_expected == 1);
	PROF_BEGIN("view", "part", part);
	CHECK(captured.as_expected == 2);
	PROF_END("part", View(part));
	CHECK(captured.as_expected == 3);
	captured.expected = nullptr;
	captured.as_expected = 0;
}

static void strings(void)
{
	const std::string text = "text", longer(1000, 'x');
	const char whole[] = "whole text";

	CHECK_VALUE(text, PROF_VALUE_STRING, reinterpret_cast<uintptr_t>(text.c_str()));
	CHECK(captured.meta & PROF_META_OWNED);
	PROF_INSTANT("both", "text", text, "pointer", whole);
	CHECK(!(captured.meta & PROF_META_OWNED));
	CHECK_VALUE(longer, PROF_VALUE_STRING, reinterpret_cast<uintptr_t>(longer.c_str()));
	look_at_view(text, "text");
	look_at_view(view{ whole, 5 }, "whole");
	look_at_view(view{ nullptr, 0 }, "");
	look_at_view(view{ longer.data(), 256 }, longer.substr(0, 256).c_str());
	/* One byte more than is kept says that it was longer. */
	look_at_view(view{ longer.data(), 257 }, longer.substr(0, 257).c_str());
	look_at_view(view{ longer.data(), 1000 }, longer.substr(0, 257).c_str());
#if __cplusplus >= 201703L
	look_at_view(std::string_view(whole, 5), "whole");
	look_at_view(std::string_view(), "");
#endif
}
#endif

static void pairs(void)
{
	const char *s = "s";

	PROF_BEGIN("none");
	CHECK_KIND("begin", "none");
	CHECK(captured.meta == 0 && !captured.keys && captured.a == 0 && captured.b == 0);
	PROF_END();
	CHECK(!strcmp(captured.kind, "end") && !captured.name && captured.meta == 0);

	PROF_BEGIN("two", "first", 1, "2nd", s);
	CHECK(captured.meta ==
	      (2 | PROF_VALUE_INT << 8 | PROF_VALUE_STRING << 12 | PROF_META_HAS_STRINGS));
	CHECK(!memcmp(captured.keys,
		      "first\0"
		      "2nd",
		      10) &&
	      captured.values[1] == (uintptr_t)s);

	PROF_BEGIN("six", "a", 1, "b", 2u, "c", 3.0, "d", (bool)1, "e", (void *)NULL, "f", s);
	CHECK(captured.meta == (6 | (uint64_t)0x465321 << 8 | PROF_META_HAS_STRINGS));
	CHECK(!memcmp(captured.keys, "a\0b\0c\0d\0e\0f", 12));
	CHECK(captured.values[2] == image(3.0) && captured.values[5] == (uintptr_t)s);

	PROF_END("a", 1, "b", 2, "c", 3);
	CHECK(captured.meta == (3 | 0x111 << 8) && captured.values[2] == 3 && captured.a == 0);
	PROF_END("a", 1, "b", 2, "c", 3, "d", 4);
	CHECK(captured.meta == (4 | 0x1111 << 8) && captured.values[3] == 4);
	PROF_END("a", 1, "b", 2, "c", 3, "d", 4, "e", 5);
	CHECK(captured.meta == (5 | 0x11111 << 8) && captured.values[4] == 5);
}

static int *moved(int *from)
{
	CHECK_KIND("free", "pool");
	CHECK(captured.a == (uintptr_t)from && captured.b == UINT64_MAX);
	return from + 1;
}

static void kinds(void)
{
	int object;

	PROF_COUNTER("c", -2);
	CHECK_KIND("counter", "c");
	CHECK(captured.meta == PROF_VALUE_INT << 4 && captured.a == (uint64_t)-2);
	PROF_COUNTER("c", 2.5f);
	CHECK(captured.meta == PROF_VALUE_DOUBLE << 4 && captured.a == image(2.5));
	PROF_COUNTERS("cs", "x", 1, "y", 2ull);
	CHECK_KIND("counter", "cs");
	CHECK(captured.meta == (2 | 0x21 << 8) && captured.a == 0 && captured.values[1] == 2);

	PROF_ASYNC_BEGIN("as", -1, "k", 9);
	CHECK_KIND("async_begin", "as");
	CHECK(captured.a == UINT64_MAX && captured.values[0] == 9);
	PROF_ASYNC_END("as", 1ull << 40);
	CHECK_KIND("async_end", "as");
	CHECK(captured.a == 1ull << 40 && captured.meta == 0);

	PROF_FLOW_OUT(77);
	CHECK(!strcmp(captured.kind, "flow_out") && !captured.name && captured.a == 77);
	PROF_FLOW_IN(78);
	CHECK(!strcmp(captured.kind, "flow_in") && !captured.name && captured.a == 78);

	PROF_ALLOC("pool", &object, sizeof(object));
	CHECK_KIND("alloc", "pool");
	CHECK(captured.a == (uintptr_t)&object && captured.b == sizeof(object));
	PROF_FREE("pool", &object);
	CHECK_KIND("free", "pool");
	CHECK(captured.a == (uintptr_t)&object && captured.b == 0);
	/* What the expression does comes between the two marks, and it yields its value. */
	CHECK(PROF_REALLOC("pool", &object, sizeof(object), moved(&object)) == &object + 1);
	CHECK_KIND("alloc", "pool");
	CHECK(captured.a == (uintptr_t)(&object + 1) && captured.b == sizeof(object));

	prof_domain_in_prof_control.on = 1;
	PROF_STEP(3, (short)-4);
	CHECK(!strcmp(captured.kind, "step") && captured.a == 3 && captured.b == (uint64_t)-4);
	{
		char name[] = "worker";

		PROF_THREAD_NAME(name);
		CHECK_KIND("thread_name", "worker");
		CHECK(captured.meta == PROF_META_NAME_DYNAMIC && captured.name == name);
	}
	prof_pause();
	CHECK(!strcmp(captured.kind, "pause") && captured.meta == 0);
	prof_resume();
	CHECK(!strcmp(captured.kind, "resume") && captured.meta == 0);
	prof_dump();
	CHECK(!strcmp(captured.kind, "dump") && captured.meta == 0);
	prof_stop();
	CHECK(!strcmp(captured.kind, "stop") && captured.meta == 0);
	prof_include_chrome_json("a/b.json");
	CHECK(!strcmp(captured.kind, "include_json") &&
	      captured.meta == (1 | PROF_VALUE_STRING << 8 | PROF_META_HAS_STRINGS));
	CHECK(!strcmp(captured.keys, "path") &&
	      !strcmp((const char *)(uintptr_t)captured.values[0], "a/b.json"));
}

static void named_after_me(void)
{
	PROF_FUNCTION();
	CHECK_KIND("begin", "named_after_me");
	CHECK(captured.a != 0 && captured.meta == 0);
}

static void scopes(void)
{
	uint64_t outer, inner;

	{
		PROF_SCOPE("outer", "k", 1);
		CHECK_KIND("begin", "outer");
		CHECK(captured.meta == (1 | PROF_VALUE_INT << 8));
		outer = captured.a;
		{
			PROF_SCOPE("inner");
			inner = captured.a;
			CHECK(outer && inner && outer != inner);
		}
		CHECK(!strcmp(captured.kind, "end") && captured.a == inner && !captured.name);
	}
	CHECK(!strcmp(captured.kind, "end") && captured.a == outer && captured.meta == 0);
	named_after_me();
	CHECK(!strcmp(captured.kind, "end") && captured.a == captured.token);

	/* One that began while on ends, one that began while off does not. */
	captured.kind = NULL;
	{
		PROF_SCOPE("begun");
		prof_default.on = 0;
	}
	CHECK(captured.kind && !strcmp(captured.kind, "end"));
	captured.kind = NULL;
	{
		PROF_SCOPE("not begun");
		prof_default.on = 1;
	}
	CHECK(!captured.kind);
}

int main(void)
{
	PROF_INSTANT("off");
	CHECK(!captured.kind);
	prof_default.on = 1;
	integers();
	others();
#ifdef __cplusplus
	strings();
#endif
	pairs();
	kinds();
	scopes();
	return failures != 0;
}
