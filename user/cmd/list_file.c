/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the markers and probes of one ELF file: a line per domain and per probe. */
#include "cmd/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "target/elf_file.h"
#include "target/markers.h"
#include "target/usdt.h"
#include "target/usdt_args.h"
#include "timeline/names.h"

#define MAX_SHOWN 128 /* bytes of a foreign name that are printed */

/* Names come from the file: a terminal must not act on them. */
static const char *printable(const char *name, char out[6 * MAX_SHOWN + 1])
{
	bool changed = false;

	text_clean(out, 6 * MAX_SHOWN + 1, name, strnlen(name, MAX_SHOWN), &changed);
	return out;
}

static void print_path(const char *path)
{
	char clean[4096];
	bool changed = false;

	text_clean(clean, sizeof(clean), path, strlen(path), &changed);
	fputs(clean, stdout);
}

static void print_head(const struct elf_file *elf, const char *path)
{
	unsigned i;

	print_path(path);
	printf(": %s", elf->machine == EM_X86_64 ? "x86-64" : "arm64");
	if (elf->build_id_size)
		printf(", build id ");
	for (i = 0; i < elf->build_id_size; i++)
		printf("%02x", elf->build_id[i]);
	putchar('\n');
}

/* --- markers --------------------------------------------------------------------------------- */

