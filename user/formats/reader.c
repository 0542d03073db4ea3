/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the reader for a trace: its first bytes decide, not the name of the file. */
#include <errno.h>
#include <stdio.h>

#include "formats/draft.h"
#include "formats/input.h"

enum {
	SNIFF_SIZE = 4096, /* enough for the first packet of a Perfetto trace, or most of it */
};

int reader_fail(struct reader_error *ret_error, int error, uint64_t offset, const char *format, ...)
{
	va_list args;

	ret_error->offset = offset;
	va_start(args, format);
	vsnprintf(ret_error->message, sizeof(ret_error->message), format, args);
	va_end(args);
	return error;
}

int reader_fail_input(struct reader_error *ret_error, int error, uint64_t offset,
		      const struct input *input)
{
	const char *problem = input_problem(input, error);

	return problem ? reader_fail(ret_error, error, offset, "%s", problem) : error;
}

int trace_read(int fd, const struct reader_sink *sink, struct reader_error *ret_error)
{
	return trace_read_within(fd, sink, NULL, ret_error);
}

int trace_read_within(int fd, const struct reader_sink *sink, struct reader_limits *limits,
		      struct reader_error *ret_error)
{
	struct input *input = NULL;
	const char *what;
	int error;

	*ret_error = (struct reader_error){ 0 };
	error = input_open(fd, &input);
	if (error)
		return error;
	input_limit(input, limits);
	error = input_want(input, SNIFF_SIZE);
	if (error == -EBADMSG && !input_available(input)) {
		reader_fail_input(ret_error, error, 0, input);
	} else if (!error || error == -EBADMSG) {
		switch (trace_sniff(input_bytes(input), input_available(input), &what)) {
		case TRACE_PERFETTO:
			error = perfetto_read_input(input, sink, ret_error);
			break;
		case TRACE_CHROME_JSON:
			error = chrome_json_read_input(input, sink, ret_error);
			break;
		default:
			error = reader_fail(ret_error, -ENOEXEC, 0, "not a trace: %s", what);
		}
	}
	input_free(input);
	return error;
}
