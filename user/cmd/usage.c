/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of argp about unknown options cannot be changed. So the options are parsed twice: first, on a copy, by
 * a parser that accepts every argument and prints nothing. If it fails, the option where it stopped is examined here.
 */
#include "base/text.h"
#include "cmd/usage.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "base/quantity.h"

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

_Noreturn static void usage_fail_in_file(const struct usage_place *place, const char *format,
					 va_list args)
{
	char line[1024], number[16] = "";

	vsnprintf(line, sizeof(line), format, args);
	if (place->line)
		snprintf(number, sizeof(number), ":%u", place->line);
	print_visible(stderr, "proftrace: cannot use '%s%s': %s\n", place->file, number, line);
	print_visible(stderr, "hint: see man %s\n", place->manual);
	exit(STATUS_USAGE);
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (state->hook)
		usage_fail_in_file(state->hook, format, args);
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
	for (int i = 1; i < n && argv[i]; i++) {
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
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(words[i], arg))
			return i;
	}
	usage_error(state, "'%s' is not a %s", arg, what);
}

/* --- --where, --from, --to and --by ------------------------------------------------------------ */

/* Shows the line of the expression, and under it what is wrong. */
_Noreturn static void usage_reject_condition(const struct argp_state *state, const char *text,
					     const struct condition_error *error)
{
	char line[CONDITION_MAX_TEXT + 1];
	unsigned i, begin = error->column > 60 ? error->column - 60 : 0;
	unsigned shown = 0, column = 0;

	print_visible(stderr, "proftrace: --where: %s\n", error->message);
	/* Not in the middle of a character. */
	while (begin && ((unsigned char)text[begin] & 0xc0) == 0x80)
		begin--;
	snprintf(line, sizeof(line), "%.*s", 100, text + begin);
	text_make_visible(line);
	for (i = 0; i < error->column - begin && line[i]; i++)
		column += ((unsigned char)line[i] & 0xc0) != 0x80;
	print_visible(stderr, "  %s\n", line);
	print_visible(stderr, "  %*s", (int)column, "");
	do
		fputc(shown ? '~' : '^', stderr);
	while (++shown < error->length && column + shown < 100);
	fputc('\n', stderr);
	print_visible(stderr, "hint: see `%s --help` and man proftrace-report, CONDITIONS\n",
		      state->name);
	exit(STATUS_USAGE);
}

/* Options are plain data: the selection compiles the condition when it begins. */
static void usage_parse_where(struct select_options *o, const char *text,
			      const struct argp_state *state)
{
	struct condition_error error;
	struct condition *condition;

	if (o->text)
		usage_error(state, "--where is given twice; conditions are joined by &&");
	condition = condition_compile(text, &error);
	if (!condition)
		usage_reject_condition(state, text, &error);
	o->text = text;
	o->uses_start = condition_uses_start(condition);
	condition_free(condition);
}

/* "1.5s", "2.250 ms" as the report prints it, or "@123456" on the trace's own clock. */
static void usage_parse_time(struct select_time *time, const char *text, const char *option,
			     const struct argp_state *state)
{
	char joined[64];
	size_t i, n = 0;
	bool ok;

	for (i = 0; text[i] && n + 1 < sizeof(joined); i++) {
		if (text[i] != ' ')
			joined[n++] = text[i];
	}
	joined[n] = '\0';
	*time = (struct select_time){ .is_set = true, .absolute = joined[0] == '@' };
	if (time->absolute)
		ok = parse_integer(joined + 1, 0, UINT64_MAX, &time->ns);
	else
		ok = !strcmp(joined, "0") || parse_duration(joined, &time->ns);
	if (!ok)
		usage_error(state, "%s '%s' is not a time such as 250ms or 1.5s, or @NANOSECONDS",
			    option, text);
}

static void usage_parse_by(struct select_options *o, char *arg)
{
	static const struct {
		const char *key;
		enum select_by by;
	} keys[] = {
		{ "thread", BY_THREAD },
		{ "process", BY_PROCESS },
		{ "rank", BY_RANK },
	};

	o->by = BY_ARGUMENT;
	o->by_key = !strncmp(arg, "arg.", 4) ? arg + 4 : arg;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(keys[i].key, arg))
			o->by = keys[i].by;
	}
}

static void usage_finish_select(const struct select_options *o, const struct argp_state *state)
{
	struct condition_error error;
	struct condition *condition;
	int key = 0;

	if (o->from.is_set && o->to.is_set && o->from.absolute == o->to.absolute &&
	    o->from.ns >= o->to.ns)
		usage_error(state, "--from is not before --to");
	if (o->by != BY_ARGUMENT || !o->text)
		return;
	condition = condition_compile(o->text, &error);
	if (condition)
		key = condition_add_key(condition, o->by_key);
	condition_free(condition);
	if (key < 0)
		usage_error(state, "--by '%s': the condition has too many keys already", o->by_key);
}

error_t usage_select(int key, char *arg, struct argp_state *state, struct select_options *o)
{
	switch (key) {
	case USAGE_WHERE:
		usage_parse_where(o, arg, state);
		return 0;
	case USAGE_FROM:
		usage_parse_time(&o->from, arg, "--from", state);
		return 0;
	case USAGE_TO:
		usage_parse_time(&o->to, arg, "--to", state);
		return 0;
	case USAGE_BY:
		usage_parse_by(o, arg);
		return 0;
	case ARGP_KEY_SUCCESS:
		usage_finish_select(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
