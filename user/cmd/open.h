/* SPDX-License-Identifier: BSD-2-Clause */
/* The two parts of `proftrace open`: the command, and the server of one file. */
#ifndef PROFTRACE_CMD_OPEN_H
#define PROFTRACE_CMD_OPEN_H

#include <stdbool.h>
#include <stdint.h>

struct open_options {
	const char *trace;
	const char *origin; /* of the viewer: the only pages that may read what is served */
	uint16_t port;
	bool no_browser;
};

struct open_server;

/* Serves the file open as `fd` (borrowed) on the loopback interface. Returns 0 or negative errno. */
int open_server_start(const struct open_options *options, int fd, struct open_server **ret_server);
/* Becomes readable when the file was fetched, to its end. */
int open_server_fd(const struct open_server *server);
/* Where the file is, "/<token>"; a name may follow. */
const char *open_server_path(const struct open_server *server);
/* From now on "/" redirects the browser to `address`, which is borrowed until the server is stopped. */
void open_server_redirect(struct open_server *server, char *address);
void open_server_stop(struct open_server *server);

#endif
