/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What scope(name, key=value) returns: a slice for `with`, an asynchronous one for `async with`, a decorator. One is
 * made for each slice, recorded or not; so their memory is kept and used again, and making one allocates nothing.
 */
#include "native.h"

#define MAX_SPARE 64 /* scopes whose memory is kept */

struct scope {
	PyObject_HEAD struct domain *domain;
	PyObject *name; /* NULL: none was given */
	struct kept_args args;
	unsigned open;	   /* slices begun and not ended */
	unsigned recorded; /* those of them that were recorded when they began */
	uint64_t async_id; /* of the asynchronous slice that is open, or 0 */
};

static struct scope *spare[MAX_SPARE];
static unsigned n_spare;

int kept_args_set(struct kept_args *kept, PyObject *keys, PyObject *const *values)
{
	const Py_ssize_t n = keys ? PyTuple_Size(keys) : 0;
	Py_ssize_t i;

	kept->keys = NULL;
	if (!n)
		return 0;
	kept->values = kept->some;
	if (n > KEPT_ARGS)
		kept->values = PyMem_Malloc((size_t)n * sizeof(*kept->values));
	if (!kept->values) {
		PyErr_NoMemory();
		return -1;
	}
	Py_INCREF(keys);
	kept->keys = keys;
	for (i = 0; i < n; i++) {
		Py_INCREF(values[i]);
		kept->values[i] = values[i];
	}
	return 0;
}

void kept_args_clear(struct kept_args *kept)
{
	PyObject *keys = kept->keys;
	Py_ssize_t i, n = keys ? PyTuple_Size(keys) : 0;

	kept->keys = NULL;
	for (i = 0; i < n; i++)
		Py_DECREF(kept->values[i]);
	if (n && kept->values != kept->some)
		PyMem_Free(kept->values);
	Py_XDECREF(keys);
}

PyObject *scope_new(struct domain *d, PyObject *name, PyObject *keys, PyObject *const *values)
{
	struct scope *s = n_spare ? spare[--n_spare] : malloc(sizeof(*s));

	if (!s)
		return PyErr_NoMemory();
	PyObject_Init((PyObject *)s, native.scope);
	Py_INCREF(d);
	Py_XINCREF(name);
	s->domain = d;
	s->name = name;
	s->open = s->recorded = 0;
	s->async_id = 0;
	s->args.keys = NULL;
	if (unlikely(keys) && kept_args_set(&s->args, keys, values) < 0)
		Py_CLEAR(s);
	return (PyObject *)s;
}

static void scope_dealloc(struct scope *s)
{
	PyTypeObject *type = Py_TYPE(s);

	if (unlikely(s->args.keys))
		kept_args_clear(&s->args);
	Py_XDECREF(s->name);
	Py_DECREF(s->domain);
	if (n_spare < MAX_SPARE)
		spare[n_spare++] = s;
	else
		free(s);
	Py_DECREF(type);
}

/* The token of its slices: its address, which nothing else has while one of them is open. */
static uint64_t scope_token(const struct scope *s)
{
	return (uint64_t)(uintptr_t)s;
}

static int scope_begin(struct scope *s)
{
	const int usable = domain_check(s->domain);
	struct converted c;
	struct text text;

	if (usable <= 0)
		return usable;
	if (text_convert(&text, s->name) < 0 || !text.utf8)
		return PyErr_Occurred() ? -1 : 0;
	if (args_convert(&c, s->args.keys, s->args.values) < 0) {
		text_release(&text);
		return -1;
	}
	s->open++;
	timers_begin(scope_token(s), s->name);
	if (prof_domain_is_enabled(s->domain->domain)) {
		s->recorded++;
		prof_scope_begin_args(s->domain->domain, scope_token(s), text.utf8, c.args, c.n);
	}
	args_release(&c);
	text_release(&text);
	return 0;
}

static PyObject *scope_enter(struct scope *s, PyObject *unused)
{
	(void)unused;
	if (domain_is_on(s->domain) && scope_begin(s) < 0)
		return NULL;
	Py_INCREF(s);
	return (PyObject *)s;
}

static PyObject *scope_exit(struct scope *s, PyObject *const *args, Py_ssize_t n)
{
	(void)args, (void)n;
	if (unlikely(s->open)) {
		s->open--;
		if (s->recorded) {
			s->recorded--;
			prof_scope_end_args(s->domain->domain, scope_token(s), NULL, 0);
		}
		timers_end(scope_token(s));
	}
	Py_RETURN_NONE;
}

/*
 * An object that can be awaited, and yields its value at once: entering and leaving an asynchronous scope waits for
 * nothing.
 */
struct ready {
	PyObject_HEAD PyObject *value;
};

static PyObject *ready_new(PyObject *value)
{
	struct ready *r = PyObject_New(struct ready, native.ready);

	if (r) {
		Py_INCREF(value);
		r->value = value;
	}
	return (PyObject *)r;
}

