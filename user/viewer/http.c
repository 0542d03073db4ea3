/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the library (viewer/http.h). */
#include "viewer/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#include "base/library/library.h"

struct http http;

int http_open(void)
{
	bool all = true;

	if (!http.library)
		http.library = dlopen(HTTP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!http.library)
		return library_error(dlerror());
#define HTTP_FIND(name)                                           \
	*(void **)&http.name = dlsym(http.library, "MHD_" #name); \
	all &= http.name != NULL;
	HTTP_FUNCTIONS(HTTP_FIND)
	return all ? 0 : -ELIBBAD;
}
