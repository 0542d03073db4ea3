/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads a library and tells the stubs of its functions where these are. */
#include "base/library/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int library_error(const char *reason)
{
	if (reason && strstr(reason, strerror(EMFILE)))
		return -EMFILE;
	return reason && strstr(reason, strerror(ENFILE)) ? -ENFILE : -ELIBACC;
}

static int library_failed(const struct library *library, struct failure *f)
{
	const char *reason = dlerror();
	const int error = library_error(reason);

	failure_set(f, error, "cannot load", library->file, error == -ELIBACC ? reason : NULL);
	if (error == -ELIBACC)
		failure_hint_library(f, library->package);
	return error;
}

int library_load(struct library *library, struct failure *f)
{
	void *handle;
	int error;

	if (!library || library->is_loaded)
		return 0;
	handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return library_failed(library, f);
	/* All or none: the stubs must not know a library that is unloaded again. */
	for (unsigned i = 0; i < library->n_functions; i++) {
		if (dlsym(handle, library->functions[i].name))
			continue;
		error = library_failed(library, f);
		dlclose(handle);
		return error;
	}
	for (unsigned i = 0; i < library->n_functions; i++)
		*library->functions[i].address = dlsym(handle, library->functions[i].name);
	library->is_loaded = true;
	return 0;
}

void library_is_missing(void)
{
	static const char text[] = "proftrace: a function of a library that is not loaded\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}
