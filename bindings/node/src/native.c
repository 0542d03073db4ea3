/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addon of the Node.js package, on Node-API: what index.js calls while somebody records. It never throws for a mark
 * that cannot be made: a value that cannot be recorded is left out and counted. The handles that it gives out stay in
 * index.js, which passes each only to the functions for it.
 */
#define NAPI_VERSION 6
#include <math.h>
#include <node_api.h>
#include <proftrace/runtime.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ARGS = 32, /* those that an event keeps */
	KEPT_TEXT =
		300, /* more than tracers keep of a string, so that they see that there was more */
	FIRST_VALUE = 2, /* values come after a handle and a number */
	MAX_GIVEN = FIRST_VALUE + MAX_ARGS
};

/* A name of a domain, and the keys of what is marked with it. Read-only once made. */
struct name {
	const proftrace_domain *domain;
	const char *text;
	size_t n_keys;
	const char *keys[];
};

/* What a call was given. */
struct given {
	napi_value values[MAX_GIVEN];
	size_t n;
};

static uint64_t problems; /* values that were left out, of all threads */

static napi_value throw_type(napi_env env, const char *message)
{
	napi_throw_type_error(env, NULL, message);
	return NULL;
}

static void given_read(struct given *g, napi_env env, napi_callback_info info)
{
	g->n = MAX_GIVEN;
	if (napi_get_cb_info(env, info, &g->n, g->values, NULL, NULL) != napi_ok)
		g->n = 0;
	if (g->n > MAX_GIVEN) {
		__atomic_add_fetch(&problems, g->n - MAX_GIVEN, __ATOMIC_RELAXED);
		g->n = MAX_GIVEN;
	}
}

static void *given_handle(const struct given *g, napi_env env)
{
	void *handle = NULL;

	if (g->n)
		napi_get_value_external(env, g->values[0], &handle);
	return handle;
}

/* An integer from a number or a BigInt, by its lowest 64 bits. */
static uint64_t given_integer(const struct given *g, napi_env env, size_t i)
{
	int64_t integer = 0;
	uint64_t bits = 0;
	bool lossless;

	if (i >= g->n)
		return 0;
	if (napi_get_value_bigint_uint64(env, g->values[i], &bits, &lossless) == napi_ok)
		return bits;
	napi_get_value_int64(env, g->values[i], &integer);
	return (uint64_t)integer;
}

/* A copy of a string, which the caller frees; NULL: it is none. */
static char *text_new(napi_env env, napi_value value)
{
	size_t size = 0;
	char *text;

	if (napi_get_value_string_utf8(env, value, NULL, 0, &size) != napi_ok)
		return NULL;
	text = malloc(size + 1);
	if (text)
		napi_get_value_string_utf8(env, value, text, size + 1, &size);
	return text;
}

static void number_convert(proftrace_arg *arg, double number)
{
	const double exact = 9007199254740992.0; /* 2^53 */

	if (number == trunc(number) && fabs(number) <= exact) {
		arg->type = PROFTRACE_INT;
		arg->bits = (uint64_t)(int64_t)number;
		return;
	}
	arg->type = PROFTRACE_DOUBLE;
	memcpy(&arg->bits, &number, sizeof(number));
}

static bool bigint_convert(proftrace_arg *arg, napi_env env, napi_value value)
{
	int64_t integer;
	bool lossless = false;

	if (napi_get_value_bigint_int64(env, value, &integer, &lossless) == napi_ok && lossless) {
		arg->type = PROFTRACE_INT;
		arg->bits = (uint64_t)integer;
		return true;
	}
	arg->type = PROFTRACE_UINT;
	return napi_get_value_bigint_uint64(env, value, &arg->bits, &lossless) == napi_ok &&
	       lossless;
}

/* False: it is of a type that is not recorded. `text` is where a string goes. */
static bool value_convert(proftrace_arg *arg, napi_env env, napi_value value, char text[KEPT_TEXT])
{
	napi_valuetype type = napi_undefined;
	double number;
	size_t size;
	bool is;

	napi_typeof(env, value, &type);
	switch (type) {
	case napi_number:
		napi_get_value_double(env, value, &number);
		number_convert(arg, number);
		return true;
	case napi_boolean:
		napi_get_value_bool(env, value, &is);
		arg->type = PROFTRACE_BOOL;
		arg->bits = is;
		return true;
	case napi_string:
		arg->type = PROFTRACE_STRING;
		arg->bits = (uintptr_t)text;
		return napi_get_value_string_utf8(env, value, text, KEPT_TEXT, &size) == napi_ok;
	case napi_bigint:
		return bigint_convert(arg, env, value);
	default:
		return false;
	}
}

