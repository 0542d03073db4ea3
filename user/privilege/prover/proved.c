/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's side of provers: the proved sites of each file.
 *
 * The descriptor of a file is kept open, together with its inode number, its size and its times. If these change between
 * the proof and the attachment, no site of the file is proved any more. A race with somebody who may write to the file
 * remains, but whoever may do so can change the program anyway.
 *
 * These numbers do not say which bytes a file has: in an overlay, which any user can mount, hard links of one file of
 * metadata may have the bytes of different files, and a file system in user space may be a layer of it. So they only
 * choose among the descriptors, and what is analysed, proved and attached to is one descriptor.
 */
#include "base/array.h"
#include "privilege/prover/prover.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/packet.h"
#include "privilege/broker/protocol.h"
#include "privilege/broker/server.h"

#define PROVED_MAX_FILES 1024	      /* each is a descriptor */
#define PROVED_MAX_SITES (1u << 20)   /* of all files: as many as can be attached */
#define PROVED_ENTRY	 (1ull << 63) /* in an offset: the beginning of a function, and no exit */
#define DEBUG_FILES	 "/usr/lib/debug/.build-id/"

/* The identity and the state of a file at one moment. */
struct file_state {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec written, changed;
};

struct proved_file {
	int fd;
	struct file_state state;
	/* Of sites, those of entries also with PROVED_ENTRY. The first `sorted` of them are sorted and unique. */
	uint64_t *offsets;
	unsigned n, sorted, capacity;
};

struct provers {
	int starter;
	pthread_mutex_t lock; /* of `ends`, and of changes of `prover` */
	bool ends;
	int prover;		  /* a socket to the current prover; -1: none */
	struct file_state of;	  /* of the file of the current prover, when it was started */
	int of_fd;		  /* the descriptor that it reads */
	struct segments segments; /* of its file */
	struct function_symbols symbols;
	unsigned n_sites;
	unsigned n_files;
	struct proved_file files[PROVED_MAX_FILES];
	struct {
		struct prover_request head;
		uint64_t vaddrs[PROVER_MAX_REQUESTED];
	} request;
	uint64_t reply[PROVER_MAX_REPLY / sizeof(uint64_t)];
};

struct provers *provers_new(prover_fn prove)
{
	struct provers *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return NULL;
	p->prover = -1;
	pthread_mutex_init(&p->lock, NULL);
	p->starter = prove ? starter_start(prove) : -1;
	if (prove && p->starter < 0) {
		error = -p->starter;
		free(p);
		errno = error;
		return NULL;
	}
	return p;
}

/* --- files ------------------------------------------------------------------------------------------- */

/* Regular files only: reading a device or a pipe may block or have side effects. */
static bool file_state_read(int fd, struct file_state *ret)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	ret->size = st.st_size;
	ret->written.tv_sec = st.st_mtim.tv_sec;
	ret->written.tv_nsec = st.st_mtim.tv_nsec;
	ret->changed.tv_sec = st.st_ctim.tv_sec;
	ret->changed.tv_nsec = st.st_ctim.tv_nsec;
	return true;
}

