/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domains, and the marks that are made without another object. Those of the module itself, proftrace.instant() and so
 * on, are the methods of the default domain. While nobody records, each is a call, a load and a branch; arguments
 * are looked at only if the domain is on.
 */
#include "native.h"

static const volatile uint32_t always = 1; /* the switch of a closed domain: each mark is counted */

PyObject *domain_new(PyTypeObject *type, PyObject *name)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct domain *d = (struct domain *)allocate(type, 0);
	struct text text;

	if (!d)
		return NULL;
	if (text_convert(&text, name) < 0) {
		Py_DECREF(d);
		return NULL;
	}
	Py_INCREF(name);
	d->name = name;
	d->domain = prof_domain_get(text.utf8);
	d->on = text.utf8 ? &d->domain->domain->on : &always;
	d->closed = !text.utf8;
	text_release(&text);
	return (PyObject *)d;
}

static PyObject *domain_new_object(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "name", NULL };
	PyObject *name;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &name))
		return NULL;
	return domain_new(type, name);
}

static void domain_dealloc(struct domain *d)
{
	PyTypeObject *type = Py_TYPE(d);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(d->name);
	release(d);
	Py_DECREF(type);
}

int domain_check(const struct domain *d)
{
	if (likely(!d->closed))
		return 1;
	return report_problem(PROBLEM_CLOSED, "a mark in a domain that is closed");
}

/* A mark that has a name: its domain can be used, and `text` is to be released. */
static int mark_open(const struct domain *d, PyObject *const *args, Py_ssize_t n, Py_ssize_t most,
		     struct text *text)
{
	const int usable = domain_check(d);

	if (usable <= 0)
		return usable;
	if (n > most)
		return report_problem(PROBLEM_ARGUMENT, "too many arguments; others have names");
	if (text_convert(text, n > 0 ? args[0] : NULL) < 0)
		return -1;
	return text->utf8 != NULL;
}

#define RETURN_NONE_OR_ERROR(status) \
	do {                         \
		if ((status) < 0)    \
			return NULL; \
		Py_RETURN_NONE;      \
	} while (0)

static PyObject *domain_scope(struct domain *d, PyObject *const *args, Py_ssize_t n, PyObject *keys)
{
	if (unlikely(n != 1)) {
		if (report_problem(PROBLEM_ARGUMENT, "a scope has one name") < 0)
			return NULL;
	} else if (unlikely(!keys && is_function_to_wrap(args[0]))) {
		return function_new(args[0], d, NULL, NULL, NULL);
	}
	return scope_new(d, n ? args[0] : NULL, keys, args + n);
}

static PyObject *domain_function(struct domain *d, PyObject *const *args, Py_ssize_t n,
				 PyObject *keys)
{
	if (n == 1 && !keys && is_function_to_wrap(args[0]))
		return function_new(args[0], d, NULL, NULL, NULL);
	if (n > 1 && report_problem(PROBLEM_ARGUMENT, "a decorated function has one name") < 0)
		return NULL;
	return scope_new(d, n ? args[0] : NULL, keys, args + n);
}

static int instant_scope(PyObject *scope)
{
	static const struct {
		const char *name;
		int scope;
	} known[] = {
		{ "thread", PROF_SCOPE_THREAD }, { "process", PROF_SCOPE_PROCESS },
		{ "global", PROF_SCOPE_GLOBAL }, { "task", PROF_SCOPE_TASK },
		{ "marker", PROF_SCOPE_MARKER },
	};
	size_t i;

	for (i = 0; PyUnicode_Check(scope) && i < sizeof(known) / sizeof(known[0]); i++) {
		if (!PyUnicode_CompareWithASCIIString(scope, known[i].name))
			return known[i].scope;
	}
	return -1;
}

int mark_scope(PyObject *scope)
{
	const int found = instant_scope(scope);

	if (found < 0 && report_problem(PROBLEM_ARGUMENT, "the scope of an instant is 'thread', "
							  "'process', 'global', 'task' or "
							  "'marker'") < 0)
		return -1;
	return found < 0 ? PROF_SCOPE_THREAD : found;
}

