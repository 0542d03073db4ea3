/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports that are files. */
#include "reports/writing.h"

#include "formats/sink.h"

int report_write_file(const char *path, const char *bytes, size_t size, struct failure *f)
{
	struct sink *sink;
	int error = sink_open(path, SINK_PLAIN, &sink);

	if (error)
		return failure_set(f, error, "cannot write", path, sink_refusal(error));
	sink_write(sink, bytes, size);
	error = sink_close(sink);
	if (error)
		failure_set(f, error, "cannot write", path, NULL);
	else
		error = sink_displaced_failure(sink, path, f);
	sink_discard(sink);
	return error;
}