static bool file_state_same(const struct file_state *a, const struct file_state *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct proved_file *proved_file(struct provers *p, const struct file_state *state)
{
	for (unsigned i = 0; i < p->n_files; i++) {
		if (file_state_same(&p->files[i].state, state))
			return &p->files[i];
	}
	return NULL;
}

static struct proved_file *proved_descriptor(struct provers *p, int fd)
{
	for (unsigned i = 0; i < p->n_files; i++) {
		if (p->files[i].fd == fd)
			return &p->files[i];
	}
	return NULL;
}

/* Drops files that were written to, whose sites are no longer proved. */
static void proved_drop_changed(struct provers *p)
{
	struct file_state now;
	unsigned i = 0;

	while (i < p->n_files) {
		struct proved_file *file = &p->files[i];

		if (file_state_read(file->fd, &now) && file_state_same(&now, &file->state)) {
			i++;
			continue;
		}
		close(file->fd);
		free(file->offsets);
		p->n_sites -= file->n;
		*file = p->files[--p->n_files];
	}
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void proved_sort_sites(struct provers *p, struct proved_file *file)
{
	unsigned i, n = 0;

	if (file->n == file->sorted)
		return;
	qsort(file->offsets, file->n, sizeof(*file->offsets), compare_offsets);
	for (i = 0; i < file->n; i++) {
		if (!n || file->offsets[n - 1] != file->offsets[i])
			file->offsets[n++] = file->offsets[i];
	}
	p->n_sites -= file->n - n;
	file->n = file->sorted = n;
}

static int proved_add_site(struct provers *p, struct proved_file *file, uint64_t vaddr,
			   uint64_t flag)
{
	uint64_t offset;

	if (!segments_offset(&p->segments, vaddr, true, &offset) || offset & PROVED_ENTRY)
		return -EBADMSG;
	/* Sites may have been proved more than once. */
	if (p->n_sites >= PROVED_MAX_SITES)
		proved_sort_sites(p, file);
	if (p->n_sites >= PROVED_MAX_SITES)
		return -ENOSPC;
	if (!array_reserve(file->offsets, file->n, file->capacity, 64))
		return -ENOMEM;
	file->offsets[file->n++] = offset | flag;
	p->n_sites++;
	return 0;
}

/* --- one prover ------------------------------------------------------------------------------------ */

static void prover_end(struct provers *p)
{
	pthread_mutex_lock(&p->lock);
	if (p->prover >= 0)
		close(p->prover);
	p->prover = -1;
	pthread_mutex_unlock(&p->lock);
	function_symbols_free(&p->symbols);
}

/*
 * Debug files have to belong to root and be in this directory, where nobody else can create one. Files that are not
 * readable by all are not used, since any user may request functions.
 */
static int prover_open_debug_file(const uint8_t *id, unsigned size)
{
	char path[sizeof(DEBUG_FILES) + 2 * sizeof(((struct prover_hello *)0)->build_id) + 16];
	struct stat st;
	int fd, n;

	if (size < 2)
		return -1;
	n = snprintf(path, sizeof(path), DEBUG_FILES "%02x/", id[0]);
	for (unsigned i = 1; i < size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid ||
			st.st_mode & (S_IWGRP | S_IWOTH) || !(st.st_mode & S_IROTH))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int prover_greet(struct provers *p)
{
	struct prover_hello hello = { 0 };
	int debug, error = 0, n;

	n = packet_receive(p->prover, &hello, sizeof(hello), NULL);
	if (n < 0)
		return n;
	if (n != (int)sizeof(hello) || hello.build_id_size > sizeof(hello.build_id))
		return -EBADMSG;
	debug = prover_open_debug_file(hello.build_id, hello.build_id_size);
	if (debug >= 0)
		error = function_symbols_add(&p->symbols, debug);
	error = error ?: packet_send(p->prover, "", 1, debug);
	if (debug >= 0)
		close(debug);
	return error;
}

/* Sets *why where it is not what happened to the process. */
static int prover_start_for(struct provers *p, int elf_fd, const struct file_state *state,
			    const char **why)
{
	int error, prover;

	/* It reads the same descriptor only if that is of a file that was remembered: else its number is another's now. */
	if (p->prover >= 0 && p->of_fd == elf_fd && proved_descriptor(p, elf_fd) &&
	    file_state_same(&p->of, state))
		return 0;
	prover_end(p);
	if (!segments_read(elf_fd, &p->segments))
		return -ENOEXEC;
	prover = starter_prover(p->starter, elf_fd);
	if (prover == -EAGAIN)
		*why = "the process that reads its code cannot be started: raise the limit on "
		       "processes and threads (`ulimit -u`)";
	pthread_mutex_lock(&p->lock);
	p->prover = prover;
	error = p->ends ? -ECANCELED : prover < 0 ? prover : 0;
	pthread_mutex_unlock(&p->lock);
	error = error ?: function_symbols_add(&p->symbols, elf_fd);
	error = error ?: prover_greet(p);
	if (error) {
		prover_end(p);
		return error;
	}
	function_symbols_sort(&p->symbols);
	p->of = *state;
	p->of_fd = elf_fd;
	return 0;
}

void provers_free(struct provers *p)
{
	if (!p)
		return;
	prover_end(p);
	if (p->starter >= 0)
		close(p->starter);
	while (p->n_files) {
		close(p->files[--p->n_files].fd);
		free(p->files[p->n_files].offsets);
	}
	free(p);
}

/*
 * The prover and the starter may be stopped, by the user whose they are. The starter is killed with the broker, or ends
 * because its socket does, and the prover with the starter.
 */
void provers_cancel(struct provers *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	shutdown(p->starter, SHUT_RDWR);
	if (p->prover >= 0)
		shutdown(p->prover, SHUT_RDWR);
	pthread_mutex_unlock(&p->lock);
}

/* A reply has the requested functions in their order, and may end early. */
static int prover_check_reply(struct provers *p, int elf_fd, size_t size, const uint64_t *vaddrs,
			      unsigned n, const char **ret_wrong)
{
	struct proved_reader reader = { (const uint8_t *)p->reply, size };
	const struct proved_function *function;
	const struct proved_exit *exits;
	const char *refusal;
	unsigned i = 0;
	int more;

	*ret_wrong = "its reply is malformed";
	while ((more = proved_next(&reader, &function, &exits, &refusal)) > 0) {
		if (i == n || function->vaddr != vaddrs[i++])
			return -EBADMSG;
		if (refusal)
			continue;
		*ret_wrong = function_check(elf_fd, &p->segments, &p->symbols, function, exits);
		if (*ret_wrong)
			return -EBADMSG;
	}
	return more || !i ? -EBADMSG : 0;
}

static int proved_add_reply(struct provers *p, struct proved_file *file, size_t size)
{
	struct proved_reader reader = { (const uint8_t *)p->reply, size };
	const struct proved_function *function;
	const struct proved_exit *exits;
	const char *refusal;
	int error = 0;

	while (!error && proved_next(&reader, &function, &exits, &refusal) > 0) {
		if (!refusal)
			error = proved_add_site(p, file, function->entry, 0)
					?: proved_add_site(p, file, function->entry, PROVED_ENTRY);
		for (uint32_t i = 0; i < function->n_exits && !error; i++)
			error = proved_add_site(p, file, exits[i].vaddr, 0);
	}
	return error;
}

/* Keeps the descriptor on success, unless it is the one of `file`, which is remembered already. */
static int proved_remember_reply(struct provers *p, struct proved_file *file, int elf_fd,
				 const struct file_state *state, size_t size, struct failure *f)
{
	struct file_state now;
	int error;

	if (!file_state_read(elf_fd, &now) || !file_state_same(&now, state))
		return failure_set(f, -EBADMSG, "cannot analyse functions", "",
				   "the file was changed meanwhile");
	if (!file && p->n_files == PROVED_MAX_FILES)
		proved_drop_changed(p);
	if (!file && p->n_files == PROVED_MAX_FILES)
		return failure_set(f, -EMFILE, "cannot analyse functions", "",
				   "functions of too many files are recorded");
	if (file) {
		error = proved_add_reply(p, file, size);
	} else {
		file = &p->files[p->n_files];
		*file = (struct proved_file){ .fd = elf_fd, .state = *state };
		error = proved_add_reply(p, file, size);
		if (!error) {
			p->n_files++;
		} else {
			p->n_sites -= file->n;
			free(file->offsets);
		}
	}
	return error ? failure_set(f, error, "cannot analyse functions", "",
				   "they have too many sites")
		     : 0;
}

int provers_request(struct provers *p, int elf_fd, const uint64_t *vaddrs, unsigned n,
		    unsigned rules, const void **ret_reply, size_t *ret_size, struct failure *f)
{
	const char *wrong =
		"the process that reads its code ended, or took too much time or memory";
	struct proved_file *known;
	struct file_state state;
	unsigned none = 0;
	size_t size = 0;
	int error, fd;

	if (!n || n > PROVER_MAX_REQUESTED || !file_state_read(elf_fd, &state))
		return failure_set(f, -EINVAL, "refused request", "functions", NULL);
	known = proved_file(p, &state);
	fd = known ? known->fd : elf_fd;
	error = prover_start_for(p, fd, &state, &wrong);
	p->request.head = (struct prover_request){ n, rules };
	memcpy(p->request.vaddrs, vaddrs, n * sizeof(*vaddrs));
	if (!error)
		error = packet_send(p->prover, &p->request,
				    offsetof(__typeof__(p->request), vaddrs[n]), -1);
	error = error ?: message_receive(p->prover, p->reply, sizeof(p->reply), &size, NULL, &none);
	error = error ?: prover_check_reply(p, fd, size, vaddrs, n, &wrong);
	if (error)
		error = failure_set(f, -EBADMSG, "cannot analyse functions", "", wrong);
	else
		error = proved_remember_reply(p, known, fd, &state, size, f);
	if (error) {
		prover_end(p);
		return error;
	}
	if (known)
		close(elf_fd);
	*ret_reply = p->reply;
	*ret_size = size;
	return 0;
}

/* --- proved sites ------------------------------------------------------------------------------------ */

static bool proved_has_site(const struct proved_file *file, uint64_t offset)
{
	return file && file->n &&
	       bsearch(&offset, file->offsets, file->n, sizeof(offset), compare_offsets);
}

int functions_file(struct provers *p, int elf_fd)
{
	const struct proved_file *file = NULL;
	struct file_state state;

	if (p && file_state_read(elf_fd, &state))
		file = proved_file(p, &state);
	return file ? file->fd : elf_fd;
}

bool functions_proved(struct provers *p, int elf_fd, const struct segments *segments,
		      const struct broker_site *sites, unsigned n, bool entries)
{
	const uint64_t flag = entries ? PROVED_ENTRY : 0;
	struct proved_file *file;
	struct broker_site *others;
	struct file_state state;
	unsigned i, n_others = 0;
	bool proved;

	if (!p || !file_state_read(elf_fd, &state))
		return false;
	file = proved_descriptor(p, elf_fd);
	if (file && !file_state_same(&state, &file->state))
		file = NULL;
	others = malloc(n * sizeof(*others));
	if (!others)
		return false;
	if (file)
		proved_sort_sites(p, file);
	for (i = 0; i < n; i++) {
		if (sites[i].semaphore_offset || sites[i].offset & PROVED_ENTRY ||
		    !proved_has_site(file, sites[i].offset | flag))
			others[n_others++] = sites[i];
	}
	/* The return instruction of a marker at the end of a function is proved by the note of the marker. */
	proved = !n_others || (!entries && sites_proved(elf_fd, segments, BROKER_FUNCTIONS, false,
							others, n_others));
	free(others);
	return proved;
}
