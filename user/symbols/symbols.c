/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side: asks, opens the debug files that are wanted, and believes nothing. */
#include "symbols/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "symbols/debug_paths.h"
#include "symbols/wire.h"
#include "timeline/hash_key.h"

enum {
	LIMIT_MS = 30000,
	MAX_DEATHS = 32, /* of parsers, then there are no more names */
	MAX_WANTS = 64,	 /* files asked for because of one address */
};

/* The same file, whoever has it mapped, unless it was written meanwhile. */
struct file_key {
	uint64_t device, inode, size, changed_ns;
};

struct file {
	struct file_key key;
	uint32_t number;
	unsigned deaths;
	UT_hash_handle hh;
};

struct symbols {
	struct names *names;
	struct symbols_options options;
	struct symbols_counts counts;
	struct file *files;
	pid_t keeper;
	int socket; /* -1: given up */
	uint64_t turn;
	uint64_t left_ns;
	unsigned deaths;
};

/* One address on its way. */
struct question {
	const struct code_mapping *mapping;
	struct file *file;
	int fd;
	uint64_t address;
	struct code_line *lines;
	unsigned max;
};

static int open_directly(void *context, const struct code_mapping *mapping, const char *path)
{
	/* It may be a pipe, or a device that does something when it is opened: so it is only looked at first. */
	int place = open(path, O_PATH | O_CLOEXEC), fd = -EINVAL;
	char link[32];
	struct stat st;

	(void)context, (void)mapping;
	if (place < 0)
		return -errno;
	if (!fstat(place, &st) && S_ISREG(st.st_mode)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
		fd = open(link, O_RDONLY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	close(place);
	return fd;
}

int symbols_new(struct names *names, const struct symbols_options *o, struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int sockets[2];

	if (!s)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		free(s);
		return -errno;
	}
	s->names = names;
	if (o)
		s->options = *o;
	if (!s->options.open_debug)
		s->options.open_debug = open_directly;
	s->left_ns = (s->options.limit_ms ? s->options.limit_ms : LIMIT_MS) * 1000000ull;
	s->socket = sockets[0];
	s->keeper = fork();
	if (!s->keeper) {
		close(sockets[0]);
		symbols_keeper(sockets[1]);
	}
	close(sockets[1]);
	if (s->keeper < 0) {
		int error = -errno;

		close(s->socket);
		free(s);
		return error;
	}
	*ret = s;
	return 0;
}

/* The keeper ends when its socket is closed, whatever its parser does. */
static void give_up(struct symbols *s)
{
	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
}

void symbols_free(struct symbols *s)
{
	struct file *file, *next;

	if (!s)
		return;
	give_up(s);
	while (waitpid(s->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	HASH_ITER (hh, s->files, file, next) {
		HASH_DEL(s->files, file);
		free(file);
	}
	free(s);
}

void symbols_count(const struct symbols *s, struct symbols_counts *ret)
{
	*ret = s->counts;
}

static struct file *find_file(struct symbols *s, int fd)
{
	struct file_key key;
	struct stat st;
	struct file *file;

	/* Reading anything else may wait, or do something. */
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	memset(&key, 0, sizeof(key));
	key.device = st.st_dev;
	key.inode = st.st_ino;
	key.size = (uint64_t)st.st_size;
	key.changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	HASH_FIND(hh, s->files, &key, sizeof(key), file);
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->key = key;
	file->number = HASH_COUNT(s->files) + 1;
	HASH_ADD(hh, s->files, key, sizeof(key), file);
	return file;
}

/* --- what the parser wants -------------------------------------------------------------------- */

static int open_candidate(struct symbols *s, const struct code_mapping *mapping, const char *path)
{
	struct stat st;
	int fd = s->options.open_debug(s->options.context, mapping, path);

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static int answer_want(struct symbols *s, const struct question *q, struct symbol_want *want)
{
	struct symbol_found found = { .turn = s->turn };
	char path[SYMBOL_MAX_PATH];
	int fd = -1, error;

	if (want->build_id_size > SYMBOL_MAX_ID)
		return -EPROTO;
	want->link[sizeof(want->link) - 1] = '\0';
	for (found.index = want->first; found.index < SYMBOL_MAX_FOUND; found.index++) {
		if (!debug_path(want, q->mapping->path->text, found.index, path, sizeof(path)))
			continue;
		fd = open_candidate(s, q->mapping, path);
		if (fd >= 0)
			break;
	}
	found.is_found = fd >= 0;
	error = symbol_send(s->socket, &found, sizeof(found), fd);
	if (fd >= 0)
		close(fd);
	return error;
}

/* --- what it answers -------------------------------------------------------------------------- */

/* Something to read before the time is over? */
static int wait_answer(struct symbols *s)
{
	const uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	struct pollfd fd = { .fd = s->socket, .events = POLLIN };
	uint64_t spent_ns;
	int n;

	do
		n = poll(&fd, 1, (int)(s->left_ns / 1000000) + 1);
	while (n < 0 && errno == EINTR);
	spent_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	s->left_ns -= spent_ns < s->left_ns ? spent_ns : s->left_ns;
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

/* The largest that is said; what is larger is cut, and then makes no sense. */
union packet {
	struct symbol_head head;
	struct symbol_want want;
	char bytes[SYMBOL_MAX_ANSWER];
};

/* -ECONNRESET: it died of that. */
static int take_answer(struct symbols *s, const struct question *q)
{
	union packet packet;
	unsigned wants = 0;
	int n, error;

	for (;;) {
		error = wait_answer(s);
		if (error)
			return error;
		n = symbol_receive(s->socket, &packet, sizeof(packet), NULL);
		if (n < (int)sizeof(packet.head))
			return n < 0 ? n : -EPROTO;
		if (packet.head.answer == SYMBOL_DIED)
			return -ECONNRESET;
		if (packet.head.turn != s->turn)
			continue;
		if (packet.head.answer == SYMBOL_LINES)
			return symbol_lines(packet.bytes, (size_t)n, s->names, q->lines, q->max);
		if (packet.head.answer != SYMBOL_WANT || n != (int)sizeof(packet.want) ||
		    wants++ == MAX_WANTS)
			return -EPROTO;
		error = answer_want(s, q, &packet.want);
		if (error)
			return error;
	}
}

static int ask(struct symbols *s, const struct question *q)
{
	const struct symbol_request request = {
		.turn = ++s->turn,
		.address = q->address,
		.file = q->file->number,
		.max_lines = q->max,
	};
	int error = symbol_send(s->socket, &request, sizeof(request), q->fd);

	return error ? error : take_answer(s, q);
}

unsigned symbols_resolve(struct symbols *s, const struct code_mapping *mapping, int fd,
			 uint64_t address, struct code_line *lines, unsigned max)
{
	struct question q = {
		.mapping = mapping, .fd = fd, .address = address, .lines = lines, .max = max
	};
	int n = -ECONNRESET;

	if (q.max > SYMBOL_MAX_LINES)
		q.max = SYMBOL_MAX_LINES;
	s->counts.asked++;
	q.file = find_file(s, fd);
	if (!q.file || !q.max)
		return 0;
	if (s->socket < 0) {
		s->counts.late++;
		return 0;
	}
	/* A parser may have died of something else before: once more. Twice, and it is the file. */
	while (n == -ECONNRESET && q.file->deaths < 2 && s->deaths < MAX_DEATHS) {
		n = ask(s, &q);
		if (n == -ECONNRESET) {
			q.file->deaths++;
			s->deaths++;
		}
	}
	if (n < 0)
		s->counts.broken += n != -ETIMEDOUT, s->counts.late += n == -ETIMEDOUT;
	if (n < 0 && n != -ECONNRESET)
		give_up(s);
	s->counts.named += n > 0;
	return n > 0 ? (unsigned)n : 0;
}
