/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that nobody marked (-f): which of a file's are asked for, and what is recorded of them. Each
 * becomes a site where it begins and one at each place where it is left (target/function_exits.h).
 */
#include "capture/probes_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "capture/glob.h"
#include "symbols/demangle.h"
#include "target/debug_symbols.h"
#include "target/function_exits.h"

#define MAX_CALLS 20000 /* functions, in all files together */
#define MAX_TEXT  1024	/* of a name: what is longer is compared as far */

/* A function that is recorded. Its beginning is attached to last: then no call is without an end. */
struct call {
	const struct function_request *request;
	const struct name *name;
	uint64_t entry;
};

/* The file at hand. */
struct search {
	struct capture *c;
	struct file *file;
	const char *path;
	const struct name *library; /* what stands for it in the trace */
	bool wanted[64];	    /* of the requests, those for this file */
	struct elf_functions all;
	char text[MAX_TEXT]; /* of the name at hand */
	struct call *calls;
	unsigned n_calls, room;
	struct unwind_table unwind;
	struct function_exits exits;
	bool told_of_domain;
	bool *left_by; /* of the file's markers: whether a function that is recorded ends with it */
};

int functions_open(struct capture *c, struct failure *f)
{
	struct probes *p = c->probes;
	unsigned i;

	if (!c->options.n_functions)
		return 0;
	if (c->options.n_functions > sizeof(((struct search *)0)->wanted))
		return failure_set(f, -E2BIG, "too many functions are asked for", "", NULL);
	p->functions = calloc(c->options.n_functions, sizeof(*p->functions));
	if (!p->functions)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (i = 0; i < c->options.n_functions; i++) {
		const char *why = function_request_parse(c->options.functions[i], &p->functions[i]);

		if (why)
			return failure_set(f, -EINVAL, "no function", c->options.functions[i], why);
		p->n_functions++;
	}
	return 0;
}

void functions_close(struct probes *p)
{
	free(p->functions);
}

/* --- which ones ---------------------------------------------------------------------------------- */

static bool fits(const char *glob, const char *text)
{
	struct glob_stars stars;

	return glob_fits(glob, strlen(glob), text, &stars);
}

/* Which requests are for this file. False: none. */
static bool look_at_file(struct search *s)
{
	struct probes *p = s->c->probes;
	char own[NAME_MAX + 1] = "", base[NAME_MAX + 1];
	const char *slash = strrchr(s->path, '/'), *shown;
	bool is_program = elf_file_is_program(s->file->elf), any = false;
	size_t length;
	unsigned i;

	snprintf(base, sizeof(base), "%s", slash ? slash + 1 : s->path);
	length = strlen(base);
	if (length > 10 && !strcmp(base + length - 10, " (deleted)"))
		base[length - 10] = '\0';
	elf_file_own_name(s->file->elf, own, sizeof(own));
	for (i = 0; i < p->n_functions; i++) {
		const char *glob = p->functions[i].library;

		s->wanted[i] = glob ? fits(glob, s->path) || fits(glob, base) || fits(glob, own)
				    : is_program;
		any |= s->wanted[i];
	}
	shown = own[0] ? own : base;
	s->library = names_intern(s->c->options.names, shown, strlen(shown), MAX_NAME);
	return any;
}

/* Goroutines move from thread to thread, and their stacks from place to place. */
static bool is_go(const struct elf_file *elf)
{
	Elf64_Shdr section;

	return !elf_file_section(elf, SHT_PROGBITS, ".go.buildinfo", &section) ||
	       !elf_file_section(elf, SHT_PROGBITS, ".gopclntab", &section);
}

/* The marker whose function in assembly this is; NULL: it is none. */
static const struct marker_site *marker_at(const struct search *s, uint64_t vaddr)
{
	unsigned i;

	for (i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return &s->file->sites.sites[i];
	}
	return NULL;
}

/* Our own sites are called as functions are, and the program's beginning is no function: it never ends. */
static bool is_none(const struct search *s, const struct elf_function *function)
{
	return elf_function_cold(function->name) || !strcmp(function->name, "_start") ||
	       marker_at(s, function->vaddr);
}

/*
 * The first request that one of the names of this address fits, as it is or as its author wrote it, which
 * then is in s->text.
 */
