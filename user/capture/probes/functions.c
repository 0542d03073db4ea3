/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selecting functions that are recorded by name (-f), and what is recorded of their calls. A
 * function gets one site where it begins and one at each instruction that leaves it; with
 * --return-probes all its return instructions share one, where it begins. The recorder chooses functions by name. Where a function begins and ends is determined by the broker, which
 * does not trust the recorder (privilege/prover/prover.h).
 */
#include "capture/probes/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/glob.h"
#include "symbols/symbols.h"
#include "tracee/debug_symbols.h"
#include "tracee/code/function_exits.h"

#define MAX_CALLS 20000 /* functions, in all files together */
#define MAX_TEXT  1024	/* of a name; longer names are compared up to here */

/* A selected function. Its entry is attached to last, so that no call lacks its end. */
struct call {
	const struct function_request *request;
	const struct name *name;
	uint64_t entry;
	bool is_returned; /* it ends with a return probe */
};

/* The search for functions in one file. */
struct function_search {
	struct capture *c;
	struct file *file;
	const char *path;
	const struct name *library; /* its domain in the trace */
	bool wanted[64];	    /* requests that match this file */
	struct elf_functions all;
	char text[MAX_TEXT]; /* the current name */
	struct call calls[MAX_CALLS];
	unsigned n_calls;
	/* The functions that the broker is asked about next. */
	struct call requested[PROVER_MAX_REQUESTED];
	uint64_t vaddrs[PROVER_MAX_REQUESTED];
	unsigned n_requested;
	struct broker_functions answer;
	bool refused; /* the broker refused the last request */
	bool logged_domain;
	bool *left_by; /* for each marker of the file: a selected function ends with it */
};