/* By domain, the control sites last; within one by kind. */
static int compare_sites(const void *a, const void *b)
{
	const struct marker_site *x = a, *y = b;

	if (!x->domain[0] != !y->domain[0])
		return x->domain[0] ? -1 : 1;
	if (strcmp(x->domain, y->domain))
		return strcmp(x->domain, y->domain);
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void print_switches(const struct marker_site *sites, unsigned n,
			   const struct list_switches *switches)
{
	bool known = false, exact = false, batch = false;
	unsigned i;

	for (i = 0; switches && i < n; i++) {
		uint16_t values[2];

		if (i > 0 && sites[i].switch_offset == sites[i - 1].switch_offset)
			continue;
		if (!switches->read(switches->context, sites[i].switch_offset, values))
			continue;
		known = true;
		exact |= values[0] > 0;
		batch |= values[1] > 0;
	}
	if (known)
		printf(", %s", exact && batch ? "on (exact and batch)"
			       : exact	      ? "on (exact)"
			       : batch	      ? "on (batch)"
					      : "off");
}

static void print_site(const struct marker_site *s)
{
	printf("    %-12s at 0x%" PRIx64, marker_kind_name(s->kind), s->offset);
	if (s->fast_offset)
		printf(", fast door at 0x%" PRIx64, s->fast_offset);
	printf(", switch at 0x%" PRIx64 "\n", s->switch_offset);
}

static void print_domain(const struct list *list, const struct marker_site *sites, unsigned n,
			 const struct list_switches *switches)
{
	char clean[6 * MAX_SHOWN + 1];
	unsigned i;

	if (sites->domain[0])
		printf("  domain %s:", printable(sites->domain, clean));
	else
		printf("  control:");
	for (i = 0; i < n; i++) {
		if (i == 0 || sites[i].kind != sites[i - 1].kind)
			printf(" %s", marker_kind_name(sites[i].kind));
	}
	printf(" (%u site%s)", n, n == 1 ? "" : "s");
	print_switches(sites, n, switches);
	putchar('\n');
	for (i = 0; list->verbose && i < n; i++)
		print_site(&sites[i]);
}

/* What batches are handed over by, and switched on by, marks nothing. */
static void drop_machinery(struct marker_sites *found)
{
	unsigned i, n = 0;

	for (i = 0; i < found->n; i++) {
		if (found->sites[i].kind < RECORD_FLUSH)
			found->sites[n++] = found->sites[i];
	}
	found->n = n;
}

static void print_markers(const struct list *list, struct marker_sites *found,
			  const struct list_switches *switches)
{
	unsigned i, n;

	drop_machinery(found);
	if (found->n)
		qsort(found->sites, found->n, sizeof(*found->sites), compare_sites);
	for (i = 0; i < found->n; i += n) {
		n = 1;
		while (i + n < found->n &&
		       strcmp(found->sites[i + n].domain, found->sites[i].domain) == 0)
			n++;
		print_domain(list, &found->sites[i], n, switches);
	}
	for (i = 0; i < MARKER_REFUSALS; i++) {
		if (found->refused_for[i])
			printf("  left out: %u (%s)\n", found->refused_for[i],
			       marker_refusal_reason(i));
	}
}

/* --- probes ---------------------------------------------------------------------------------- */

static int compare_probes(const void *a, const void *b)
{
	const struct usdt_probe *x = a, *y = b;
	int r = strcmp(x->provider, y->provider);

	if (r == 0)
		r = strcmp(x->name, y->name);
	return r ? r : (x->offset > y->offset) - (x->offset < y->offset);
}

static bool same_probe(const struct usdt_probe *x, const struct usdt_probe *y)
{
	return strcmp(x->provider, y->provider) == 0 && strcmp(x->name, y->name) == 0;
}

/* Which its sites have, by the first: others differ in where they are, hardly ever in what. */
static void print_arguments(const struct usdt_probe *probe, uint16_t machine)
{
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned i, n = usdt_args_parse(machine, probe->arguments, args);

	for (i = 0; i < n; i++)
		printf("%s arg%u %s%s", i ? "," : ":", i, usdt_arg_type(&args[i].arg),
		       args[i].unreadable ? " (unreadable)" : "");
	putchar('\n');
}

/* The notes' own words, and why an argument cannot be read where they do not help. */
static void print_site_arguments(const struct usdt_probe *probe, uint16_t machine)
{
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned i, n = usdt_args_parse(machine, probe->arguments, args);
	char clean[6 * MAX_SHOWN + 1];

	if (n)
		printf(", arguments %s", printable(probe->arguments, clean));
	putchar('\n');
	for (i = 0; i < n; i++) {
		if (args[i].unreadable)
			printf("      arg%u: %s\n", i, args[i].unreadable);
	}
}

static void print_probe(const struct list *list, const struct elf_file *elf,
			const struct usdt_probe *probes, unsigned n)
{
	char provider[6 * MAX_SHOWN + 1], name[6 * MAX_SHOWN + 1];
	bool semaphore = false;
	unsigned i;

	for (i = 0; i < n; i++)
		semaphore |= probes[i].semaphore_offset != 0;
	printf("  probe %s:%s (%u site%s%s)", printable(probes->provider, provider),
	       printable(probes->name, name), n, n == 1 ? "" : "s", semaphore ? ", semaphore" : "");
	print_arguments(probes, elf->machine);
	for (i = 0; list->verbose && i < n; i++) {
		if (probes[i].offset)
			printf("    at 0x%" PRIx64, probes[i].offset);
		else
			printf("    not in the file's code");
		print_site_arguments(&probes[i], elf->machine);
	}
}

static int compare_offset(const void *offset, const void *site)
{
	uint64_t at = *(const uint64_t *)offset, other = ((const struct marker_site *)site)->offset;

	return (at > other) - (at < other);
}

static int compare_site_offsets(const void *a, const void *b)
{
	return compare_offset(&((const struct marker_site *)a)->offset, b);
}

/* Every marker is a USDT probe as well, for other tools: it has been listed already. */
static void drop_markers(struct usdt_probes *probes, struct marker_sites *markers)
{
	unsigned i, kept = 0;

	if (!markers->n)
		return;
	qsort(markers->sites, markers->n, sizeof(*markers->sites), compare_site_offsets);
	for (i = 0; i < probes->n_probes; i++) {
		if (!bsearch(&probes->probes[i].offset, markers->sites, markers->n,
			     sizeof(*markers->sites), compare_offset))
			probes->probes[kept++] = probes->probes[i];
	}
	probes->n_probes = kept;
}

static void print_probes(const struct list *list, const struct elf_file *elf,
			 struct usdt_probes *found)
{
	unsigned i, n;

	if (found->n_probes)
		qsort(found->probes, found->n_probes, sizeof(*found->probes), compare_probes);
	for (i = 0; i < found->n_probes; i += n) {
		n = 1;
		while (i + n < found->n_probes &&
		       same_probe(&found->probes[i + n], &found->probes[i]))
			n++;
		print_probe(list, elf, &found->probes[i], n);
	}
	if (found->malformed)
		printf("  left out: %u (damaged note of a USDT probe)\n", found->malformed);
	if (found->cut)
		printf("  left out: further USDT probes (more than the limit for one file)\n");
}

/* --------------------------------------------------------------------------------------------- */

static void remember_searched(struct list *list, const char *path)
{
	size_t used = strlen(list->searched), n = strlen(path);

	list->n_searched++;
	if (list->n_unnamed || used + n + 3 > sizeof(list->searched))
		list->n_unnamed++;
	else
		snprintf(list->searched + used, sizeof(list->searched) - used, "%s%s",
			 used ? ", " : "", path);
}

static void print_contents(struct list *list, const struct elf_file *elf, const char *path,
			   struct marker_sites *markers, struct usdt_probes *probes,
			   const struct list_switches *switches, bool quiet)
{
	remember_searched(list, path);
	drop_markers(probes, markers);
	list->n_markers += markers->n;
	list->n_probes += probes->n_probes;
	if (markers->n || markers->refused || probes->n_probes || probes->malformed) {
		print_head(elf, path);
		print_markers(list, markers, switches);
		print_probes(list, elf, probes);
	} else if (!quiet || list->verbose) {
		print_path(path);
		printf(": no markers\n");
	}
}

int list_file(struct list *list, int fd, const char *path, const struct list_switches *switches,
	      bool quiet, struct failure *f)
{
	struct marker_sites markers = { 0 };
	struct usdt_probes probes = { 0 };
	struct elf_file *elf;
	int r = elf_file_open(fd, &elf, f);

	if (r == 0) {
		r = markers_find(elf, &markers, f);
		if (r == 0)
			r = usdt_find(elf, &probes, f);
		if (r == 0)
			print_contents(list, elf, path, &markers, &probes, switches, quiet);
		marker_sites_free(&markers);
		usdt_free(&probes);
		elf_file_free(elf);
	}
	/* The parsers know a descriptor only; the message wants the name. */
	if (r) {
		struct failure unnamed = *f;

		failure_set(f, r, unnamed.what, path, unnamed.reason);
	}
	return r;
}
