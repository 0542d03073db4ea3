/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two traces may both have a process 100, of different hosts or containers. In the merge each number
 * belongs to the file that used it first; what another file calls by it gets a number above all that
 * the kernel gives out, and a name that tells the old one. Threads likewise.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/merge.h"
#include "timeline/hash.h"

enum {
	FIRST_INVENTED = 1 << 22, /* the kernel's numbers are below */
	MAX_REMEMBERED = 1 << 18, /* beyond, numbers are taken as they are */
	MAX_TEXT = 1024,
};

struct owner_key {
	uint32_t pid;
	uint32_t tid; /* of a process: 0 */
	uint32_t is_thread;
};

/* What a number of this file has become. */
struct owner {
	UT_hash_handle hh;
	struct owner_key key;
	uint32_t number;
};

/* A number that is in use, and since which file. */
struct taken {
	UT_hash_handle hh;
	struct taken_key {
		uint32_t number;
		uint32_t is_thread;
	} key;
	unsigned file;
};

struct owners {
	struct names *names;
	const struct part *part;
	unsigned file;
	bool join;
	bool own; /* by proftrace: there, process 0 is the machine */
	struct owner *map;
	struct taken *taken;
	uint32_t next;
	struct owner last_process, last_thread;
};

struct owners *owners_new(struct names *names, bool join)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (o) {
		o->names = names;
		o->join = join;
		o->next = FIRST_INVENTED;
	}
	return o;
}

static void forget(struct owners *o)
{
	struct owner *owner, *next;

	HASH_ITER (hh, o->map, owner, next) {
		HASH_DEL(o->map, owner);
		free(owner);
	}
	o->last_process.key.is_thread = o->last_thread.key.is_thread = UINT32_MAX;
}

void owners_free(struct owners *o)
{
	struct taken *taken, *next;

	if (!o)
		return;
	forget(o);
	HASH_ITER (hh, o->taken, taken, next) {
		HASH_DEL(o->taken, taken);
		free(taken);
	}
	free(o);
}

void owners_begin(struct owners *o, const struct part *part, unsigned index)
{
	forget(o);
	o->part = part;
	o->file = index;
	o->own = part->source.origin.version[0] != '\0';
}

/* True: nobody else has it. It is this file's from now on. */
static bool take(struct owners *o, uint32_t number, bool is_thread)
{
	const struct taken_key key = { number, is_thread };
	struct taken *taken;

	HASH_FIND(hh, o->taken, &key, sizeof(key), taken);
	if (taken)
		return taken->file == o->file;
	if (HASH_COUNT(o->taken) >= MAX_REMEMBERED)
		return true;
	taken = calloc(1, sizeof(*taken));
	if (!taken)
		return true;
	taken->key = key;
	taken->file = o->file;
	HASH_ADD(hh, o->taken, key, sizeof(taken->key), taken);
	if (!hash_added(hh, taken))
		free(taken);
	return true;
}

static uint32_t invent(struct owners *o)
{
	while (!take(o, o->next, false) || !take(o, o->next, true))
		o->next++;
	return o->next++;
}

static bool same(const struct owner *owner, const struct owner_key *key)
{
	return !memcmp(&owner->key, key, sizeof(*key));
}

/* False: it is new, and not known to be kept. */
static bool find(struct owners *o, struct owner *last, const struct owner_key *key,
		 uint32_t *ret_number)
{
	struct owner *owner;

	if (same(last, key)) {
		*ret_number = last->number;
		return true;
	}
	HASH_FIND(hh, o->map, key, sizeof(*key), owner);
	if (!owner)
		return false;
	last->key = *key;
	*ret_number = last->number = owner->number;
	return true;
}

static void keep(struct owners *o, const struct owner_key *key, uint32_t number)
{
	struct owner *owner;

	if (HASH_COUNT(o->map) >= MAX_REMEMBERED)
		return;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return;
	owner->key = *key;
	owner->number = number;
	HASH_ADD(hh, o->map, key, sizeof(owner->key), owner);
	if (!hash_added(hh, owner))
		free(owner);
}

