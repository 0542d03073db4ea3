/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the extension module share. Each type of Python has a file: domain.c (the marks), scope.c,
 * function.c (decorated functions), track.c, object.c (tasks, frames, events, markers, counters). values.c converts names and
 * arguments, timers.c measures slices for the process itself, module.c makes the module of it all.
 *
 * The module uses the limited API, so that one binary serves CPython 3.9 and all later versions. It belongs to the
 * main interpreter: its types are kept in static variables.
 */
#ifndef PROFTRACE_PYTHON_NATIVE_H
#define PROFTRACE_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>
#include <stdlib.h>
#include <structmember.h>

#include <proftrace.h>

/* Functions and flags that the stable ABI has had only since 3.10 or 3.12, but CPython 3.9 as well. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
#define KEYWORDS		(METH_FASTCALL | METH_KEYWORDS)
#define TPFLAGS_HAVE_VECTORCALL (1UL << 11)
typedef PyObject *vectorcall_t(PyObject *callable, PyObject *const *args, size_t nargsf,
			       PyObject *keys);
#if Py_LIMITED_API < 0x030a0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);
#endif
#if Py_LIMITED_API < 0x030c0000
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *keywords);
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Python passes functions of all kinds as one type. */
#define METHOD(f) ((PyCFunction)(void (*)(void))(f))

enum problem {
	PROBLEM_NAME,	  /* a name that is no string */
	PROBLEM_VALUE,	  /* a value that cannot be converted */
	PROBLEM_ARGUMENT, /* too many or too few arguments, or of another type */
	PROBLEM_CLOSED,	  /* a mark in a domain that was closed */
	PROBLEM_REUSED,	  /* an asynchronous scope that is entered while it is open */
	N_PROBLEMS
};

/* What the interpreter has of ours. All but `strict` is made when the module is. */
struct native {
	PyTypeObject *domain, *scope, *ready, *function, *gate, *task, *frame, *event, *marker,
		*counter, *track;
	PyObject *default_domain; /* struct domain */
	PyObject *ready_with_none;
	PyObject *method_type; /* types.MethodType */
	PyObject *static_method, *class_method;
	PyObject *trace_awaitable; /* a Python function, or NULL */
	PyObject *module_domains;  /* of modules that are traced: domains by their names */
	PyObject *attributes_name,
		*traced_name; /* "__dict__" and the key in it of a traced module */
	PyObject *timers;     /* lists that timers.c appends to */
	uint64_t problems[N_PROBLEMS];
	uint64_t async_id; /* of the latest asynchronous slice */
	int strict;
	/* Not 0: marks have work to do though nobody records them. A bit for each reason. */
	uint32_t attention;
};
#define ATTENTION_TIMERS 1u
#define ATTENTION_STRICT 2u

extern struct native native;

/* A domain. `on` is the switch of its marks, or of a closed domain a word that is not 0. */
struct domain {
	PyObject_HEAD const volatile uint32_t *on;
	const prof_runtime_domain_t *domain;
	PyObject *name;
	int closed;
};

static inline int domain_is_on(const struct domain *d)
{
	return unlikely((*d->on | native.attention) != 0);
}

/* module.c. Counts a problem; if strict, sets an exception and returns -1. */
int report_problem(enum problem which, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * values.c. Names and arguments are pointers into Python's objects; what had to be made for that is released when
 * the mark is.
 */
#define MAX_ARGS 32 /* those that an event keeps */

struct text {
	const char *utf8; /* NULL: there is none */
	PyObject *made;
};

struct converted {
	size_t n, n_made;
	prof_arg_t args[MAX_ARGS];
	PyObject *made[2 * MAX_ARGS];
};

/* Each returns -1 with an exception if strict; else it leaves out what it cannot convert. */
int text_convert(struct text *text, PyObject *name);
void text_release(struct text *text);
int number_convert(prof_arg_t *arg, PyObject *number);
/* `keys` is a tuple, or NULL for none; `values` are as many. */
int args_convert(struct converted *c, PyObject *keys, PyObject *const *values);
int series_convert(struct converted *c, PyObject *keys, PyObject *const *values);
void args_release(struct converted *c);

/* timers.c. Slices of a thread are known by a token, as those of a trace. */
int timers_add(void);
void timers_begin(uint64_t token, PyObject *name);
void timers_end(uint64_t token);
extern PyMethodDef timer_methods[];

/* The types, each made once. NULL: an exception. */
PyTypeObject *domain_type_new(void);
PyTypeObject *scope_type_new(void);
PyTypeObject *ready_type_new(void);
PyTypeObject *function_type_new(void);
PyTypeObject *gate_type_new(void);
int object_types_new(void);
PyTypeObject *track_type_new(void);

/* domain.c */
PyObject *domain_new(PyTypeObject *type, PyObject *name);
/* 1: marks of the domain can be made; 0: they are to be left out; -1: an exception. */
int domain_check(const struct domain *d);
/* PROF_SCOPE_..., or -1 with an exception. */
int mark_scope(PyObject *scope);
/* A counter's series from a dictionary: of a domain, or of a marker in its place. */
int mark_mapping(const struct domain *d, const prof_marker_t *marker, const char *name,
		 PyObject *mapping);

/* track.c. Each returns 1, or 0 or -1 as domain_check() does. None is no track. */
int track_find(const prof_track_t **ret, PyObject *track);
int time_convert(uint64_t *time, PyObject *number);

/* scope.c. Copies what it is given; keys and values as args_convert() takes them. */
PyObject *scope_new(struct domain *d, PyObject *name, PyObject *keys, PyObject *const *values);

/* The arguments of a slice as they are kept until it begins. */
#define KEPT_ARGS 6
struct kept_args {
	PyObject *keys; /* NULL: there are none */
	PyObject **values;
	PyObject *some[KEPT_ARGS];
};
int kept_args_set(struct kept_args *kept, PyObject *keys, PyObject *const *values);
void kept_args_clear(struct kept_args *kept);

/* function.c. What traces each call of a function: a slice of this domain and name, or a marker. */
PyObject *function_new(PyObject *wrapped, struct domain *d, PyObject *name,
		       const struct kept_args *args, PyObject *marker);

int function_can_wrap(PyObject *object);
PyObject *function_of_modules(PyObject *unused, PyObject *owner);

/* Whether `name` is, in place of a name, the function that is to be decorated. */
static inline int is_function_to_wrap(PyObject *name)
{
	return !PyUnicode_Check(name) && function_can_wrap(name);
}

/* object.c. A marker that is to be recorded now, or NULL. */
const prof_marker_t *marker_handle(PyObject *marker);
struct domain *marker_domain(PyObject *marker);
PyObject *marker_name(PyObject *marker);

#endif
