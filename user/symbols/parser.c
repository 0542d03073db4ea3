/* SPDX-License-Identifier: BSD-2-Clause */
/* The process that reads files which nobody vouches for: questions in, lines out. */
#include "symbols/wire.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "symbols/code_file.h"

enum {
	MAX_FILES = 32,
	MAX_SECONDS = 10, /* of a processor, for one address and all that it takes to find it */
};

struct open_file {
	uint32_t number; /* 0: none */
	uint64_t used;
	uint64_t bytes; /* on disk, with its debug files */
	struct code_file *file;
};

struct parser {
	int socket;
	uint64_t turn;
	struct open_file files[MAX_FILES];
	struct open_file *at; /* of the address that is looked for */
	struct answer answer;
};

/* The signal ends it. */
static void limit_time(void)
{
	const struct itimerval t = { .it_value = { .tv_sec = MAX_SECONDS } };

	setitimer(ITIMER_PROF, &t, NULL);
}

/* What is a hole in it is not in it. */
static void take_file(struct parser *p, int fd)
{
	uint64_t bytes = 0;
	struct stat st;
	unsigned i;

	if (!fstat(fd, &st)) {
		bytes = (uint64_t)st.st_size;
		/* Some file systems do not say how much is there; some compress it. */
		if (st.st_blocks && (uint64_t)st.st_blocks * 4 * 512 < bytes)
			bytes = (uint64_t)st.st_blocks * 4 * 512;
	}
	p->at->bytes += bytes;
	for (bytes = 0, i = 0; i < MAX_FILES; i++)
		bytes += p->files[i].bytes;
	symbols_limit_memory(bytes);
}

static int want(void *context, const struct symbol_want *like, uint32_t *ret_index)
{
	struct parser *p = context;
	struct symbol_want w = *like;
	struct symbol_found found;
	int fd = -1;

	w.head = (struct symbol_head){ .answer = SYMBOL_WANT, .turn = p->turn };
	if (symbol_send(p->socket, &w, sizeof(w), -1) ||
	    symbol_receive(p->socket, &found, sizeof(found), &fd) != (int)sizeof(found))
		_exit(0);
	if (fd >= 0)
		take_file(p, fd);
	*ret_index = found.index;
	return fd;
}

/* Takes over the descriptor. Those that were not used for longest make room. */
static struct code_file *find_file(struct parser *p, uint32_t number, int fd)
{
	struct open_file *at = &p->files[0];
	unsigned i;

	for (i = 0; i < MAX_FILES; i++) {
		if (p->files[i].number == number) {
			close(fd);
			p->files[i].used = p->turn;
			p->at = &p->files[i];
			return p->at->file;
		}
		if (p->files[i].used < at->used)
			at = &p->files[i];
	}
	code_file_close(at->file);
	at->bytes = 0;
	p->at = at;
	take_file(p, fd);
	at->file = code_file_open(fd, want, p);
	at->number = at->file ? number : 0;
	at->used = p->turn;
	return at->file;
}

void symbols_parser(int socket)
{
	static struct parser parser;
	struct parser *p = &parser;
	struct symbol_request request;
	int fd;

	p->socket = socket;
	for (;;) {
		struct answer *a = &p->answer;
		struct code_file *file;

		if (symbol_receive(socket, &request, sizeof(request), &fd) !=
			    (int)sizeof(request) ||
		    fd < 0)
			return;
		limit_time();
		p->turn = request.turn;
		a->head = (struct symbol_head){ .answer = SYMBOL_LINES, .turn = request.turn };
		a->max = request.max_lines;
		a->used = 0;
		file = find_file(p, request.file, fd);
		if (file)
			code_file_lines(file, request.address, a);
		if (symbol_send(socket, &a->head, sizeof(a->head) + a->used, -1))
			return;
	}
}
