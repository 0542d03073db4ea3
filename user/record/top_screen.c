/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the live table with curses, which supports all terminals. */
#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/library/library.h"
#include "capture/capture.h"
#include "record/top.h"

#define MOST_COUNTERS 6 /* lines at the bottom */

/* All of the terminal. The variables of curses, such as stdscr, are not known to a program that loads the library. */
static WINDOW *window;

int screen_open(struct failure *f)
{
	int error = library_load(&library_ncurses, f);
	SCREEN *screen;

	if (error)
		return error;
	/* Sets the character set only; the format of numbers does not change. */
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	window = screen ? newwin(0, 0, 0, 0) : NULL;
	if (!window) {
		failure_set(f, -ENOTSUP, "cannot draw on terminal",
			    getenv("TERM") ? getenv("TERM") : "", "its type is unknown (TERM)");
		failure_hint(f, "`proftrace top ... | cat` prints lines instead");
		return -ENOTSUP;
	}
	cbreak();
	noecho();
	nodelay(window, TRUE);
	keypad(window, TRUE);
	curs_set(0);
	return 0;
}

void screen_close(void)
{
	endwin();
}

void screen_resize(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(window, TRUE);
}

int screen_key(void)
{
	int pressed = wgetch(window);

	/* Other keys, such as arrows, are ignored. */
	while (pressed != ERR && pressed > 0xff)
		pressed = wgetch(window);
	return pressed == ERR ? -1 : pressed;
}

/* Draws from line y on, at most `lines` lines including the heading. Returns the line after it. */
static int draw_table(int y, int lines, struct table *table)
{
	char *text = NULL, *line, *at;
	size_t size;
	FILE *out;

	if (lines < 1)
		return y;
	if (table->n_rows > (size_t)lines - 1)
		table->n_rows = lines - 1;
	out = open_memstream(&text, &size);
	if (!out)
		return y;
	table_print(table, out);
	if (fclose(out)) {
		free(text);
		return y;
	}
	wattron(window, A_REVERSE);
	mvwhline(window, y, 0, ' ', getmaxx(window));
	for (at = text; (line = strsep(&at, "\n")) && *line && lines--;) {
		mvwaddstr(window, y++, 0, line);
		wattroff(window, A_REVERSE);
	}
	wattroff(window, A_REVERSE);
	free(text);
	return y;
}

static void draw_head(const struct top *top, uint64_t now, int columns)
{
	static const char *const sorts[TOP_SORTS] = { "total",	  "self",  "average",
						      "greatest", "count", "name" };
	struct account account = recording_account(top->recording);
	char line[256];

	snprintf(line, sizeof(line),
		 "proftrace top%s  %.0f s  %u process%s  %" PRIu64 " mark%s  %" PRIu64
		 " lost  by %s%s  since the %s",
		 top->paused ? "  PAUSED" : "", (now - top->begun_ns) / 1e9,
		 capture_processes(top->recording->capture),
		 capture_processes(top->recording->capture) == 1 ? "" : "es", account.marked,
		 account.marked == 1 ? "" : "s", account_lost(&account) - account.lost[LOST_CUT],
		 sorts[top->sort], top->reverse ? " reversed" : "",
		 top->since_refresh ? "last refresh" : "start");
	mvwaddnstr(window, 0, 0, line, columns);
	capture_print_places(top->recording->capture, line, sizeof(line));
	mvwaddnstr(window, 1, 0, line, columns);
}

void screen_draw(const struct top *top, uint64_t now)
{
	const int columns = getmaxx(window), lines = getmaxy(window);
	struct table table;
	int y, below = 0;

	werase(window);
	draw_head(top, now, columns);
	if (top->n_counters)
		below = 2 +
			(top->n_counters < MOST_COUNTERS ? (int)top->n_counters : MOST_COUNTERS);
	if (lines < 3 * below)
		below = 0;
	top_table(top, columns, &table);
	y = draw_table(2, lines - 3 - below, &table);
	if (below) {
		top_counters_table(top, columns, &table);
		draw_table(y + 1, below - 1, &table);
	}
	mvwaddnstr(
		window, lines - 1, 0,
		"t total  s self  a avg  m max  c count  n name  r reverse  d since  space pause  "
		"z reset  q quit",
		columns);
	wrefresh(window);
}
