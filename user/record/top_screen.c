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

#include "capture/capture.h"
#include "record/top.h"

#define MOST_COUNTERS 6 /* lines at the bottom */

int screen_open(struct failure *f)
{
	SCREEN *screen;

	/* Sets the character set only; the format of numbers does not change. */
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		failure_set(f, -ENOTSUP, "cannot draw on terminal",
			    getenv("TERM") ? getenv("TERM") : "", "its type is unknown (TERM)");
		failure_hint(f, "`proftrace top ... | cat` prints lines instead");
		return -ENOTSUP;
	}
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
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
	clearok(curscr, TRUE);
}

int screen_key(void)
{
	int pressed = getch();

	/* Other keys, such as arrows, are ignored. */
	while (pressed != ERR && pressed > 0xff)
		pressed = getch();
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
	attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	for (at = text; (line = strsep(&at, "\n")) && *line && lines--;) {
		mvaddstr(y++, 0, line);
		attroff(A_REVERSE);
	}
	attroff(A_REVERSE);
	free(text);
	return y;
}

static void draw_head(const struct top *top, uint64_t now)
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
	mvaddnstr(0, 0, line, COLS);
	capture_print_places(top->recording->capture, line, sizeof(line));
	mvaddnstr(1, 0, line, COLS);
}

void screen_draw(const struct top *top, uint64_t now)
{
	struct table table;
	int y, below = 0;

	erase();
	draw_head(top, now);
	if (top->n_counters)
		below = 2 +
			(top->n_counters < MOST_COUNTERS ? (int)top->n_counters : MOST_COUNTERS);
	if (LINES < 3 * below)
		below = 0;
	top_table(top, COLS, &table);
	y = draw_table(2, LINES - 3 - below, &table);
	if (below) {
		top_counters_table(top, COLS, &table);
		draw_table(y + 1, below - 1, &table);
	}
	mvaddnstr(
		LINES - 1, 0,
		"t total  s self  a avg  m max  c count  n name  r reverse  d since  space pause  "
		"z reset  q quit",
		COLS);
	refresh();
}
