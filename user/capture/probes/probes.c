/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selecting existing USDT probes (-u), and what is recorded of them. The attach cookie of a site
 * holds its own number and that of its spec, which tells the BPF program what to read. The specs
 * are in a BPF map that is mapped here. Sites with equal specs share one: a compiler may make ten
 * thousand sites by inlining, and few of them differ.
 */
#include "capture/probes/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracee/usdt.h"

#define MAX_SITES   262144 /* in all files together */
#define MAX_PAIRS   65536
#define MAX_SYMBOLS 256 /* looked up in one file */
#define MAX_TEXT    256 /* of a provider's or a probe's name */

/* A variable of the current file in which arguments are. */
struct symbol {
	char name[USDT_MAX_SYMBOL];
	uint64_t vaddr;
	bool found;
	UT_hash_handle hh;
};

/* A probe of the current file, and how it matches a request. */
struct candidate {
	struct capture *c;
	struct file *file;
	const char *path;
	struct symbol *symbols;
	const struct usdt_probe *note;
	const struct usdt_request *request;
	enum usdt_role role;
	char captures[USDT_MAX_CAPTURES];
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned n_args;
};

int probes_open(struct capture *c, struct failure *f)
{
	struct probes *p;

	if (!c->options.n_usdt && !c->options.n_functions)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	c->probes = p;
	p->requests = calloc(c->options.n_usdt + 1, sizeof(*p->requests));
	if (!p->requests)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (unsigned i = 0; i < c->options.n_usdt; i++) {
		const char *why = usdt_request_parse(c->options.usdt[i], &p->requests[i]);

		if (why)
			return failure_set(f, -EINVAL, "no probe", c->options.usdt[i], why);
		p->n_requests++;
	}
	p->mapped_size = USDT_MAX_SPECS * sizeof(*p->mapped);
	p->mapped = mmap(NULL, p->mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 c->loaded.usdt_specs_fd, 0);
	if (p->mapped == MAP_FAILED) {
		p->mapped = NULL;
		return failure_set(f, -errno, "cannot map the kernel's buffers", "", NULL);
	}
	return functions_open(c, f);
}

void probes_close(struct capture *c)
{
	struct probes *p = c->probes;

	for (unsigned i = 0; i < c->n_sites; i++)
		free(c->sites[i].probe);
	if (!p)
		return;
	hash_clear(hh, p->specs, spec);
	hash_clear(hh, p->pairs, pair, free(pair->key));
	if (p->mapped)
		munmap(p->mapped, p->mapped_size);
	functions_close(p);
	free(p->requests);
	free(p);
}

const char *probes_not_found(const struct capture *c, unsigned n, char *ret_option)
{
	const struct probes *p = c->probes;

	*ret_option = 'u';
	for (unsigned i = 0; p && i < p->n_requests; i++) {
		if (!p->requests[i].found && !n--)
			return p->requests[i].text;
	}
	*ret_option = 'f';
	for (unsigned i = 0; p && i < p->n_functions; i++) {
		if (!p->functions[i].found && !n--)
			return p->functions[i].text;
	}
	return NULL;
}

/*
 * --- messages
 * -------------------------------------------------------------------------------------
 */

static void log_probe(const struct candidate *w, int verbosity, const char *what, const char *why)
{
	verbosity = probes_log_level(w->c->probes, verbosity);
	capture_log(w->c, verbosity, "%s:%s at 0x%" PRIx64 " of '%s' %s: %s", w->note->provider,
		    w->note->name, w->note->offset, w->path, what, why);
}

static bool reject_probe(const struct candidate *w, const char *why)
{
	log_probe(w, 0, "is left out", why);
	w->c->refused_sites++;
	return false;
}

/* --- specs ------------------------------------------------------------------------------------- */

