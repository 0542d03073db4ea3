/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another tool that a program is to be annotated for as well. There is one variable for the tool of a protocol: where
 * it was set, `proftrace --nvtx --itt` puts what it said into another one, and this library loads that tool, lets it
 * take the functions that it wants, and calls them before it makes its own marks.
 */
#include "annotations.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By this one copy of the library knows another one, which would record everything twice. */
EXPORTED extern const char proftrace_annotations[];
const char proftrace_annotations[] = "1";

static void chain_complain(const char *path, const char *variable, const char *why)
{
	fprintf(stderr, "proftrace: cannot load '%s': %s\nhint: %s names it\n", path, why,
		variable);
}

/* Of a library for another processor, glibc says that there is no such file. */
static const char *chain_reason(const char *path)
{
	const char *why = dlerror();

	if (!strncmp(why, path, strlen(path)) && strstr(why, "No such file") && !access(path, F_OK))
		return "it is made for another processor";
	return why;
}

void *chain_open(const char *variable, const char *entry)
{
	/* Of a program with more rights than its caller, the caller does not choose the code. */
	const char *path = secure_getenv(variable);
	void *library, *function = NULL;

	if (!path || !*path)
		return NULL;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library) {
		chain_complain(path, variable, chain_reason(path));
		return NULL;
	}
	if (dlsym(library, "proftrace_annotations"))
		chain_complain(path, variable, "it is proftrace's own, which is loaded already");
	else if (!(function = dlsym(library, entry)))
		chain_complain(path, variable, "it does not have the functions of such a tool");
	if (function)
		return library;
	dlclose(library);
	return NULL;
}
