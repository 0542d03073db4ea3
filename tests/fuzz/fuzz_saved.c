/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a saved report on both sides of a comparison: it is refused with a message, or it is
 * compared and printed in every form.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reports/diff/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void print_all(struct diff *diff, struct diff_options *options)
{
	FILE *out = fopen("/dev/null", "w");

	must(out != NULL);
	for (options->format = DIFF_TABLE; options->format <= DIFF_JSON; options->format++)
		must(!diff_print(diff, out));
	diff_print_failures(diff, out);
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diff_options options = { .confidence = 0.99, .fail_over = 0.01 };
	struct names *names = names_new(0);
	struct failure f = { 0 };
	struct diff *diff;
	unsigned i;
	int fd = memfd_create("saved", MFD_CLOEXEC), error = 0;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (size && data[0] == ' ')
		options.per = "request";
	diff = diff_new(&options, names);
	must(diff != NULL);
	for (i = 0; i < 6 && !error; i++) {
		diff_begin_run(diff, i >= 3, false, "saved");
		error = diff_add_saved(diff, fd, "saved", &f);
	}
	if (!error)
		error = diff_decide(diff, true, &f);
	if (error)
		must(f.what[0] && f.object[0]);
	else
		print_all(diff, &options);
	diff_free(diff);
	names_free(names);
	close(fd);
	return 0;
}
