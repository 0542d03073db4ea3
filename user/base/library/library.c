/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads a library and tells the stubs of its functions where these are. */
#include "base/library/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int library_load(struct library *library, struct failure *f)
{
	const char *reason;
	void *handle;

	if (!library || library->is_loaded)
		return 0;
	handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	for (unsigned i = 0; handle && i < library->n_functions; i++) {
		void *address = dlsym(handle, library->functions[i].name);

		if (address) {
			*library->functions[i].address = address;
			continue;
		}
		reason = dlerror();
		failure_set(f, -ELIBACC, "cannot load", library->file, reason);
		dlclose(handle);
		return -ELIBACC;
	}
	library->is_loaded = handle != NULL;
	if (handle)
		return 0;
	reason = dlerror();
	failure_set(f, -ELIBACC, "cannot load", library->file, reason);
	if (f)
		failure_hint_library(f, library->package);
	return -ELIBACC;
}

void library_is_missing(void)
{
	static const char text[] = "proftrace: a function of a library that is not loaded\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}