/* "rank 2: train (pid 100)"; without a name "rank 2: process 100". */
static const struct name *process_name(struct owners *o, const struct name *name, uint32_t pid,
				       uint32_t number)
{
	const char *label = o->part->label;
	char text[MAX_TEXT];

	if (o->join && name)
		return name;
	if (!pid && o->own)
		snprintf(text, sizeof(text), "%s: machine", label);
	else if (!name)
		snprintf(text, sizeof(text), "%s: process %u", label, pid);
	else if (pid == number || pid >= FIRST_INVENTED)
		snprintf(text, sizeof(text), "%s: %s", label, name->text);
	else
		snprintf(text, sizeof(text), "%s: %s (pid %u)", label, name->text, pid);
	return names_intern_string(o->names, text);
}

static const struct name *thread_name(struct owners *o, const struct name *name, uint32_t tid,
				      uint32_t number)
{
	char text[MAX_TEXT];

	if (o->join && name)
		snprintf(text, sizeof(text), "%s (%s)", name->text, o->part->label);
	else if (o->join)
		snprintf(text, sizeof(text), "thread %u (%s)", tid, o->part->label);
	if (o->join)
		return names_intern_string(o->names, text);
	if (tid == number || tid >= FIRST_INVENTED)
		return name;
	snprintf(text, sizeof(text), name ? "%s (tid %u)" : "%s%u", name ? name->text : "thread ",
		 tid);
	return names_intern_string(o->names, text);
}

/* True the first time. */
static bool map_process(struct owners *o, uint32_t pid, uint32_t *ret_number)
{
	const struct owner_key key = { .pid = pid };

	if (find(o, &o->last_process, &key, ret_number))
		return false;
	*ret_number = pid && take(o, pid, false) ? pid : invent(o);
	keep(o, &key, *ret_number);
	return true;
}

static bool map_thread(struct owners *o, uint32_t pid, uint32_t tid, uint32_t process,
		       uint32_t *ret_number)
{
	const struct owner_key key = { .pid = pid, .tid = tid, .is_thread = 1 };

	if (find(o, &o->last_thread, &key, ret_number))
		return false;
	if (o->join)
		*ret_number = invent(o);
	else if (pid == tid)
		*ret_number = process; /* the main thread stays one */
	else
		*ret_number = take(o, tid, true) ? tid : invent(o);
	if (pid == tid && !o->join)
		take(o, process, true);
	keep(o, &key, *ret_number);
	return true;
}

/* Of the whole machine, which all files of one boot share. */
static bool is_machine(const struct owners *o, const struct event *e)
{
	if (e->pid || (!o->own && (e->tid || e->kind == EVENT_BEGIN || e->kind == EVENT_END ||
				   e->kind == EVENT_PROCESS_NAME || e->kind == EVENT_THREAD_NAME)))
		return false;
	return o->part->is_reference || o->part->same_boot ||
	       (e->kind != EVENT_COUNTER && e->kind != EVENT_ASYNC_BEGIN &&
		e->kind != EVENT_ASYNC_END);
}

static void introduce(struct event *out, enum event_kind kind, const struct event *e,
		      const struct name *name)
{
	*out = (struct event){
		.kind = kind, .pid = e->pid, .tid = e->tid, .level = -1, .name = name
	};
}

void owners_map(struct owners *o, struct event *e, struct event *ret_introduction)
{
	uint32_t pid = e->pid, tid = e->tid;
	bool new_process, new_thread = false;

	ret_introduction->kind = 0;
	if (is_machine(o, e))
		return;
	new_process = map_process(o, pid, &e->pid);
	if (tid || e->kind == EVENT_BEGIN || e->kind == EVENT_END || e->kind == EVENT_THREAD_NAME)
		new_thread = map_thread(o, pid, tid, e->pid, &e->tid);
	if (e->kind == EVENT_PROCESS_NAME)
		e->name = process_name(o, e->name, pid, e->pid);
	else if (new_process && (!o->join || !pid))
		introduce(ret_introduction, EVENT_PROCESS_NAME, e,
			  process_name(o, NULL, pid, e->pid));
	if (e->kind == EVENT_THREAD_NAME)
		e->name = thread_name(o, e->name, tid, e->tid);
	else if (new_thread && !ret_introduction->kind && e->tid != tid && (o->join || pid != tid))
		introduce(ret_introduction, EVENT_THREAD_NAME, e,
			  thread_name(o, NULL, tid, e->tid));
}