static __attribute__((noinline)) int mark_instant(struct domain *d, PyObject *const *args,
						  Py_ssize_t n, PyObject *keys)
{
	struct converted c;
	struct text text;
	int status = mark_open(d, args, n, 2, &text), scope = PROF_SCOPE_THREAD;

	if (status <= 0)
		return status;
	if (n == 2)
		scope = mark_scope(args[1]);
	status = scope < 0 ? -1 : args_convert(&c, keys, args + n);
	if (!status) {
		prof_instant_args(d->domain, text.utf8, scope, c.args, c.n);
		args_release(&c);
	}
	text_release(&text);
	return status;
}

static PyObject *domain_instant(struct domain *d, PyObject *const *args, Py_ssize_t n,
				PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_instant(d, args, n, keys));
	Py_RETURN_NONE;
}

static __attribute__((noinline)) int mark_begin(struct domain *d, PyObject *const *args,
						Py_ssize_t n, PyObject *keys)
{
	struct converted c;
	struct text text;
	int status = mark_open(d, args, n, 1, &text);

	if (status <= 0)
		return status;
	status = args_convert(&c, keys, args + n);
	if (!status) {
		timers_begin((uintptr_t)d, args[0]);
		prof_begin_args(d->domain, text.utf8, c.args, c.n);
		args_release(&c);
	}
	text_release(&text);
	return status;
}

static PyObject *domain_begin(struct domain *d, PyObject *const *args, Py_ssize_t n, PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_begin(d, args, n, keys));
	Py_RETURN_NONE;
}

static __attribute__((noinline)) int mark_end(struct domain *d, PyObject *const *args, Py_ssize_t n,
					      PyObject *keys)
{
	struct converted c;
	int status = domain_check(d);

	if (status <= 0)
		return status;
	if (n)
		return report_problem(PROBLEM_ARGUMENT, "an end has no name");
	status = args_convert(&c, keys, args);
	if (!status) {
		prof_end_args(d->domain, c.args, c.n);
		timers_end((uintptr_t)d);
		args_release(&c);
	}
	return status;
}

static PyObject *domain_end(struct domain *d, PyObject *const *args, Py_ssize_t n, PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_end(d, args, n, keys));
	Py_RETURN_NONE;
}

static int id_convert(uint64_t *id, PyObject *number)
{
	*id = PyLong_Check(number) ? PyLong_AsUnsignedLongLongMask(number) : 0;
	if (PyLong_Check(number))
		return 1;
	return report_problem(PROBLEM_ARGUMENT, "an id is an integer");
}

static __attribute__((noinline)) int mark_async(struct domain *d, PyObject *const *args,
						Py_ssize_t n, PyObject *keys, int begins)
{
	struct converted c;
	struct text text;
	uint64_t id = 0;
	int status = mark_open(d, args, n, 2, &text);

	if (status <= 0)
		return status;
	status = n == 2 ? id_convert(&id, args[1])
			: report_problem(PROBLEM_ARGUMENT, "an asynchronous slice has an id");
	if (status > 0) {
		status = args_convert(&c, keys, args + n);
		if (!status && begins)
			prof_async_begin_args(d->domain, text.utf8, id, c.args, c.n);
		else if (!status)
			prof_async_end_args(d->domain, text.utf8, id, c.args, c.n);
		if (!status)
			args_release(&c);
	}
	text_release(&text);
	return status;
}

static PyObject *domain_async_begin(struct domain *d, PyObject *const *args, Py_ssize_t n,
				    PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_async(d, args, n, keys, 1));
	Py_RETURN_NONE;
}

static PyObject *domain_async_end(struct domain *d, PyObject *const *args, Py_ssize_t n,
				  PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_async(d, args, n, keys, 0));
	Py_RETURN_NONE;
}