/* Returns the number of an equal spec, or of a new one; -1: there are too many. */
static int64_t get_spec_number(struct probes *p, const struct usdt_spec *wanted)
{
	struct spec *spec;

	HASH_FIND(hh, p->specs, wanted, sizeof(*wanted), spec);
	if (spec)
		return spec->number;
	if (HASH_COUNT(p->specs) >= USDT_MAX_SPECS)
		return -1;
	spec = hash_add_new(hh, p->specs, spec, *wanted);
	if (!spec)
		return -1;
	spec->number = HASH_COUNT(p->specs) - 1;
	p->mapped[spec->number] = *wanted;
	return spec->number;
}

static uint32_t get_pair_number(struct probes *p, const struct candidate *w)
{
	char key[USDT_MAX_CAPTURES + 32];
	struct pair *pair;

	snprintf(key, sizeof(key), "%u %s", (unsigned)(w->request - p->requests), w->captures);
	HASH_FIND_STR(p->pairs, key, pair);
	if (pair)
		return pair->number;
	pair = HASH_COUNT(p->pairs) < MAX_PAIRS ? calloc(1, sizeof(*pair)) : NULL;
	if (!pair)
		return 0;
	pair->key = strdup(key);
	pair->number = HASH_COUNT(p->pairs) + 1;
	if (!pair->key) {
		free(pair);
		return 0;
	}
	HASH_ADD_KEYPTR(hh, p->pairs, pair->key, strlen(pair->key), pair);
	return pair->number;
}

static const struct symbol *find_arg_symbol(struct candidate *w, const char *name)
{
	struct symbol *symbol;

	HASH_FIND_STR(w->symbols, name, symbol);
	if (symbol || HASH_COUNT(w->symbols) >= MAX_SYMBOLS)
		return symbol;
	symbol = calloc(1, sizeof(*symbol));
	if (!symbol)
		return NULL;
	snprintf(symbol->name, sizeof(symbol->name), "%s", name);
	symbol->found = !elf_file_symbol(w->file->elf, name, &symbol->vaddr);
	HASH_ADD_STR(w->symbols, name, symbol);
	return symbol;
}

static void free_arg_symbols(struct candidate *w)
{
	hash_clear(hh, w->symbols, symbol);
}

/* Replaces a symbol by its distance from the site. The load address is added to both. */
static void resolve_symbol_arg(struct candidate *w, struct usdt_argument *a)
{
	const struct symbol *symbol;

	if (!a->symbol[0])
		return;
	symbol = find_arg_symbol(w, a->symbol);
	if (!symbol || !symbol->found) {
		a->unreadable = "it is in a variable whose symbol the file does not have";
		a->arg.form = USDT_UNREADABLE;
		return;
	}
	a->arg.offset = (int64_t)((uint64_t)a->arg.offset + symbol->vaddr - w->note->vaddr);
}

/*
 * --- the values of a site
 * -------------------------------------------------------------------------
 */

/* The arguments in a record: first those of the event, then those that only the name needs. */
struct chosen_args {
	struct usdt_choice of[MAX_ARGS];
	unsigned n, n_shown;
};

static int find_chosen_arg(const struct chosen_args *l, unsigned number)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->of[i].number == number)
			return (int)i;
	}
	return -1;
}

static bool candidate_uses_template(const struct candidate *w)
{
	return w->request->n_parts && w->role != USDT_END;
}

static bool candidate_uses_fields(const struct candidate *w)
{
	return candidate_uses_template(w) || w->request->given;
}

/* Logged once for each probe; such an argument is left out of the records. */
static bool arg_is_readable(struct candidate *w, const struct usdt_choice *choice)
{
	const char *why = choice->number < w->n_args ? w->args[choice->number].unreadable
						     : "the probe has no such argument";
	char what[48];

	if (!why)
		return true;
	snprintf(what, sizeof(what), "is recorded without arg%u", choice->number);
	log_probe(w, w->request->found ? 1 : 0, what, why);
	return false;
}

/*
 * Adds the arguments of the template and of the times. If the record is full, they replace
 * arguments that these do not need.
 */
