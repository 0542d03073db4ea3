/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the markers and probes of one ELF file: a line per domain and per probe. */
#include "cmd/list/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bpf/event.h"
#include "timeline/names.h"
#include "tracee/elf_file.h"
#include "tracee/marker_names.h"
#include "tracee/markers.h"
#include "tracee/usdt.h"
#include "tracee/usdt_args.h"

#define MAX_SHOWN 128 /* bytes of an untrusted name that are printed */

/* Replaces characters of an untrusted name that a terminal would act on. */
static const char *clean_name(const char *name, char out[6 * MAX_SHOWN + 1])
{
	bool changed = false;

	text_clean(out, 6 * MAX_SHOWN + 1, name, strnlen(name, MAX_SHOWN), &changed);
	return out;
}

static void list_print_file_head(const struct elf_file *elf, const char *path)
{
	print_visible(stdout, "%s: %s", path, elf->machine == EM_X86_64 ? "x86-64" : "arm64");
	if (elf->build_id_size)
		print_visible(stdout, ", build id ");
	for (unsigned i = 0; i < elf->build_id_size; i++)
		print_visible(stdout, "%02x", elf->build_id[i]);
	putchar('\n');
}

/* --- markers --------------------------------------------------------------------------------- */

/* By domain, the control sites last, then by kind. */
static int compare_sites(const void *a, const void *b)
{
	const struct marker_site *x = a, *y = b;

	int r = marker_domain_compare(x->domain, y->domain);

	if (r)
		return r;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void list_print_state(const struct marker_site *sites, unsigned n,
			     const struct list_semaphores *semaphores)
{
	bool known = false, exact = false, batch = false;

	for (unsigned i = 0; semaphores && i < n; i++) {
		uint16_t values[2];

		if (i > 0 && sites[i].semaphore_offset == sites[i - 1].semaphore_offset)
			continue;
		if (!semaphores->read(semaphores->context, sites[i].semaphore_offset, values))
			continue;
		known = true;
		exact |= values[0] > 0;
		batch |= values[1] > 0;
	}
	if (known)
		print_visible(stdout, ", %s",
			      exact && batch ? "on (exact and batch)"
			      : exact	     ? "on (exact)"
			      : batch	     ? "on (batch)"
					     : "off");
}

static void list_print_site(const struct marker_site *s)
{
	print_visible(stdout, "    %-12s at 0x%" PRIx64, marker_kind_name(s->kind), s->offset);
	if (s->optimised_offset)
		print_visible(stdout, ", optimised nop at 0x%" PRIx64, s->optimised_offset);
	print_visible(stdout, ", semaphore at 0x%" PRIx64 "\n", s->semaphore_offset);
}

/* Prints the names of a domain from `at` on, a line for each kind; returns where the next domain's begin. */
static unsigned list_print_names(const struct marker_names *names, unsigned at, const char *domain)
{
	char clean[6 * MAX_SHOWN + 1];
	unsigned kind = 0;

	for (; at < names->n && strcmp(names->names[at].domain, domain) == 0; at++) {
		const struct marker_name *name = &names->names[at];

		if (kind && name->kind != kind)
			putchar('\n');
		if (name->kind != kind)
			print_visible(stdout, "    %s: %s", marker_kind_name(name->kind),
				      clean_name(name->text, clean));
		else
			print_visible(stdout, ", %s", clean_name(name->text, clean));
		kind = name->kind;
	}
	if (kind)
		putchar('\n');
	return at;
}

static void list_print_domain(const struct list *list, const struct marker_site *sites, unsigned n,
			      const struct list_semaphores *semaphores)
{
	char clean[6 * MAX_SHOWN + 1];

	if (sites->domain[0])
		print_visible(stdout, "  domain %s:", clean_name(sites->domain, clean));
	else
		print_visible(stdout, "  control:");
	for (unsigned i = 0; i < n; i++) {
		if (i == 0 || sites[i].kind != sites[i - 1].kind)
			print_visible(stdout, " %s", marker_kind_name(sites[i].kind));
	}
	print_visible(stdout, " (%u site%s)", n, n == 1 ? "" : "s");
	list_print_state(sites, n, semaphores);
	putchar('\n');
	for (unsigned i = 0; list->verbose && i < n; i++)
		list_print_site(&sites[i]);
}

/* Removes the sites that buffered mode needs, which are not markers. */
static void drop_batch_sites(struct marker_sites *found)
{
	unsigned i, n = 0;

	for (i = 0; i < found->n; i++) {
		if (found->sites[i].kind < RECORD_FLUSH)
			found->sites[n++] = found->sites[i];
	}
	found->n = n;
}

static void list_print_markers(const struct list *list, struct marker_sites *found,
			       const struct marker_names *names,
			       const struct list_semaphores *semaphores)
{
	unsigned i, n, name = 0;

	drop_batch_sites(found);
	if (found->n)
		qsort(found->sites, found->n, sizeof(*found->sites), compare_sites);
	for (i = 0; i < found->n; i += n) {
		n = 1;
		while (i + n < found->n &&
		       strcmp(found->sites[i + n].domain, found->sites[i].domain) == 0)
			n++;
		list_print_domain(list, &found->sites[i], n, semaphores);
		name = list_print_names(names, name, found->sites[i].domain);
	}
	if (names->malformed)
		print_visible(stdout, "  left out: %u (damaged name of a marker)\n",
			      names->malformed);
	if (names->cut)
		print_visible(
			stdout,
			"  left out: further names of markers (beyond the limit for one file)\n");
	for (i = 0; i < MARKER_REFUSALS; i++) {
		if (found->refused_for[i])
			print_visible(stdout, "  left out: %u (%s)\n", found->refused_for[i],
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

static bool is_same_probe(const struct usdt_probe *x, const struct usdt_probe *y)
{
	return strcmp(x->provider, y->provider) == 0 && strcmp(x->name, y->name) == 0;
}

/* Prints the types of the first site: other sites differ in the places of arguments, hardly ever in types. */
static void list_print_arguments(const struct usdt_probe *probe, uint16_t machine)
{
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned i, n = usdt_args_parse(machine, probe->arguments, args);

	for (i = 0; i < n; i++)
		print_visible(stdout, "%s arg%u %s%s", i ? "," : ":", i,
			      usdt_arg_type(&args[i].arg),
			      args[i].unreadable ? " (unreadable)" : "");
	putchar('\n');
}

/* Prints the operands as in the note, and why an argument cannot be read. */
static void list_print_site_arguments(const struct usdt_probe *probe, uint16_t machine)
{
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned i, n = usdt_args_parse(machine, probe->arguments, args);
	char clean[6 * MAX_SHOWN + 1];

	if (n)
		print_visible(stdout, ", arguments %s", clean_name(probe->arguments, clean));
	putchar('\n');
	for (i = 0; i < n; i++) {
		if (args[i].unreadable)
			print_visible(stdout, "      arg%u: %s\n", i, args[i].unreadable);
	}
}

static void list_print_probe(const struct list *list, const struct elf_file *elf,
			     const struct usdt_probe *probes, unsigned n)
{
	char provider[6 * MAX_SHOWN + 1], name[6 * MAX_SHOWN + 1];
	bool semaphore = false;

	for (unsigned i = 0; i < n; i++)
		semaphore |= probes[i].semaphore_offset != 0;
	print_visible(stdout, "  probe %s:%s (%u site%s%s)", clean_name(probes->provider, provider),
		      clean_name(probes->name, name), n, n == 1 ? "" : "s",
		      semaphore ? ", semaphore" : "");
	list_print_arguments(probes, elf->machine);
	for (unsigned i = 0; list->verbose && i < n; i++) {
		if (probes[i].offset)
			print_visible(stdout, "    at 0x%" PRIx64, probes[i].offset);
		else
			print_visible(stdout, "    not in the code of the file");
		list_print_site_arguments(&probes[i], elf->machine);
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

/* Removes markers, which are also USDT probes for other tools and have been listed already. */
static void drop_marker_probes(struct usdt_probes *probes, struct marker_sites *markers)
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

static void list_print_probes(const struct list *list, const struct elf_file *elf,
			      struct usdt_probes *found)
{
	unsigned n;

	if (found->n_probes)
		qsort(found->probes, found->n_probes, sizeof(*found->probes), compare_probes);
	for (unsigned i = 0; i < found->n_probes; i += n) {
		n = 1;
		while (i + n < found->n_probes &&
		       is_same_probe(&found->probes[i + n], &found->probes[i]))
			n++;
		list_print_probe(list, elf, &found->probes[i], n);
	}
	if (found->malformed)
		print_visible(stdout, "  left out: %u (damaged note of a USDT probe)\n",
			      found->malformed);
	if (found->cut)
		print_visible(stdout,
			      "  left out: further USDT probes (beyond the limit for one file)\n");
}

/* --- files ----------------------------------------------------------------------------------- */

static void list_add_searched(struct list *list, const char *path)
{
	size_t used = strlen(list->searched), n = strlen(path);

	if (list->n_unnamed || used + n + 3 > sizeof(list->searched))
		list->n_unnamed++;
	else
		snprintf(list->searched + used, sizeof(list->searched) - used, "%s%s",
			 used ? ", " : "", path);
}

static void list_print_contents(struct list *list, const struct elf_file *elf, const char *path,
				struct marker_sites *markers, const struct marker_names *names,
				struct usdt_probes *probes,
				const struct list_semaphores *semaphores, bool quiet)
{
	list_add_searched(list, path);
	drop_marker_probes(probes, markers);
	list->n_markers += markers->n;
	list->n_probes += probes->n_probes;
	if (markers->n || markers->refused || probes->n_probes || probes->malformed) {
		list_print_file_head(elf, path);
		list_print_markers(list, markers, names, semaphores);
		list_print_probes(list, elf, probes);
	} else if (!quiet || list->verbose) {
		print_visible(stdout, "%s: no markers\n", path);
	}
}

int list_file(struct list *list, int fd, const char *path, const struct list_semaphores *semaphores,
	      bool quiet, struct failure *f)
{
	struct marker_sites markers = { 0 };
	struct marker_names names = { 0 };
	struct usdt_probes probes = { 0 };
	struct elf_file *elf;
	int r = elf_file_open(fd, &elf, f);

	if (r == 0) {
		r = markers_find(elf, &markers, f);
		if (r == 0)
			r = usdt_find(elf, &probes, f);
		if (r == 0 && marker_names_find(elf, &markers, &names))
			r = failure_set(f, -ENOMEM, "cannot read the names of markers", "", NULL);
		if (r == 0)
			list_print_contents(list, elf, path, &markers, &names, &probes, semaphores,
					    quiet);
		marker_names_free(&names);
		marker_sites_free(&markers);
		usdt_free(&probes);
		elf_file_free(elf);
	}
	/* The parsers only have a descriptor, so the path is added here. */
	if (r) {
		struct failure unnamed = *f;

		failure_set(f, r, unnamed.what, path, unnamed.reason);
	}
	return r;
}
