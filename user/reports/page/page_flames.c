/* SPDX-License-Identifier: BSD-2-Clause */
/* Flame graphs as JSON: one of all samples, and one for each name that is shown in detail, which may be empty. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "reports/flame/flame.h"
#include "reports/page/page_internal.h"

/* With fewer of the narrow frames until it fits. */
static int put_fitting_flame(struct flame *flame, FILE *out, size_t limit)
{
	double least = 1 / 12000.0;
	int error;

	for (;; least *= 3) {
		struct page_stream stream = { 0 };

		error = page_stream_open(&stream);
		if (!error)
			flame_write_json(flame, least, stream.out);
		error = error ?: page_stream_close(&stream);
		if (!error && (stream.size <= limit || least > 0.1))
			fwrite(stream.bytes, 1, stream.size, out);
		else if (!error)
			error = -EAGAIN;
		page_stream_free(&stream);
		if (error != -EAGAIN)
			return error;
	}
}

/* `name`: of the slices around the samples; NULL: all samples. */
static int put_flame_of(struct page *page, const struct reading *reading, const struct name *name,
			FILE *out, size_t limit)
{
	struct flame *flame = flame_new();
	uint64_t unnamed;
	int error;

	if (!flame)
		return -ENOMEM;
	error = flame_samples_fill_within(page->samples, reading->names, name, flame, &unnamed);
	put_json_name(out, name ? ",\n{\"name\":" : "\n{\"name\":", name);
	fputs(",\"graph\":", out);
	error = error ?: put_fitting_flame(flame, out, limit);
	fprintf(out, ",\"unnamed\":%" PRIu64 "}", unnamed);
	flame_free(flame);
	return error;
}

/* Different names; the same one may have several categories. */
static unsigned list_shown_names(struct page *page, const struct name *ret[PAGE_FLAMES])
{
	unsigned i, k, n = 0;

	page->flames_left_out = 0;
	for (i = 0; i < page->n_shown; i++) {
		const struct name *name =
			page->kind_list[page->used[page->shown[i].kind]]->key.name;

		for (k = 0; k < n && ret[k] != name; k++)
			;
		if (k < n || !name)
			continue;
		if (n < PAGE_FLAMES)
			ret[n++] = name;
		else
			page->flames_left_out++;
	}
	return n;
}

int page_put_flames(struct page *page, const struct reading *reading, FILE *out, size_t limit)
{
	const struct name *names[PAGE_FLAMES];
	struct flame_samples_count count;
	unsigned i, n = list_shown_names(page, names);
	int error = 0;

	flame_samples_counts(page->samples, &count);
	fprintf(out, "\"samples\":%" PRIu64 ",\"flames\":[", page->n_samples);
	if (count.samples) {
		/* Half of the space for all samples, the rest for the names. */
		error = put_flame_of(page, reading, NULL, out, limit / 2);
		for (i = 0; i < n && !error; i++)
			error = put_flame_of(page, reading, names[i], out, limit / 2 / n);
	}
	fprintf(out, "],\"flames_left_out\":%u,\"slices_cut\":%" PRIu64 ",\n",
		page->flames_left_out, count.slices_cut);
	return error;
}