static void add_template_args(struct candidate *w, struct chosen_args *l)
{
	bool needed[MAX_ARGS] = { false };
	int at;

	for (unsigned i = 0; i < USDT_MAX_FIELDS; i++) {
		const struct usdt_choice *field = usdt_request_field(w->request, i);

		if (!field || !arg_is_readable(w, field))
			continue;
		at = find_chosen_arg(l, field->number);
		if (at < 0 && l->n < MAX_ARGS) {
			at = (int)l->n++;
			l->of[at] = *field;
		}
		for (int j = MAX_ARGS - 1; at < 0 && j >= 0; j--) {
			if (needed[j])
				continue;
			at = j;
			l->of[j] = *field;
		}
		/* There always is one, since a template has no more arguments than a record. */
		if (at < 0)
			continue;
		needed[at] = true;
		if (field->type)
			l->of[at].type = field->type;
	}
}

static void choose_probe_args(struct candidate *w, struct chosen_args *l)
{
	const struct usdt_pattern *p = w->role == USDT_END ? &w->request->end : &w->request->begin;
	unsigned i, n = p->n_choices == USDT_WHOLE ? w->n_args : (unsigned)p->n_choices;

	memset(l, 0, sizeof(*l));
	if (p->n_choices == USDT_WHOLE && w->role == USDT_END)
		n = 0;
	for (i = 0; i < n && l->n < MAX_ARGS; i++) {
		const struct usdt_choice whole = { .number = (uint8_t)i };
		const struct usdt_choice *choice =
			p->n_choices == USDT_WHOLE ? &whole : &p->choices[i];

		if (arg_is_readable(w, choice))
			l->of[l->n++] = *choice;
	}
	l->n_shown = l->n;
	if (candidate_uses_fields(w))
		add_template_args(w, l);
}

static void set_probe_args(struct candidate *w, struct probe *probe, struct usdt_spec *spec,
			   const struct chosen_args *l)
{
	struct names *names = w->c->options.names;
	char key[8];

	spec->types = l->n;
	for (unsigned i = 0; i < l->n; i++) {
		const struct usdt_choice *choice = &l->of[i];
		const struct usdt_argument *a = &w->args[choice->number];
		unsigned type = choice->type ? choice->type : a->arg.type;

		if (type == VALUE_STRING)
			spec->flags |= USDT_HAS_STRINGS;
		spec->types |= type << META_TYPE_AT(i);
		spec->args[i] = a->arg;
		spec->args[i].type = 0; /* it is in `types` */
		snprintf(key, sizeof(key), "arg%u", choice->number);
		probe->marker.keys[i] = names_intern_string(names, choice->key ? choice->key : key);
	}
	probe->n_args = l->n;
	probe->n_shown = l->n_shown;
	for (unsigned i = 0; i < USDT_MAX_FIELDS; i++) {
		const struct usdt_choice *field = usdt_request_field(w->request, i);

		if (field)
			probe->fields[i] = (uint8_t)find_chosen_arg(l, field->number);
	}
}

static void set_probe_names(const struct candidate *w, struct probe *probe)
{
	struct names *names = w->c->options.names;
	char own[USDT_MAX_TEXT], text[2 * USDT_MAX_TEXT];

	if (w->request->is_pair)
		usdt_pair_name(w->request, w->captures, own, sizeof(own));
	else
		snprintf(own, sizeof(own), "%s", w->note->name);
	snprintf(text, sizeof(text), "%.256s:%.512s", w->note->provider, own);
	probe->marker.name = names_intern(names, text, strlen(text), MAX_NAME);
	probe->provider = names_intern(names, w->note->provider,
				       strnlen(w->note->provider, MAX_NAME + 1), MAX_NAME);
	probe->name =
		names_intern(names, w->note->name, strnlen(w->note->name, MAX_NAME + 1), MAX_NAME);
	probe->marker.category = probe->provider;
	probe->has_template = candidate_uses_template(w);
}

