/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of -u (capture/probes/usdt_request.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "capture/probes/usdt_request.h"

static struct usdt_request parsed(const char *text)
{
	static struct usdt_request r;

	assert_null(usdt_request_parse(text, &r));
	return r;
}

static void parts(void **state)
{
	static struct usdt_request r;

	(void)state;
	assert_null(usdt_request_parse("python:function__return", &r));
	assert_false(r.is_pair);
	assert_string_equal(r.begin.provider, "python");
	assert_string_equal(r.begin.name, "function__return");
	assert_int_equal(r.begin.n_choices, USDT_WHOLE);
	assert_int_equal(r.begin.key, USDT_KEY_NONE);
	assert_int_equal(r.n_parts, 0);

	assert_null(usdt_request_parse(
		"p:a(file=arg0:s,arg3:x)@arg2~p:b@tid/{arg1:s}: {{{name}}} of {provider}", &r));
	assert_true(r.is_pair);
	assert_int_equal(r.begin.n_choices, 2);
	assert_string_equal(r.begin.choices[0].key, "file");
	assert_int_equal(r.begin.choices[0].type, VALUE_STRING);
	assert_null(r.begin.choices[1].key);
	assert_int_equal(r.begin.choices[1].number, 3);
	assert_int_equal(r.begin.choices[1].type, VALUE_POINTER);
	assert_int_equal(r.begin.key, 2);
	assert_int_equal(r.end.key, USDT_KEY_THREAD);
	assert_int_equal(r.n_parts, 5);
	assert_int_equal(r.parts[0].kind, USDT_PART_ARG);
	assert_int_equal(r.parts[0].arg.number, 1);
	assert_string_equal(r.parts[1].text, ": {");
	assert_int_equal(r.parts[2].kind, USDT_PART_NAME);
	assert_string_equal(r.parts[3].text, "} of ");
	assert_int_equal(r.parts[4].kind, USDT_PART_PROVIDER);

	/* A key holds for both, wherever it stands. */
	assert_null(usdt_request_parse("p:a~p:b()@arg0", &r));
	assert_int_equal(r.begin.key, 0);
	assert_int_equal(r.end.key, 0);
	assert_int_equal(r.end.n_choices, 0);
	assert_null(usdt_request_parse("p:a@arg11~p:b", &r));
	assert_int_equal(r.end.key, 11);
}

static void times(void **state)
{
	static struct usdt_request r;
	unsigned i, n = 0;

	(void)state;
	assert_null(usdt_request_parse(
		"p:k/{arg0:s}{start=arg1,dur=arg2:u,track=GPU arg3/arg4:s,flow=arg5}!", &r));
	assert_int_equal(r.given, USDT_GIVEN_SLICE);
	assert_int_equal(r.n_parts, 2);
	assert_string_equal(r.parts[1].text, "!");
	assert_int_equal(r.times[USDT_TIME_DUR].number, 2);
	assert_int_equal(r.times[USDT_TIME_DUR].type, VALUE_UINT);
	assert_false(usdt_request_has(&r, USDT_TIME_END));
	assert_int_equal(r.n_track_parts, 4);
	assert_string_equal(r.track_parts[0].text, "GPU ");
	assert_int_equal(r.track_parts[1].arg.number, 3);
	assert_string_equal(r.track_parts[2].text, "/");
	assert_int_equal(r.track_parts[3].arg.type, VALUE_STRING);
	for (i = 0; i < USDT_MAX_FIELDS; i++)
		n += usdt_request_field(&r, i) != NULL;
	assert_int_equal(n, 6);

	assert_null(usdt_request_parse("p:k/{dur=arg0}", &r));
	assert_int_equal(r.given, USDT_GIVEN_SLICE);
	assert_null(usdt_request_parse("p:k/{start=arg0,track=argument}", &r));
	assert_int_equal(r.given, USDT_GIVEN_INSTANT);
	assert_string_equal(r.track_parts[0].text, "argument");
	assert_null(usdt_request_parse("p:k/{ticks=arg0,track=t}", &r));
	assert_int_equal(r.given, USDT_GIVEN_READING);
	assert_non_null(usdt_request_parse("p:k/{start=arg0,end=arg1,end=arg2}", &r));
	assert_int_equal(r.column, 30);
}

static void refused(void **state)
{
	static const char *const bad[] = {
		"",
		"p",
		"p:",
		":n",
		"p:n:m",
		"p:n~",
		"p:n~m",
		"p:n(",
		"p:n(arg0",
		"p:n(arg12)",
		"p:n(arg)",
		"p:n(foo)",
		"p:n/{start=arg0",
		"p:n/{start=arg0,}",
		"p:n/{start=arg0}{start=arg1}",
		"p:n/{end=arg0}",
		"p:n/{start=arg0,end=arg1,dur=arg2}",
		"p:n/{start=arg0,clock}",
		"p:n/{dur=arg0,clock,track=t}",
		"p:n/{start=arg0,track=}",
		"p:n/{start=arg0,track=arg0arg1arg2arg3arg4arg0arg1arg2arg3}",
		"p:n/{start=arg0,end=arg1,track=arg2/arg3,flow=arg4}{arg5}{arg6}",
		"p:n/{ticks=arg0}",
		"p:n/{ticks=arg0,dur=arg1,track=t}",
		"p:a~p:b/{start=arg0,end=arg1}",
		"p:n(=arg0)",
		"p:n(arg0:q)",
		"p:n(arg0,)",
		"p:n(arg0 arg1)",
		"p:n@arg0",
		"p:n~p:m@",
		"p:n~p:m@arg12",
		"p:n~p:m@id",
		"p:n/",
		"p:n/{arg0",
		"p:n/}",
		"p:n/{foo}",
		"p:n/{}",
		"p:n~p:m~p:o",
		"p:n)",
		"p:n(arg0,arg1,arg2,arg3,arg4,arg5,arg6)",
		"p:n/{arg0}{arg1}{arg2}{arg3}{arg4}{arg5}{arg6}",
		"p:n/{name}a{name}a{name}a{name}a{name}a{name}a{name}a{name}a{name}a",
	};
	static struct usdt_request r;
	char longest[USDT_MAX_TEXT + 8];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		print_message("'%s'\n", bad[i]);
		assert_non_null(usdt_request_parse(bad[i], &r));
	}
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "p:", 2);
	longest[sizeof(longest) - 1] = '\0';
	assert_non_null(usdt_request_parse(longest, &r));
}