/* With one time of its own, or two, and perhaps a track behind them. */
static __attribute__((noinline)) int mark_at(struct domain *d, PyObject *const *args, Py_ssize_t n,
					     PyObject *keys, int n_times)
{
	const prof_track_t *track = NULL;
	uint64_t times[2] = { 0, 0 };
	struct converted c;
	struct text text;
	int status = mark_open(d, args, n, 2 + n_times, &text), i;

	if (status <= 0)
		return status;
	if (n <= n_times)
		status = report_problem(PROBLEM_ARGUMENT, "behind the name are %d times", n_times);
	for (i = 0; i < n_times && status > 0; i++)
		status = time_convert(&times[i], args[1 + i]);
	if (status > 0 && n > 1 + n_times)
		status = track_find(&track, args[1 + n_times]);
	if (status > 0) {
		status = args_convert(&c, keys, args + n);
		if (!status && n_times == 2)
			prof_slice_at_args(d->domain, track, text.utf8, times[0], times[1], c.args,
					   c.n);
		else if (!status)
			prof_instant_at_args(d->domain, track, text.utf8, times[0], c.args, c.n);
		if (!status)
			args_release(&c);
	}
	text_release(&text);
	return status;
}

static PyObject *domain_slice_at(struct domain *d, PyObject *const *args, Py_ssize_t n,
				 PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_at(d, args, n, keys, 2));
	Py_RETURN_NONE;
}

static PyObject *domain_instant_at(struct domain *d, PyObject *const *args, Py_ssize_t n,
				   PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_at(d, args, n, keys, 1));
	Py_RETURN_NONE;
}

/* The series of a counter that were given as a mapping. */
int mark_mapping(const struct domain *d, const prof_marker_t *marker, const char *name,
		 PyObject *mapping)
{
	PyObject *keys = PyDict_Keys(mapping), *values = PyDict_Values(mapping);
	PyObject *tuple = keys ? PyList_AsTuple(keys) : NULL, *list[MAX_ARGS];
	const Py_ssize_t n = tuple ? PyTuple_Size(tuple) : 0;
	struct converted c;
	Py_ssize_t i;
	int status = -1;

	for (i = 0; values && i < n && i < MAX_ARGS; i++)
		list[i] = PyList_GetItem(values, i);
	if (n > MAX_ARGS)
		status = report_problem(PROBLEM_ARGUMENT, "a counter has at most %d series",
					MAX_ARGS);
	else if (tuple && values)
		status = series_convert(&c, tuple, list);
	if (!status && n <= MAX_ARGS && marker)
		prof_marker_counter_args(marker, c.args, c.n);
	else if (!status && n <= MAX_ARGS)
		prof_counter_args(d->domain, name, c.args, c.n);
	Py_XDECREF(keys);
	Py_XDECREF(values);
	Py_XDECREF(tuple);
	return status;
}

static __attribute__((noinline)) int mark_counter(struct domain *d, PyObject *const *args,
						  Py_ssize_t n, PyObject *keys)
{
	struct converted c;
	struct text text;
	prof_arg_t number;
	int status = mark_open(d, args, n, 2, &text);

	if (status <= 0)
		return status;
	if (n == 2 && PyDict_Check(args[1])) {
		status = mark_mapping(d, NULL, text.utf8, args[1]);
	} else if (n == 2) {
		status = number_convert(&number, args[1]);
		if (!status && number.type)
			prof_counter_arg(d->domain, text.utf8, number);
	} else if (!keys) {
		status = report_problem(PROBLEM_ARGUMENT, "a counter has a value");
	}
	if (!status && keys) {
		status = series_convert(&c, keys, args + n);
		if (!status)
			prof_counter_args(d->domain, text.utf8, c.args, c.n);
	}
	text_release(&text);
	return status;
}

static PyObject *domain_counter(struct domain *d, PyObject *const *args, Py_ssize_t n,
				PyObject *keys)
{
	if (domain_is_on(d))
		RETURN_NONE_OR_ERROR(mark_counter(d, args, n, keys));
	Py_RETURN_NONE;
}

static PyObject *domain_close(struct domain *d, PyObject *unused)
{
	(void)unused;
	d->closed = 1;
	d->on = &always;
	Py_RETURN_NONE;
}