static struct function_request *request_of(struct search *s, const struct elf_function *names,
					   unsigned n, const struct elf_function **ret_name)
{
	struct probes *p = s->c->probes;
	unsigned i, j;

	for (j = 0; j < n; j++) {
		if (is_none(s, &names[j]))
			continue;
		symbol_demangle(names[j].name, s->text, sizeof(s->text));
		for (i = 0; i < p->n_functions; i++) {
			if (!s->wanted[i] || (!fits(p->functions[i].name, s->text) &&
					      !fits(p->functions[i].name, names[j].name)))
				continue;
			*ret_name = &names[j];
			return &p->functions[i];
		}
	}
	return NULL;
}

/* --- what is said of them ------------------------------------------------------------------------ */

static void leave_out(const struct search *s, const char *why)
{
	capture_log(s->c, probes_told_at(s->c->probes, 0), "%s:%s is left out: %s",
		    s->library->text, s->text, why);
	s->c->refused_sites++;
}

/* For -D, the library is the domain. */
static bool is_selected(struct search *s)
{
	if (selection_of(s->c, s->library->text) != NOT_SELECTED)
		return true;
	if (!s->told_of_domain)
		capture_log(s->c, 0, "functions of '%s' are left out: -D does not select it",
			    s->library->text);
	s->told_of_domain = true;
	return false;
}

static bool too_many(const struct search *s)
{
	struct probes *p = s->c->probes;

	if (p->n_calls < MAX_CALLS)
		return false;
	if (!p->told_of_calls)
		capture_log(s->c, -1,
			    "%s:%s and what comes behind it is left out: no more than %d functions "
			    "are recorded",
			    s->library->text, s->text, MAX_CALLS);
	p->told_of_calls = true;
	s->c->refused_sites++;
	return true;
}

/* --- what is recorded of a call ------------------------------------------------------------------ */

/* Where the callee finds an argument, by the calling convention of its machine. */
static struct usdt_arg place_of(uint16_t machine, const struct function_value *v, bool returned)
{
	static const uint8_t x86[] = { 7, 6, 2, 1, 8, 9 };
	unsigned in_registers = machine == EM_X86_64 ? 6 : 8;
	struct usdt_arg a = {
		.form = USDT_REGISTER,
		.index = USDT_NO_REGISTER,
		.bits = v->bits,
		.is_signed = v->type == VALUE_INT,
	};

	if (returned)
		return a; /* rax, x0 */
	if (v->number < in_registers) {
		a.reg = machine == EM_X86_64 ? x86[v->number] : v->number;
		return a;
	}
	/* On the stack, on x86-64 above the return address. */
	a.form = USDT_MEMORY;
	a.reg = machine == EM_X86_64 ? 4 : 31;
	a.offset = 8 * (v->number - in_registers) + (machine == EM_X86_64 ? 8 : 0);
	return a;
}

static void set_values(const struct search *s, const struct function_value *values, unsigned n,
		       bool returned, struct probe *probe, struct usdt_spec *spec)
{
	char key[8];
	unsigned i;

	spec->types = n;
	for (i = 0; i < n; i++) {
		if (values[i].type == VALUE_STRING)
			spec->flags |= USDT_HAS_STRINGS;
		spec->types |= (uint32_t)values[i].type << (8 + 4 * i);
		spec->args[i] = place_of(s->file->elf->machine, &values[i], returned);
		snprintf(key, sizeof(key), "arg%u", values[i].number);
		probe->marker.keys[i] =
			names_intern_string(s->c->options.names, values[i].key ? values[i].key
								 : returned    ? "ret"
									       : key);
	}
	probe->n_args = n;
	probe->n_shown = n;
}

static void set_probe(const struct search *s, const struct call *call, struct probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	probe->provider = s->library;
	probe->name = call->name;
	probe->marker.name = call->name;
	probe->marker.category = s->library;
}

static int add_site(const struct search *s, const struct probe *probe, const struct usdt_spec *spec,
		    uint64_t vaddr)
{
	uint64_t offset;

	if (elf_file_offset(s->file->elf, vaddr, ELF_EXECUTABLE, &offset))
		return -ENOENT;
	return probes_add_site(s->c, s->file, probe, spec, vaddr, offset);
}

