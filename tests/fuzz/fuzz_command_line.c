/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any command line of any verb: the first byte says which verb, then each line is a word; or any configuration of
 * `serve`. It is taken, with numbers that are within their limits, or refused, in two lines that terminals can bear.
 * In what argp itself would say nothing is ever refused: it would end this program.
 */
#include <argp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sanitizer/allocator_interface.h>

#include "cmd/cmd.h"
#include "cmd/serve/serve.h"
#include "record/record.h"
#include "cmd/usage.h"

#define MOST_WORDS  300
#define MOST_PIECES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* --- its end is not ours ------------------------------------------------------------------------ */

static jmp_buf ended;
static int parsing;
static const volatile void *pieces[MOST_PIECES];
static unsigned n_pieces;

/* What argp has allocated is lost when the program ends within it. */
static void allocated(const volatile void *piece, size_t size)
{
	(void)size;
	if (parsing && n_pieces < MOST_PIECES)
		pieces[n_pieces++] = piece;
}

static void freed(const volatile void *piece)
{
	unsigned i;

	for (i = 0; parsing && i < n_pieces; i++) {
		if (pieces[i] == piece)
			pieces[i] = NULL;
	}
}

void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status)
{
	if (parsing)
		longjmp(ended, 1 + status);
	__real_exit(status);
}

void __wrap_argp_state_help(const struct argp_state *state, FILE *stream, unsigned flags);
void __wrap_argp_state_help(const struct argp_state *state, FILE *stream, unsigned flags)
{
	(void)state, (void)stream, (void)flags;
	longjmp(ended, 1 + STATUS_DONE);
}

/* What the C library keeps of its configuration is not the parser's. */
struct passwd *__real_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name)
{
	struct passwd *entry;

	parsing = 0;
	entry = __real_getpwnam(name);
	parsing = 1;
	return entry;
}

/* --- what it says ------------------------------------------------------------------------------- */

static char said[4096];

static void begin_to_listen(void)
{
	static FILE *in_memory;

	if (!in_memory) {
		in_memory = fmemopen(said, sizeof(said), "w");
		check(in_memory != NULL);
		stderr = in_memory;
		/* What the C library keeps for the names of users and for time zones is not a piece to free. */
		getpwnam("nobody of this name");
		tzset();
		__sanitizer_install_malloc_and_free_hooks(allocated, freed);
	}
	rewind(stderr);
	memset(said, 0, sizeof(said));
}

static void check_said(void)
{
	const char *at, *hint;

	fflush(stderr);
	check(!strncmp(said, "proftrace: ", 11));
	hint = strchr(said, '\n');
	/* A condition is shown, with a mark under what is wrong. */
	if (!strncmp(said, "proftrace: --where: ", 20)) {
		check(hint && (hint = strchr(hint + 1, '\n')));
		check(hint && (hint = strchr(hint + 1, '\n')));
	}
	check(hint && (!strncmp(hint, "\nhint: see `proftrace ", 22) ||
		       !strncmp(hint, "\nhint: see man proftrace-serve\n", 31)));
	at = strchr(hint + 1, '\n');
	check(at && !at[1]);
	for (at = said; *at; at++)
		check(*at == '\n' || (unsigned char)*at >= ' ');
}

