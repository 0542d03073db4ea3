/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extension module proftrace._native: its types, what belongs to no domain, and the problems that marks had. A
 * mark never raises an exception unless the program asked for it by strict(True): it is left out and counted.
 */
#include <stdarg.h>

#include "native.h"

struct native native;

static const char *const problem_names[N_PROBLEMS] = { "name", "value", "argument", "closed",
						       "reused" };

int report_problem(enum problem which, const char *format, ...)
{
	PyObject *type = which == PROBLEM_CLOSED || which == PROBLEM_REUSED ? PyExc_RuntimeError
									    : PyExc_TypeError;
	va_list args;

	native.problems[which]++;
	if (!native.strict)
		return 0;
	va_start(args, format);
	PyErr_FormatV(type, format, args);
	va_end(args);
	return -1;
}

static PyObject *native_problems(PyObject *module, PyObject *unused)
{
	PyObject *counts = PyDict_New(), *count;
	int i, failed = !counts;

	(void)module, (void)unused;
	for (i = 0; i < N_PROBLEMS && !failed; i++) {
		if (!native.problems[i])
			continue;
		count = PyLong_FromUnsignedLongLong(native.problems[i]);
		failed = !count || PyDict_SetItemString(counts, problem_names[i], count) < 0;
		Py_XDECREF(count);
	}
	if (failed)
		Py_CLEAR(counts);
	return counts;
}

static PyObject *native_strict(PyObject *module, PyObject *wanted)
{
	const int is = PyObject_IsTrue(wanted);

	(void)module;
	if (is < 0)
		return NULL;
	native.strict = is;
	native.attention = (native.attention & ~ATTENTION_STRICT) | (is ? ATTENTION_STRICT : 0);
	Py_RETURN_NONE;
}

static PyObject *native_trace_awaitables_by(PyObject *module, PyObject *function)
{
	PyObject *before = native.trace_awaitable;

	(void)module;
	Py_INCREF(function);
	native.trace_awaitable = function;
	Py_XDECREF(before);
	Py_RETURN_NONE;
}

static int is_controlled(void)
{
	return prof_is_enabled(&prof_domain_in_prof_control);
}

/* Functions without arguments that say whether a recording heard of it. */
#define DEFINE_CONTROL(word)                                               \
	static PyObject *native_##word(PyObject *module, PyObject *unused) \
	{                                                                  \
		const int heard = is_controlled();                         \
                                                                           \
		(void)module, (void)unused;                                \
		prof_##word();                                             \
		return PyBool_FromLong(heard);                             \
	}
DEFINE_CONTROL(pause)
DEFINE_CONTROL(resume)
DEFINE_CONTROL(dump)
DEFINE_CONTROL(stop)
DEFINE_CONTROL(scope_pop)

static PyObject *native_scope_push(PyObject *module, PyObject *name)
{
	struct text text;

	(void)module;
	if (text_convert(&text, name) < 0)
		return NULL;
	prof_scope_push(text.utf8 ? text.utf8 : "");
	text_release(&text);
	Py_RETURN_NONE;
}

static PyObject *native_set_thread_name(PyObject *module, PyObject *name)
{
	struct text text;

	(void)module;
	if (text_convert(&text, name) < 0)
		return NULL;
	if (text.utf8)
		PROF_THREAD_NAME(text.utf8);
	text_release(&text);
	Py_RETURN_NONE;
}

static PyObject *native_include_chrome_json(PyObject *module, PyObject *path)
{
	PyObject *bytes = NULL;

	(void)module;
	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	prof_include_chrome_json(PyBytes_AsString(bytes));
	Py_DECREF(bytes);
	return PyBool_FromLong(is_controlled());
}

static int integer_from(PyObject *number, int64_t *integer)
{
	*integer = PyLong_Check(number) ? PyLong_AsLongLong(number) : -1;
	if (*integer != -1 || (PyLong_Check(number) && !PyErr_Occurred()))
		return 1;
	PyErr_Clear();
	return report_problem(PROBLEM_ARGUMENT, "an integer of up to 64 bits is expected");
}

static PyObject *native_step(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
	int64_t epoch = 0, batch = 0;
	int usable;

	(void)module;
	if (n != 2)
		usable = report_problem(PROBLEM_ARGUMENT, "a step has an epoch and a batch");
	else if ((usable = integer_from(args[0], &epoch)) > 0)
		usable = integer_from(args[1], &batch);
	if (usable < 0)
		return NULL;
	if (usable)
		PROF_STEP(epoch, batch);
	Py_RETURN_NONE;
}

/* The two ends of an arrow. */
static PyObject *native_flow(PyObject *id, int out)
{
	const int is_integer = PyLong_Check(id);
	uint64_t number;

	if (!is_integer && report_problem(PROBLEM_ARGUMENT, "an id is an integer") < 0)
		return NULL;
	number = is_integer ? PyLong_AsUnsignedLongLongMask(id) : 0;
	if (is_integer && out)
		PROF_FLOW_OUT(number);
	else if (is_integer)
		PROF_FLOW_IN(number);
	Py_RETURN_NONE;
}

static PyObject *native_flow_out(PyObject *module, PyObject *id)
{
	(void)module;
	return native_flow(id, 1);
}

