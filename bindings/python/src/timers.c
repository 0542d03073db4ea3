/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices measured by the process itself, for TimerHook: whether or not somebody records, each that ends is appended
 * to every list that was started, as (name, seconds, seconds outside of slices within it, whether it was within
 * another one of its name).
 */
#include <pthread.h>
#include <time.h>

#include "native.h"

#define MAX_DEPTH 512 /* slices that are open on a thread; deeper ones are not measured */

struct open_slice {
	uint64_t token;
	PyObject *name;
	int64_t begin_ns, inside_ns;
};

struct open_slices {
	unsigned depth;
	struct open_slice list[MAX_DEPTH];
};

static __thread struct open_slices *open_slices;
static pthread_key_t key_of_slices; /* frees them when their thread ends */

int timers_add(void)
{
	if (!native.timers && pthread_key_create(&key_of_slices, free)) {
		PyErr_NoMemory();
		return -1;
	}
	native.timers = PyList_New(0);
	return native.timers ? 0 : -1;
}

static int64_t timer_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void timers_begin(uint64_t token, PyObject *name)
{
	struct open_slice *slice;

	if (!(native.attention & ATTENTION_TIMERS) || !name || !PyUnicode_Check(name))
		return;
	if (!open_slices) {
		open_slices = calloc(1, sizeof(*open_slices));
		if (!open_slices)
			return;
		pthread_setspecific(key_of_slices, open_slices);
	}
	if (open_slices->depth == MAX_DEPTH)
		return;
	slice = &open_slices->list[open_slices->depth++];
	Py_INCREF(name);
	*slice = (struct open_slice){ token, name, timer_now(), 0 };
}

/* The slice that ends is the innermost with its token; those inside of it that have not ended do not count. */
static int timer_find(uint64_t token)
{
	int i = open_slices ? (int)open_slices->depth : 0;

	while (--i >= 0 && open_slices->list[i].token != token)
		;
	return i;
}

static PyObject *timer_entry(const struct open_slice *slice, int64_t elapsed)
{
	const struct open_slice *outer = open_slices->list;
	int nested = 0;

	for (; outer < slice && !nested; outer++)
		nested = PyUnicode_Compare(outer->name, slice->name) == 0;
	return Py_BuildValue("(OddO)", slice->name, (double)elapsed / 1e9,
			     (double)(elapsed - slice->inside_ns) / 1e9,
			     nested ? Py_True : Py_False);
}

static void timer_report(PyObject *entry)
{
	Py_ssize_t i;

	for (i = 0; entry && i < PyList_Size(native.timers); i++)
		PyList_Append(PyList_GetItem(native.timers, i), entry);
}

void timers_end(uint64_t token)
{
	const int at = timer_find(token);
	PyObject *type, *value, *traceback, *entry;
	struct open_slice *slice;
	int64_t elapsed;

	if (at < 0)
		return;
	slice = &open_slices->list[at];
	elapsed = timer_now() - slice->begin_ns;
	if (at > 0)
		slice[-1].inside_ns += elapsed;
	/* The slice may end because of an exception. */
	PyErr_Fetch(&type, &value, &traceback);
	entry = timer_entry(slice, elapsed);
	timer_report(entry);
	Py_XDECREF(entry);
	while (open_slices->depth > (unsigned)at)
		Py_DECREF(open_slices->list[--open_slices->depth].name);
	PyErr_Restore(type, value, traceback);
}

static PyObject *timer_start(PyObject *module, PyObject *list)
{
	(void)module;
	if (!PyList_Check(list)) {
		PyErr_SetString(PyExc_TypeError, "a timer appends to a list");
		return NULL;
	}
	if (PyList_Append(native.timers, list) < 0)
		return NULL;
	native.attention |= ATTENTION_TIMERS;
	Py_RETURN_NONE;
}

/* Lists are equal if what they hold is, and this is about one of them. */
static PyObject *timer_stop(PyObject *module, PyObject *list)
{
	Py_ssize_t i;

	(void)module;
	for (i = PyList_Size(native.timers) - 1; i >= 0; i--) {
		if (PyList_GetItem(native.timers, i) != list)
			continue;
		if (PyList_SetSlice(native.timers, i, i + 1, NULL) < 0)
			return NULL;
		break;
	}
	if (!PyList_Size(native.timers))
		native.attention &= ~ATTENTION_TIMERS;
	Py_RETURN_NONE;
}

PyMethodDef timer_methods[] = {
	{ "start_timer", timer_start, METH_O,
	  "start_timer(list)\n--\n\nAppend each slice that ends in this process from now on." },
	{ "stop_timer", timer_stop, METH_O, "stop_timer(list)\n--\n\nAppend no more to the list." },
	{ NULL, NULL, 0, NULL },
};