static enum usdt_role role(const char *text, const char *provider, const char *name)
{
	static struct usdt_request r;
	char captures[USDT_MAX_CAPTURES];

	assert_null(usdt_request_parse(text, &r));
	return usdt_request_role(&r, provider, name, captures);
}

static void globs(void **state)
{
	(void)state;
	assert_int_equal(role("p:n", "p", "n"), USDT_INSTANT);
	assert_int_equal(role("p:n", "p", "nn"), USDT_NO_ROLE);
	assert_int_equal(role("p:n", "pp", "n"), USDT_NO_ROLE);
	assert_int_equal(role("*:*", "", ""), USDT_INSTANT);
	assert_int_equal(role("p*:*__*t", "postgresql", "query__start"), USDT_INSTANT);
	assert_int_equal(role("p:?a[b-d]", "p", "xac"), USDT_INSTANT);
	assert_int_equal(role("p:?a[!b-d]", "p", "xac"), USDT_NO_ROLE);
	assert_int_equal(role("p:[]x]", "p", "]"), USDT_INSTANT);
	assert_int_equal(role("p:[x", "p", "[x"), USDT_INSTANT);
	assert_int_equal(role("p:a|b*|c", "p", "bcd"), USDT_INSTANT);
	assert_int_equal(role("p:a|b*|c", "p", "cd"), USDT_NO_ROLE);
	assert_int_equal(role("p:*a*b*a*b", "p", "aabbaaabbab"), USDT_INSTANT);
	assert_int_equal(role("p:a~p:b", "p", "a"), USDT_BEGIN);
	assert_int_equal(role("p:a~p:b", "p", "b"), USDT_END);
	assert_int_equal(role("p:*~p:b", "p", "b"), USDT_BEGIN);
	/* More stars than are followed fit nothing. */
	assert_int_equal(role("p:*a*b*c*d*e*f*g*h*", "p", "abcdefgh"), USDT_NO_ROLE);
}

static void pair(const char *text, const char *begin, const char *end, bool same, const char *name)
{
	struct usdt_request r = parsed(text);
	char of_begin[USDT_MAX_CAPTURES], of_end[USDT_MAX_CAPTURES], got[64];
	static struct usdt_request in_place;

	(void)r;
	assert_null(usdt_request_parse(text, &in_place));
	assert_int_equal(usdt_request_role(&in_place, "p", begin, of_begin), USDT_BEGIN);
	assert_int_equal(usdt_request_role(&in_place, "p", end, of_end), USDT_END);
	assert_int_equal(strcmp(of_begin, of_end) == 0, same);
	usdt_pair_name(&in_place, of_begin, got, sizeof(got));
	assert_string_equal(got, name);
	if (!same)
		return;
	usdt_pair_name(&in_place, of_end, got, sizeof(got));
	assert_string_equal(got, name);
}

static void pairs(void **state)
{
	(void)state;
	pair("p:query__start~p:query__done", "query__start", "query__done", true, "query");
	pair("p:gc_start~p:gc_stop", "gc_start", "gc_stop", true, "gc");
	pair("p:begin~p:end", "begin", "end", true, "begin");
	pair("p:t__start~p:t__commit|t__abort", "t__start", "t__abort", true, "t");
	pair("p:*__start~p:*__done", "query__start", "query__done", true, "query");
	pair("p:*__start~p:*__done", "query__start", "sort__done", false, "query");
	pair("*:*__start~*:*__done", "sort__start", "sort__done", true, "sort");
	/* Not as many stars: one pair of all. */
	pair("p:*__start~p:done", "query__start", "done", true, "*__start");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts), cmocka_unit_test(times), cmocka_unit_test(refused),
		cmocka_unit_test(globs), cmocka_unit_test(pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
