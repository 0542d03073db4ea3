/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A decorated function: each call is a slice. It passes for the function itself, whose attributes it has: inspect,
 * pickle, functools and asyncio see no difference. Calls of coroutine functions and generators return at once: what
 * they return is traced as an asynchronous slice, by the Python function `trace_awaitable`.
 */
#include "native.h"

struct function {
	PyObject_HEAD vectorcall_t *call;
	PyObject *wrapped, *weak_references;
	struct domain *domain;
	PyObject *name;
	struct kept_args args;
	PyObject *marker;    /* or NULL */
	PyTypeObject *owner; /* of the method of a class of modules: that class; else NULL */
	int returns_at_once;
};

/* The second one is for CPython 3.9 and 3.10, which have the first in their headers only. */
extern PyObject *PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
				     PyObject *keys) __attribute__((weak));
extern PyObject *PyObject_VectorcallDict(PyObject *callable, PyObject *const *args, size_t nargsf,
					 PyObject *keywords) __attribute__((weak));

/* Not in the limited API, but in every CPython. */
extern PyObject *PyMethod_New(PyObject *function, PyObject *object) __attribute__((weak));

static PyObject *call_by_tuple(PyObject *callable, PyObject *const *args, size_t nargsf,
			       PyObject *keys)
{
	const size_t n = nargsf & ~((size_t)1 << (8 * sizeof(size_t) - 1));
	const Py_ssize_t n_keys = keys ? PyTuple_Size(keys) : 0;
	PyObject *tuple = PyTuple_New((Py_ssize_t)n), *keywords = NULL, *result = NULL;
	Py_ssize_t i;

	if (n_keys)
		keywords = PyDict_New();
	if (!tuple || (n_keys && !keywords))
		goto out;
	for (i = 0; i < (Py_ssize_t)n; i++) {
		Py_INCREF(args[i]);
		PyTuple_SetItem(tuple, i, args[i]);
	}
	for (i = 0; i < n_keys; i++) {
		if (PyDict_SetItem(keywords, PyTuple_GetItem(keys, i), args[(Py_ssize_t)n + i]) < 0)
			goto out;
	}
	result = PyObject_Call(callable, tuple, keywords);
out:
	Py_XDECREF(tuple);
	Py_XDECREF(keywords);
	return result;
}

static inline PyObject *call_wrapped(PyObject *callable, PyObject *const *args, size_t nargsf,
				     PyObject *keys)
{
	if (likely(PyObject_Vectorcall != NULL))
		return PyObject_Vectorcall(callable, args, nargsf, keys);
	if (!keys && PyObject_VectorcallDict)
		return PyObject_VectorcallDict(callable, args, nargsf, NULL);
	return call_by_tuple(callable, args, nargsf, keys);
}

static PyObject *function_call_in_marker(struct function *f, PyObject *const *args, size_t nargsf,
					 PyObject *keys)
{
	const prof_marker_t *const marker = marker_handle(f->marker);
	PyObject *result;
	char token;

	if (!marker)
		return PyErr_Occurred() ? NULL : call_wrapped(f->wrapped, args, nargsf, keys);
	timers_begin((uintptr_t)&token, f->name);
	{
		PROF_MARKER_SCOPE(marker);
		result = call_wrapped(f->wrapped, args, nargsf, keys);
	}
	timers_end((uintptr_t)&token);
	return result;
}

/* What an awaitable or a generator does is a slice from its first step on. */
static PyObject *function_call_and_trace(struct function *f, PyObject *const *args, size_t nargsf,
					 PyObject *keys)
{
	PyObject *result = call_wrapped(f->wrapped, args, nargsf, keys), *scope, *traced;

	if (!result || !native.trace_awaitable)
		return result;
	scope = scope_new(f->domain, f->name, f->args.keys, f->args.values);
	traced = scope ? PyObject_CallFunctionObjArgs(native.trace_awaitable, result, scope, NULL)
		       : NULL;
	Py_XDECREF(scope);
	Py_DECREF(result);
	return traced;
}

