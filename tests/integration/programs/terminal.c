/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminal OUTPUT COMMAND [ARG...]
 *
 * Runs a command on a terminal of its own, 24 lines of 100 columns, and does what standard input says,
 * a line each:
 *
 *	expect TEXT	waits until the command has written TEXT since the last time; at most 20 s
 *	send KEYS	types
 *	resize L C	the window has another size
 *
 * Then it waits for the command's end and says `status N`, and `restored yes` if the terminal's
 * settings are what they were. All that the command wrote is in OUTPUT.
 */
#define _GNU_SOURCE

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

static FILE *output;
static char seen[1 << 20];
static size_t length;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Takes what there is, or waits a moment for it. Returns 0 at the end. */
static int take(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n;

	if (poll(&p, 1, 100) <= 0)
		return 1;
	n = read(fd, bytes, sizeof(bytes));
	if (n <= 0)
		return 0;
	fwrite(bytes, 1, (size_t)n, output);
	if (length + (size_t)n > sizeof(seen))
		length = 0;
	memcpy(seen + length, bytes, (size_t)n);
	length += (size_t)n;
	return 1;
}

static int expect(int fd, const char *text)
{
	long end = now_ms() + 20000;
	char *at;

	for (;;) {
		at = memmem(seen, length, text, strlen(text));
		if (at) {
			at += strlen(text);
			length -= (size_t)(at - seen);
			memmove(seen, at, length);
			return 1;
		}
		if (now_ms() > end || !take(fd)) {
			printf("did not come: %s\n", text);
			return 0;
		}
	}
}

static int step(int fd, char *line)
{
	struct winsize size = { 0 };

	if (!strncmp(line, "expect ", 7))
		return expect(fd, line + 7);
	if (!strncmp(line, "send ", 5))
		return write(fd, line + 5, strlen(line + 5)) > 0;
	if (sscanf(line, "resize %hu %hu", &size.ws_row, &size.ws_col) == 2)
		return !ioctl(fd, TIOCSWINSZ, &size);
	printf("unknown: %s\n", line);
	return 0;
}

int main(int argc, char **argv)
{
	struct winsize size = { .ws_row = 24, .ws_col = 100 };
	struct termios before, after;
	char line[256];
	int master, slave, status;
	pid_t pid;

	if (argc < 3 || openpty(&master, &slave, NULL, NULL, &size))
		return 2;
	output = fopen(argv[1], "w");
	if (!output)
		return 2;
	setvbuf(output, NULL, _IONBF, 0);
	tcgetattr(slave, &before);
	pid = fork();
	if (pid == 0) {
		close(master);
		login_tty(slave);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!step(master, line))
			break;
	}
	for (long end = now_ms() + 20000; waitpid(pid, &status, WNOHANG) == 0;) {
		take(master);
		if (now_ms() > end) {
			kill(pid, SIGTERM);
			end += 20000;
		}
	}
	/* The slave is ours as well: it has no end, only nothing more. */
	while (poll(&(struct pollfd){ .fd = master, .events = POLLIN }, 1, 0) > 0 && take(master))
		;
	tcgetattr(slave, &after);
	printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	printf("restored %s\n", before.c_iflag == after.c_iflag &&
						before.c_oflag == after.c_oflag &&
						before.c_lflag == after.c_lflag
					? "yes"
					: "no");
	fclose(output);
	return 0;
}
