/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PIDs and TIDs of a merge. Two traces may both have a process 100, of different hosts or
 * containers. In the merge each number belongs to the recording that used it first. A process of
 * another recording with the same number gets a number above all that the kernel gives out, and a
 * name with the old one. TIDs are treated in the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/merge.h"
#include "base/hash.h"

enum {
	FIRST_INVENTED = 1 << 22, /* the kernel's numbers are below (PID_MAX_LIMIT) */
	/* Beyond that, numbers are used as they are; those of a part that speaks for one process only share one number. */
	MAX_REMEMBERED = 1 << 18,
	MAX_TEXT = 1024,
	/* Threads that are found without their hash: those of a job take turns, so that the latest one alone is rarely right. */
	N_RECENT = 64,
};

struct owner_key {
	uint32_t pid;
	uint32_t tid; /* 0 for a process */
	uint32_t is_thread;
	uint32_t recording;
};

/* The number in the merge of a PID or TID of a recording. */
struct owner {
	UT_hash_handle hh;
	struct owner_key key;
	uint32_t number;
	uint32_t process; /* the number of its process */
	bool named;
};

/* A number that is in use, and the recording that used it first. */
struct taken {
	UT_hash_handle hh;
	struct taken_key {
		uint32_t number;
		uint32_t is_thread;
	} key;
	unsigned recording;
};

struct owners {
	struct names *names;
	const struct part *part;
	unsigned recording;
	bool join;
	bool own;	  /* the part is a trace of proftrace, in which process 0 is the machine */
	uint32_t speaker; /* the only process that the part may have; 0: all */
	struct owner *map;
	struct taken *taken;
	uint32_t others; /* with a speaker: all that is not remembered; 0: there is nothing */
	uint32_t next;
	struct owner *unnamed; /* the first one that came after owners_end() was called last */
	struct owner *last_process, *recent_threads[N_RECENT];
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

void owners_free(struct owners *o)
{
	if (!o)
		return;
	hash_clear(hh, o->map, owner);
	hash_clear(hh, o->taken, taken);
	free(o);
}

void owners_begin(struct owners *o, const struct part *part)
{
	o->part = part;
	o->recording = part->recording;
	o->own = part->source.origin.version[0] != '\0';
	o->speaker = o->others = 0;
}

void owners_restrict(struct owners *o, uint32_t pid)
{
	o->speaker = pid;
}

/* Returns true, and reserves the number for this recording, unless another one has it. */
static bool owners_claim(struct owners *o, uint32_t number, bool is_thread)
{
	const struct taken_key key = { number, is_thread };
	struct taken *taken;

	HASH_FIND(hh, o->taken, &key, sizeof(key), taken);
	if (taken)
		return taken->recording == o->recording;
	if (HASH_COUNT(o->taken) >= MAX_REMEMBERED)
		return true;
	taken = hash_add_new(hh, o->taken, key, key);
	if (taken)
		taken->recording = o->recording;
	return true;
}

static uint32_t owners_new_number(struct owners *o)
{
	while (!owners_claim(o, o->next, false) || !owners_claim(o, o->next, true))
		o->next++;
	return o->next++;
}

/* Field by field: the key was just written so, and a processor waits when it reads two such writes as one. */
static bool is_key(const struct owner_key *a, const struct owner_key *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->is_thread == b->is_thread &&
	       a->recording == b->recording;
}

static struct owner *owners_lookup(struct owners *o, struct owner **last,
				   const struct owner_key *key)
{
	struct owner *owner = *last;

	if (owner && is_key(&owner->key, key))
		return owner;
	HASH_FIND(hh, o->map, key, sizeof(*key), owner);
	if (owner)
		*last = owner;
	return owner;
}

/* NULL: there are too many, and this process or thread keeps its number, or becomes one of the others. */
static struct owner *owners_add(struct owners *o, const struct owner_key *key)
{
	struct owner *owner =
		HASH_COUNT(o->map) < MAX_REMEMBERED ? hash_add_new(hh, o->map, key, *key) : NULL;