static __attribute__((noinline)) PyObject *function_call_in_slice(struct function *f,
								  struct domain *d, PyObject *name,
								  PyObject *const *args,
								  size_t nargsf, PyObject *keys)
{
	const int usable = domain_check(d);
	const int recorded = usable > 0 && prof_domain_is_enabled(d->domain);
	const prof_runtime_domain_t *const domain = d->domain;
	struct converted c;
	struct text text;
	PyObject *result;
	char token;

	if (usable < 0 || text_convert(&text, name) < 0)
		return NULL;
	if (recorded && text.utf8) {
		if (args_convert(&c, f->args.keys, f->args.values) < 0) {
			text_release(&text);
			return NULL;
		}
		prof_scope_begin_args(domain, (uintptr_t)&token, text.utf8, c.args, c.n);
		args_release(&c);
	}
	timers_begin((uintptr_t)&token, name);
	result = call_wrapped(f->wrapped, args, nargsf, keys);
	if (recorded && text.utf8)
		prof_scope_end_args(domain, (uintptr_t)&token, NULL, 0);
	timers_end((uintptr_t)&token);
	text_release(&text);
	return result;
}

static PyObject *function_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keys)
{
	struct function *f = (struct function *)self;
	PyObject *result;

	if (likely(!domain_is_on(f->domain)))
		return call_wrapped(f->wrapped, args, nargsf, keys);
	/* The wrapped function may drop the last reference to its own decorator. */
	Py_INCREF(self);
	if (f->returns_at_once)
		result = function_call_and_trace(f, args, nargsf, keys);
	else if (f->marker)
		result = function_call_in_marker(f, args, nargsf, keys);
	else
		result = function_call_in_slice(f, f->domain, f->name, args, nargsf, keys);
	Py_DECREF(self);
	return result;
}

/*
 * What a module is called in traces: a pair of a Domain's name and its own in its dictionary, so that copies have it, too. New
 * references; 0: it is not traced, or by the class of another module, whose method this one calls.
 */
static int module_find(const struct function *f, PyObject *module, PyObject **domain,
		       PyObject **name)
{
	PyObject *attributes, *pair = NULL;

	if (Py_TYPE(module) != f->owner)
		return 0;
	attributes = PyObject_GetAttr(module, native.attributes_name);
	if (attributes && PyDict_Check(attributes))
		pair = PyDict_GetItemWithError(attributes, native.traced_name);
	if (pair && PyTuple_Check(pair) && PyTuple_Size(pair) == 2) {
		*domain = PyDict_GetItem(native.module_domains, PyTuple_GetItem(pair, 0));
		*name = PyTuple_GetItem(pair, 1);
		Py_XINCREF(*domain);
		Py_INCREF(*name);
	} else {
		pair = NULL;
	}
	PyErr_Clear();
	Py_XDECREF(attributes);
	return pair && *domain;
}

/* The method of all modules of a class, traced or not. Modules may be of any domain. */
static PyObject *function_call_of_module(PyObject *self, PyObject *const *args, size_t nargsf,
					 PyObject *keys)
{
	struct function *f = (struct function *)self;
	PyObject *domain = NULL, *name = NULL, *result;

	if (likely(!((prof_domain_in_prof_default.on | prof_domain_in_prof_runtime.on |
		      native.attention))) ||
	    !(nargsf << 1) || !module_find(f, args[0], &domain, &name))
		return call_wrapped(f->wrapped, args, nargsf, keys);
	Py_INCREF(self);
	result = function_call_in_slice(f, (struct domain *)domain, name, args, nargsf, keys);
	Py_DECREF(self);
	Py_DECREF(domain);
	Py_DECREF(name);
	return result;
}

/* Coroutine functions and generators, also asynchronous ones, by the flags of their code. */
static int function_returns_at_once(PyObject *wrapped)
{
	PyObject *code = PyObject_GetAttrString(wrapped, "__code__"), *flags = NULL;
	long bits = 0;

	if (code)
		flags = PyObject_GetAttrString(code, "co_flags");
	if (flags)
		bits = PyLong_AsLong(flags);
	PyErr_Clear();
	Py_XDECREF(code);
	Py_XDECREF(flags);
	return bits > 0 && bits & (0x20 | 0x80 | 0x100 | 0x200);
}

static int is_method_descriptor(PyObject *object)
{
	PyObject *type = (PyObject *)Py_TYPE(object);

	return type == native.static_method || type == native.class_method;
}