static PyObject *domain_enabled(struct domain *d, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!d->closed && *d->on);
}

static PyObject *domain_repr(struct domain *d)
{
	return PyUnicode_FromFormat("<proftrace.Domain %R%s>", d->name,
				    d->closed ? ", closed" : "");
}

static PyMethodDef domain_methods[] = {
	{ "scope", METHOD(domain_scope), KEYWORDS,
	  "scope(name, /, **args)\n--\n\n"
	  "A slice: `with scope('parse', file=path):`, `async with` for one that follows the task\n"
	  "through its waits, or a decorator, `@scope('parse')` or `@scope`." },
	{ "function", METHOD(domain_function), KEYWORDS,
	  "function(name=None, /, **args)\n--\n\n"
	  "A decorator: each call is a slice, named after the function without a name.\n"
	  "Coroutine functions and generators become asynchronous slices." },
	{ "instant", METHOD(domain_instant), KEYWORDS,
	  "instant(name, scope='thread', /, **args)\n--\n\n"
	  "A moment of the thread, or of 'process', 'global', 'task' or 'marker'." },
	{ "begin", METHOD(domain_begin), KEYWORDS,
	  "begin(name, /, **args)\n--\n\nOpen a slice on this thread; end() closes it." },
	{ "end", METHOD(domain_end), KEYWORDS,
	  "end(**args)\n--\n\nClose the innermost slice that begin() opened on this thread." },
	{ "async_begin", METHOD(domain_async_begin), KEYWORDS,
	  "async_begin(name, id, /, **args)\n--\n\n"
	  "Open a slice that may end on another thread. The end has the same name and id." },
	{ "async_end", METHOD(domain_async_end), KEYWORDS,
	  "async_end(name, id, /, **args)\n--\n\nClose the slice of this name and id." },
	{ "slice_at", METHOD(domain_slice_at), KEYWORDS,
	  "slice_at(name, begin, end, track=None, /, **args)\n--\n\n"
	  "A slice that is over, at times of time.monotonic_ns() or in ticks of the clock of the\n"
	  "track. An argument `flow` is the id of flow_out(): its arrow ends here." },
	{ "instant_at", METHOD(domain_instant_at), KEYWORDS,
	  "instant_at(name, time, track=None, /, **args)\n--\n\nA moment at a time of its own." },
	{ "counter", METHOD(domain_counter), KEYWORDS,
	  "counter(name, value, /)\ncounter(name, /, **series)\n\n"
	  "A new value of a counter: a number, or a dictionary of several series." },
	{ "counters", METHOD(domain_counter), KEYWORDS,
	  "counters(name, /, **series)\n--\n\nNew values of several series of a counter." },
	{ "close", METHOD(domain_close), METH_NOARGS,
	  "close()\n--\n\nMarks of this domain object are left out and counted from now on." },
	{ NULL, NULL, 0, NULL },
};

PyTypeObject *domain_type_new(void)
{
	static PyMemberDef members[] = {
		{ "name", T_OBJECT, offsetof(struct domain, name), READONLY, "Its name." },
		{ NULL, 0, 0, 0, NULL },
	};
	static PyGetSetDef attributes[] = {
		{ "enabled", (getter)domain_enabled, NULL,
		  "Whether somebody records it, to guard what only marks need.", NULL },
		{ NULL, NULL, NULL, NULL, NULL },
	};
	PyType_Slot slots[] = {
		{ Py_tp_doc,
		  (void *)"Domain(name)\n--\n\n"
			  "A group of marks, which a recording can select. Its name is a "
			  "category of theirs." },
		{ Py_tp_new, domain_new_object },
		{ Py_tp_methods, domain_methods },
		{ Py_tp_members, members },
		{ Py_tp_getset, attributes },
		{ Py_tp_repr, domain_repr },
		{ Py_tp_dealloc, domain_dealloc },
		{ 0, NULL },
	};
	PyType_Spec spec = { "proftrace.Domain", sizeof(struct domain), 0,
			     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };

	return (PyTypeObject *)PyType_FromSpec(&spec);
}