	if (!o->unnamed)
		o->unnamed = owner;
	return owner;
}

/* "rank 2: train (pid 100)"; without a name "rank 2: process 100". */
static const struct name *merged_process_name(struct owners *o, const struct name *name,
					      uint32_t pid, uint32_t number)
{
	const char *label = o->part->label;
	char text[MAX_TEXT];

	if (o->join && name && (!o->speaker || pid == number))
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

static const struct name *merged_thread_name(struct owners *o, const struct name *name,
					     uint32_t tid, uint32_t number)
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

static bool owners_may_keep(struct owners *o, uint32_t pid)
{
	return o->speaker ? pid == o->speaker : pid && owners_claim(o, pid, false);
}

static struct owner *owners_process(struct owners *o, uint32_t pid)
{
	const struct owner_key key = { .pid = pid, .recording = o->recording };
	struct owner *owner = owners_lookup(o, &o->last_process, &key);

	if (owner)
		return owner;
	owner = owners_add(o, &key);
	if (owner)
		owner->number = owners_may_keep(o, pid) ? pid : owners_new_number(o);
	return owner;
}

static struct owner *owners_thread(struct owners *o, uint32_t pid, uint32_t tid, uint32_t process)
{
	const struct owner_key key = {
		.pid = pid, .tid = tid, .is_thread = 1, .recording = o->recording
	};
	struct owner *owner = owners_lookup(o, &o->recent_threads[tid % N_RECENT], &key);

	if (owner)
		return owner;
	owner = owners_add(o, &key);
	if (!owner)
		return NULL;
	owner->process = process;
	if (o->join)
		owner->number = owners_new_number(o);
	else if (pid == tid && owners_claim(o, process, true))
		owner->number = process; /* so that it stays the main thread */
	else
		owner->number = owners_claim(o, tid, true) ? tid : owners_new_number(o);
	return owner;
}

/* Whether the event belongs to the whole machine, which all files of one boot share. */
static bool owners_is_machine(const struct owners *o, const struct event *e)
{
	if (e->pid || o->speaker ||
	    (!o->own && (e->tid || e->kind == EVENT_BEGIN || e->kind == EVENT_END ||
			 e->kind == EVENT_PROCESS_NAME || e->kind == EVENT_PROCESS_LABELS ||
			 e->kind == EVENT_THREAD_NAME)))
		return false;
	return o->part->is_reference || o->part->same_boot ||
	       (e->kind != EVENT_COUNTER && e->kind != EVENT_ASYNC_BEGIN &&
		e->kind != EVENT_ASYNC_END && e->kind != EVENT_SLICE_AT &&
		e->kind != EVENT_INSTANT_AT);
}

/* What a process or thread that is not remembered becomes. */
static uint32_t owners_other(struct owners *o, uint32_t number)
{
	if (!o->speaker)
		return number;
	if (!o->others)
		o->others = owners_new_number(o);
	return o->others;
}

static const struct name *others_name(struct owners *o)
{
	char text[MAX_TEXT];

	snprintf(text, sizeof(text), "%s: others", o->part->label);
	return names_intern_string(o->names, text);
}

/* Nearly all events are of a thread that was found lately: with it, its process is known. */
static bool owners_map_recent(const struct owners *o, struct event *e)
{
	const struct owner *owner = o->recent_threads[e->tid % N_RECENT];
	const struct owner_key key = {
		.pid = e->pid, .tid = e->tid, .is_thread = 1, .recording = o->recording
	};

	if (!owner || !e->pid || !e->tid || !is_key(&owner->key, &key) ||
	    e->kind == EVENT_PROCESS_NAME || e->kind == EVENT_THREAD_NAME)
		return false;
	e->pid = owner->process;
	e->tid = owner->number;
	return true;
}

void owners_map(struct owners *o, struct event *e)
{
	uint32_t pid = e->pid, tid = e->tid;
	struct owner *owner;

	if (owners_map_recent(o, e))
		return;
	if (owners_is_machine(o, e))
		return;
	owner = owners_process(o, pid);
	if (owner)
		e->pid = owner->number;
	else if (pid != o->speaker)
		e->pid = owners_other(o, pid);
	if (e->kind == EVENT_PROCESS_NAME) {
		e->name = o->others && e->pid == o->others
				  ? others_name(o)
				  : merged_process_name(o, e->name, pid, e->pid);
		if (owner)
			owner->named = true;
	}
	if (!tid && e->kind != EVENT_BEGIN && e->kind != EVENT_END && e->kind != EVENT_THREAD_NAME)
		return;
	owner = owners_thread(o, pid, tid, e->pid);
	e->tid = owner ? owner->number : owners_other(o, tid);
	if (e->kind == EVENT_THREAD_NAME) {
		e->name = merged_thread_name(o, e->name, tid, e->tid);
		if (owner)
			owner->named = true;
	}
}

void owners_find(struct owners *o, uint32_t *pid, uint32_t *tid)
{
	const struct owner_key key = {
		.pid = *pid, .tid = *tid, .is_thread = 1, .recording = o->recording
	};
	const struct owner *owner = owners_lookup(o, &o->recent_threads[*tid % N_RECENT], &key);

	if (!owner)
		return;
	*pid = owner->process;
	*tid = owner->number;
}

/* Whether the number alone would be misleading, or meaningless. */
static bool owner_needs_name(const struct owners *o, const struct owner *owner)
{
	if (owner->named || owner->key.recording != o->recording)
		return false;
	if (owner->key.is_thread)
		return o->join ||
		       (owner->number != owner->key.tid && owner->key.tid != owner->key.pid);
	return !o->join || owner->number != owner->key.pid;
}

int owners_end(struct owners *o, int (*each)(void *context, const struct event *event),
	       void *context)
{
	struct owner *owner;
	int error = 0;

	/* The hash keeps the order in which they came; all earlier ones have what name they need. */
	for (owner = o->unnamed; owner && !error; owner = owner->hh.next) {
		struct event e = { .kind = EVENT_PROCESS_NAME, .pid = owner->number, .level = -1 };

		if (!owner_needs_name(o, owner))
			continue;
		owner->named = true;
		if (owner->key.is_thread) {
			e.kind = EVENT_THREAD_NAME;
			e.pid = owner->process;
			e.tid = owner->number;
			e.name = merged_thread_name(o, NULL, owner->key.tid, e.tid);
		} else {
			e.name = merged_process_name(o, NULL, owner->key.pid, e.pid);
		}
		error = each(context, &e);
	}
	o->unnamed = NULL;
	if (!error && o->others) {
		const struct event e = {
			.kind = EVENT_PROCESS_NAME,
			.pid = o->others,
			.name = others_name(o),
			.level = -1,
		};

		error = each(context, &e);
	}
	return error;
}
