/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steering a recording from outside, for `proftrace ctl`.
 *
 * Each recorder listens on a socket named after its process number, in a directory that only its user
 * can enter. One connection is one request, a line; the answer is lines of text up to the end of the
 * connection, the first of which begins with `ok ` or `error `.
 */
#ifndef PROFTRACE_RECORD_CONTROL_CONTROL_H
#define PROFTRACE_RECORD_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTROL_REQUEST	    256		/* bytes of a request, with its newline */
#define CONTROL_ANSWER	    4096	/* and of an answer */
#define CONTROL_LONG_ANSWER (16u << 20) /* of a table */
#define CONTROL_SUFFIX	    ".control"

struct failure;
struct recording;
struct control;

/* control_socket.c */

/* The directories in which a recorder of this user may have its socket, the first one preferred. */
#define CONTROL_PLACES	      4
#define CONTROL_SHARED_PREFIX "proftrace-" /* of a directory in /tmp, then the user's number */
void control_place(unsigned i, uid_t uid, char *out, size_t size); /* "": there is none */
/* Makes a directory that nobody could make first. Returns its descriptor, as control_directory(), or negative errno. */
int control_make_shared_place(uid_t uid);
/*
 * Opens such a directory (O_PATH), if it is one that only its owner can enter. `uid`: whose it must be;
 * `create`: make it where it is not there. Returns the descriptor or negative errno.
 */
int control_directory(const char *path, uid_t uid, bool create);
int control_listen(int directory, const char *name);
/*
 * A descriptor that never blocks. -ECONNREFUSED: nobody listens there any more; -EAGAIN: one that is there
 * and takes no call for now.
 */
int control_connect(int directory, const char *name);

/* control_ask.c */

#define CONTROL_CALLS 256 /* at the same time */

struct control_call {
	int directory;
	const char *name;
	int fd;		/* while it is open */
	int error;	/* negative errno; 0: there is an answer */
	unsigned times; /* that it was tried */
	size_t used, capacity;
	char *answer; /* allocated; NUL-terminated once there is no error */
};

/*
 * Asks all of them, whose `directory` and `name` are set, and waits no longer than that for all of them. Answers are
 * at most `longest` bytes long, with a NUL.
 */
void control_ask(struct control_call *calls, unsigned n, const char *request, size_t longest,
		 unsigned seconds);

/* control_stats.c: the answer to a request that begins with "stats ", allocated. */
int control_stats(struct recording *r, const char *request, char **ret_text, size_t *ret_size,
		  struct failure *f);

/* control_server.c */
int control_open(struct control **ret_control);
int control_fd(const struct control *control); /* becomes readable when there is something to do */
void control_serve(struct control *control, struct recording *r);
/* The recording is over: answers those who asked for that. */
void control_ended(struct control *control, struct recording *r);
void control_free(struct control *control);

#endif