static PyObject *native_flow_in(PyObject *module, PyObject *id)
{
	(void)module;
	return native_flow(id, 0);
}

static PyObject *native_is_recorded(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyBool_FromLong(is_controlled());
}

static PyMethodDef methods[] = {
	{ "problems", native_problems, METH_NOARGS,
	  "problems()\n--\n\nHow many marks were left out, by reason: {} if all is well." },
	{ "strict", native_strict, METH_O,
	  "strict(wanted)\n--\n\n"
	  "Raise an exception at a mark that cannot be made, recorded or not. Else it is "
	  "counted." },
	{ "trace_awaitables_by", native_trace_awaitables_by, METH_O, NULL },
	{ "trace_modules", function_of_modules, METH_O, NULL },
	{ "is_recorded", native_is_recorded, METH_NOARGS,
	  "is_recorded()\n--\n\nWhether somebody records this process." },
	{ "pause", native_pause, METH_NOARGS,
	  "pause()\n--\n\nRecord nothing of this process until resume(). False: nobody records." },
	{ "resume", native_resume, METH_NOARGS,
	  "resume()\n--\n\nRecord again. False: nobody records." },
	{ "dump", native_dump, METH_NOARGS,
	  "dump()\n--\n\n"
	  "Have what was recorded so far written out, and go on. False: nobody records." },
	{ "stop", native_stop, METH_NOARGS,
	  "stop()\n--\n\nEnd the recording. False: nobody records." },
	{ "memory_scope_push", native_scope_push, METH_O, NULL },
	{ "memory_scope_pop", native_scope_pop, METH_NOARGS, NULL },
	{ "set_thread_name", native_set_thread_name, METH_O, NULL },
	{ "include_chrome_json", native_include_chrome_json, METH_O,
	  "include_chrome_json(path)\n--\n\n"
	  "The recording shall contain this trace of another profiler. False: nobody records." },
	{ "step", METHOD(native_step), METH_FASTCALL,
	  "step(epoch, batch, /)\n--\n\n"
	  "The program begins this batch of this epoch. Schedules count these." },
	{ "flow_out", native_flow_out, METH_O,
	  "flow_out(id, /)\n--\n\nAn arrow leaves the slice that is open here." },
	{ "flow_in", native_flow_in, METH_O,
	  "flow_in(id, /)\n--\n\nThe arrow of this id ends in the slice that is open here." },
	{ NULL, NULL, 0, NULL },
};

static int module_make_types(void)
{
	native.domain = domain_type_new();
	native.scope = scope_type_new();
	native.function = function_type_new();
	native.gate = gate_type_new();
	native.track = track_type_new();
	if (!native.domain || !native.scope || !native.function || !native.gate || !native.track ||
	    !ready_type_new())
		return -1;
	return object_types_new();
}

static int module_add(PyObject *module, const char *name, void *object)
{
	return PyObject_SetAttrString(module, name, object);
}

static int module_make_objects(PyObject *module)
{
	PyObject *types = PyImport_ImportModule("types"), *name = PyUnicode_FromString("default");
	PyObject *builtins = PyImport_ImportModule("builtins");

	if (types)
		native.method_type = PyObject_GetAttrString(types, "MethodType");
	if (builtins)
		native.static_method = PyObject_GetAttrString(builtins, "staticmethod");
	if (native.static_method)
		native.class_method = PyObject_GetAttrString(builtins, "classmethod");
	Py_XDECREF(types);
	Py_XDECREF(builtins);
	native.module_domains = PyDict_New();
	native.attributes_name = PyUnicode_InternFromString("__dict__");
	native.traced_name = PyUnicode_InternFromString("_proftrace");
	native.default_domain = name ? domain_new(native.domain, name) : NULL;
	Py_XDECREF(name);
	if (!native.method_type || !native.class_method || !native.default_domain ||
	    !native.module_domains || !native.attributes_name || !native.traced_name ||
	    timers_add() < 0)
		return -1;
	return module_add(module, "default", native.default_domain) |
	       module_add(module, "module_domains", native.module_domains) |
	       module_add(module, "Domain", native.domain) |
	       module_add(module, "Scope", native.scope) |
	       module_add(module, "Function", native.function) |
	       module_add(module, "Gate", native.gate) | module_add(module, "Task", native.task) |
	       module_add(module, "Frame", native.frame) |
	       module_add(module, "Event", native.event) |
	       module_add(module, "Marker", native.marker) |
	       module_add(module, "Counter", native.counter) |
	       module_add(module, "Track", native.track);
}

/* The types are static: a second interpreter in the process would share the first one's objects. */
static int module_execute(PyObject *module)
{
	const int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());

	if (interpreter != 0) {
		if (interpreter > 0)
			PyErr_SetString(PyExc_ImportError,
					"proftrace is for the main interpreter only");
		return -1;
	}
	if (module_make_types() < 0 || module_make_objects(module) < 0)
		return -1;
	return PyModule_AddFunctions(module, timer_methods);
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_execute },
	{ 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	"proftrace._native",
	"The part of proftrace that is in C.",
	0,
	methods,
	slots,
	NULL,
	NULL,
	NULL,
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
	return PyModuleDef_Init(&definition);
}
