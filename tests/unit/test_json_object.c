/* SPDX-License-Identifier: BSD-2-Clause */
/* Plain objects of an array, and that it makes no difference whether they or yajl are asked. */
#include "readers_test.h"

#include "formats/input.h"
#include "formats/chrome/json_object.h"

/* "{k's'n1}": kinds, and what they hold */
static void describe(const struct json_object *o, char *out, size_t size)
{
	static const char kinds[] = "{}[]ksntf0N";
	size_t length = 0;
	unsigned i;

	out[0] = '\0';
	for (i = 0; i < o->n && length < size; i++) {
		const struct json_token *t = &o->tokens[i];

		length += (size_t)snprintf(out + length, size - length, "%c%.*s", kinds[t->kind],
					   t->text ? (int)t->length : 0, t->text ? t->text : "");
	}
}

static void test_objects(void **state)
{
	static const struct {
		const char *text;
		const char *tokens; /* NULL: left to yajl */
		size_t rest;	    /* bytes left for the next one */
	} cases[] = {
		{ "{},", "{}", 0 },
		{ "{} ,\n", "{}", 0 },
		{ "\r\n\t {\"a\" : 1 , \"b\":\"\"} , {}", "{kan1kbs}", 2 },
		{ "{\"a\":{\"b\":[]},\"c\":[{},[1,-2.5,0]]},", "{ka{kbN[]}kc[{}N[1,-2.5,0]]}", 0 },
		{ "{\"a\":true,\"b\":false,\"c\":null},", "{katkbfkc0}", 0 },
		{ "{\"eight by\":\"of eight bytes\xc3\xa9 and more\"},",
		  "{keight bysof eight bytes\xc3\xa9 and more}", 0 },
		{ "{\"a\":0.125},{\"b\"", "{kan0.125}", 4 },
		{ "{\"a\":1e3,\"b\":-0.5E-12},", "{kan1e3kbn-0.5E-12}", 0 },
		{ "{\"a\":\"\\n\",\"b\":\"1234567\\\"\"},", "{kas\nkbs1234567\"}", 0 },
		{ "{\"\\\\a\":\"seventeen and more\\/\\t.\"},", "{k\\asseventeen and more/\t.}",
		  0 },
		{ "{\"a\":\"seventeen, and behind it\"},", "{kasseventeen, and behind it}", 0 },
		{ "{\"a\":[[1, 3] ,[ ],[-0.5,[20]]],\"b\":[1,\"x\"]},",
		  "{kaN[[1, 3] ,[ ],[-0.5,[20]]]kb[n1sx]}", 0 },
		{ "{\"a\":[1,[1e3]],\"b\":[ 0 ]},", "{ka[n1[n1e3]]kbN[ 0 ]}", 0 },
		/* Not whole. */
		{ "{\"a\":[1,2", NULL, 0 },
		{ "{\"a\":[1,[2],", NULL, 0 },
		{ "{\"a\":[[1]", NULL, 0 },
		{ "", NULL, 0 },
		{ "   ", NULL, 0 },
		{ "{", NULL, 0 },
		{ "{}", NULL, 0 },
		{ "{\"a\":1}", NULL, 0 },
		{ "{\"a\":1", NULL, 0 },
		{ "{\"a\"", NULL, 0 },
		{ "{\"a\":tru", NULL, 0 },
		/* Not plain. */
		{ "{\"a\":\"\\u000a\"},", NULL, 0 },
		{ "{\"a\":\"\\v\"},", NULL, 0 },
		{ "{\"a\":\"1234567\\\"},", NULL, 0 },
		{ "{\"a\":\"\\n\x01\"},", NULL, 0 },
		{ "{\"a\":\"\x01\"},", NULL, 0 },
		{ "{\"a\":\"1234567\x1f\"},", NULL, 0 },
		{ "{\"a\":1e},", NULL, 0 },
		{ "{\"a\":1e+},", NULL, 0 },
		{ "{\f},", NULL, 0 },
		/* No JSON. */
		{ "1,", NULL, 0 },
		{ "[],", NULL, 0 },
		{ "{}]", NULL, 0 },
		{ "{]},", NULL, 0 },
		{ "{\"a\"},", NULL, 0 },
		{ "{\"a\":},", NULL, 0 },
		{ "{\"a\":1,},", NULL, 0 },
		{ "{,},", NULL, 0 },
		{ "{1:1},", NULL, 0 },
		{ "{\"a\":[1,]},", NULL, 0 },
		{ "{\"a\":[,1]},", NULL, 0 },
		{ "{\"a\":[[1]2]},", NULL, 0 },
		{ "{\"a\":[01]},", NULL, 0 },
		{ "{\"a\":[1.]},", NULL, 0 },
		{ "{\"a\":[-]},", NULL, 0 },
		{ "{\"a\":[[1],]},", NULL, 0 },
		{ "{\"a\":[1 2]},", NULL, 0 },
		{ "{\"a\":[1}},", NULL, 0 },
		{ "{\"a\":01},", NULL, 0 },
		{ "{\"a\":-},", NULL, 0 },
		{ "{\"a\":1.},", NULL, 0 },
		{ "{\"a\":.5},", NULL, 0 },
		{ "{\"a\":+1},", NULL, 0 },
		{ "{\"a\":truer},", NULL, 0 },
		{ "{\"a\":[[[[[[[[\"\"]]]]]]]]},", NULL, 0 },
		{ "{\"a\":[[[[[[[[[1]]]]]]]]]},", "{ka[N[[[[[[[[1]]]]]]]]]}", 0 },
	};
	struct json_object o;
	char tokens[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = strlen(cases[i].text), taken;
		uint8_t *copy =
			malloc(length + INPUT_PADDING); /* so that a look beyond it is seen */

		memcpy(copy, cases[i].text, length);
		memset(copy + length, '0' + (int)(i % 10), INPUT_PADDING);
		taken = json_object(copy, length, &o);
		describe(&o, tokens, sizeof(tokens));
		free(copy);
		if (taken != (cases[i].tokens ? length - cases[i].rest : 0))
			fail_msg("'%s': took %zu", cases[i].text, taken);
		if (cases[i].tokens)
			assert_string_equal(tokens, cases[i].tokens);
	}
}

