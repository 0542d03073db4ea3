/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side: sends addresses to the parser, opens the debug files that it requests, and
 * trusts nothing it receives.
 */
#include "symbols/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/library/library.h"
#include "base/packet.h"
#include "privilege/bare.h"
#include "symbols/debuginfod.h"
#include "symbols/wire.h"
#include "tracee/file_access.h"
#include "base/hash_key.h"

enum {
	LIMIT_MS = 30000,
	MAX_CRASHES = 32,	/* of parsers; then nothing is looked up any more */
	MAX_FILE_REQUESTS = 64, /* file requests for one address */
};

#define FETCHED 0x80000000u

/* Identifies a file, whoever has it mapped, unless it was written to meanwhile. */
struct file_key {
	uint64_t device, inode, size, changed_ns;
};

struct file {
	struct file_key key;
	uint32_t number;
	unsigned crashes;
	UT_hash_handle hh;
};

struct symbols {
	struct names *names;
	struct symbols_options options;
	struct symbols_counts counts;
	struct file *files;
	pid_t supervisor;
	int socket; /* -1: no more lookups */
	uint64_t request_id;
	uint64_t left_ns;
	unsigned crashes;
	struct debuginfod *debuginfod; /* NULL: no server is asked */
	bool may_fetch;
};

/* One lookup. */
struct lookup {
	const struct code_mapping *mapping;
	struct file *file;
	int fd, original;
	uint64_t address;
	struct code_line *lines;
	unsigned max;
};

/*
 * The owner of the mapped file, whom its path shows to have named what is beside it. While the program runs, it may put another
 * file there, or a link to one. The kernel says paths without links: what is found through one is not what was mapped there.
 */
static void find_debug_requester(struct requester *r, const char *path, int fd)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int place = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat mapped, there;
	bool is_there = place >= 0 && !fstat(place, &there) && !fstat(fd, &mapped) &&
			there.st_dev == mapped.st_dev && there.st_ino == mapped.st_ino;

	if (place >= 0)
		close(place);
	requester_by_owner(r, is_there ? &mapped : NULL);
}

/*
 * The path may be a pipe, or a device that reacts to being opened, so it is examined first. A program says where its debug
 * file is, beside itself for example: its owner has to be able to open it.
 */
static int open_debug_file(void *context, const struct code_mapping *mapping, int mapped,
			   const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	int place = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)), fd;
	struct requester owner;
	struct stat st;

	(void)context;
	if (place < 0)
		return -errno;
	find_debug_requester(&owner, mapping->path->text, mapped);
	if (owner.uid != geteuid() &&
	    (fstat(place, &st) || !requester_may(&owner, place, &st, S_IROTH) ||
	     requester_may_open(&owner, -1, place))) {
		close(place);
		return -EACCES;
	}
	fd = open_stored_file(place);
	return fd < 0 ? -EINVAL : fd;
}

int symbols_new(struct names *names, const struct symbols_options *o, struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int sockets[2], error;

	if (!s)
		return -ENOMEM;
	/* The parsers, which are confined, have it from here. */
	error = library_load(&library_dw, NULL);
	if (error) {
		free(s);
		return error;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		free(s);
		return -errno;
	}
	s->names = names;
	if (o)
		s->options = *o;
	if (!s->options.open_debug)
		s->options.open_debug = open_debug_file;
	s->left_ns = (s->options.limit_ms ? s->options.limit_ms : LIMIT_MS) * 1000000ull;
	s->socket = sockets[0];
	if (s->options.debuginfod && debuginfod_new(&s->debuginfod))
		s->debuginfod = NULL; /* the files count as not found */
	if (s->debuginfod)
		debuginfod_set_give_up(s->debuginfod, s->options.give_up,
				       s->options.give_up_context);
	s->supervisor = bare_fork(sockets[1], symbols_supervisor, &sockets[1]);
	close(sockets[1]);
	if (s->supervisor < 0) {
		error = s->supervisor;
		close(s->socket);
		debuginfod_free(s->debuginfod);
		free(s);
		return error;
	}
	*ret = s;
	return 0;
}

/* The supervisor ends when its socket is closed, whatever its parser does. */
static void close_parser_socket(struct symbols *s)
{
	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	close_parser_socket(s);
	TEMP_FAILURE_RETRY(waitpid(s->supervisor, NULL, 0));
	debuginfod_free(s->debuginfod);
	hash_clear(hh, s->files, file);
	free(s);
}

void symbols_count(const struct symbols *s, struct symbols_counts *ret)
{
	struct debuginfod_counts debuginfod = { .error = s->options.debuginfod ? -ECHILD : 0 };

	if (s->debuginfod)
		debuginfod = debuginfod_count(s->debuginfod);
	*ret = s->counts;
	ret->fetched = debuginfod.fetched;
	ret->missing = debuginfod.missing;
	ret->fetch_error = debuginfod.error;
}