/* The values that a mark was given, by the keys of its name. */
struct converted {
	size_t n;
	proftrace_arg args[MAX_ARGS];
	char texts[MAX_ARGS][KEPT_TEXT];
};

static void args_convert(struct converted *c, napi_env env, const struct name *name,
			 const struct given *g)
{
	const size_t values = g->n > FIRST_VALUE ? g->n - FIRST_VALUE : 0;
	size_t i, left_out = 0;

	c->n = 0;
	for (i = 0; i < values; i++) {
		if (i >= name->n_keys ||
		    !value_convert(&c->args[c->n], env, g->values[FIRST_VALUE + i],
				   c->texts[c->n])) {
			left_out++;
			continue;
		}
		c->args[c->n++].key = name->keys[i];
	}
	if (left_out)
		__atomic_add_fetch(&problems, left_out, __ATOMIC_RELAXED);
}

/* The name that a mark was given, and its values. NULL: it is not a name. */
static const struct name *mark_read(struct given *g, struct converted *c, napi_env env,
				    napi_callback_info info)
{
	const struct name *name;

	given_read(g, env, info);
	name = given_handle(g, env);
	if (name)
		args_convert(c, env, name, g);
	return name;
}

/* Each takes a name, a number and the values. */

static napi_value begin(napi_env env, napi_callback_info info)
{
	struct converted c;
	struct given g;
	const struct name *const name = mark_read(&g, &c, env, info);
	napi_value token = NULL;
	uint64_t id;

	if (!name)
		return throw_type(env, "begin() of what is not a name");
	if (given_integer(&g, env, 1)) {
		id = proftrace_id();
		proftrace_async_begin(name->domain, name->text, id, c.args, c.n);
	} else {
		id = proftrace_scope_begin(name->domain, name->text, c.args, c.n);
	}
	napi_create_bigint_uint64(env, id, &token);
	return token;
}

static napi_value end(napi_env env, napi_callback_info info)
{
	struct given g;
	const struct name *name;

	given_read(&g, env, info);
	name = given_handle(&g, env);
	if (name)
		proftrace_scope_end(name->domain, given_integer(&g, env, 1), NULL, 0);
	return NULL;
}

static napi_value end_async(napi_env env, napi_callback_info info)
{
	struct given g;
	const struct name *name;

	given_read(&g, env, info);
	name = given_handle(&g, env);
	if (name)
		proftrace_async_end(name->domain, name->text, given_integer(&g, env, 1), NULL, 0);
	return NULL;
}

static napi_value instant(napi_env env, napi_callback_info info)
{
	struct converted c;
	struct given g;
	const struct name *const name = mark_read(&g, &c, env, info);

	if (name)
		proftrace_instant(name->domain, name->text, (int)given_integer(&g, env, 1), c.args,
				  c.n);
	return NULL;
}

static napi_value counters(napi_env env, napi_callback_info info)
{
	struct converted c;
	struct given g;
	const struct name *const name = mark_read(&g, &c, env, info);

	if (name)
		proftrace_counters(name->domain, name->text, c.args, c.n);
	return NULL;
}

/* The handle of a domain from its name. NULL, which is the built-in one, is null. */
static napi_value domain(napi_env env, napi_callback_info info)
{
	napi_value handle = NULL;
	char *text;
	struct given g;

	given_read(&g, env, info);
	text = g.n ? text_new(env, g.values[0]) : NULL;
	if (!text)
		return throw_type(env, "a name is a string");
	napi_create_external(env, (void *)(uintptr_t)proftrace_domain_get(text), NULL, NULL,
			     &handle);
	free(text);
	return handle;
}

/* Where the word is that says whether a domain is recorded. Several domains may share one. */
static napi_value semaphore_address(napi_env env, napi_callback_info info)
{
	napi_value place = NULL;
	struct given g;

	given_read(&g, env, info);
	napi_create_bigint_uint64(env, (uintptr_t)proftrace_domain_semaphore(given_handle(&g, env)),
				  &place);
	return place;
}