/* Sets how slices of the pair are identified. */
static bool set_probe_pair(struct candidate *w, struct probe *probe, struct usdt_spec *spec)
{
	const struct usdt_pattern *p = w->role == USDT_END ? &w->request->end : &w->request->begin;
	bool begins = w->role == USDT_BEGIN;

	spec->kind = RECORD_INSTANT;
	if (!w->request->is_pair)
		return true;
	probe->pair = get_pair_number(w->c->probes, w);
	if (!probe->pair)
		return reject_probe(w, "there are too many pairs");
	spec->token = USDT_TOKEN | probe->pair;
	if (p->key == USDT_KEY_NONE) {
		spec->kind = begins ? RECORD_BEGIN : RECORD_END;
		return true;
	}
	spec->kind = begins ? RECORD_ASYNC_BEGIN : RECORD_ASYNC_END;
	if (p->key == USDT_KEY_THREAD) {
		spec->flags |= USDT_BY_THREAD;
		return true;
	}
	if ((unsigned)p->key >= w->n_args)
		return reject_probe(w, "it does not have the argument that identifies its slices");
	if (w->args[p->key].unreadable)
		return reject_probe(w, w->args[p->key].unreadable);
	spec->id = w->args[p->key].arg;
	spec->id.type = 0;
	return true;
}

static bool has_nop5(const struct elf_file *elf, uint64_t offset)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	uint8_t bytes[sizeof(nop5)];

	return elf->machine == EM_X86_64 && !elf_file_read(elf, offset, bytes, sizeof(bytes)) &&
	       !memcmp(bytes, nop5, sizeof(nop5));
}

int probes_add_site(struct capture *c, struct file *file, const struct probe *probe,
		    const struct usdt_spec *spec, uint64_t vaddr, uint64_t offset)
{
	int64_t number = get_spec_number(c->probes, spec);
	struct site *s;

	if (number < 0)
		return -ENOSPC;
	s = site_new(c);
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->probe = malloc(sizeof(*s->probe));
	if (!s->probe) {
		c->n_sites--;
		return -ENOMEM;
	}
	*s->probe = *probe;
	s->probe->spec = (uint32_t)number;
	s->file = file;
	s->vaddr = vaddr;
	s->offset = offset;
	s->kind = spec->kind;
	s->category = probe->provider;
	c->probes->n_sites++;
	return 0;
}

static int add_candidate_site(struct candidate *w, const struct probe *probe,
			      const struct usdt_spec *spec)
{
	int error = probes_add_site(w->c, w->file, probe, spec, w->note->vaddr, w->note->offset);

	if (error == -ENOSPC) {
		reject_probe(w, "there are too many different specs");
		return 0;
	}
	if (!error)
		w->c->sites[w->c->n_sites - 1].semaphore_offset = w->note->semaphore_offset;
	return error;
}

static int add_candidate(struct candidate *w)
{
	struct probe probe = { .request = w->request };
	struct usdt_spec spec = { 0 };
	struct chosen_args list;
	int error;

	if (!w->note->offset) {
		reject_probe(w, "it is not in the file's code");
		return 0;
	}
	if (w->c->loaded.breaks_nop5 && has_nop5(w->file->elf, w->note->offset)) {
		reject_probe(
			w,
			"this kernel would turn its 5-byte nop into a call that breaks programs");
		return 0;
	}
	if (w->c->probes->n_sites >= MAX_SITES) {
		if (!w->c->probes->logged_limit)
			reject_probe(w, "there are too many sites");
		w->c->probes->logged_limit = true;
		return 0;
	}
	w->n_args = usdt_args_parse(w->file->elf->machine, w->note->arguments, w->args);
	for (unsigned i = 0; i < w->n_args; i++)
		resolve_symbol_arg(w, &w->args[i]);
	if (!set_probe_pair(w, &probe, &spec))
		return 0;
	choose_probe_args(w, &list);
	set_probe_args(w, &probe, &spec, &list);
	set_probe_names(w, &probe);
	error = add_candidate_site(w, &probe, &spec);
	/* Set in the request itself, which is shared by all candidates. */
	((struct usdt_request *)w->request)->found |= !error;
	return error;
}