/* A static method or a class method: of the traced function. */
static PyObject *method_descriptor_new(PyObject *descriptor, struct domain *d, PyObject *name,
				       const struct kept_args *args, PyObject *marker)
{
	PyObject *wrapped = PyObject_GetAttrString(descriptor, "__func__");
	PyObject *function = wrapped ? function_new(wrapped, d, name, args, marker) : NULL;
	PyObject *result = NULL;

	if (function)
		result = PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(descriptor), function,
						      NULL);
	Py_XDECREF(wrapped);
	Py_XDECREF(function);
	return result;
}

int function_can_wrap(PyObject *object)
{
	return PyCallable_Check(object) || is_method_descriptor(object);
}

PyObject *function_new(PyObject *wrapped, struct domain *d, PyObject *name,
		       const struct kept_args *args, PyObject *marker)
{
	struct function *f;

	if (is_method_descriptor(wrapped))
		return method_descriptor_new(wrapped, d, name, args, marker);
	if (PyType_Check(wrapped)) {
		if (report_problem(PROBLEM_ARGUMENT,
				   "a class is no function: decorate its methods"))
			return NULL;
		Py_INCREF(wrapped);
		return wrapped;
	}
	f = PyObject_GC_New(struct function, native.function);
	if (!f)
		return NULL;
	f->call = function_call;
	f->wrapped = f->weak_references = f->name = f->marker = NULL;
	f->owner = NULL;
	f->domain = d;
	f->args.keys = NULL;
	Py_INCREF(d);
	if (name)
		Py_INCREF(name);
	else
		name = PyObject_GetAttrString(wrapped, "__qualname__");
	if (!name) {
		PyErr_Clear();
		name = PyObject_GetAttrString((PyObject *)Py_TYPE(wrapped), "__name__");
	}
	f->name = name;
	if (!name || (args && kept_args_set(&f->args, args->keys, args->values) < 0)) {
		Py_DECREF(f);
		return NULL;
	}
	Py_INCREF(wrapped);
	Py_XINCREF(marker);
	f->wrapped = wrapped;
	f->marker = marker;
	f->returns_at_once = function_returns_at_once(wrapped);
	PyObject_GC_Track(f);
	return (PyObject *)f;
}

/* trace_modules(class): its method `forward`, to be put in the place of that. */
PyObject *function_of_modules(PyObject *unused, PyObject *owner)
{
	PyObject *wrapped = PyObject_GetAttrString(owner, "forward"), *result = NULL;
	PyObject *name = PyObject_GetAttrString(owner, "__name__"),
		 *keys = Py_BuildValue("(s)", "module");
	struct kept_args args = { NULL, NULL, { NULL } };
	struct function *f;

	(void)unused;
	if (wrapped && name && keys && PyType_Check(owner) &&
	    kept_args_set(&args, keys, &name) == 0)
		result = function_new(wrapped, (struct domain *)native.default_domain, name, &args,
				      NULL);
	else if (!PyErr_Occurred())
		PyErr_SetString(PyExc_TypeError, "not a class");
	if (result) {
		f = (struct function *)result;
		Py_INCREF(owner);
		f->owner = (PyTypeObject *)owner;
		f->call = function_call_of_module;
	}
	kept_args_clear(&args);
	Py_XDECREF(wrapped);
	Py_XDECREF(name);
	Py_XDECREF(keys);
	return result;
}

static int function_traverse(struct function *f, visitproc visit, void *arg)
{
	const Py_ssize_t n = f->args.keys ? PyTuple_Size(f->args.keys) : 0;
	Py_ssize_t i;

	Py_VISIT(Py_TYPE(f));
	Py_VISIT(f->wrapped);
	Py_VISIT(f->marker);
	Py_VISIT(f->owner);
	for (i = 0; i < n; i++)
		Py_VISIT(f->args.values[i]);
	return 0;
}

/* What it calls stays to the end: others that are collected with it may call it until then. */
static int function_clear(struct function *f)
{
	kept_args_clear(&f->args);
	return 0;
}