/* That word, as an array of one element. Nothing: this runtime lets no memory of others in. */
static napi_value semaphore_word(napi_env env, napi_callback_info info)
{
	napi_value memory, words = NULL;
	struct given g;

	given_read(&g, env, info);
	if (napi_create_external_arraybuffer(
		    env, (void *)(uintptr_t)proftrace_domain_semaphore(given_handle(&g, env)),
		    sizeof(uint32_t), NULL, NULL, &memory) != napi_ok ||
	    napi_create_typedarray(env, napi_uint32_array, 1, memory, 0, &words) != napi_ok)
		return NULL;
	return words;
}

static void name_free(napi_env env, void *data, void *hint)
{
	struct name *name = data;
	size_t i;

	(void)env, (void)hint;
	for (i = 0; i < name->n_keys; i++)
		free((char *)name->keys[i]);
	free((char *)name->text);
	free(name);
}

/* A name from a domain, a string and an array of strings, which index.js has checked. */
static napi_value name(napi_env env, napi_callback_info info)
{
	napi_value handle = NULL, key;
	uint32_t n = 0, i;
	struct name *made;
	struct given g;

	given_read(&g, env, info);
	if (g.n < 3 || napi_get_array_length(env, g.values[2], &n) != napi_ok || n > MAX_ARGS)
		return throw_type(env, "a name has at most 32 keys");
	made = calloc(1, sizeof(*made) + n * sizeof(made->keys[0]));
	if (!made)
		return throw_type(env, "no memory");
	made->domain = given_handle(&g, env);
	made->text = text_new(env, g.values[1]);
	for (i = 0; i < n && napi_get_element(env, g.values[2], i, &key) == napi_ok; i++) {
		made->keys[i] = text_new(env, key);
		if (!made->keys[i])
			break;
		made->n_keys++;
	}
	if (!made->text || made->n_keys < n ||
	    napi_create_external(env, made, name_free, NULL, &handle) != napi_ok) {
		name_free(env, made, NULL);
		return throw_type(env, "names and keys are strings");
	}
	return handle;
}

/* An object of a domain and a name, which index.js has checked. */
#define DEFINE_OBJECT(type, get)                                                        \
	static napi_value type(napi_env env, napi_callback_info info)                   \
	{                                                                               \
		napi_value handle = NULL;                                               \
		char *text;                                                             \
		struct given g;                                                         \
                                                                                        \
		given_read(&g, env, info);                                              \
		text = g.n > 1 ? text_new(env, g.values[1]) : NULL;                     \
		if (!text)                                                              \
			return throw_type(env, "a name is a string");                   \
		napi_create_external(env, (void *)(uintptr_t)get, NULL, NULL, &handle); \
		free(text);                                                             \
		return handle;                                                          \
	}
DEFINE_OBJECT(task, proftrace_task_get(given_handle(&g, env), text))
DEFINE_OBJECT(frame, proftrace_frame_get(given_handle(&g, env), text))
DEFINE_OBJECT(event, proftrace_event_get(text))
DEFINE_OBJECT(counter, proftrace_counter_get(given_handle(&g, env), text,
					     (int64_t)given_integer(&g, env, 2)))

/* With its categories, separated by commas, and its instants. */
static const proftrace_marker *marker_get(const struct given *g, napi_env env, const char *text)
{
	char *categories = g->n > 2 ? text_new(env, g->values[2]) : NULL;
	const proftrace_marker *marker = proftrace_marker_get(
		given_handle(g, env), text, categories, (unsigned)given_integer(g, env, 3), 0);

	free(categories);
	return marker;
}
DEFINE_OBJECT(marker, marker_get(&g, env, text))

/* A function of an object. */
#define DEFINE_CALL(name, call)                                       \
	static napi_value name(napi_env env, napi_callback_info info) \
	{                                                             \
		struct given g;                                       \
                                                                      \
		given_read(&g, env, info);                            \
		call;                                                 \
		return NULL;                                          \
	}