void symbols_may_fetch(struct symbols *s)
{
	s->may_fetch = s->debuginfod != NULL;
}

static struct file *symbols_file_get(struct symbols *s, int fd)
{
	struct file_key key;
	struct stat st;
	struct file *file;

	/* Reading anything but a regular file may block, or have side effects. */
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

/* --- files that the parser requests --- */

static int open_debug_candidate(struct symbols *s, const struct lookup *q, const char *path)
{
	struct stat st;
	int fd = s->options.open_debug(s->options.context, q->mapping, q->original, path);

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static int send_wanted_file(struct symbols *s, const struct lookup *q,
			    struct symbol_file_request *wanted)
{
	struct symbol_file_reply found = { .request_id = s->request_id };
	char path[SYMBOL_MAX_PATH];
	int fd = -1, error;

	if (wanted->build_id_size > SYMBOL_MAX_ID)
		return -EPROTO;
	wanted->link[sizeof(wanted->link) - 1] = '\0';
	for (found.index = wanted->first; found.index < SYMBOL_MAX_CANDIDATES; found.index++) {
		if (!debug_path(wanted, q->mapping->path->text, found.index, path, sizeof(path)))
			continue;
		fd = open_debug_candidate(s, q, path);
		if (fd >= 0)
			break;
	}
	/* A server is the last candidate. */
	if (fd < 0 && s->may_fetch && wanted->first < SYMBOL_MAX_CANDIDATES)
		fd = debuginfod_fetch(s->debuginfod, wanted->build_id, wanted->build_id_size);
	found.is_found = fd >= 0;
	error = packet_send(s->socket, &found, sizeof(found), fd);
	if (fd >= 0)
		close(fd);
	return error;
}

/* --- replies of the parser --- */

/* The largest packet. */
union packet {
	struct symbol_head head;
	struct symbol_file_request wanted;
	char bytes[SYMBOL_MAX_REPLY];
};

/* -ECONNRESET: the parser died. */
static int receive_lines(struct symbols *s, const struct lookup *q)
{
	union packet packet;
	unsigned wants = 0;
	int n, error;

	for (;;) {
		error = packet_wait(s->socket, &s->left_ns, s->options.give_up,
				    s->options.give_up_context);
		if (error)
			return error;
		n = packet_receive(s->socket, &packet, sizeof(packet), NULL);
		if (n < (int)sizeof(packet.head))
			return n < 0 ? n : -EPROTO;
		if (packet.head.kind == SYMBOL_DIED)
			return -ECONNRESET;
		if (packet.head.request_id != s->request_id)
			continue;
		if (packet.head.kind == SYMBOL_LINES)
			return symbol_lines(packet.bytes, (size_t)n, s->names, q->lines, q->max);
		if (packet.head.kind != SYMBOL_FILE_REQUEST || n != (int)sizeof(packet.wanted) ||
		    wants++ == MAX_FILE_REQUESTS)
			return -EPROTO;
		error = send_wanted_file(s, q, &packet.wanted);
		if (error)
			return error;
	}
}

static int lookup_address(struct symbols *s, const struct lookup *q)
{
	const struct symbol_request request = {
		.request_id = ++s->request_id,
		.address = q->address,
		/* What was read of a file without its debug file is read again. */
		.file = q->file->number | (s->may_fetch ? FETCHED : 0),
		.max_lines = q->max,
	};
	int error = packet_send(s->socket, &request, sizeof(request), q->fd);

	return error ? error : receive_lines(s, q);
}

unsigned symbols_resolve(struct symbols *s, const struct code_mapping *mapping, int fd,
			 int original, uint64_t address, struct code_line *lines, unsigned max)
{
	struct lookup q = {
		.mapping = mapping,
		.fd = fd,
		.original = original,
		.address = address,
		.lines = lines,
		.max = max,
	};
	int n = -ECONNRESET;

	if (q.max > SYMBOL_MAX_LINES)
		q.max = SYMBOL_MAX_LINES;
	s->counts.requested++;
	q.file = symbols_file_get(s, fd);
	if (!q.file || !q.max)
		return 0;
	if (s->socket < 0) {
		s->counts.late++;
		return 0;
	}
	/*
	 * The parser may have died of an earlier request, so the lookup is repeated once. If it
	 * dies twice, the file is the cause.
	 */
	while (n == -ECONNRESET && q.file->crashes < 2 && s->crashes < MAX_CRASHES) {
		n = lookup_address(s, &q);
		if (n == -ECONNRESET) {
			q.file->crashes++;
			s->crashes++;
		}
	}
	if (n == -ETIMEDOUT || n == -ECANCELED)
		s->counts.late++;
	else if (n < 0)
		s->counts.broken++;
	s->counts.given_up |= n == -ECANCELED;
	if (n < 0 && n != -ECONNRESET)
		close_parser_socket(s);
	s->counts.named += n > 0;
	return n > 0 ? (unsigned)n : 0;
}
