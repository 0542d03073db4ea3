/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Task, Frame, Event, Marker and Counter: the objects of proftrace.h that are made at run time. What a program
 * starts and stops is looked up once, when the object is made.
 */
#include "native.h"

/* The phase of a schedule that a program follows by itself; its markers are recorded only in phases of theirs. */
struct gate {
	PyObject_HEAD unsigned phase; /* PROF_ON_..., or 0 for none */
};

struct object {
	PyObject_HEAD struct domain *domain;
	PyObject *name;
	const void *handle; /* NULL: it was made of something that is no name */
	/* Of markers. */
	struct gate *gate;
	unsigned actions;
	unsigned open; /* slices that began in a phase that is recorded, and have not ended */
	/* Of counters: a number. */
	PyObject *value;
};

static struct domain *object_domain(PyObject *domain)
{
	if (!domain || domain == Py_None)
		return (struct domain *)native.default_domain;
	if (PyType_IsSubtype(Py_TYPE(domain), native.domain))
		return (struct domain *)domain;
	report_problem(PROBLEM_ARGUMENT, "a domain is an object of Domain");
	return (struct domain *)native.default_domain;
}

/* Without its handle, which depends on the type. */
static struct object *object_new(PyTypeObject *type, PyObject *domain, PyObject *name,
				 struct text *text)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct object *o = (struct object *)allocate(type, 0);

	text->made = NULL;
	if (!o)
		return NULL;
	o->domain = object_domain(domain);
	Py_INCREF(o->domain);
	Py_INCREF(name);
	o->name = name;
	if (PyErr_Occurred() || text_convert(text, name) < 0)
		Py_CLEAR(o);
	return o;
}

static void object_dealloc(struct object *o)
{
	PyTypeObject *type = Py_TYPE(o);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(o->name);
	Py_XDECREF(o->gate);
	Py_XDECREF(o->value);
	Py_XDECREF(o->domain);
	release(o);
	Py_DECREF(type);
}

static int object_check(const struct object *o)
{
	const int usable = domain_check(o->domain);

	if (usable <= 0 || o->handle)
		return usable;
	return report_problem(PROBLEM_NAME, "a mark of an object that has no name");
}

/*
 * The argument of a method that has one: by its place or by its name, or NULL for none. 0 or -1: others, as of
 * report_problem().
 */
static int only_argument(PyObject **ret, const char *name, PyObject *const *args, Py_ssize_t n,
			 PyObject *keys)
{
	const Py_ssize_t n_keys = keys ? PyTuple_Size(keys) : 0;

	*ret = n + n_keys ? args[0] : NULL;
	if (n + n_keys <= 1 &&
	    (!n_keys || !PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keys, 0), name)))
		return 1;
	return report_problem(PROBLEM_ARGUMENT, "the only argument is '%s'", name);
}

static uint64_t object_token(const struct object *o)
{
	return (uint64_t)(uintptr_t)o;
}

#define DEFINE_NEW(type, get)                                                                  \
	static PyObject *type##_new(PyTypeObject *type, PyObject *args, PyObject *keywords)    \
	{                                                                                      \
		static char *names[] = { "domain", "name", NULL };                             \
		PyObject *domain, *name;                                                       \
		struct object *o;                                                              \
		struct text text;                                                              \
                                                                                               \
		if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", names, &domain, &name)) \
			return NULL;                                                           \
		o = object_new(type, domain, name, &text);                                     \
		if (o && text.utf8)                                                            \
			o->handle = get(o->domain->domain, text.utf8);                         \
		text_release(&text);                                                           \
		return (PyObject *)o;                                                          \
	}
DEFINE_NEW(task, prof_task_get)
DEFINE_NEW(frame, prof_frame_get)

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "name", NULL };
	struct object *o;
	struct text text;
	PyObject *name;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &name))
		return NULL;
	o = object_new(type, NULL, name, &text);
	if (o && text.utf8)
		o->handle = prof_event_get(text.utf8);
	text_release(&text);
	return (PyObject *)o;
}

