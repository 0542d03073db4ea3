/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions in C of the Java package: src/proftrace/Native.java declares them. Objects are passed as addresses,
 * which only that package has.
 */
#include <jni.h>
#include <proftrace/runtime.h>
#include <stdlib.h>

enum {
	MAX_ARGS = 32,		    /* those that an event keeps */
	MAX_TEXTS = MAX_ARGS * 1200 /* of 300 characters each, in UTF-8 */
};

/* A name of a domain, and the keys of what is marked with it. Made once, and kept for good. */
struct name {
	const proftrace_domain *domain;
	const char *text;
	jsize n_keys;
	const char *keys[];
};

#define FUNCTION(type, name) JNIEXPORT type JNICALL Java_proftrace_Native_##name
#define OBJECT(type, handle) ((const proftrace_##type *)(uintptr_t)(handle))

static const struct name *name_of(jlong handle)
{
	return (const struct name *)(uintptr_t)handle;
}

static void throw_no_memory(JNIEnv *env)
{
	jclass error = (*env)->FindClass(env, "java/lang/OutOfMemoryError");

	if (error)
		(*env)->ThrowNew(env, error, "no memory for a name");
}

/* A copy with a NUL; NULL: no memory, and Java has an exception. */
static char *text_new(JNIEnv *env, jbyteArray bytes)
{
	const jsize size = (*env)->GetArrayLength(env, bytes);
	char *text = malloc((size_t)size + 1);

	if (!text) {
		throw_no_memory(env);
		return NULL;
	}
	(*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte *)text);
	text[size] = 0;
	return text;
}

FUNCTION(jlong, domain)(JNIEnv *env, jclass class, jbyteArray name)
{
	char *text = text_new(env, name);
	const proftrace_domain *domain = text ? proftrace_domain_get(text) : NULL;

	(void)class;
	free(text);
	return (jlong)(uintptr_t)domain;
}

FUNCTION(jobject, semaphoreWord)(JNIEnv *env, jclass class, jlong domain)
{
	(void)class;
	return (*env)->NewDirectByteBuffer(
		env, (void *)(uintptr_t)proftrace_domain_semaphore(OBJECT(domain, domain)),
		sizeof(uint32_t));
}

FUNCTION(jlong, name)(JNIEnv *env, jclass class, jlong domain, jbyteArray text, jobjectArray keys)
{
	const jsize n = (*env)->GetArrayLength(env, keys);
	struct name *name = calloc(1, sizeof(*name) + (size_t)n * sizeof(name->keys[0]));
	jbyteArray key;

	(void)class;
	if (!name) {
		throw_no_memory(env);
		return 0;
	}
	name->domain = OBJECT(domain, domain);
	name->text = text_new(env, text);
	while (name->n_keys < n) {
		key = (*env)->GetObjectArrayElement(env, keys, name->n_keys);
		name->keys[name->n_keys++] = text_new(env, key);
		(*env)->DeleteLocalRef(env, key);
	}
	return (jlong)(uintptr_t)name;
}

/* The values of a mark, by the keys of its name. */
struct converted {
	size_t n;
	proftrace_arg args[MAX_ARGS];
	char texts[MAX_TEXTS];
};

static void args_convert(struct converted *c, JNIEnv *env, const struct name *name,
			 jlongArray words, jbyteArray texts)
{
	jsize n = (*env)->GetArrayLength(env, words) / 2, i;
	const jsize size = texts ? (*env)->GetArrayLength(env, texts) : 0;
	jlong word[2 * MAX_ARGS];

	c->n = 0;
	if (n > name->n_keys)
		n = name->n_keys;
	(*env)->GetLongArrayRegion(env, words, 0, 2 * n, word);
	if (size && size <= MAX_TEXTS)
		(*env)->GetByteArrayRegion(env, texts, 0, size, (jbyte *)c->texts);
	for (i = 0; i < n; i++) {
		proftrace_arg *arg = &c->args[c->n];

		arg->key = name->keys[i];
		arg->type = (uint64_t)word[2 * i];
		arg->bits = (uint64_t)word[2 * i + 1];
		if (arg->type == PROFTRACE_STRING)
			arg->bits += (uintptr_t)c->texts;
		c->n += arg->type != 0;
	}
}

