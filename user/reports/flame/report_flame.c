/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report --flame`: checks that there are samples, draws the graph in memory and writes
 * the file.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/flame/flame.h"
#include "base/text.h"
#include "reports/writing.h"

const char *flame_output_wrong(const char *output)
{
	if (!output || !strcmp(output, "-") || text_ends_with(output, ".svg") ||
	    text_ends_with(output, ".folded") || text_ends_with(output, ".txt"))
		return NULL;
	return "its name must end with .svg (a picture), .folded or .txt (stacks as text)";
}

static const char *flame_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* An empty graph would look like a program that does nothing, so it is an error. */
static int check_samples(const struct flame_options *o, const struct flame_samples_count *n,
			 char *const *paths, unsigned n_paths, struct failure *f)
{
	char reason[128];

	if (!n->samples) {
		failure_set(f, -ENODATA, "no samples in", paths[0],
			    n_paths > 1 ? "and none in the other traces" : "it has no call stacks");
		failure_hint(f, "record with --sample 99; .pftrace files have call stacks, JSON "
				"files do not");
		return -ENODATA;
	}
	if (n->within)
		return 0;
	snprintf(reason, sizeof(reason),
		 "none of the %" PRIu64 " samples is within a matching slice", n->samples);
	failure_set(f, -ENODATA, "nothing to draw for", o->slice, reason);
	failure_hint(f, "`proftrace report` lists the names; globs are allowed: --flame='%s*'",
		     o->slice);
	return -ENODATA;
}

/* Draws into memory, so that the file is either complete or not written at all. */
static int draw_flame(const struct flame_options *o, const struct flame_samples_count *n,
		      struct flame *flame, char *const *paths, unsigned n_paths, FILE *out)
{
	char title[256], subtitle[256];
	const struct flame_text text = { title, subtitle, "samples" };
	int length;

	if (!o->output || !text_ends_with(o->output, ".svg"))
		return flame_write_folded(flame, out);
	if (n_paths == 1)
		snprintf(title, sizeof(title), "%s", flame_base_name(paths[0]));
	else
		snprintf(title, sizeof(title), "%s and %u more", flame_base_name(paths[0]),
			 n_paths - 1);
	text_make_visible(title);
	length = snprintf(subtitle, sizeof(subtitle), "%" PRIu64 " samples", n->within);
	if (o->slice)
		length = snprintf(subtitle, sizeof(subtitle),
				  "%" PRIu64 " of %" PRIu64 " samples: within slices \"%.100s\"",
				  n->within, n->samples, o->slice);
	if (n->unnamed)
		snprintf(subtitle + length, sizeof(subtitle) - (size_t)length,
			 "; %.1f%% with functions of unknown name",
			 100.0 * (double)n->unnamed / (double)n->within);
	text_make_visible(subtitle);
	flame_write_svg(flame, &text, out);
	return 0;
}

int flame_write_file(struct flame *flame, const struct flame_text *text, const char *path,
		     struct failure *f)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	int error = out ? 0 : -ENOMEM;

	if (out && path && text_ends_with(path, ".svg"))
		flame_write_svg(flame, text, out);
	else if (out)
		error = flame_write_folded(flame, out);
	if (out && fclose(out) && !error)
		error = -ENOMEM;
	if (error)
		failure_set(f, error, "cannot draw", path ? path : "-", NULL);
	else
		error = report_write_file(path ? path : "-", bytes, size, f);
	free(bytes);
	return error;
}

int report_flame(const struct flame_options *o, struct consumer *consumer, struct names *names,
		 char *const *paths, unsigned n_paths, struct failure *f)
{
	const char *path = o->output ? o->output : "-";
	struct flame *flame = flame_new();
	struct flame_samples_count n;
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	int error = flame && out ? flame_samples_fill(consumer, names, flame) : -ENOMEM;

	flame_samples_counts(consumer, &n);
	error = error ?: draw_flame(o, &n, flame, paths, n_paths, out);
	if (out && fclose(out) && !error)
		error = -ENOMEM;
	if (error)
		failure_set(f, error, "cannot draw", paths[0], NULL);
	else
		error = check_samples(o, &n, paths, n_paths, f);
	error = error ?: report_write_file(path, bytes, size, f);
	if (!error && flame_cut(flame) && !o->quiet)
		print_visible(
			stderr,
			"proftrace: %" PRIu64
			" samples were cut: their stacks are too deep, or there are too many\n",
			flame_cut(flame));
	free(bytes);
	flame_free(flame);
	return error;
}
