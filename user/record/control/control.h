/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Controls a recording from outside, for `proftrace ctl`.
 *
 * Each recorder listens on a socket named after its PID, in a directory that only its user can
 * enter. A connection has one request, which is a line, and one reply: lines of text until the end
 * of the connection, the first of which begins with `ok ` or `error `.
 */
#ifndef PROFTRACE_RECORD_CONTROL_CONTROL_H
#define PROFTRACE_RECORD_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTROL_REQUEST	   256	       /* bytes of a request with its newline */
#define CONTROL_REPLY	   4096	       /* bytes of a reply */
#define CONTROL_LONG_REPLY (16u << 20) /* bytes of a reply that is a table */
#define CONTROL_SUFFIX	   ".control"

struct failure;
struct recording;
struct control;

/* control_socket.c */

/* The directories in which a recorder of this user may have its socket, in order of preference. */
#define CONTROL_PLACES	      4
#define CONTROL_SHARED_PLACE  3 /* the last one, in /tmp: a user may have several there */
#define CONTROL_SHARED_PREFIX "proftrace-" /* directory in /tmp: this and the uid */
/* `out` is empty if there is no such directory. */
void control_place(unsigned i, uid_t uid, char *out, size_t size);
/*
 * Creates a directory with a random name. Returns its descriptor as control_directory() does, or
 * negative errno.
 */
int control_make_shared_place(uid_t uid);
/*
 * Opens a directory with O_PATH if it belongs to `uid` and only its owner can enter it. `create`:
 * creates it if it does not exist. Returns the descriptor or negative errno.
 */
int control_directory(const char *path, uid_t uid, bool create);
int control_listen(int directory, const char *name);
/*
 * Returns a non-blocking descriptor, -ECONNREFUSED if nobody listens there any more, -EAGAIN if the
 * recorder accepts no connection now, or another negative errno.
 */
int control_connect(int directory, const char *name);

/* control_call.c */

#define CONTROL_CALLS 256 /* recorders that are asked at the same time */

struct control_call {
	int directory;
	const char *name;
	int fd;		/* -1: closed */
	int error;	/* 0: there is a reply */
	unsigned times; /* number of attempts to connect */
	size_t used, capacity;
	char *reply; /* allocated; NUL-terminated if there is no error */
};

/*
 * Sends a request to all recorders (`directory` and `name` are set) and waits for the replies, no
 * longer than `seconds` in total. A reply has at most `longest` bytes, including a NUL. After the reply `enough`, the
 * others are waited for only a moment; NULL: there is no such reply.
 */
void control_call_all(struct control_call *calls, unsigned n, const char *request, size_t longest,
		      unsigned seconds, const char *enough);

/* control_stats.c: allocates the reply to a request that begins with "stats ". `only_read`: resets nothing. */
int control_stats(struct recording *r, const char *request, bool only_read, char **ret_text,
		  size_t *ret_size, struct failure *f);

/*
 * control_chosen.c: obeys a request for some of the processes, as control_is_chosen() recognises it. `*ret_done`: how
 * many processes it applied to.
 */
#define CONTROL_ROLE 64 /* bytes of the name of a role */
bool control_is_chosen(const char *request);
int control_chosen(struct recording *r, const char *request, unsigned *ret_done, struct failure *f);

/* control_server.c */
/* Returns the descriptor of the directory in which this process may have its socket, or negative errno. */
int control_own_directory(void);
int control_open(struct control **ret_control);
/* A connection that may only scrape (record/metrics/). Takes the descriptor. */
void control_add_scraper(struct control *control, int fd);
int control_fd(const struct control *control); /* readable when control_serve() has work */
void control_serve(struct control *control, struct recording *r);
/* The recording has ended: replies to the clients that requested it. */
void control_ended(struct control *control, struct recording *r);
void control_free(struct control *control);

#endif
