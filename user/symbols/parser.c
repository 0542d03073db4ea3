/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parser process, which reads files that nobody vouches for: requests in, lines or rows out.
 * What it opens and how long it works is limited by the supervisor and here.
 */
#include "base/packet.h"
#include "symbols/wire.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "symbols/code_file.h"
#include "symbols/unwind_rows.h"

enum {
	MAX_FILES = 32,
	/* of CPU time, for one address including all files that have to be read for it */
	MAX_SECONDS = 10,
};

struct open_file {
	uint32_t number; /* 0: none */
	uint64_t used;
	uint64_t bytes; /* on disk, with its debug files */
	struct code_file *file;
};

struct parser {
	int socket;
	uint64_t request_id;
	struct open_file files[MAX_FILES];
	struct open_file *at; /* of the address that is looked up */
	struct reply reply;
};

/* SIGPROF ends the process. */
static void limit_lookup_time(void)
{
	const struct itimerval t = { .it_value = { .tv_sec = MAX_SECONDS } };

	setitimer(ITIMER_PROF, &t, NULL);
}

/* Adjusts the memory limit to a new file. Holes in a sparse file do not count. */
static void account_file_memory(struct parser *p, int fd)
{
	uint64_t bytes = 0;
	struct stat st;
	unsigned i;

	if (!fstat(fd, &st)) {
		bytes = (uint64_t)st.st_size;
		/* Some file systems do not report their blocks, and some compress. */
		if (st.st_blocks && (uint64_t)st.st_blocks * 4 * 512 < bytes)
			bytes = (uint64_t)st.st_blocks * 4 * 512;
	}
	p->at->bytes += bytes;
	for (bytes = 0, i = 0; i < MAX_FILES; i++)
		bytes += p->files[i].bytes;
	symbols_limit_memory(bytes);
}

static int request_debug_file(void *context, const struct symbol_file_request *like,
			      uint32_t *ret_index)
{
	struct parser *p = context;
	struct symbol_file_request w = *like;
	struct symbol_file_reply found;
	int fd = -1;

	w.head = (struct symbol_head){ .kind = SYMBOL_FILE_REQUEST, .request_id = p->request_id };
	if (packet_send(p->socket, &w, sizeof(w), -1) ||
	    packet_receive(p->socket, &found, sizeof(found), &fd) != (int)sizeof(found))
		_exit(0);
	if (fd >= 0)
		account_file_memory(p, fd);
	*ret_index = found.index;
	return fd;
}

/*
 * Opens a file, or finds it among the open ones, of which the least recently used is closed when
 * there are too many. Owns the descriptor.
 */
static struct code_file *parser_open_file(struct parser *p, uint32_t number, int fd)
{
	struct open_file *at = &p->files[0];

	for (unsigned i = 0; i < MAX_FILES; i++) {
		if (p->files[i].number == number) {
			close(fd);
			p->files[i].used = p->request_id;
			p->at = &p->files[i];
			return p->at->file;
		}
		if (p->files[i].used < at->used)
			at = &p->files[i];
	}
	code_file_close(at->file);
	at->bytes = 0;
	p->at = at;
	account_file_memory(p, fd);
	at->file = code_file_open(fd, request_debug_file, p);
	at->number = at->file ? number : 0;
	at->used = p->request_id;
	return at->file;
}

static bool reply_lines(struct parser *p, const struct symbol_request *request, int fd)
{
	struct reply *a = &p->reply;
	struct code_file *file;

	a->head = (struct symbol_head){ .kind = SYMBOL_LINES, .request_id = request->request_id };
	a->max = request->max_lines;
	a->used = 0;
	file = parser_open_file(p, request->file, fd);
	if (file)
		code_file_lines(file, request->address, a);
	return !packet_send(p->socket, &a->head, sizeof(a->head) + a->used, -1);
}

/* Sends an array in packets of at most `most` items. */
static bool send_items(struct parser *p, enum symbol_message kind, const void *items, size_t size,
		       uint32_t n, uint32_t most)
{
	static char
		packet[sizeof(struct symbol_head) + SYMBOL_MAX_ROWS * sizeof(struct unwind_row)];
	const char *at = items;

	while (n) {
		struct symbol_head head = { kind, n < most ? n : most, p->request_id };

		memcpy(packet, &head, sizeof(head));
		memcpy(packet + sizeof(head), at, head.n_lines * size);
		if (packet_send(p->socket, packet, sizeof(head) + head.n_lines * size, -1))
			return false;
		at += head.n_lines * size;
		n -= head.n_lines;
	}
	return true;
}

static int read_rows(int fd, struct unwind_rows *ret)
{
	struct elf_file *elf;
	struct failure f;
	struct stat st;
	int error;

	symbols_limit_memory(fstat(fd, &st) ? 0 : (uint64_t)st.st_size);
	error = elf_file_open(fd, &elf, &f);
	if (error)
		return error;
	error = unwind_rows_read(elf, ret);
	elf_file_free(elf);
	return error;
}

static bool reply_rows(struct parser *p, int fd)
{
	struct unwind_rows rows = { .n = 0 };
	struct symbol_table_reply reply = {
		.head = { .kind = SYMBOL_TABLE, .request_id = p->request_id },
	};
	bool sent;

	reply.error = read_rows(fd, &rows);
	close(fd);
	if (!reply.error) {
		reply.base = rows.base;
		reply.n_rules = rows.n_rules;
		reply.n_rows = rows.n;
	}
	sent = !packet_send(p->socket, &reply, sizeof(reply), -1);
	if (sent && !reply.error)
		sent = send_items(p, SYMBOL_RULES, rows.rules, sizeof(*rows.rules), rows.n_rules,
				  SYMBOL_MAX_RULES) &&
		       send_items(p, SYMBOL_ROWS, rows.rows, sizeof(*rows.rows), rows.n,
				  SYMBOL_MAX_ROWS);
	unwind_rows_free(&rows);
	return sent;
}

void symbols_parser(int socket)
{
	static struct parser parser;
	struct parser *p = &parser;
	struct symbol_request request;
	bool sent = true;
	int fd;

	p->socket = socket;
	while (sent) {
		if (packet_receive(socket, &request, sizeof(request), &fd) !=
			    (int)sizeof(request) ||
		    fd < 0)
			return;
		limit_lookup_time();
		p->request_id = request.request_id;
		sent = request.question == SYMBOL_ASK_ROWS ? reply_rows(p, fd)
							   : reply_lines(p, &request, fd);
	}
}
