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
	/* As it would be without this: each function is looked up when it is called first. */
	handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
	if (!handle)
		return library_failed(library, f);
	for (unsigned i = 0; i < library->n_functions; i++) {
		void *address = dlsym(handle, library->functions[i].name);

		/* The stub jumps there at any time. */
		if (address) {
			*library->functions[i].address = address;
			continue;
		}
		error = library_failed(library, f);
		/* All or none: the stubs must not know a library that is unloaded again. */
		while (i--)
			*library->functions[i].address = library_is_missing;
		dlclose(handle);
		return error;
	}
	library->is_loaded = true;
	return 0;
}

int library_load_common(struct failure *f)
{
	/* Each before those that need it, so that what is missing is named. */
	struct library *const common[] = { &library_z, &library_elf,	    &library_bpf,
					   &library_m, &library_protobuf_c, &library_seccomp };
	int error = 0;

	for (unsigned i = 0; !error && i < sizeof(common) / sizeof(common[0]); i++)
		error = library_load(common[i], f);
	return error;
}

void library_is_missing(void)
{
	static const char text[] = "proftrace: a function of a library that is not loaded\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}