static int compare_probe_notes(const void *a, const void *b)
{
	const struct usdt_probe *x = a, *y = b;
	int r = (x->offset > y->offset) - (x->offset < y->offset);

	if (!r)
		r = strcmp(x->provider, y->provider);
	return r ? r : strcmp(x->name, y->name);
}

/* Every marker of proftrace also has such a note, for other tools. */
static bool offset_is_marker(const struct file *file, uint64_t offset)
{
	for (unsigned i = 0; i < file->sites.n; i++) {
		if (file->sites.sites[i].offset == offset)
			return true;
	}
	return false;
}

/* For -D the provider is the domain. */
static bool provider_is_selected(const struct candidate *w)
{
	return selection_of(w->c, w->note->provider) != NOT_SELECTED;
}

/*
 * BEGINs come last, as for markers, so that no slice lacks its end while sites are being attached
 * to.
 */
static int select_matching_probes(struct candidate *w, const struct usdt_probes *notes, bool begins)
{
	struct probes *p = w->c->probes;
	int error = 0;

	for (unsigned i = 0; i < notes->n_probes && !error; i++) {
		w->note = &notes->probes[i];
		/* Some linkers write notes twice. */
		if (i && !compare_probe_notes(w->note, w->note - 1))
			continue;
		if (strlen(w->note->provider) > MAX_TEXT || strlen(w->note->name) > MAX_TEXT)
			continue;
		for (unsigned j = 0; j < p->n_requests && !error; j++) {
			w->request = &p->requests[j];
			w->role = usdt_request_role(w->request, w->note->provider, w->note->name,
						    w->captures);
			if (w->role == USDT_NO_ROLE || (w->role == USDT_BEGIN) != begins ||
			    offset_is_marker(w->file, w->note->offset))
				continue;
			p->requests[j].found |= !provider_is_selected(w);
			if (provider_is_selected(w))
				error = add_candidate(w);
		}
	}
	return error;
}

static int select_file_probes(struct capture *c, struct file *file, const char *path,
			      struct failure *f)
{
	struct candidate w = { .c = c, .file = file, .path = path };
	struct usdt_probes notes;
	int error;

	if (!c->probes->n_requests)
		return 0;
	error = usdt_find(file->elf, &notes, f);
	if (error)
		return error;
	if (notes.malformed || notes.cut)
		capture_log(c, 0, "not all of the probes of '%s' can be read", path);
	if (notes.n_probes)
		qsort(notes.probes, notes.n_probes, sizeof(*notes.probes), compare_probe_notes);
	error = select_matching_probes(&w, &notes, false);
	error = error ?: select_matching_probes(&w, &notes, true);
	usdt_free(&notes);
	free_arg_symbols(&w);
	return error ? failure_set(f, error, "cannot attach to", path, NULL) : 0;
}

int probes_select(struct capture *c, struct file *file, const char *path, struct failure *f)
{
	char link[32], full[PATH_MAX];
	ssize_t length;
	int error;

	file->first_probe = c->n_sites;
	if (!c->probes)
		return 0;
	/*
	 * A program that is executed by its descriptor has no path here, so the descriptor's is
	 * read.
	 */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	length = readlink(link, full, sizeof(full) - 1);
	if (length > 0) {
		full[length] = '\0';
		path = full;
	}
	error = select_file_probes(c, file, path, f);
	file->first_call = c->n_sites;
	error = error ?: leaving_select(c, file, path, f);
	file->n_leaving = c->n_sites - file->first_call;
	error = error ?: functions_select(c, file, path, f);
	file->n_probes = c->n_sites - file->first_probe;
	return error;
}

void probes_give_back(struct capture *c, const struct file *file)
{
	if (c->probes)
		c->probes->n_sites -= file->n_probes;
}
