/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace top`: what a process does now. The kernel adds up; the table is read once in a while. */
#include "cmd/top.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "clock.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"

#define LEAST_INTERVAL_NS 100000000ull

enum {
	KEY_NO_CHILDREN = 256,
	KEY_BUFFER,
};

static const char doc[] =
	"Show the table of names of a running process, live.\v"
	"On a terminal, keys change what is shown: t total, s self, a average, m greatest, c "
	"count, n "
	"name; r turns the order round; d shows what came since the last refresh instead of since "
	"the "
	"start; space pauses, z begins anew, q quits. Elsewhere it prints a table at each "
	"interval.\n\n"
	"Examples:\n"
	"  sudo proftrace top -p 1234\n"
	"  sudo proftrace top -p 1234 -i 10s -n 6 -s self > minute\n";

static const struct argp_option options[] = {
	{ "pid", 'p', "LIST", 0, "Processes to attach to, separated by commas", 0 },
	{ "interval", 'i', "TIME", 0, "Refresh so often (1s)", 0 },
	{ "iterations", 'n', "COUNT", 0, "End after so many tables (when the processes have ended)",
	  0 },
	{ "sort", 's', "COLUMN", 0, "total, self, avg, max, count, name (total)", 0 },
	{ "since-refresh", 'd', NULL, 0, "Show what came since the last refresh", 0 },
	{ "domain", 'D', "GLOB", 0,
	  "Only domains whose names fit; !GLOB leaves them out (repeatable)", 0 },
	{ "no-children", KEY_NO_CHILDREN, NULL, 0, "Do not follow children", 0 },
	{ "buffer", KEY_BUFFER, "SIZE", 0, "Memory for the table (64M)", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

static const char *const sorts[TOP_SORTS] = { "total", "self", "avg", "max", "count", "name" };

struct arguments {
	struct record_options record;
	struct top top;
};

static enum top_sort sort_of(struct argp_state *state, const char *text)
{
	int i;

	for (i = 0; i < TOP_SORTS; i++) {
		if (!strcmp(text, sorts[i]))
			return i;
	}
	usage_error(state, "'%s' is no column: total, self, avg, max, count or name", text);
	return TOP_TOTAL;
}

static uint64_t count_of(struct argp_state *state, const char *text)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)text[0]) || !n)
		usage_error(state, "'%s' is no number of tables", text);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'p':
		record_options_pids(state, &a->record, arg);
		break;
	case 'i':
		if (!parse_duration(arg, &a->top.interval_ns) ||
		    a->top.interval_ns < LEAST_INTERVAL_NS)
			usage_error(state, "'%s' is no time of 100ms or more", arg);
		break;
	case 'n':
		a->top.iterations = count_of(state, arg);
		break;
	case 's':
		a->top.sort = sort_of(state, arg);
		break;
	case 'd':
		a->top.since_refresh = true;
		break;
	case 'D':
		if (a->record.n_domains == MAX_DOMAINS)
			usage_error(state, "more than %d domains", MAX_DOMAINS);
		a->record.domains[a->record.n_domains++] = arg;
		break;
	case KEY_NO_CHILDREN:
		a->record.no_children = true;
		break;
	case KEY_BUFFER:
		record_options_buffer(state, &a->record, arg);
		break;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case ARGP_KEY_ARG:
		usage_error(state, "what is '%s'? Give -p PID", arg);
		break;
	case ARGP_KEY_END:
		if (!a->record.n_pids)
			usage_error(state, "which process? Give -p PID");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int top_begin(struct top *top, struct recording *r, struct failure *f)
{
	top->recording = r;
	/* Nobody could press a key without the one, or see it without the other. */
	top->screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	top->begun_ns = top->refreshed_ns = clock_ns(CLOCK_MONOTONIC);
	return top->screen ? screen_open(f) : 0;
}

static void print(struct top *top, uint64_t now)
{
	struct account account = recording_account(top->recording);
	struct table table;

	if (top->shown)
		putchar('\n');
	printf("%.1f s, %u process%s, %llu mark%s, %llu lost\n", (now - top->begun_ns) / 1e9,
	       capture_processes(top->recording->capture),
	       capture_processes(top->recording->capture) == 1 ? "" : "es",
	       (unsigned long long)account.marked, account.marked == 1 ? "" : "s",
	       (unsigned long long)(account_lost(&account) - account.lost[LOST_CUT]));
	top_table(top, 0, &table);
	table_print(&table, stdout);
	if (top->n_counters) {
		putchar('\n');
		top_counters_table(top, 0, &table);
		table_print(&table, stdout);
	}
	/* Whoever reads it has gone. */
	if (fflush(stdout))
		top->quit = true;
}

static void show(struct top *top, uint64_t now)
{
	if (top->screen)
		screen_draw(top, now);
	else
		print(top, now);
}

static void refresh(struct top *top, uint64_t now)
{
	top_collect(top, now);
	top_order(top);
	show(top, now);
	top->shown++;
	if (top->iterations && top->shown >= top->iterations)
		top->quit = true;
}

void top_end(struct top *top)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!top->recording)
		return;
	if (top->screen)
		screen_close();
	/* The processes have ended: the last table says all. */
	else if (!top->quit && top->shown)
		refresh(top, now);
	else if (!top->quit && !top->shown && capture_files(top->recording->capture))
		refresh(top, now);
	top_free(top);
}

void top_tick(struct top *top, uint64_t now)
{
	/* The ticks of the recording come a little late, and must not add up. */
	if (top->paused || now - top->refreshed_ns + LEAST_INTERVAL_NS / 2 < top->interval_ns)
		return;
	refresh(top, now);
}

int top_keys_fd(const struct top *top)
{
	return top->screen ? STDIN_FILENO : -1;
}

static void key(struct top *top, int pressed)
{
	static const char keys[TOP_SORTS] = { 't', 's', 'a', 'm', 'c', 'n' };
	const char *at = memchr(keys, tolower(pressed), sizeof(keys));

	if (at)
		top->sort = at - keys;
	switch (tolower(pressed)) {
	case 'r':
		top->reverse = !top->reverse;
		break;
	case 'd':
		top->since_refresh = !top->since_refresh;
		break;
	case ' ':
		top->paused = !top->paused;
		break;
	case 'z':
		recording_table_reset(top->recording);
		top_forget(top);
		break;
	case 'q':
		top->quit = true;
		break;
	}
}

void top_keys(struct top *top)
{
	int pressed;

	while ((pressed = screen_key()) >= 0)
		key(top, pressed);
	top_order(top);
	screen_draw(top, clock_ns(CLOCK_MONOTONIC));
}

void top_resized(struct top *top)
{
	if (!top->screen)
		return;
	screen_resize();
	screen_draw(top, clock_ns(CLOCK_MONOTONIC));
}

static const struct argp argp = { options, parse, "-p PID[,PID...]", doc, NULL, NULL, NULL };
const struct usage usage_top = { .argp = &argp, .size = sizeof(struct arguments) };

int cmd_top(int argc, char **argv)
{
	struct arguments a;

	memset(&a, 0, sizeof(a));
	record_options_init(&a.record);
	a.record.stats_only = true;
	a.record.verbosity = -1;
	a.top.interval_ns = 1000000000;
	if (usage_parse(&usage_top, argc, argv, &a))
		return STATUS_USAGE;
	return record(&a.record, &a.top);
}
