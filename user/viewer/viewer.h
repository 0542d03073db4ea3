/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves a trace to a viewer, a page in a browser, and on request the files of the viewer as well.
 *
 * This is the header to include from outside. It calls base/.
 */
#ifndef PROFTRACE_VIEWER_VIEWER_H
#define PROFTRACE_VIEWER_VIEWER_H

#include <stdbool.h>
#include <stdint.h>

struct viewer_options {
	const char *trace;
	const char *origin; /* of the viewer: the only pages that may read what is served */
	uint16_t port;
	bool no_browser;
	const char *ui;	  /* a local copy of the viewer; NULL: none */
	int ui_directory; /* the same, open; -1 */
};

#define VIEWER_START "/open"

struct viewer_server;

/* Serves the file open as `fd` (borrowed) on the loopback interface. Returns 0 or negative errno. */
int viewer_server_start(const struct viewer_options *options, int fd,
			struct viewer_server **ret_server);
/* Becomes readable when the file was fetched, to its end. */
int viewer_server_fd(const struct viewer_server *server);
/* Where the file is, "/<token>"; a name may follow. */
const char *viewer_server_path(const struct viewer_server *server);
/*
 * From now on "/", with a local copy of the viewer VIEWER_START, redirects the browser to `address`, which is borrowed
 * until the server is stopped.
 */
void viewer_server_redirect(struct viewer_server *server, char *address);
/* How often the trace was fetched, to its end. */
uint64_t viewer_server_fetched(const struct viewer_server *server);
void viewer_server_stop(struct viewer_server *server);

#endif