/* `part`: the function itself, without what lies elsewhere. */
static int add_exit(const struct search *s, const struct call *call,
		    const struct function_part *part, const struct function_exit *exit)
{
	struct usdt_spec spec = {
		.kind = RECORD_END,
		.flags = USDT_CALL,
		.exit = exit->exit,
		.condition = exit->condition,
	};
	struct probe probe;

	set_probe(s, call, &probe);
	if (exit->exit == CALL_INDIRECT) {
		int64_t from = (int64_t)(part->vaddr + 1 - exit->vaddr);

		spec.target = exit->target;
		/* Parts may lie far apart; then it is not told whether it leaves, and it does. */
		if (from == (int32_t)from &&
		    from + (int64_t)part->size == (int32_t)(from + part->size)) {
			spec.from = (int32_t)from;
			spec.to = (int32_t)(from + (int64_t)part->size - 1);
		}
	}
	if (exit->exit == CALL_RETURN && call->request->has_value)
		set_values(s, &call->request->value, 1, true, &probe, &spec);
	return add_site(s, &probe, &spec, exit->vaddr);
}

/*
 * A function whose last act is a marker does not call it but jumps there, and is over as the marker
 * returns: that is where its end is. Of whoever calls the marker, the stack pointer is another there.
 */
static int add_marker_exit(const struct search *s, const struct marker_site *marker)
{
	const struct call call = { .name = names_intern_string(s->c->options.names, "marker") };
	const struct usdt_spec spec = { .kind = RECORD_END, .flags = USDT_CALL, .exit = CALL_JUMP };
	struct probe probe;
	uint64_t vaddr;

	if (function_next_return(s->file->elf, marker->vaddr, &vaddr))
		return 0;
	set_probe(s, &call, &probe);
	return add_site(s, &probe, &spec, vaddr);
}

static int add_entry(const struct search *s, const struct call *call)
{
	struct usdt_spec spec = { .kind = RECORD_BEGIN, .flags = USDT_CALL };
	struct probe probe;

	set_probe(s, call, &probe);
	set_values(s, call->request->args, call->request->n_args, false, &probe, &spec);
	return add_site(s, &probe, &spec, call->entry);
}

/* --- a function ---------------------------------------------------------------------------------- */

