/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * argp has words of its own for options that it does not know, and no way to change them. So the options
 * are gone through twice: first by a parser that takes everything, on a copy, without a word, and what
 * it cannot take is looked at here.
 */
#include "cmd/usage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "failure.h"

_Noreturn static void fail(const char *program, const char *format, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, args);
	failure_clean(line);
	fprintf(stderr, "proftrace: %s\n", line);
	/* The verb that need not be said. */
	fprintf(stderr, "hint: `%s --help` says more\n",
		strchr(program, ' ') ? program : "proftrace record");
	exit(STATUS_USAGE);
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(state->name, format, args);
}

_Noreturn static void refuse(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

_Noreturn static void refuse(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(program, format, args);
}

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

/* A long option, which may be cut short and have a value behind it. */
static void look_at_long(const struct argp *argp, const char *program, const char *text)
{
	size_t length = strcspn(text + 2, "=");
	const struct argp_option *o, *found = NULL;
	char candidates[256] = "";
	unsigned n = 0;

	for (o = argp->options; o && !is_end(o); o++) {
		size_t used = strlen(candidates);

		if (!o->name || strncmp(o->name, text + 2, length))
			continue;
		found = o;
		n++;
		if (!o->name[length])
			break;
		snprintf(candidates + used, sizeof(candidates) - used, " --%s", o->name);
	}
	if (!n)
		refuse(program, "there is no option '%.*s'", (int)length + 2, text);
	if (n > 1 && found->name[length])
		refuse(program, "'%.*s' may be each of%s", (int)length + 2, text, candidates);
	if (found->arg && !text[2 + length])
		refuse(program, "'--%s' needs a value: %s", found->name, found->arg);
	if (!found->arg && text[2 + length])
		refuse(program, "'--%s' takes no value", found->name);
}

static void look_at_short(const struct argp *argp, const char *program, const char *text)
{
	const struct argp_option *o;

	for (text++; *text; text++) {
		for (o = argp->options; o && !is_end(o) && o->key != *text; o++)
			;
		if (!o || is_end(o))
			refuse(program, "there is no option '-%c'", *text);
		if (o->arg && !text[1])
			refuse(program, "'-%c' needs a value: %s", *text, o->arg);
		if (o->arg)
			return;
	}
}

static void look_at(const struct argp *argp, const char *program, const char *text)
{
	if (text && !strncmp(text, "--", 2))
		look_at_long(argp, program, text);
	else if (text && text[0] == '-')
		look_at_short(argp, program, text);
}

struct trial {
	bool in_order; /* the first word that is no option begins a command */
	int two_words;
	int next;
};

static error_t take_all(int key, char *arg, struct argp_state *state)
{
	struct trial *trial = state->input;

	(void)arg;
	if (key == ARGP_KEY_ERROR)
		trial->next = state->next;
	if (trial->two_words && key == trial->two_words && state->next < state->argc)
		state->next++;
	return key == ARGP_KEY_ARG && trial->in_order ? ARGP_ERR_UNKNOWN : 0;
}

/* Help was asked for before something went wrong. */
static bool wants_help(char **argv, int n)
{
	int i;

	for (i = 1; i < n && argv[i]; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--usage") ||
		    !strcmp(argv[i], "-?"))
			return true;
	}
	return false;
}

static void try(const struct usage *usage, int argc, char **argv)
{
	const struct argp *argp = usage->argp;
	const struct argp taker = {
		argp->options, take_all, argp->args_doc, NULL, NULL, NULL, NULL
	};
	struct trial trial = { usage->flags & ARGP_IN_ORDER, usage->two_words, 0 };
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));

	if (!copy)
		return;
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	if (argp_parse(&taker, argc, copy, usage->flags | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL,
		       &trial) &&
	    trial.next > 0 && trial.next <= argc && !wants_help(copy, trial.next)) {
		/* Of several letters behind one dash, those that are left come next. */
		look_at(argp, argv[0], copy[trial.next - 1]);
		look_at(argp, argv[0], copy[trial.next]);
	}
	free(copy);
}

int usage_parse(const struct usage *usage, int argc, char **argv, void *input)
{
	try(usage, argc, argv);
	argp_err_exit_status = STATUS_USAGE;
	return argp_parse(usage->argp, argc, argv, usage->flags, NULL, input);
}