DEFINE_CALL(task_start, proftrace_task_start(given_handle(&g, env)))
DEFINE_CALL(task_stop, proftrace_task_stop(given_handle(&g, env)))
DEFINE_CALL(frame_start, proftrace_frame_start(given_handle(&g, env)))
DEFINE_CALL(frame_stop, proftrace_frame_stop(given_handle(&g, env)))
DEFINE_CALL(event_start, proftrace_event_start(given_handle(&g, env)))
DEFINE_CALL(event_stop, proftrace_event_stop(given_handle(&g, env)))
DEFINE_CALL(marker_start, proftrace_marker_start(given_handle(&g, env)))
DEFINE_CALL(marker_stop, proftrace_marker_finish(given_handle(&g, env)))
DEFINE_CALL(marker_mark,
	    proftrace_marker_mark(given_handle(&g, env), (int)given_integer(&g, env, 1)))
DEFINE_CALL(counter_set,
	    proftrace_counter_set(given_handle(&g, env), (int64_t)given_integer(&g, env, 1)))
DEFINE_CALL(counter_add,
	    proftrace_counter_increment(given_handle(&g, env), (int64_t)given_integer(&g, env, 1)))
DEFINE_CALL(flow_out, proftrace_flow_out(given_integer(&g, env, 0)))
DEFINE_CALL(flow_in, proftrace_flow_in(given_integer(&g, env, 0)))
DEFINE_CALL(step,
	    proftrace_step((int64_t)given_integer(&g, env, 0), (int64_t)given_integer(&g, env, 1)))
DEFINE_CALL(pause_all, proftrace_pause())
DEFINE_CALL(resume_all, proftrace_resume())
DEFINE_CALL(dump_all, proftrace_dump())
DEFINE_CALL(stop_all, proftrace_stop())

static const char *pool_of(const struct given *g, napi_env env)
{
	const struct name *pool = given_handle(g, env);

	return pool ? pool->text : NULL;
}
DEFINE_CALL(alloc_at,
	    proftrace_alloc(pool_of(&g, env), (void *)(uintptr_t)given_integer(&g, env, 1),
			    given_integer(&g, env, 2)))
DEFINE_CALL(free_at, proftrace_free(pool_of(&g, env), (void *)(uintptr_t)given_integer(&g, env, 1)))

static napi_value counter_value(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;
	struct given g;

	given_read(&g, env, info);
	napi_create_int64(env, proftrace_counter_value(given_handle(&g, env)), &value);
	return value;
}

static napi_value id_new(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	napi_create_bigint_uint64(env, proftrace_id(), &value);
	return value;
}

static napi_value thread_name(napi_env env, napi_callback_info info)
{
	char *text;
	struct given g;

	given_read(&g, env, info);
	text = g.n ? text_new(env, g.values[0]) : NULL;
	if (text)
		proftrace_thread_name(text);
	free(text);
	return NULL;
}

static napi_value n_problems(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	napi_create_int64(env, (int64_t)__atomic_load_n(&problems, __ATOMIC_RELAXED), &value);
	return value;
}

/* For each environment, of which every worker thread has one. */
NAPI_MODULE_INIT()
{
	static const struct {
		const char *name;
		napi_callback function;
	} functions[] = {
		{ "domain", domain },
		{ "semaphoreAddress", semaphore_address },
		{ "semaphoreWord", semaphore_word },
		{ "name", name },
		{ "begin", begin },
		{ "end", end },
		{ "endAsync", end_async },
		{ "instant", instant },
		{ "counters", counters },
		{ "task", task },
		{ "taskStart", task_start },
		{ "taskStop", task_stop },
		{ "frame", frame },
		{ "frameStart", frame_start },
		{ "frameStop", frame_stop },
		{ "event", event },
		{ "eventStart", event_start },
		{ "eventStop", event_stop },
		{ "marker", marker },
		{ "markerStart", marker_start },
		{ "markerStop", marker_stop },
		{ "markerMark", marker_mark },
		{ "counter", counter },
		{ "counterSet", counter_set },
		{ "counterAdd", counter_add },
		{ "counterValue", counter_value },
		{ "flowOut", flow_out },
		{ "flowIn", flow_in },
		{ "newId", id_new },
		{ "alloc", alloc_at },
		{ "free", free_at },
		{ "threadName", thread_name },
		{ "step", step },
		{ "pause", pause_all },
		{ "resume", resume_all },
		{ "dump", dump_all },
		{ "stop", stop_all },
		{ "problems", n_problems },
	};
	napi_value function;
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
					 functions[i].function, NULL, &function) != napi_ok ||
		    napi_set_named_property(env, exports, functions[i].name, function) != napi_ok)
			return NULL;
	}
	return exports;
}