/* Tasks and events are slices of their thread, which timers measure; frames belong to the process. */
#define DEFINE_START_AND_STOP(type, is_slice)                                                \
	static PyObject *type##_start(struct object *o, PyObject *unused)                    \
	{                                                                                    \
		int usable;                                                                  \
                                                                                             \
		(void)unused;                                                                \
		if (likely(!domain_is_on(o->domain)))                                        \
			Py_RETURN_NONE;                                                      \
		usable = object_check(o);                                                    \
		if (usable < 0)                                                              \
			return NULL;                                                         \
		if (usable && (is_slice))                                                    \
			timers_begin(object_token(o), o->name);                              \
		if (usable)                                                                  \
			prof_##type##_start(o->handle);                                      \
		Py_RETURN_NONE;                                                              \
	}                                                                                    \
	static PyObject *type##_stop(struct object *o, PyObject *unused)                     \
	{                                                                                    \
		int usable;                                                                  \
                                                                                             \
		(void)unused;                                                                \
		if (likely(!domain_is_on(o->domain)))                                        \
			Py_RETURN_NONE;                                                      \
		usable = object_check(o);                                                    \
		if (usable < 0)                                                              \
			return NULL;                                                         \
		if (usable)                                                                  \
			prof_##type##_stop(o->handle);                                       \
		if (usable && (is_slice))                                                    \
			timers_end(object_token(o));                                         \
		Py_RETURN_NONE;                                                              \
	}                                                                                    \
	static PyObject *type##_enter(struct object *o, PyObject *unused)                    \
	{                                                                                    \
		PyObject *result = type##_start(o, unused);                                  \
                                                                                             \
		if (!result)                                                                 \
			return NULL;                                                         \
		Py_DECREF(result);                                                           \
		Py_INCREF(o);                                                                \
		return (PyObject *)o;                                                        \
	}                                                                                    \
	static PyObject *type##_exit(struct object *o, PyObject *const *args, Py_ssize_t n)  \
	{                                                                                    \
		(void)args, (void)n;                                                         \
		return type##_stop(o, NULL);                                                 \
	}                                                                                    \
	static PyMethodDef type##_methods[] = {                                              \
		{ "start", METHOD(type##_start), METH_NOARGS, "start()\n--\n\nIt begins." }, \
		{ "stop", METHOD(type##_stop), METH_NOARGS, "stop()\n--\n\nIt ends." },      \
		{ "__enter__", METHOD(type##_enter), METH_NOARGS, "It begins." },            \
		{ "__exit__", METHOD(type##_exit), METH_FASTCALL, "It ends." },              \
		{ NULL, NULL, 0, NULL },                                                     \
	};
DEFINE_START_AND_STOP(task, 1)
DEFINE_START_AND_STOP(event, 1)
DEFINE_START_AND_STOP(frame, 0)

/* Markers. */
static PyObject *marker_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = {
		"domain", "name", "categories", "instants", "actions", "gate", NULL
	};
	PyObject *domain, *name, *gate = NULL;
	unsigned instants = 0, actions = 0;
	const char *categories = NULL;
	struct object *o;
	struct text text;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|zIIO", names, &domain, &name,
					 &categories, &instants, &actions, &gate))
		return NULL;
	o = object_new(type, domain, name, &text);
	if (o && text.utf8)
		o->handle = prof_marker_get_in(o->domain->domain, text.utf8, categories, instants,
					       actions);
	text_release(&text);
	if (o) {
		o->actions = actions;
		o->gate = gate && Py_TYPE(gate) == native.gate ? (struct gate *)gate : NULL;
		Py_XINCREF(o->gate);
	}
	return (PyObject *)o;
}

static int marker_is_closed(const struct object *o)
{
	return o->gate && !(o->gate->phase & o->actions);
}

const prof_marker_t *marker_handle(PyObject *marker)
{
	const struct object *o = (const struct object *)marker;

	return object_check(o) > 0 && !marker_is_closed(o) ? o->handle : NULL;
}

static PyObject *marker_start(struct object *o, PyObject *unused)
{
	int usable;

	(void)unused;
	if (likely(!domain_is_on(o->domain)))
		Py_RETURN_NONE;
	usable = object_check(o);
	if (usable < 0)
		return NULL;
	if (!usable || marker_is_closed(o))
		Py_RETURN_NONE;
	o->open += o->gate != NULL;
	timers_begin(object_token(o), o->name);
	prof_marker_start(o->handle);
	Py_RETURN_NONE;
}

/* A slice that began in a phase that is recorded ends so, and no other one does. */
static PyObject *marker_finish(struct object *o, PyObject *unused)
{
	int usable;

	(void)unused;
	if (likely(!domain_is_on(o->domain)))
		Py_RETURN_NONE;
	usable = object_check(o);
	if (usable < 0)
		return NULL;
	if (!usable || (o->gate && !o->open))
		Py_RETURN_NONE;
	o->open -= o->gate != NULL;
	prof_marker_finish(o->handle);
	timers_end(object_token(o));
	Py_RETURN_NONE;
}

static PyObject *marker_mark(struct object *o, PyObject *const *args, Py_ssize_t n, PyObject *keys)
{
	int usable, scope = PROF_SCOPE_PROCESS;
	PyObject *given = NULL;

	if (likely(!domain_is_on(o->domain)))
		Py_RETURN_NONE;
	usable = object_check(o);
	if (usable > 0)
		usable = only_argument(&given, "scope", args, n, keys);
	if (usable > 0 && given)
		scope = mark_scope(given);
	if (usable < 0 || scope < 0)
		return NULL;
	if (usable && !marker_is_closed(o))
		prof_marker_mark(o->handle, scope);
	Py_RETURN_NONE;
}

static PyObject *marker_counter(struct object *o, PyObject *const *args, Py_ssize_t n,
				PyObject *keys)
{
	PyObject *values;
	int status;

	if (likely(!domain_is_on(o->domain)))
		Py_RETURN_NONE;
	status = object_check(o);
	if (status > 0)
		status = only_argument(&values, "values", args, n, keys);
	if (status > 0 && marker_is_closed(o))
		status = 0;
	else if (status > 0 && values && PyDict_Check(values))
		status = mark_mapping(o->domain, o->handle, NULL, values);
	else if (status > 0)
		status =
			report_problem(PROBLEM_ARGUMENT, "a marker counts a dictionary of numbers");
	if (status < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *marker_enter(struct object *o, PyObject *unused)
{
	PyObject *result = marker_start(o, unused);

	if (!result)
		return NULL;
	Py_DECREF(result);
	Py_INCREF(o);
	return (PyObject *)o;
}

static PyObject *marker_exit(struct object *o, PyObject *const *args, Py_ssize_t n)
{
	(void)args, (void)n;
	return marker_finish(o, NULL);
}

/* As a decorator. */
static PyObject *marker_call(struct object *o, PyObject *args, PyObject *keywords)
{
	if (PyTuple_Size(args) != 1 || keywords || !function_can_wrap(PyTuple_GetItem(args, 0))) {
		PyErr_SetString(PyExc_TypeError, "a marker decorates one function");
		return NULL;
	}
	return function_new(PyTuple_GetItem(args, 0), o->domain, o->name, NULL, (PyObject *)o);
}

static PyMethodDef marker_methods[] = {
	{ "start", METHOD(marker_start), METH_NOARGS,
	  "start()\n--\n\nOpen a slice on the calling thread." },
	{ "finish", METHOD(marker_finish), METH_NOARGS,
	  "finish()\n--\n\nClose the innermost slice that start() opened there." },
	{ "instant", METHOD(marker_mark), KEYWORDS, "instant()\n--\n\nA moment of the process." },
	{ "mark", METHOD(marker_mark), KEYWORDS,
	  "mark(scope='process')\n--\n\n"
	  "A moment of the 'process', 'global', 'thread', 'task' or 'marker'." },
	{ "counter", METHOD(marker_counter), KEYWORDS,
	  "counter(values)\n--\n\nNew values of a counter of this name: a dictionary." },
	{ "__enter__", METHOD(marker_enter), METH_NOARGS, "start()" },
	{ "__exit__", METHOD(marker_exit), METH_FASTCALL, "finish()" },
	{ NULL, NULL, 0, NULL },
};

/* Counters. The value is any number of Python, kept whether or not somebody records. */
static PyObject *counter_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "domain", "name", "value", NULL };
	PyObject *domain, *name, *value = NULL;
	struct object *o;
	struct text text;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O", names, &domain, &name, &value))
		return NULL;
	o = object_new(type, domain, name, &text);
	if (o && text.utf8)
		o->handle = o; /* It needs none but its name. */
	text_release(&text);
	if (o && value && value != Py_None) {
		Py_INCREF(value);
		o->value = value;
	} else if (o) {
		o->value = PyLong_FromLong(0);
	}
	return (PyObject *)o;
}

static __attribute__((noinline)) int counter_mark(struct object *o)
{
	const int usable = object_check(o);
	prof_arg_t number;
	struct text text;
	int status;

	if (usable <= 0)
		return usable;
	if (text_convert(&text, o->name) < 0)
		return -1;
	status = number_convert(&number, o->value);
	if (!status && number.type && text.utf8)
		prof_counter_arg(o->domain->domain, text.utf8, number);
	text_release(&text);
	return status;
}

/* What cannot be counted with leaves the counter as it is. */
static int counter_assign(struct object *o, PyObject *value)
{
	PyObject *before = o->value;

	if (!value) {
		PyErr_Clear();
		return report_problem(PROBLEM_VALUE, "a counter counts with numbers");
	}
	o->value = value;
	Py_DECREF(before);
	return domain_is_on(o->domain) ? counter_mark(o) : 0;
}

static PyObject *counter_set_value(struct object *o, PyObject *const *args, Py_ssize_t n,
				   PyObject *keys)
{
	PyObject *value;
	int usable = only_argument(&value, "value", args, n, keys);

	if (usable > 0) {
		if (value && !PyNumber_Check(value))
			value = NULL;
		Py_XINCREF(value);
		usable = counter_assign(o, value);
	}
	if (usable < 0)
		return NULL;
	Py_RETURN_NONE;
}

typedef PyObject *change_t(PyObject *value, PyObject *delta);

static PyObject *counter_change(struct object *o, change_t *change, PyObject *const *args,
				Py_ssize_t n, PyObject *keys)
{
	PyObject *delta, *value;
	int usable = only_argument(&delta, "delta", args, n, keys);

	if (usable > 0) {
		delta = delta ? (Py_INCREF(delta), delta) : PyLong_FromLong(1);
		value = delta ? change(o->value, delta) : NULL;
		Py_XDECREF(delta);
		usable = counter_assign(o, value);
	}
	if (usable < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *counter_increment(struct object *o, PyObject *const *args, Py_ssize_t n,
				   PyObject *keys)
{
	return counter_change(o, PyNumber_Add, args, n, keys);
}

static PyObject *counter_decrement(struct object *o, PyObject *const *args, Py_ssize_t n,
				   PyObject *keys)
{
	return counter_change(o, PyNumber_Subtract, args, n, keys);
}

static PyObject *counter_change_in_place(PyObject *counter, PyObject *delta, change_t *change)
{
	PyObject *result = counter_change((struct object *)counter, change, &delta, 1, NULL);

	if (!result)
		return NULL;
	Py_DECREF(result);
	Py_INCREF(counter);
	return counter;
}

static PyObject *counter_add(PyObject *counter, PyObject *delta)
{
	return counter_change_in_place(counter, delta, PyNumber_Add);
}

static PyObject *counter_subtract(PyObject *counter, PyObject *delta)
{
	return counter_change_in_place(counter, delta, PyNumber_Subtract);
}

static PyMethodDef counter_methods[] = {
	{ "set_value", METHOD(counter_set_value), KEYWORDS,
	  "set_value(value)\n--\n\nSet it to a number." },
	{ "increment", METHOD(counter_increment), KEYWORDS,
	  "increment(delta=1)\n--\n\nAdd to it." },
	{ "decrement", METHOD(counter_decrement), KEYWORDS,
	  "decrement(delta=1)\n--\n\nSubtract from it." },
	{ NULL, NULL, 0, NULL },
};

static PyObject *gate_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)args, (void)keywords;
	return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

PyTypeObject *gate_type_new(void)
{
	static PyMemberDef members[] = {
		{ "phase", T_UINT, offsetof(struct gate, phase), 0, "WARMUP and so on, or 0." },
		{ NULL, 0, 0, 0, NULL },
	};
	PyType_Slot slots[] = {
		{ Py_tp_doc, (void *)"The phase of a schedule, which markers share." },
		{ Py_tp_new, gate_new },
		{ Py_tp_members, members },
		{ 0, NULL },
	};
	PyType_Spec spec = { "proftrace.Gate", sizeof(struct gate), 0, Py_TPFLAGS_DEFAULT, slots };

	return (PyTypeObject *)PyType_FromSpec(&spec);
}

static PyTypeObject *object_type_new(const char *name, const char *doc, newfunc new,
				     PyMethodDef *methods, PyMemberDef *members)
{
	const int counts = new == counter_new, marks = new == marker_new;
	PyType_Slot slots[] = {
		{ Py_tp_doc, (void *)doc },
		{ Py_tp_new, new },
		{ Py_tp_methods, methods },
		{ Py_tp_members, members },
		{ Py_tp_dealloc, object_dealloc },
		/* A slot of number 0 is the last one. */
		{ counts  ? Py_nb_inplace_add
		  : marks ? Py_tp_call
			  : 0,
		  counts ? (void *)counter_add : (void *)marker_call },
		{ counts ? Py_nb_inplace_subtract : 0, counter_subtract },
		{ 0, NULL },
	};
	PyType_Spec spec = { name, sizeof(struct object), 0,
			     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };

	return (PyTypeObject *)PyType_FromSpec(&spec);
}

int object_types_new(void)
{
	static PyMemberDef members[] = {
		{ "name", T_OBJECT, offsetof(struct object, name), READONLY, "Its name." },
		{ "domain", T_OBJECT, offsetof(struct object, domain), READONLY, "Its domain." },
		{ NULL, 0, 0, 0, NULL },
	};
	static PyMemberDef counter_members[] = {
		{ "name", T_OBJECT, offsetof(struct object, name), READONLY, "Its name." },
		{ "domain", T_OBJECT, offsetof(struct object, domain), READONLY, "Its domain." },
		{ "value", T_OBJECT, offsetof(struct object, value), READONLY, "Its value." },
		{ NULL, 0, 0, 0, NULL },
	};

	native.task = object_type_new("proftrace.Task",
				      "Task(domain, name)\n--\n\nA piece of work on one thread.",
				      task_new, task_methods, members);
	native.frame = object_type_new("proftrace.Frame",
				       "Frame(domain, name)\n--\n\nWhat the process does over and "
				       "over: numbered slices on a "
				       "track of their own, and their rate.",
				       frame_new, frame_methods, members);
	native.event = object_type_new("proftrace.Event",
				       "Event(name)\n--\n\nA slice in the default domain.",
				       event_new, event_methods, members);
	native.marker = object_type_new(
		"proftrace.Marker",
		"Marker(domain, name, categories=None, instants=0, actions=0, gate=None)\n--\n\n"
		"A slice that is started and finished, with moments and counters of its name.",
		marker_new, marker_methods, members);
	native.counter = object_type_new("proftrace.Counter",
					 "Counter(domain, name, value=0)\n--\n\n"
					 "A number, of which each change is recorded.",
					 counter_new, counter_methods, counter_members);
	return native.task && native.frame && native.event && native.marker && native.counter ? 0
											      : -1;
}