/* --- what it takes ------------------------------------------------------------------------------ */

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static void check_record(const struct record_options *o)
{
	unsigned i;

	check(o->n_pids <= MAX_PIDS && o->n_outputs <= MAX_OUTPUTS && o->n_domains <= MAX_DOMAINS);
	check(o->n_usdt <= MAX_USDT && o->n_functions <= MAX_FUNCTIONS);
	check(o->n_triggers <= MAX_TRIGGERS && o->n_plugins <= MAX_PLUGINS);
	check(o->n_stacks <= MAX_STACKS && o->n_includes <= MAX_INCLUDES);
	check(o->n_names <= TARGET_GLOBS && o->targets.n_users <= TARGET_USERS);
	check(!!o->n_pids + !!o->command + !target_filter_is_empty(&o->targets) == 1);
	for (i = 0; i < o->n_pids; i++)
		check(o->pids[i] > 0);
	for (i = 0; i < o->n_outputs; i++)
		check(o->outputs[i][0] != '\0');
	check(o->sample_hz <= MAX_SAMPLE_HZ);
	check(o->max_overhead >= 0 && o->max_overhead <= 100);
	check(power_of_two(o->buffer_bytes) && power_of_two(o->buffers));
	check(o->buffer_bytes <= 2ull << 30 && o->buffer_bytes / o->buffers >= 64 << 10);
	check(o->flight_bytes >= 64 << 10 && o->flight_bytes <= 1ull << 40);
	check(o->dump_period_ns >= 1000000 && o->system_interval_ns >= 10000000);
	check(!o->counter_interval_ns || o->counter_interval_ns >= 100000);
	check(!o->max_size || o->max_size >= 64 << 10);
	check(!o->quota || o->flight_ns || o->max_size || o->schedule.active);
	check(o->include_offset_ns != INT64_MIN);
	check(!o->rank || (strlen(o->rank) && strlen(o->rank) < 10));
	check(o->n_otlp_spans <= MAX_OTLP_SPANS);
	check(o->otlp_interval_ns >= 1000000000);
	check(!o->otlp_profiles || (o->otlp_url && o->sample_hz));
	check(o->otlp_queue >= 64 << 10 && o->otlp_queue <= 1 << 30);
	check(o->verbosity >= -1);
}

static int words_of(char *text, const char *name, char **words)
{
	int n = 0;

	words[n++] = (char *)name;
	while (*text && n < MOST_WORDS) {
		char *end = strchr(text, '\n');

		words[n++] = text;
		if (!end)
			break;
		*end = '\0';
		text = end + 1;
	}
	words[n] = NULL;
	return n;
}

/* Who asks for help gets it, and the rest is not looked at. */
static bool asks_for_help(char *const *words)
{
	for (; *words; words++) {
		if (!strcmp(*words, "--help") || !strcmp(*words, "--usage") ||
		    !strcmp(*words, "-?"))
			return true;
	}
	return false;
}

/* Returns the status that it would have ended with, or -1: it was taken. Without a usage, `words` is a configuration. */
static int parse(const struct usage *usage, int n, char **words, void *into)
{
	int status;

	n_pieces = 0;
	status = setjmp(ended);
	if (!status) {
		parsing = 1;
		if (usage->argp)
			check(usage_parse(usage, n, words, into) == 0);
		else
			serve_config_parse("FILE", words[0], into);
	}
	parsing = 0;
	while (n_pieces)
		free((void *)pieces[--n_pieces]);
	return status - 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct usage configuration = { .size = sizeof(struct record_options) };
	static const struct {
		const char *name;
		const struct usage *usage;
	} verbs[] = {
		{ "proftrace", &usage_record },	     { "proftrace report", &usage_report },
		{ "proftrace list", &usage_list },   { "proftrace open", &usage_open },
		{ "proftrace top", &usage_top },     { "proftrace convert", &usage_convert },
		{ "proftrace merge", &usage_merge }, { "proftrace check", &usage_check },
		{ "proftrace ctl", &usage_ctl },     { "proftrace record", &usage_record },
		{ "proftrace diff", &usage_diff },   { "proftrace bench", &usage_bench },
		{ "proftrace serve", &usage_serve }, { NULL, &configuration },
	};
	char *words[MOST_WORDS + 1], *text;
	struct usage usage;
	unsigned verb;
	void *into;
	int n, status;

	if (!size || size > 4096)
		return 0;
	verb = data[0] % (sizeof(verbs) / sizeof(verbs[0]));
	usage = *verbs[verb].usage;
	/* Help, which argp gives itself, and then ends the program. */
	usage.flags |= ARGP_NO_HELP;
	text = strndup((const char *)data + 1, size - 1);
	into = calloc(1, usage.size + 1);
	if (!text || !into)
		abort();
	n = 0;
	if (verbs[verb].name)
		n = words_of(text, verbs[verb].name, words);
	else
		words[0] = text;
	words[1] = n ? words[1] : NULL;
	begin_to_listen();
	status = n && asks_for_help(words) ? STATUS_DONE : parse(&usage, n, words, into);
	check(status == -1 || status == STATUS_DONE || status == STATUS_USAGE);
	if (status == STATUS_USAGE)
		check_said();
	if (status == -1 && usage.size == sizeof(struct record_options))
		check_record(into);
	free(into);
	free(text);
	return 0;
}
