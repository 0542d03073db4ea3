/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace top` shows a live table of the slices of a process. The BPF programs aggregate in the kernel, as with
 * `record --stats-only`, and the table is read at an interval.
 */
#include "record/top.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/clock.h"
#include "base/quantity.h"
#include "capture/capture.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"

#define MIN_INTERVAL_NS 100000000ull

enum {
	KEY_NO_CHILDREN = 256,
	KEY_BUFFER,
};

static const char doc[] =
	"Show a live table of the slices of a running process.\v"
	"On a terminal, keys sort the table by: t total, s self, a average, m maximum, c count, n "
	"name. r reverses the order, d toggles between values since the last refresh and since the "
	"start, space freezes the screen, z resets the table, q quits. If standard output is not a "
	"terminal, a "
	"table is printed at each interval.\n\n"
	"Examples:\n"
	"  sudo proftrace top -p 1234\n"
	"  sudo proftrace top -p 1234 -i 10s -n 6 -d -s self > minute\n";

static const struct argp_option options[] = {
	{ "pid", 'p', "LIST", 0, "Processes to attach to, separated by commas or spaces", 0 },
	{ "interval", 'i', "TIME", 0, "Refresh interval (1s)", 0 },
	{ "iterations", 'n', "COUNT", 0,
	  "Exit after this many tables (default: when the processes have exited)", 0 },
	{ "sort", 's', "COLUMN", 0, "Sort by total, self, avg, max, count or name (total)", 0 },
	{ "since-refresh", 'd', NULL, 0,
	  "Show values since the last refresh instead of since the start", 0 },
	{ "domain", 'D', "GLOB", 0,
	  "Show only domains whose names match; !GLOB excludes domains (repeatable)", 0 },
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

static enum top_sort top_parse_sort(struct argp_state *state, const char *text)
{
	for (int i = 0; i < TOP_SORTS; i++) {
		if (!strcmp(text, sorts[i]))
			return i;
	}
	usage_error(state, "'%s' is not one of total, self, avg, max, count, name", text);
	return TOP_TOTAL;
}

static uint64_t top_parse_count(struct argp_state *state, const char *text)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)text[0]) || !n)
		usage_error(state, "'%s' is not a number of tables", text);
	return n;
}

static error_t top_parse_option(int top_handle_key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (top_handle_key) {
	case 'p':
		record_options_pids(state, &a->record, arg);
		break;
	case 'i':
		if (!parse_duration(arg, &a->top.interval_ns) ||
		    a->top.interval_ns < MIN_INTERVAL_NS)
			usage_error(state, "'%s' is not a time of at least 100ms", arg);
		break;
	case 'n':
		a->top.iterations = top_parse_count(state, arg);
		break;
	case 's':
		a->top.sort = top_parse_sort(state, arg);
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
		usage_error(state, "unexpected argument '%s'; -p PID selects a process", arg);
		break;
	case ARGP_KEY_END:
		if (!a->record.n_pids)
			usage_error(state, "-p PID is required");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int top_begin(struct top *top, struct recording *r, struct failure *f)
{
	top->recording = r;
	/* The screen needs both: keys come from standard input. */
	top->screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	top->begun_ns = top->refreshed_ns = clock_ns(CLOCK_MONOTONIC);
	return top->screen ? screen_open(f) : 0;
}

static void top_print(struct top *top, uint64_t now)
{
	struct account account = recording_account(top->recording);
	struct table table;

	if (top->shown)
		putchar('\n');
	print_visible(stdout, "%.1f s, %u process%s, %llu mark%s, %llu lost\n",
		      (now - top->begun_ns) / 1e9, capture_processes(top->recording->capture),
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
	/* The reader has closed the pipe. */
	if (fflush(stdout))
		top->quit = true;
}

static void top_show(struct top *top, uint64_t now)
{
	if (top->screen)
		screen_draw(top, now);
	else
		top_print(top, now);
}

static void top_refresh(struct top *top, uint64_t now)
{
	top_collect(top, now);
	top_sort_rows(top);
	top_show(top, now);
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
	/* The processes have exited: the last table has the final values. */
	else if (!top->quit && top->shown)
		top_refresh(top, now);
	else if (!top->quit && !top->shown && capture_files(top->recording->capture))
		top_refresh(top, now);
	top_free(top);
}

void top_tick(struct top *top, uint64_t now)
{
	/* The ticks of the recording are slightly late; these delays must not add up. */
	if (top->paused || now - top->refreshed_ns + MIN_INTERVAL_NS / 2 < top->interval_ns)
		return;
	top_refresh(top, now);
}

int top_keys_fd(const struct top *top)
{
	return top->screen ? STDIN_FILENO : -1;
}

static void top_handle_key(struct top *top, int pressed)
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
		recording_reset_table(top->recording);
		top_reset(top);
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
		top_handle_key(top, pressed);
	top_sort_rows(top);
	screen_draw(top, clock_ns(CLOCK_MONOTONIC));
}

void top_resized(struct top *top)
{
	if (!top->screen)
		return;
	screen_resize();
	screen_draw(top, clock_ns(CLOCK_MONOTONIC));
}

static const struct argp argp = { options, top_parse_option, "-p PID[,PID...]", doc, NULL, NULL,
				  NULL };
const struct usage usage_top = { .argp = &argp, .size = sizeof(struct arguments) };

int cmd_top(int argc, char **argv)
{
	struct arguments a;

	memset(&a, 0, sizeof(a));
	record_options_init(&a.record);
	a.record.stats_only = true;
	a.record.buffer_bytes = 64 << 20;
	a.record.verbosity = -1;
	a.top.interval_ns = 1000000000;
	if (usage_parse(&usage_top, argc, argv, &a))
		return STATUS_USAGE;
	return record(&a.record, &a.top);
}