/* One value, or with type 0 none. */
static size_t arg_convert(proftrace_arg *arg, const struct name *name, jint type, jlong bits)
{
	if (!type || !name->n_keys)
		return 0;
	arg->key = name->keys[0];
	arg->type = (uint64_t)type;
	arg->bits = (uint64_t)bits;
	return 1;
}

static jlong begin_slice(const struct name *name, jboolean async, const proftrace_arg *args,
			 size_t n)
{
	uint64_t id;

	if (!async)
		return (jlong)proftrace_scope_begin(name->domain, name->text, args, n);
	id = proftrace_id();
	proftrace_async_begin(name->domain, name->text, id, args, n);
	return (jlong)id;
}

FUNCTION(jlong, begin)
(JNIEnv *env, jclass class, jlong handle, jboolean async, jlongArray words, jbyteArray texts)
{
	struct converted c;

	(void)class;
	args_convert(&c, env, name_of(handle), words, texts);
	return begin_slice(name_of(handle), async, c.args, c.n);
}

FUNCTION(jlong, beginOne)
(JNIEnv *env, jclass class, jlong handle, jboolean async, jint type, jlong bits)
{
	proftrace_arg arg;
	const size_t n = arg_convert(&arg, name_of(handle), type, bits);

	(void)env, (void)class;
	return begin_slice(name_of(handle), async, &arg, n);
}

FUNCTION(void, end)(JNIEnv *env, jclass class, jlong handle, jlong token)
{
	(void)env, (void)class;
	proftrace_scope_end(name_of(handle)->domain, (uint64_t)token, NULL, 0);
}

FUNCTION(void, endAsync)(JNIEnv *env, jclass class, jlong handle, jlong id)
{
	const struct name *name = name_of(handle);

	(void)env, (void)class;
	proftrace_async_end(name->domain, name->text, (uint64_t)id, NULL, 0);
}

FUNCTION(void, instant)
(JNIEnv *env, jclass class, jlong handle, jint scope, jlongArray words, jbyteArray texts)
{
	const struct name *name = name_of(handle);
	struct converted c;

	(void)class;
	args_convert(&c, env, name, words, texts);
	proftrace_instant(name->domain, name->text, scope, c.args, c.n);
}

FUNCTION(void, instantOne)
(JNIEnv *env, jclass class, jlong handle, jint scope, jint type, jlong bits)
{
	const struct name *name = name_of(handle);
	proftrace_arg arg;
	const size_t n = arg_convert(&arg, name, type, bits);

	(void)env, (void)class;
	proftrace_instant(name->domain, name->text, scope, &arg, n);
}

FUNCTION(void, counters)(JNIEnv *env, jclass class, jlong handle, jlongArray words)
{
	const struct name *name = name_of(handle);
	struct converted c;

	(void)class;
	args_convert(&c, env, name, words, NULL);
	proftrace_counters(name->domain, name->text, c.args, c.n);
}

#define DEFINE_GET(type)                                                                    \
	FUNCTION(jlong, type)(JNIEnv * env, jclass class, jlong domain, jbyteArray name)    \
	{                                                                                   \
		char *text = text_new(env, name);                                           \
		const proftrace_##type *made =                                              \
			text ? proftrace_##type##_get(OBJECT(domain, domain), text) : NULL; \
                                                                                            \
		(void)class;                                                                \
		free(text);                                                                 \
		return (jlong)(uintptr_t)made;                                              \
	}
DEFINE_GET(task)
DEFINE_GET(frame)

FUNCTION(jlong, event)(JNIEnv *env, jclass class, jbyteArray name)
{
	char *text = text_new(env, name);
	const proftrace_event *event = text ? proftrace_event_get(text) : NULL;

	(void)class;
	free(text);
	return (jlong)(uintptr_t)event;
}

FUNCTION(jlong, marker)
(JNIEnv *env, jclass class, jlong domain, jbyteArray name, jbyteArray categories, jint instants)
{
	char *text = text_new(env, name), *list = text ? text_new(env, categories) : NULL;
	const proftrace_marker *marker =
		list ? proftrace_marker_get(OBJECT(domain, domain), text, *list ? list : NULL,
					    (unsigned)instants, 0)
		     : NULL;

	(void)class;
	free(text);
	free(list);
	return (jlong)(uintptr_t)marker;
}

