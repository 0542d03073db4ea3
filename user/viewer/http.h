/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of libmicrohttpd. The library and the ten that it needs itself are for few uses: everything else would
 * start the later for it. So it is opened where it is needed, in the version that microhttpd.h describes.
 */
#ifndef PROFTRACE_VIEWER_HTTP_H
#define PROFTRACE_VIEWER_HTTP_H

#include <microhttpd.h>

#define HTTP_LIBRARY "libmicrohttpd.so.12"

#define HTTP_FUNCTIONS(USE)                \
	USE(add_response_header)           \
	USE(create_response_from_buffer)   \
	USE(create_response_from_callback) \
	USE(create_response_from_fd64)     \
	USE(destroy_response)              \
	USE(get_connection_info)           \
	USE(get_daemon_info)               \
	USE(get_timeout)                   \
	USE(lookup_connection_value)       \
	USE(queue_response)                \
	USE(run)                           \
	USE(start_daemon)                  \
	USE(stop_daemon)

#define HTTP_POINTER(name) typeof(&MHD_##name) name;

struct http {
	void *library;
	HTTP_FUNCTIONS(HTTP_POINTER)
};

extern struct http http;

/* Returns 0, -ELIBACC if there is no such library, or -ELIBBAD. */
int http_open(void);

#endif
