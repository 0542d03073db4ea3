/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, arguments and numbers of Python as those of a mark. */
#include "native.h"

/* Text of Python may hold halves of surrogate pairs, which no UTF-8 has: file names of other encodings do. */
int text_convert(struct text *text, PyObject *name)
{
	text->utf8 = NULL;
	text->made = NULL;
	if (!name || !PyUnicode_Check(name))
		return report_problem(PROBLEM_NAME, "a name is a string%s",
				      name ? ", not an object of another type" : "");
	text->utf8 = PyUnicode_AsUTF8AndSize(name, NULL);
	if (text->utf8)
		return 0;
	PyErr_Clear();
	text->made = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
	text->utf8 = text->made ? PyBytes_AsString(text->made) : NULL;
	if (text->utf8)
		return 0;
	PyErr_Clear();
	return report_problem(PROBLEM_NAME, "a name cannot be encoded");
}

void text_release(struct text *text)
{
	Py_XDECREF(text->made);
}

static int integer_convert(prof_arg_t *arg, PyObject *integer)
{
	int overflow;
	long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);

	arg->type = PROF_VALUE_INT;
	arg->bits = (uint64_t)number;
	if (number != -1)
		return 0;
	if (overflow > 0) {
		arg->type = PROF_VALUE_UINT;
		arg->bits = PyLong_AsUnsignedLongLong(integer);
	}
	if (overflow >= 0 && !PyErr_Occurred())
		return 0;
	PyErr_Clear();
	return -1;
}

static int float_convert(prof_arg_t *arg, PyObject *number)
{
	const double value = PyFloat_AsDouble(number);

	if (value == -1.0 && PyErr_Occurred()) {
		PyErr_Clear();
		return -1;
	}
	*arg = prof_arg_double(arg->key, value);
	return 0;
}

/* -1: it is no number. What has __index__ is an integer, NumPy's among them; what has __float__ a float. */
static int number_try(prof_arg_t *arg, PyObject *value)
{
	PyObject *integer;
	int failed = -1;

	/* Most are that. */
	if (Py_IS_TYPE(value, &PyLong_Type) && !integer_convert(arg, value))
		return 0;
	if (PyBool_Check(value)) {
		arg->type = PROF_VALUE_BOOL;
		arg->bits = value == Py_True;
		return 0;
	}
	if (PyFloat_Check(value))
		return float_convert(arg, value);
	if (PyIndex_Check(value)) {
		integer = PyNumber_Index(value);
		if (integer)
			failed = integer_convert(arg, integer);
		else
			PyErr_Clear();
		Py_XDECREF(integer);
	}
	if (!failed)
		return 0;
	return PyNumber_Check(value) ? float_convert(arg, value) : -1;
}

int number_convert(prof_arg_t *arg, PyObject *number)
{
	arg->key = NULL;
	arg->type = 0;
	if (!number_try(arg, number))
		return 0;
	return report_problem(PROBLEM_VALUE, "the value of a counter is a number of up to 64 bits");
}

static int text_argument_convert(struct converted *c, prof_arg_t *arg, PyObject *value)
{
	struct text text = { NULL, NULL };
	/* A string is the caller's, who has it until the mark is made. */
	PyObject *string = PyUnicode_Check(value) ? value : PyObject_Str(value);

	if (!string) {
		PyErr_Clear();
		return -1;
	}
	if (string != value)
		c->made[c->n_made++] = string;
	if (text_convert(&text, string) < 0 || !text.utf8)
		return -1;
	if (text.made)
		c->made[c->n_made++] = text.made;
	*arg = prof_arg_string(arg->key, text.utf8);
	/* The object lives until the mark is made. */
	arg->type |= PROF_IMPL_OWNED;
	return 0;
}

static int one_convert(struct converted *c, PyObject *key, PyObject *value, int only_numbers)
{
	prof_arg_t *arg = &c->args[c->n];
	int failed;

	if (c->n == MAX_ARGS)
		return report_problem(PROBLEM_ARGUMENT, "a mark has at most %d arguments",
				      MAX_ARGS);
	arg->key = key && PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
	if (!arg->key) {
		PyErr_Clear();
		return report_problem(PROBLEM_NAME, "a key is a string");
	}
	if (PyUnicode_Check(value) || value == Py_None)
		failed = only_numbers ? -1 : text_argument_convert(c, arg, value);
	else
		failed = number_try(arg, value);
	if (!failed) {
		c->n++;
		return 0;
	}
	if (!only_numbers && !PyErr_Occurred())
		failed = text_argument_convert(c, arg, value);
	if (PyErr_Occurred())
		return -1;
	if (failed)
		return report_problem(PROBLEM_VALUE, "the value of '%s' cannot be converted",
				      arg->key);
	c->n++;
	return 0;
}

static int all_convert(struct converted *c, PyObject *keys, PyObject *const *values,
		       int only_numbers)
{
	const Py_ssize_t n = keys ? PyTuple_Size(keys) : 0;
	Py_ssize_t i;

	c->n = c->n_made = 0;
	for (i = 0; i < n; i++) {
		if (one_convert(c, PyTuple_GetItem(keys, i), values[i], only_numbers) < 0) {
			args_release(c);
			return -1;
		}
	}
	return 0;
}

int args_convert(struct converted *c, PyObject *keys, PyObject *const *values)
{
	return all_convert(c, keys, values, 0);
}

int series_convert(struct converted *c, PyObject *keys, PyObject *const *values)
{
	return all_convert(c, keys, values, 1);
}

void args_release(struct converted *c)
{
	while (c->n_made)
		Py_DECREF(c->made[--c->n_made]);
}
