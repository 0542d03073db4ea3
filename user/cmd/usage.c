/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of argp about unknown options cannot be changed. So the options are parsed twice: first, on a copy, by
 * a parser that accepts every argument and prints nothing. If it fails, the option where it stopped is examined here.
 */
#include "base/text.h"
#include "cmd/usage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "base/failure.h"

_Noreturn static void usage_fail(const char *program, const char *format, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, args);
	print_visible(stderr, "proftrace: %s\n", line);
	/* A program name without a verb means `record`. */
	print_visible(stderr, "hint: see `%s --help`\n",
		      strchr(program, ' ') ? program : "proftrace record");
	exit(STATUS_USAGE);
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	usage_fail(state->name, format, args);
}

_Noreturn static void usage_reject(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

_Noreturn static void usage_reject(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	usage_fail(program, format, args);
}

static bool option_is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

/* A long option, which may be abbreviated and followed by =VALUE. */
static void usage_check_long(const struct argp *argp, const char *program, const char *text)
{
	size_t length = strcspn(text + 2, "=");
	const struct argp_option *o, *found = NULL;
	char candidates[256] = "";
	unsigned n = 0;

	for (o = argp->options; o && !option_is_end(o); o++) {
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
		usage_reject(program, "unknown option '%.*s'", (int)length + 2, text);
	if (n > 1 && found->name[length])
		usage_reject(program, "option '%.*s' is ambiguous:%s", (int)length + 2, text,
			     candidates);
	if (found->arg && !text[2 + length])
		usage_reject(program, "option '--%s' needs a value: %s", found->name, found->arg);
	if (!found->arg && text[2 + length])
		usage_reject(program, "option '--%s' takes no value", found->name);
}

static void usage_check_short(const struct argp *argp, const char *program, const char *text)
{
	const struct argp_option *o;

	for (text++; *text; text++) {
		for (o = argp->options; o && !option_is_end(o) && o->key != *text; o++)
			;
		if (!o || option_is_end(o))
			usage_reject(program, "unknown option '-%c'", *text);
		if (o->arg && !text[1])
			usage_reject(program, "option '-%c' needs a value: %s", *text, o->arg);
		if (o->arg)
			return;
	}
}

static void usage_check_word(const struct argp *argp, const char *program, const char *text)
{
	if (text && !strncmp(text, "--", 2))
		usage_check_long(argp, program, text);
	else if (text && text[0] == '-')
		usage_check_short(argp, program, text);
}

struct first_pass {
	bool in_order; /* the first word that is not an option begins a command */
	int two_words;
	int next;
};

static error_t usage_accept_option(int key, char *arg, struct argp_state *state)
{
	struct first_pass *pass = state->input;

	(void)arg;
	if (key == ARGP_KEY_ERROR)
		pass->next = state->next;
	if (pass->two_words && key == pass->two_words && state->next < state->argc)
		state->next++;
	return key == ARGP_KEY_ARG && pass->in_order ? ARGP_ERR_UNKNOWN : 0;
}

/* Whether help was requested before the wrong option. */
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

static void usage_check_options(const struct usage *usage, int argc, char **argv)
{
	const struct argp *argp = usage->argp;
	const struct argp first = {
		argp->options, usage_accept_option, argp->args_doc, NULL, NULL, NULL, NULL
	};
	struct first_pass pass = { usage->flags & ARGP_IN_ORDER, usage->two_words, 0 };
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));

	if (!copy)
		return;
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	if (argp_parse(&first, argc, copy, usage->flags | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL,
		       &pass) &&
	    pass.next > 0 && pass.next <= argc && !wants_help(copy, pass.next)) {
		/* The wrong option may be one of several letters after one dash. */
		usage_check_word(argp, argv[0], copy[pass.next - 1]);
		usage_check_word(argp, argv[0], copy[pass.next]);
	}
	free(copy);
}

int usage_parse(const struct usage *usage, int argc, char **argv, void *input)
{
	usage_check_options(usage, argc, argv);
	argp_err_exit_status = STATUS_USAGE;
	return argp_parse(usage->argp, argc, argv, usage->flags, NULL, input);
}

unsigned usage_choice(const struct argp_state *state, const char *arg, const char *const *words,
		      unsigned n, const char *what)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (!strcmp(words[i], arg))
			return i;
	}
	usage_error(state, "'%s' is not a %s", arg, what);
}
