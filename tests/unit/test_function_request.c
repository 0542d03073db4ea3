/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of -f (capture/probes/function_request.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "capture/probes/function_request.h"

static struct function_request r;

static void names(void **state)
{
	(void)state;
	assert_null(function_request_parse("deflate*", &r));
	assert_null(r.library);
	assert_string_equal(r.name, "deflate*");
	assert_int_equal(r.n_args, 0);
	assert_false(r.has_value);
	assert_null(function_request_parse("libz.so.1:deflate", &r));
	assert_string_equal(r.library, "libz.so.1");
	assert_string_equal(r.name, "deflate");
	/* The colons of C++ are the name's. */
	assert_null(function_request_parse("ns::Class::*", &r));
	assert_null(r.library);
	assert_string_equal(r.name, "ns::Class::*");
	assert_null(function_request_parse("/usr/lib/*/libx.so:ns::f", &r));
	assert_string_equal(r.library, "/usr/lib/*/libx.so");
	assert_string_equal(r.name, "ns::f");
}

static void values(void **state)
{
	(void)state;
	assert_null(function_request_parse("open(path=arg0:str,arg1:s32,fd=ret:s32)", &r));
	assert_string_equal(r.name, "open");
	assert_int_equal(r.n_args, 2);
	assert_string_equal(r.args[0].key, "path");
	assert_int_equal(r.args[0].type, VALUE_STRING);
	assert_int_equal(r.args[1].number, 1);
	assert_null(r.args[1].key);
	assert_int_equal(r.args[1].type, VALUE_INT);
	assert_int_equal(r.args[1].bits, 32);
	assert_true(r.has_value);
	assert_string_equal(r.value.key, "fd");
	assert_null(function_request_parse("f(arg11)", &r));
	assert_int_equal(r.args[0].number, 11);
	assert_int_equal(r.args[0].type, VALUE_UINT);
	assert_int_equal(r.args[0].bits, 64);
	assert_null(function_request_parse("f(ret)", &r));
	assert_true(r.has_value);
	/* Parameters are the name's. */
	assert_null(function_request_parse("f(retired, argument)", &r));
	assert_string_equal(r.name, "f(retired, argument)");
	assert_null(function_request_parse("ns::f(int)(arg0:x)", &r));
	assert_string_equal(r.name, "ns::f(int)");
	assert_int_equal(r.args[0].type, VALUE_POINTER);
}

static void wrong(void **state)
{
	static const char *const texts[] = {
		"",
		":f",
		"lib:",
		"(arg0)",
		"f(arg12)",
		"f(arg0:f64)",
		"f(arg0:u7)",
		"f(arg0:)",
		"f(ret,ret)",
		"f(arg0,)",
		"f(=arg0)",
		"f(arg0 arg1)",
		"f(arg0:u64:u64)",
		"f(arg0,arg1,arg2,arg3,arg4,arg5,arg6)",
	};
	char longest[FUNCTION_MAX_TEXT + 1];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_non_null(function_request_parse(texts[i], &r));
	memset(longest, 'f', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_non_null(function_request_parse(longest, &r));
	longest[sizeof(longest) - 2] = '\0';
	assert_null(function_request_parse(longest, &r));
	assert_string_equal(r.name, longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(values),
		cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