int functions_open(struct capture *c, struct failure *f)
{
	struct probes *p = c->probes;

	if (!c->options.n_functions)
		return 0;
	if (c->options.n_functions > sizeof(((struct function_search *)0)->wanted))
		return failure_set(f, -E2BIG, "too many -f options", "", NULL);
	p->functions = calloc(c->options.n_functions, sizeof(*p->functions));
	if (!p->functions)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (unsigned i = 0; i < c->options.n_functions; i++) {
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

/*
 * --- selecting functions
 * --------------------------------------------------------------------------
 */

static bool function_glob_matches(const char *glob, const char *text)
{
	struct glob_stars stars;

	return glob_matches(glob, strlen(glob), text, &stars);
}

/* Finds the requests that match the file. False: there are none. */
static bool select_file_requests(struct function_search *s)
{
	struct probes *p = s->c->probes;
	char own[NAME_MAX + 1] = "", base[NAME_MAX + 1];
	const char *slash = strrchr(s->path, '/'), *shown;
	bool is_program = elf_file_is_program(s->file->elf), any = false;
	size_t length;

	snprintf(base, sizeof(base), "%s", slash ? slash + 1 : s->path);
	length = strlen(base);
	if (length > 10 && !strcmp(base + length - 10, " (deleted)"))
		base[length - 10] = '\0';
	elf_file_own_name(s->file->elf, own, sizeof(own));
	for (unsigned i = 0; i < p->n_functions; i++) {
		const char *glob = p->functions[i].library;

		s->wanted[i] = glob ? function_glob_matches(glob, s->path) ||
					       function_glob_matches(glob, base) ||
					       function_glob_matches(glob, own)
				    : is_program;
		any |= s->wanted[i];
	}
	shown = own[0] ? own : base;
	s->library = names_intern(s->c->options.names, shown, strlen(shown), MAX_NAME);
	return any;
}

/*
 * A Go call cannot be followed: goroutines move between threads, and their stacks move in memory.
 */
static bool elf_is_go(const struct elf_file *elf)
{
	Elf64_Shdr section;

	return !elf_file_section(elf, SHT_PROGBITS, ".go.buildinfo", &section) ||
	       !elf_file_section(elf, SHT_PROGBITS, ".gopclntab", &section);
}

/* The marker with the stub at this address; NULL: it is no stub. */
static const struct marker_site *find_stub_marker(const struct function_search *s, uint64_t vaddr)
{
	for (unsigned i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return &s->file->sites.sites[i];
	}
	return NULL;
}

/*
 * Excludes our own stubs, parts that the compiler has split off, and the program's entry point,
 * which never returns.
 */
static bool symbol_is_excluded(const struct function_search *s, const struct elf_function *function)
{
	return elf_function_cold_suffix(function->name) || !strcmp(function->name, "_start") ||
	       find_stub_marker(s, function->vaddr);
}

/*
 * The first request that matches one of the names at this address, mangled or demangled. The
 * demangled name is in s->text then.
 */
static struct function_request *find_function_request(struct function_search *s,
						      const struct elf_function *names, unsigned n,
						      const struct elf_function **ret_name)
{
	struct probes *p = s->c->probes;

	for (unsigned j = 0; j < n; j++) {
		if (symbol_is_excluded(s, &names[j]))
			continue;
		symbol_demangle(names[j].name, s->text, sizeof(s->text));
		for (unsigned i = 0; i < p->n_functions; i++) {
			if (!s->wanted[i] ||
			    (!function_glob_matches(p->functions[i].name, s->text) &&
			     !function_glob_matches(p->functions[i].name, names[j].name)))
				continue;
			*ret_name = &names[j];
			return &p->functions[i];
		}
	}
	return NULL;
}

/*
 * --- messages
 * -------------------------------------------------------------------------------------
 */

static void reject_function(const struct function_search *s, const char *name, const char *why)
{
	capture_log(s->c, probes_log_level(s->c->probes, 0), "%s:%s is left out: %s",
		    s->library->text, name, why);
	s->c->refused_sites++;
}

/* For -D the library is the domain. */
static bool library_is_selected(struct function_search *s)
{
	if (selection_of(s->c, s->library->text) != NOT_SELECTED)
		return true;
	if (!s->logged_domain)
		capture_log(s->c, 0, "functions of '%s' are left out: -D does not select it",
			    s->library->text);
	s->logged_domain = true;
	return false;
}

static bool function_limit_reached(const struct function_search *s)
{
	struct probes *p = s->c->probes;

	if (p->n_calls + s->n_requested < MAX_CALLS)
		return false;
	if (!p->logged_call_limit)
		capture_log(s->c, -1,
			    "%s:%s and later functions are left out: at most %d functions "
			    "can be recorded",
			    s->library->text, s->text, MAX_CALLS);
	p->logged_call_limit = true;
	s->c->refused_sites++;
	return true;
}

/*
 * --- the sites of a function
 * ----------------------------------------------------------------------
 */

/* The location of an argument in the callee, by the calling convention of the machine. */
static struct usdt_arg locate_function_value(uint16_t machine, const struct function_value *v,
					     bool returned)
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
		return a; /* rax or x0 */
	if (v->number < in_registers) {
		a.reg = machine == EM_X86_64 ? x86[v->number] : v->number;
		return a;
	}
	/* On the stack; on x86-64 above the return address. */
	a.form = USDT_MEMORY;
	a.reg = machine == EM_X86_64 ? 4 : 31;
	a.offset = 8 * (v->number - in_registers) + (machine == EM_X86_64 ? 8 : 0);
	return a;
}

static void set_call_values(const struct function_search *s, const struct function_value *values,
			    unsigned n, bool returned, struct probe *probe, struct usdt_spec *spec)
{
	char key[8];

	spec->types = n;
	for (unsigned i = 0; i < n; i++) {
		if (values[i].type == VALUE_STRING)
			spec->flags |= USDT_HAS_STRINGS;
		spec->types |= (uint32_t)values[i].type << META_TYPE_AT(i);
		spec->args[i] = locate_function_value(s->file->elf->machine, &values[i], returned);
		snprintf(key, sizeof(key), "arg%u", values[i].number);
		probe->marker.keys[i] =
			names_intern_string(s->c->options.names, values[i].key ? values[i].key
								 : returned    ? "ret"
									       : key);
	}
	probe->n_args = n;
	probe->n_shown = n;
}

static void init_call_probe(const struct function_search *s, const struct call *call,
			    struct probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	probe->provider = s->library;
	probe->name = call->name;
	probe->marker.name = call->name;
	probe->marker.category = s->library;
}

static int add_call_site(const struct function_search *s, const struct probe *probe,
			 const struct usdt_spec *spec, uint64_t vaddr)
{
	uint64_t offset;

	if (elf_file_offset(s->file->elf, vaddr, ELF_EXECUTABLE, &offset))
		return -ENOENT;
	return probes_add_site(s->c, s->file, probe, spec, vaddr, offset);
}

static int add_call_exit(const struct function_search *s, const struct call *call,
			 const struct proved_function *function, const struct proved_exit *exit)
{
	struct usdt_spec spec = {
		.kind = RECORD_END,
		.flags = USDT_CALL,
		.exit = exit->exit,
		.condition = exit->condition,
	};
	struct probe probe;

	init_call_probe(s, call, &probe);
	if (exit->exit == CALL_INDIRECT) {
		int64_t from = (int64_t)(function->vaddr + 1 - exit->vaddr);

		spec.target = exit->target;
		/*
		 * If the parts of a function are too far apart for a distance, the jump counts as
		 * an exit.
		 */
		if (from == (int32_t)from &&
		    from + (int64_t)function->size == (int32_t)(from + function->size)) {
			spec.from = (int32_t)from;
			spec.to = (int32_t)(from + (int64_t)function->size - 1);
		}
	}
	if (exit->exit == CALL_RETURN && call->request->has_value)
		set_call_values(s, &call->request->value, 1, true, &probe, &spec);
	return add_call_site(s, &probe, &spec, exit->vaddr);
}

/*
 * A function that ends with a marker does not call its stub but jumps to it, and ends when the stub
 * returns. So the stub's return is an exit of the function. When the stub is called instead, the
 * stack pointer is a different one there.
 */
static int add_marker_exit(const struct function_search *s, const struct marker_site *marker)
{
	const struct call call = { .name = names_intern_string(s->c->options.names, "marker") };
	const struct usdt_spec spec = { .kind = RECORD_END, .flags = USDT_CALL, .exit = CALL_JUMP };
	struct probe probe;
	uint64_t vaddr;

	if (function_next_return(s->file->elf, marker->vaddr, &vaddr))
		return 0;
	init_call_probe(s, &call, &probe);
	return add_call_site(s, &probe, &spec, vaddr);
}

/* The return probe, and behind it the entry, which has to know the spec of its return (usdt.bpf.c). */
static int add_call_return(const struct function_search *s, const struct call *call,
			   struct usdt_spec *entry)
{
	struct usdt_spec spec = { .kind = RECORD_END, .flags = USDT_CALL, .exit = CALL_RETURNED };
	struct probe probe;
	struct site *site;
	int error;

	init_call_probe(s, call, &probe);
	if (call->request->has_value)
		set_call_values(s, &call->request->value, 1, true, &probe, &spec);
	error = add_call_site(s, &probe, &spec, call->entry);
	if (error)
		return error;
	site = &s->c->sites[s->c->n_sites - 1];
	site->in_session = s->c->loaded.return_sessions;
	site->returns = !site->in_session;
	entry->exit = CALL_RETURNED;
	entry->from = (int32_t)site->probe->spec;
	return 0;
}

static int add_call_entry(const struct function_search *s, const struct call *call)
{
	struct usdt_spec spec = { .kind = RECORD_BEGIN, .flags = USDT_CALL };
	struct probe probe;
	int error = call->is_returned ? add_call_return(s, call, &spec) : 0;

	if (error)
		return error;
	init_call_probe(s, call, &probe);
	set_call_values(s, call->request->args, call->request->n_args, false, &probe, &spec);
	error = add_call_site(s, &probe, &spec, call->entry);
	if (!error)
		s->c->sites[s->c->n_sites - 1].returns =
			call->is_returned && s->c->loaded.return_sessions;
	return error;
}

/*
 * --- querying the broker
 * --------------------------------------------------------------------------
 */

static int add_call_exits(struct function_search *s, struct call *call,
			  const struct proved_function *function, const struct proved_exit *exits)
{
	int error = 0;

	for (uint32_t i = 0; i < function->n_exits && !error; i++) {
		const struct marker_site *marker = find_stub_marker(s, exits[i].to);

		if (s->c->options.return_probes &&
		    (exits[i].exit == CALL_RETURN || (exits[i].to && marker)))
			call->is_returned = true;
		else if (exits[i].to && marker)
			s->left_by[marker - s->file->sites.sites] = true;
		else
			error = add_call_exit(s, call, function, &exits[i]);
	}
	return error;
}

/* Handles the broker's answer for one function: it is recorded or rejected. */
static int add_proved_function(struct function_search *s, struct call *call,
			       const struct proved_function *function,
			       const struct proved_exit *exits, const char *refusal)
{
	int error;

	if (refusal) {
		reject_function(s, call->name->text, refusal);
		return 0;
	}
	call->entry = function->entry;
	error = add_call_exits(s, call, function, exits);
	if (error)
		return error;
	s->calls[s->n_calls++] = *call;
	s->c->probes->n_calls++;
	return 0;
}

/*
 * Asks the broker about the queued functions. The broker answers some of them at a time, at least
 * one. If it refuses, something is wrong with the file, and the rest of its functions are left out.
 */
static int prove_queued_functions(struct function_search *s)
{
	const struct proved_function *function;
	const struct proved_exit *exits;
	struct proved_reader reader;
	const char *refusal;
	struct failure f;
	unsigned at = 0, before;
	int error;

	while (at < s->n_requested) {
		before = at;
		error = broker_functions(s->c->broker, s->file->fd, s->vaddrs + at,
					 s->n_requested - at, &s->answer, &f);
		if (error == -EPIPE)
			return error;
		if (error) {
			capture_log(s->c, 0, "%s:%s and later functions are left out: %s",
				    s->library->text, s->requested[at].name->text, f.reason);
			s->c->refused_sites += s->n_requested - at;
			s->refused = true;
			return 0;
		}
		reader = (struct proved_reader){ (uint8_t *)s->answer.bytes, s->answer.size };
		while (at < s->n_requested &&
		       proved_next(&reader, &function, &exits, &refusal) > 0) {
			error = add_proved_function(s, &s->requested[at++], function, exits,
						    refusal);
			if (error)
				return error;
		}
		if (at == before)
			return -EPROTO;
	}
	s->n_requested = 0;
	return 0;
}

/* `names`: all symbols of one address. */
static int queue_function(struct function_search *s, const struct elf_function *names, unsigned n)
{
	const struct elf_function *name = NULL;
	struct function_request *request = find_function_request(s, names, n, &name);

	if (!request)
		return 0;
	request->found = true;
	if (!library_is_selected(s) || function_limit_reached(s))
		return 0;
	if (name->resolver) {
		reject_function(
			s, s->text,
			"it is a resolver that only chooses an implementation at startup (ifunc)");
		return 0;
	}
	s->vaddrs[s->n_requested] = names[0].vaddr;
	s->requested[s->n_requested++] = (struct call){
		.request = request,
		.name = names_intern(s->c->options.names, s->text, strlen(s->text), MAX_NAME),
	};
	return s->n_requested == PROVER_MAX_REQUESTED ? prove_queued_functions(s) : 0;
}

static int select_all_functions(struct function_search *s)
{
	unsigned n;
	int error = 0;

	for (unsigned i = 0; i < s->all.n && !error && !s->refused; i += n) {
		for (n = 1; i + n < s->all.n && s->all.list[i + n].vaddr == s->all.list[i].vaddr;)
			n++;
		error = queue_function(s, &s->all.list[i], n);
	}
	if (!error && !s->refused)
		error = prove_queued_functions(s);
	for (unsigned i = 0; i < s->file->sites.n && !error; i++) {
		if (s->left_by[i])
			error = add_marker_exit(s, &s->file->sites.sites[i]);
	}
	for (unsigned i = 0; i < s->n_calls && !error; i++)
		error = add_call_entry(s, &s->calls[i]);
	return error;
}

static int read_function_symbols(struct function_search *s)
{
	int debug = debug_symbols_open(s->file->elf), error;

	error = elf_functions_add(&s->all, s->file->elf);
	error = error ?: debug_symbols_add(&s->all, s->file->elf, debug);
	if (debug >= 0)
		close(debug);
	elf_functions_sort(&s->all);
	return error;
}

int functions_select(struct capture *c, struct file *file, const char *path, struct failure *f)
{
	struct function_search *s;
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
	if (select_file_requests(s)) {
		if (elf_is_go(file->elf)) {
			capture_log(
				c, -1,
				"functions of '%s' are not recorded: it is a Go program, whose "
				"goroutines move between threads and whose stacks move in memory",
				path);
			c->refused++;
		} else {
			error = read_function_symbols(s);
			error = error ?: select_all_functions(s);
			if (s->all.cut || s->all.malformed)
				capture_log(c, 0, "not all functions of '%s' can be read", path);
		}
	}
	elf_functions_free(&s->all);
	free(s->left_by);
	free(s);
	if (error == -ENOSPC)
		return failure_set(f, error, "cannot attach to", path,
				   "its functions have too many different exits");
	return error ? failure_set(f, error, "cannot attach to", path, NULL) : 0;
}
