/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the file. Everything that is not data is the same in each page, so a content security policy names the hashes
 * of the script and of the style, which were computed when proftrace was built, and forbids all the rest. The data is
 * in an element that no browser executes; the script puts names into the page as text only.
 */
#include <errno.h>
#include <stdlib.h>

#include "reports/page/page_internal.h"
#include "reports/writing.h"

#include "page_body.h"
#include "page_script.h"
#include "page_style.h"

enum {
	REPORT_BYTES = 250000,
	TIMELINE_BYTES = 2000000, /* before it is packed to a third or less */
	SLOWEST_BYTES = 120000,
	FLAME_BYTES = 240000,
	LEAST_PART = 16, /* of these numbers */
};

static void put_head(FILE *out)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '%s'; "
		"style-src '%s'; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light "
		"dark\">\n<title>proftrace</title>\n<style>",
		page_script_hash, page_style_hash);
	fputs(page_style, out);
	fputs("</style>\n</head>\n", out);
	fputs(page_body, out);
}

/*
 * `part`: of the limits, which are smaller if texts are very long or cannot be packed. The last one is without full
 * detail.
 */
static int put_data(struct page *page, const struct reading *reading, FILE *out, size_t part,
		    struct failure *f)
{
	int error;

	fputs("{\n", out);
	error = page_put_report(page, reading, out, REPORT_BYTES / part, f);
	if (error)
		return error;
	error = page_put_comparisons(page, reading, out, SLOWEST_BYTES / part);
	error = error ?: page_put_flames(page, reading, out, FLAME_BYTES / part);
	fputs("\"timeline\":", out);
	error = error ?: page_put_timeline(page, out, TIMELINE_BYTES / part, part < LEAST_PART);
	fputs(",\n", out);
	page_put_names(page, out);
	put_json_string(out, "\"where\":",
			reading->select && reading->select->text ? reading->select->text : "");
	fprintf(out, ",\n\"selected\":%s}\n", reading->select ? "true" : "false");
	return error ? failure_set(f, error, "cannot write", "the page", NULL) : 0;
}

static int write_page(struct page *page, const struct page_stream *data, struct failure *f)
{
	const char *path = page->options.output ? page->options.output : "-";
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	bool failed;
	int error;

	if (!out)
		return failure_set(f, -ENOMEM, "cannot write", path, NULL);
	put_head(out);
	fputs("<script type=\"application/json\" id=\"data\">", out);
	fwrite(data->bytes, 1, data->size, out);
	fputs("</script>\n<script>", out);
	fputs(page_script, out);
	fputs("</script>\n</body>\n</html>\n", out);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	error = failed ? failure_set(f, -ENOMEM, "cannot write", path, NULL)
		       : report_write_file(path, bytes, size, f);
	free(bytes);
	return error;
}

int page_write(struct consumer *consumer, const struct reading *reading, struct failure *f)
{
	const size_t around = sizeof(page_style) + sizeof(page_body) + sizeof(page_script) + 4096;
	struct page *page = (struct page *)consumer;
	struct page_stream data = { 0 };
	int error = page->failed
			    ? failure_set(f, page->failed, "cannot read", reading->paths[0], NULL)
			    : 0;

	for (size_t part = 1; part <= LEAST_PART && !error; part *= 2) {
		page_stream_free(&data);
		if (page_stream_open(&data))
			return failure_set(f, -ENOMEM, "cannot write", "the page", NULL);
		error = put_data(page, reading, data.out, part, f);
		if (page_stream_close(&data) && !error)
			error = failure_set(f, -ENOMEM, "cannot write", "the page", NULL);
		if (data.size + around <= PAGE_LARGEST)
			break;
	}
	if (!error && data.size + around > PAGE_LARGEST)
		error = failure_set(f, -EFBIG, "cannot write", "the page",
				    "its names are too long");
	error = error ?: write_page(page, &data, f);
	page_stream_free(&data);
	return error;
}
