/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the library (viewer/http.h). */
#include "viewer/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct http http;

/* errno says nothing if the library was opened, and one that it needs was not. */
static int http_open_error(void)
{
	const char *reason = dlerror();

	return reason && strstr(reason, strerror(EMFILE)) ? -EMFILE : -ELIBACC;
}

int http_open(void)
{
	bool all = true;

	if (!http.library)
		http.library = dlopen(HTTP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!http.library)
		return http_open_error();
#define HTTP_FIND(name)                                           \
	*(void **)&http.name = dlsym(http.library, "MHD_" #name); \
	all &= http.name != NULL;
	HTTP_FUNCTIONS(HTTP_FIND)
	return all ? 0 : -ELIBBAD;
}