/* The symbol that this address lies in. */
static const struct elf_function *symbol_at(const struct search *s, uint64_t vaddr)
{
	unsigned low = 0, high = s->all.n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (s->all.list[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || vaddr - s->all.list[low - 1].vaddr >= s->all.list[low - 1].size)
		return NULL;
	return &s->all.list[low - 1];
}

/* The code at `vaddr`, if it is called after the function. */
static bool find_cold_at(const struct search *s, uint64_t vaddr, const struct elf_function *names,
			 unsigned n, struct function_part *ret)
{
	const struct elf_function *at = vaddr ? symbol_at(s, vaddr) : NULL;
	const char *cold = at ? elf_function_cold(at->name) : NULL;
	unsigned j;

	for (j = 0; cold && j < n; j++) {
		if (strncmp(at->name, names[j].name, (size_t)(cold - at->name)) ||
		    names[j].name[cold - at->name])
			continue;
		*ret = (struct function_part){ at->vaddr, at->size };
		return true;
	}
	return false;
}

/* What of it lies elsewhere: the code that one of its jumps goes to, or that it goes on with otherwise. */
static bool find_cold(const struct search *s, const struct elf_function *names, unsigned n,
		      struct function_part *ret)
{
	struct unwind_range range;
	uint64_t vaddr = s->exits.elsewhere;
	unsigned i;

	if (find_cold_at(s, vaddr, names, n, ret))
		return true;
	for (i = 0; i < s->exits.n; i++) {
		if (find_cold_at(s, s->exits.exits[i].to, names, n, ret))
			return true;
	}
	/* Without its symbol, there is still what is said of it for exceptions. */
	if (!vaddr || symbol_at(s, vaddr) ||
	    unwind_table_find(&s->unwind, s->file->elf, vaddr, &range))
		return false;
	*ret = (struct function_part){ range.vaddr, range.size };
	return true;
}

static const char *find_exits(struct search *s, const struct elf_function *names, unsigned n,
			      struct function_part parts[FUNCTION_MAX_PARTS])
{
	bool skip = s->c->loaded.breaks_nop5;
	const char *why;
	unsigned i;

	parts[0] = (struct function_part){ names[0].vaddr, 0 };
	for (i = 0; i < n; i++) {
		if (names[i].size > parts[0].size)
			parts[0].size = names[i].size;
	}
	why = function_exits_find(s->file->elf, &s->unwind, parts, 1, skip, &s->exits);
	if (!why && find_cold(s, names, n, &parts[1]))
		why = function_exits_find(s->file->elf, &s->unwind, parts, 2, skip, &s->exits);
	if (!why && s->exits.elsewhere)
		why = "it goes on elsewhere, and what that is part of is not known";
	return why;
}

static int keep_call(struct search *s, const struct call *call)
{
	if (s->n_calls == s->room) {
		unsigned room = s->room ? 2 * s->room : 256;
		struct call *calls = realloc(s->calls, room * sizeof(*calls));

		if (!calls)
			return -ENOMEM;
		s->calls = calls;
		s->room = room;
	}
	s->calls[s->n_calls++] = *call;
	s->c->probes->n_calls++;
	return 0;
}

/* `names`: all of one address. */
static int take_function(struct search *s, const struct elf_function *names, unsigned n)
{
	struct function_part parts[FUNCTION_MAX_PARTS];
	const struct elf_function *name = NULL;
	struct function_request *request = request_of(s, names, n, &name);
	struct call call = { .request = request };
	const char *why;
	unsigned i;
	int error = 0;

	if (!request)
		return 0;
	request->found = true;
	if (!is_selected(s) || too_many(s))
		return 0;
	why = name->resolver
		      ? "it only chooses, as the program starts, which function has this name"
		      : find_exits(s, names, n, parts);
	if (why) {
		leave_out(s, why);
		return 0;
	}
	call.name = names_intern(s->c->options.names, s->text, strlen(s->text), MAX_NAME);
	call.entry = s->exits.entry;
	for (i = 0; i < s->exits.n && !error; i++) {
		const struct marker_site *marker = marker_at(s, s->exits.exits[i].to);

		if (s->exits.exits[i].to && marker)
			s->left_by[marker - s->file->sites.sites] = true;
		else
			error = add_exit(s, &call, &parts[0], &s->exits.exits[i]);
	}
	return error ? error : keep_call(s, &call);
}

static int take_all(struct search *s)
{
	unsigned i, n;
	int error = 0;

	for (i = 0; i < s->all.n && !error; i += n) {
		for (n = 1; i + n < s->all.n && s->all.list[i + n].vaddr == s->all.list[i].vaddr;)
			n++;
		error = take_function(s, &s->all.list[i], n);
	}
	for (i = 0; i < s->file->sites.n && !error; i++) {
		if (s->left_by[i])
			error = add_marker_exit(s, &s->file->sites.sites[i]);
	}
	for (i = 0; i < s->n_calls && !error; i++)
		error = add_entry(s, &s->calls[i]);
	return error;
}

int functions_select(struct capture *c, struct file *file, const char *path, struct failure *f)
{
	struct search *s;
	int error = 0;

	if (!c->probes->n_functions)
		return 0;
	s = calloc(1, sizeof(*s));
	if (s)
		s->left_by = calloc(file->sites.n + 1, sizeof(*s->left_by));
	if (!s || !s->left_by) {
		free(s);
		return failure_set(f, -ENOMEM, "cannot attach to", path, NULL);
	}
	s->c = c;
	s->file = file;
	s->path = path;
	if (look_at_file(s)) {
		if (is_go(file->elf)) {
			capture_log(c, -1,
				    "functions of '%s' are not recorded: it is a Go program, whose "
				    "calls move from thread to thread, and their stacks in memory",
				    path);
			c->refused++;
		} else {
			error = elf_functions_add(&s->all, file->elf);
			if (!error)
				error = debug_symbols_add(&s->all, file->elf);
			elf_functions_sort(&s->all);
			unwind_table_open(&s->unwind, file->elf);
			if (!error)
				error = take_all(s);
			if (s->all.cut || s->all.malformed)
				capture_log(c, 0, "not all functions of '%s' can be read", path);
		}
	}
	elf_functions_free(&s->all);
	free(s->calls);
	free(s->left_by);
	free(s);
	if (error == -ENOSPC)
		return failure_set(f, error, "cannot attach to", path,
				   "its functions are left in too many different ways");
	return error ? failure_set(f, error, "cannot attach to", path, NULL) : 0;
}