static void function_dealloc(struct function *f)
{
	PyTypeObject *type = Py_TYPE(f);

	PyObject_GC_UnTrack(f);
	if (f->weak_references)
		PyObject_ClearWeakRefs((PyObject *)f);
	kept_args_clear(&f->args);
	Py_XDECREF(f->wrapped);
	Py_XDECREF(f->marker);
	Py_XDECREF(f->owner);
	Py_XDECREF(f->name);
	Py_DECREF(f->domain);
	PyObject_GC_Del(f);
	Py_DECREF(type);
}

/* As a method it is bound to its object. */
static PyObject *function_bind(PyObject *self, PyObject *object, PyObject *type)
{
	(void)type;
	if (!object || object == Py_None) {
		Py_INCREF(self);
		return self;
	}
	if (likely(PyMethod_New != NULL))
		return PyMethod_New(self, object);
	return PyObject_CallFunctionObjArgs(native.method_type, self, object, NULL);
}

/* Attributes are those of the function, but for those that make it what it is. */
static PyObject *function_get_attribute(struct function *f, PyObject *name)
{
	static const char *const own[] = { "__wrapped__",   "__call__",	    "__get__", "__reduce__",
					   "__reduce_ex__", "__deepcopy__", "__repr__" };
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (!PyUnicode_CompareWithASCIIString(name, own[i]))
			return PyObject_GenericGetAttr((PyObject *)f, name);
	}
	return PyObject_GetAttr(f->wrapped, name);
}

static int function_set_attribute(struct function *f, PyObject *name, PyObject *value)
{
	return PyObject_SetAttr(f->wrapped, name, value);
}

static int wraps_method(const struct function *f)
{
	return PyObject_IsInstance(f->wrapped, native.method_type) == 1;
}

/* Pickled by its name, as functions are; as a method of an object, by that. */
static PyObject *function_reduce(struct function *f, PyObject *unused)
{
	(void)unused;
	if (wraps_method(f))
		return PyObject_CallMethod(f->wrapped, "__reduce__", NULL);
	return PyObject_GetAttrString(f->wrapped, "__qualname__");
}

/* The copy of an object has methods of its own. */
static PyObject *function_copy_deep(struct function *f, PyObject *memo)
{
	PyObject *module, *wrapped = NULL, *copy = NULL;

	if (!wraps_method(f)) {
		Py_INCREF(f);
		return (PyObject *)f;
	}
	module = PyImport_ImportModule("copy");
	if (module)
		wrapped = PyObject_CallMethod(module, "deepcopy", "OO", f->wrapped, memo);
	if (wrapped)
		copy = function_new(wrapped, f->domain, f->name, &f->args, f->marker);
	Py_XDECREF(module);
	Py_XDECREF(wrapped);
	return copy;
}

static PyObject *function_repr(struct function *f)
{
	return PyUnicode_FromFormat("<traced %R>", f->wrapped);
}

PyTypeObject *function_type_new(void)
{
	static PyMemberDef members[] = {
		{ "__wrapped__", T_OBJECT, offsetof(struct function, wrapped), READONLY, NULL },
		{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct function, call), READONLY,
		  NULL },
		{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weak_references),
		  READONLY, NULL },
		{ NULL, 0, 0, 0, NULL },
	};
	static PyMethodDef methods[] = {
		{ "__reduce__", METHOD(function_reduce), METH_NOARGS, NULL },
		{ "__deepcopy__", METHOD(function_copy_deep), METH_O, NULL },
		{ NULL, NULL, 0, NULL },
	};
	PyType_Slot slots[] = {
		{ Py_tp_doc, (void *)"A function whose calls are slices." },
		{ Py_tp_members, members },
		{ Py_tp_methods, methods },
		{ Py_tp_call, PyVectorcall_Call },
		{ Py_tp_descr_get, function_bind },
		{ Py_tp_getattro, function_get_attribute },
		{ Py_tp_setattro, function_set_attribute },
		{ Py_tp_repr, function_repr },
		{ Py_tp_traverse, function_traverse },
		{ Py_tp_clear, function_clear },
		{ Py_tp_dealloc, function_dealloc },
		{ 0, NULL },
	};
	PyType_Spec spec = { "proftrace.Function", sizeof(struct function), 0,
			     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | TPFLAGS_HAVE_VECTORCALL |
				     Py_TPFLAGS_METHOD_DESCRIPTOR,
			     slots };

	return (PyTypeObject *)PyType_FromSpec(&spec);
}