static void ready_dealloc(struct ready *r)
{
	PyTypeObject *type = Py_TYPE(r);

	Py_DECREF(r->value);
	PyObject_Free(r);
	Py_DECREF(type);
}

static PyObject *ready_self(PyObject *r)
{
	Py_INCREF(r);
	return r;
}

static PyObject *ready_next(struct ready *r)
{
	if (r->value != Py_None)
		PyErr_SetObject(PyExc_StopIteration, r->value);
	return NULL;
}

static int scope_async_begin(struct scope *s)
{
	const int usable = domain_check(s->domain);
	struct converted c;
	struct text text;

	if (usable <= 0)
		return usable;
	if (s->async_id)
		return report_problem(PROBLEM_REUSED,
				      "an asynchronous scope is open already: make one for each");
	if (text_convert(&text, s->name) < 0 || !text.utf8)
		return PyErr_Occurred() ? -1 : 0;
	if (!prof_domain_is_enabled(s->domain->domain)) {
		text_release(&text);
		return 0;
	}
	if (args_convert(&c, s->args.keys, s->args.values) < 0) {
		text_release(&text);
		return -1;
	}
	s->async_id = ++native.async_id;
	prof_async_begin_args(s->domain->domain, text.utf8, s->async_id, c.args, c.n);
	args_release(&c);
	text_release(&text);
	return 0;
}

static PyObject *scope_aenter(struct scope *s, PyObject *unused)
{
	(void)unused;
	if (domain_is_on(s->domain) && scope_async_begin(s) < 0)
		return NULL;
	return ready_new((PyObject *)s);
}

static PyObject *scope_aexit(struct scope *s, PyObject *const *args, Py_ssize_t n)
{
	struct text text;

	(void)args, (void)n;
	if (s->async_id) {
		if (text_convert(&text, s->name) < 0)
			return NULL;
		prof_async_end_args(s->domain->domain, text.utf8, s->async_id, NULL, 0);
		text_release(&text);
		s->async_id = 0;
	}
	Py_INCREF(native.ready_with_none);
	return native.ready_with_none;
}

/* As a decorator. */
static PyObject *scope_call(struct scope *s, PyObject *args, PyObject *keywords)
{
	PyObject *wrapped;

	if (PyTuple_Size(args) != 1 || keywords || !function_can_wrap(PyTuple_GetItem(args, 0))) {
		PyErr_SetString(PyExc_TypeError, "a scope decorates one function");
		return NULL;
	}
	wrapped = PyTuple_GetItem(args, 0);
	return function_new(wrapped, s->domain, s->name, &s->args, NULL);
}

static PyObject *scope_repr(struct scope *s)
{
	return PyUnicode_FromFormat("<proftrace.scope %R>", s->name ? s->name : Py_None);
}

static PyMethodDef scope_methods[] = {
	{ "__enter__", METHOD(scope_enter), METH_NOARGS, "Begin the slice on this thread." },
	{ "__exit__", METHOD(scope_exit), METH_FASTCALL, "End the slice." },
	{ "__aenter__", METHOD(scope_aenter), METH_NOARGS,
	  "Begin an asynchronous slice, which follows the task." },
	{ "__aexit__", METHOD(scope_aexit), METH_FASTCALL, "End the asynchronous slice." },
	{ NULL, NULL, 0, NULL },
};

PyTypeObject *scope_type_new(void)
{
	PyType_Slot slots[] = {
		{ Py_tp_doc, (void *)"A slice: `with` begins and ends it, `async with` makes it "
				     "an asynchronous one, and as a decorator it is each call." },
		{ Py_tp_methods, scope_methods },
		{ Py_tp_call, scope_call },
		{ Py_tp_repr, scope_repr },
		{ Py_tp_dealloc, scope_dealloc },
		{ 0, NULL },
	};
	PyType_Spec spec = { "proftrace.Scope", sizeof(struct scope), 0, Py_TPFLAGS_DEFAULT,
			     slots };

	return (PyTypeObject *)PyType_FromSpec(&spec);
}

PyTypeObject *ready_type_new(void)
{
	PyType_Slot slots[] = {
		{ Py_tp_doc, (void *)"An awaitable that waits for nothing." },
		{ Py_am_await, ready_self },
		{ Py_tp_iter, ready_self },
		{ Py_tp_iternext, ready_next },
		{ Py_tp_dealloc, ready_dealloc },
		{ 0, NULL },
	};
	PyType_Spec spec = { "proftrace.Ready", sizeof(struct ready), 0, Py_TPFLAGS_DEFAULT,
			     slots };
	PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);

	native.ready = type;
	native.ready_with_none = type ? ready_new(Py_None) : NULL;
	return native.ready_with_none ? type : NULL;
}
