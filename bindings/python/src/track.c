/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks: where slices and instants with times of their own are shown. */
#include "native.h"

struct track {
	PyObject_HEAD const prof_track_t *track;
	PyObject *name;
};

static PyObject *track_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "name", "outer", NULL };
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	const prof_track_t *around = NULL;
	PyObject *name, *outer = Py_None;
	struct track *t;
	struct text text;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", names, &name, &outer) ||
	    track_find(&around, outer) < 0 || text_convert(&text, name) < 0)
		return NULL;
	t = (struct track *)allocate(type, 0);
	if (t) {
		Py_INCREF(name);
		t->name = name;
		t->track = prof_track_get(text.utf8 ? text.utf8 : "(none)", around);
	}
	text_release(&text);
	return (PyObject *)t;
}

static void track_dealloc(struct track *t)
{
	PyTypeObject *type = Py_TYPE(t);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(t->name);
	release(t);
	Py_DECREF(type);
}

static PyObject *track_sync(struct track *t, PyObject *const *args, Py_ssize_t n)
{
	uint64_t times[2] = { 0, 0 };
	int status =
		n == 2 ? 1 : report_problem(PROBLEM_ARGUMENT, "a reading has ticks and a time");
	int i;

	for (i = 0; i < 2 && status > 0; i++)
		status = time_convert(&times[i], args[i]);
	if (status < 0)
		return NULL;
	if (status)
		prof_track_sync(t->track, times[0], times[1]);
	Py_RETURN_NONE;
}

static PyObject *track_repr(struct track *t)
{
	return PyUnicode_FromFormat("<proftrace.Track %R>", t->name);
}

int track_find(const prof_track_t **ret, PyObject *track)
{
	*ret = NULL;
	if (track == Py_None)
		return 1;
	if (!PyObject_TypeCheck(track, native.track))
		return report_problem(PROBLEM_ARGUMENT, "a track is made by proftrace.track()");
	*ret = ((struct track *)track)->track;
	return 1;
}

int time_convert(uint64_t *time, PyObject *number)
{
	*time = PyLong_Check(number) ? PyLong_AsUnsignedLongLong(number) : 0;
	if (PyLong_Check(number) && !PyErr_Occurred())
		return 1;
	PyErr_Clear();
	return report_problem(PROBLEM_ARGUMENT,
			      "a time is an integer, such as time.monotonic_ns() returns");
}

PyTypeObject *track_type_new(void)
{
	static PyMethodDef methods[] = {
		{ "sync", METHOD(track_sync), METH_FASTCALL,
		  "sync(ticks, time, /)\n--\n\n"
		  "Times on this track, and on tracks within it, are ticks of another clock, which "
		  "read\n"
		  "`ticks` when time.monotonic_ns() was `time`. Call it again from time to time." },
		{ NULL, NULL, 0, NULL },
	};
	static PyMemberDef members[] = {
		{ "name", T_OBJECT, offsetof(struct track, name), READONLY, "Its name." },
		{ NULL, 0, 0, 0, NULL },
	};
	PyType_Slot slots[] = {
		{ Py_tp_doc, (void *)"track(name, outer=None)\n--\n\n"
				     "Where slice_at() shows slices: within another track, or "
				     "within the process.\n"
				     "'GPU 0/stream 7' is a track within a track." },
		{ Py_tp_new, track_new },
		{ Py_tp_methods, methods },
		{ Py_tp_members, members },
		{ Py_tp_repr, track_repr },
		{ Py_tp_dealloc, track_dealloc },
		{ 0, NULL },
	};
	PyType_Spec spec = { "proftrace.Track", sizeof(struct track), 0, Py_TPFLAGS_DEFAULT,
			     slots };

	return (PyTypeObject *)PyType_FromSpec(&spec);
}