static void test_limits(void **state)
{
	struct json_object o;
	char text[16384];
	size_t length;
	unsigned n;

	(void)state;
	for (n = 1; n < 300; n++) {
		unsigned i;

		length = (size_t)sprintf(text, "{\"a\":[null");
		for (i = 1; i < n; i++)
			length += (size_t)sprintf(text + length, ",%u", i);
		length += (size_t)sprintf(text + length, "]},");
		assert_int_equal(json_object((uint8_t *)text, length, &o),
				 n + 5 <= JSON_MAX_TOKENS ? length : 0);
	}
	memset(text, 'x', sizeof(text));
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + 10000, "\"},", 3);
	assert_int_equal(json_object((uint8_t *)text, 10003, &o), 0);
}

/* --- the same by either way --------------------------------------------------------------------- */

static char *events(unsigned seed, size_t *ret_size)
{
	static const char *const args[] = {
		"",
		",\"args\":{}",
		",\"args\":{\"a\":1,\"b\":-2.5,\"c\":\"text\"}",
		",\"args\":{\"deep\":{\"er\":[1,\"two\",{\"x\":null}],\"t\":true}}",
		",\"args\":{\"esc\":\"a\\u0041\\n\\\"},{\"}",
		",\"args\":{\"big\":18446744073709551615,\"e\":1e-3}",
		",\"args\":{\"shape\":[[1, 2],[ ],3],\"in\":{\"shape\":[4,5]},\"mixed\":[\"x\",[6, "
		"7]]}",
		" , \"other\" : [ [ ] , { } , \"},\" ] ",
		",\"id\":\"0x1f\",\"cat\":\"a,b\"",
	};
	size_t capacity = 1 << 17, length;
	char *text = malloc(capacity);
	unsigned i;

	srand(seed);
	length = (size_t)sprintf(text, "{\"before\":[1,{\"a\":2}],\n\"traceEvents\":[\n");
	for (i = 0; i < 400; i++) {
		int what = rand() % 20;

		if (what == 0)
			length += (size_t)sprintf(text + length, "null,");
		else if (what == 1)
			length += (size_t)sprintf(text + length, "[{\"ph\":\"i\"},{}], ");
		length += (size_t)sprintf(text + length,
					  "{\"name\":\"n%d\",\"ph\":\"%c\",\"ts\":%u.%03d,\"pid\":%"
					  "d,\"tid\":%d%s},%s",
					  rand() % 30, "BEiCXbesfM"[rand() % 10], i, rand() % 1000,
					  rand() % 3, rand() % 3,
					  args[(size_t)rand() % (sizeof(args) / sizeof(args[0]))],
					  rand() % 2 ? "\n" : "");
	}
	*ret_size = length + (size_t)sprintf(text + length, "{}],\"after\":{\"ts\":1}}");
	return text;
}

/* With a form feed, which is white space for yajl, no object is plain. */
static char *odd(const char *text, size_t size, size_t *ret_size)
{
	char *out = malloc(2 * size + 1);
	bool in_string = false;
	size_t i, n = 0;

	for (i = 0; i < size; i++) {
		out[n++] = text[i];
		if (text[i] == '"' && (!i || text[i - 1] != '\\'))
			in_string = !in_string;
		if (text[i] == '{' && !in_string)
			out[n++] = '\f';
	}
	*ret_size = n;
	return out;
}

static void compare(const char *text, size_t size)
{
	size_t odd_size;
	char *other = odd(text, size, &odd_size);
	struct heard *a = hear(text, size), *b = hear(other, odd_size);

	assert_string_equal(a->text, b->text);
	assert_string_equal(a->why.message, b->why.message);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->why.truncated, b->why.truncated);
	assert_int_equal(account_lost(&a->account), account_lost(&b->account));
	assert_int_equal(a->account.marked, b->account.marked);
	heard_free(a);
	heard_free(b);
	free(other);
}

static void test_either_way(void **state)
{
	unsigned seed;

	(void)state;
	for (seed = 1; seed <= 30; seed++) {
		size_t size, cut;
		char *text = events(seed, &size);

		compare(text, size);
		for (cut = size / 2; cut < size; cut += 1009 + seed)
			compare(text, cut);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_either_way),
	};

	return cmocka_run_group_tests_name("json_object", tests, NULL, NULL);
}