FUNCTION(jlong, counter)(JNIEnv *env, jclass class, jlong domain, jbyteArray name, jlong initial)
{
	char *text = text_new(env, name);
	const proftrace_counter *made =
		text ? proftrace_counter_get(OBJECT(domain, domain), text, initial) : NULL;

	(void)class;
	free(text);
	return (jlong)(uintptr_t)made;
}

/* Functions that pass on what they get. */
#define DEFINE_CALL(name, parameters, call) \
	FUNCTION(void, name) parameters     \
	{                                   \
		(void)env, (void)class;     \
		call;                       \
	}
DEFINE_CALL(taskStart, (JNIEnv * env, jclass class, jlong o), proftrace_task_start(OBJECT(task, o)))
DEFINE_CALL(taskStop, (JNIEnv * env, jclass class, jlong o), proftrace_task_stop(OBJECT(task, o)))
DEFINE_CALL(frameStart, (JNIEnv * env, jclass class, jlong o),
	    proftrace_frame_start(OBJECT(frame, o)))
DEFINE_CALL(frameStop, (JNIEnv * env, jclass class, jlong o),
	    proftrace_frame_stop(OBJECT(frame, o)))
DEFINE_CALL(eventStart, (JNIEnv * env, jclass class, jlong o),
	    proftrace_event_start(OBJECT(event, o)))
DEFINE_CALL(eventStop, (JNIEnv * env, jclass class, jlong o),
	    proftrace_event_stop(OBJECT(event, o)))
DEFINE_CALL(markerStart, (JNIEnv * env, jclass class, jlong o),
	    proftrace_marker_start(OBJECT(marker, o)))
DEFINE_CALL(markerFinish, (JNIEnv * env, jclass class, jlong o),
	    proftrace_marker_finish(OBJECT(marker, o)))
DEFINE_CALL(markerMark, (JNIEnv * env, jclass class, jlong o, jint scope),
	    proftrace_marker_mark(OBJECT(marker, o), scope))
DEFINE_CALL(counterSet, (JNIEnv * env, jclass class, jlong o, jlong value),
	    proftrace_counter_set(OBJECT(counter, o), value))
DEFINE_CALL(counterAdd, (JNIEnv * env, jclass class, jlong o, jlong by),
	    proftrace_counter_increment(OBJECT(counter, o), by))
DEFINE_CALL(flowOut, (JNIEnv * env, jclass class, jlong id), proftrace_flow_out((uint64_t)id))
DEFINE_CALL(flowIn, (JNIEnv * env, jclass class, jlong id), proftrace_flow_in((uint64_t)id))
DEFINE_CALL(alloc, (JNIEnv * env, jclass class, jlong pool, jlong address, jlong size),
	    proftrace_alloc(name_of(pool)->text, (void *)(uintptr_t)address, (uint64_t)size))
DEFINE_CALL(free, (JNIEnv * env, jclass class, jlong pool, jlong address),
	    proftrace_free(name_of(pool)->text, (void *)(uintptr_t)address))
DEFINE_CALL(step, (JNIEnv * env, jclass class, jlong epoch, jlong batch),
	    proftrace_step(epoch, batch))
DEFINE_CALL(pause, (JNIEnv * env, jclass class), proftrace_pause())
DEFINE_CALL(resume, (JNIEnv * env, jclass class), proftrace_resume())
DEFINE_CALL(dump, (JNIEnv * env, jclass class), proftrace_dump())
DEFINE_CALL(stop, (JNIEnv * env, jclass class), proftrace_stop())

FUNCTION(jlong, counterValue)(JNIEnv *env, jclass class, jlong counter)
{
	(void)env, (void)class;
	return proftrace_counter_value(OBJECT(counter, counter));
}

FUNCTION(jlong, newId)(JNIEnv *env, jclass class)
{
	(void)env, (void)class;
	return (jlong)proftrace_id();
}

FUNCTION(void, threadName)(JNIEnv *env, jclass class, jbyteArray name)
{
	char *text = text_new(env, name);

	(void)class;
	if (text)
		proftrace_thread_name(text);
	free(text);
}
