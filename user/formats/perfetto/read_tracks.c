/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracks. A track belongs to a process or a thread, or is a counter, or a lane, which is any other track. The process or
 * the thread of a counter or a lane is found by its parents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/fields.h"
#include "formats/perfetto/reader.h"

enum {
	MAX_PARENTS = 16,
};

static struct place *track_find(const struct perfetto *p, uint64_t uuid)
{
	struct place *place;

	HASH_FIND(hh, p->places, &uuid, sizeof(uuid), place);
	return place;
}

static struct place *track_find_recent(struct perfetto *p, uint64_t uuid)
{
	struct place **slot = &p->recent[uuid & (RECENT - 1)];

	if (!*slot || (*slot)->uuid != uuid)
		*slot = track_find(p, uuid);
	return *slot;
}

struct place *perfetto_find_place(struct perfetto *p, uint64_t uuid)
{
	struct place *place = track_find_recent(p, uuid), *parent = place;

	if (!place) {
		if (HASH_COUNT(p->places) >= MAX_TRACKS)
			return NULL;
		return hash_add_new(hh, p->places, uuid, uuid);
	}
	if (place->has_owner || !place->parent)
		return place;
	/* The limit also ends a cycle of parents. */
	for (int i = 0; i < MAX_PARENTS && parent; i++) {
		parent = track_find(p, parent->parent);
		if (parent && (parent->kind == PLACE_THREAD || parent->kind == PLACE_PROCESS)) {
			place->pid = parent->pid;
			place->tid = parent->tid;
			place->has_owner = true;
			break;
		}
	}
	return place;
}

const struct name *perfetto_track_path(struct perfetto *p, struct place *place)
{
	const struct place *around[MAX_PARENTS], *at = place;
	char path[EVENT_MAX_STRING];
	size_t length = 0;
	int n = 0;

	for (; at && at->is_given && at->name && n < MAX_PARENTS; at = track_find(p, at->parent))
		around[n++] = at;
	while (!place->path && n--) {
		const struct name *name = around[n]->name;

		if (length + 1 + name->length > sizeof(path))
			break;
		if (length)
			path[length++] = '/';
		memcpy(path + length, name->text, name->length);
		length += name->length;
	}
	if (!place->path)
		place->path = names_intern(p->sink->names, path, length, sizeof(path));
	return place->path;
}

void perfetto_places_free(struct perfetto *p)
{
	hash_clear(hh, p->places, place, free(place->open));
}

static const struct name *
counter_descriptor_unit(struct perfetto *p, const Perfetto__Protos__CounterDescriptor *counter)
{
	if (counter->unit_name)
		return perfetto_name(p, counter->unit_name);
	switch (counter->unit) {
	case PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_TIME_NS:
		return perfetto_name(p, "ns");
	case PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_COUNT:
		return perfetto_name(p, "count");
	case PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES:
		return perfetto_name(p, "bytes");
	default:
		return NULL;
	}
}

static int send_track_name(struct perfetto *p, enum event_kind kind, uint32_t pid, uint32_t tid,
			   const char *name)
{
	if (!name || !*name)
		return 0;
	/* A name applies to the whole trace, so it has no time. */
	draft_event(p->draft, kind, 0, pid, tid);
	p->draft->event.name = perfetto_name(p, name);
	return draft_send_bare(p->draft);
}

static int track_read_thread(struct perfetto *p, struct sequence *s, struct place *place,
			     const Perfetto__Protos__TrackDescriptor *track)
{
	place->kind = PLACE_THREAD;
	place->has_owner = true;
	place->pid = (uint32_t)track->thread->pid;
	place->tid = (uint32_t)track->thread->tid;
	perfetto_task(p, place->tid, place->pid);
	if (s)
		s->thread_uuid = place->uuid;
	return send_track_name(p, EVENT_THREAD_NAME, place->pid, place->tid,
			       track->thread->thread_name ? track->thread->thread_name
							  : track->name);
}

static int track_read_labels(struct perfetto *p, const Perfetto__Protos__ProcessDescriptor *process)
{
	char text[READ_MAX_NAME] = "";
	size_t i, length = 0;

	for (i = 0; i < process->n_process_labels && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   length ? ", " : "", process->process_labels[i]);
	return send_track_name(p, EVENT_PROCESS_LABELS, (uint32_t)process->pid, 0, text);
}

static int track_read_process(struct perfetto *p, struct place *place,
			      const Perfetto__Protos__TrackDescriptor *track)
{
	const Perfetto__Protos__ProcessDescriptor *process = track->process;
	const char *name = process->process_name;
	int error;

	place->kind = PLACE_PROCESS;
	place->has_owner = true;
	place->pid = (uint32_t)process->pid;
	place->tid = 0;
	if (!name && process->n_cmdline)
		name = process->cmdline[0];
	error = send_track_name(p, EVENT_PROCESS_NAME, place->pid, 0, name ? name : track->name);
	return error ? error : track_read_labels(p, process);
}

static bool counter_has_category(const Perfetto__Protos__CounterDescriptor *counter,
				 const char *category)
{
	for (size_t i = 0; i < counter->n_categories; i++) {
		if (!strcmp(counter->categories[i], category))
			return true;
	}
	return false;
}

static void track_read_counter(struct perfetto *p, struct place *place,
			       const Perfetto__Protos__CounterDescriptor *counter)
{
	place->kind = PLACE_COUNTER;
	place->is_sampled = counter_has_category(counter, "sampled");
	place->is_counted =
		counter->type !=
		PERFETTO__PROTOS__COUNTER_DESCRIPTOR__BUILTIN_COUNTER_TYPE__COUNTER_UNSPECIFIED;
	place->unit = counter_descriptor_unit(p, counter);
	place->multiplier = counter->unit_multiplier ? counter->unit_multiplier : 1;
	place->is_incremental = counter->is_incremental;
	if (place->name)
		return;
	if (counter->type ==
	    PERFETTO__PROTOS__COUNTER_DESCRIPTOR__BUILTIN_COUNTER_TYPE__COUNTER_THREAD_TIME_NS)
		place->name = perfetto_name(p, "thread_time");
	else if (
		counter->type ==
		PERFETTO__PROTOS__COUNTER_DESCRIPTOR__BUILTIN_COUNTER_TYPE__COUNTER_THREAD_INSTRUCTION_COUNT)
		place->name = perfetto_name(p, "thread_instructions");
}

int perfetto_track(struct perfetto *p, struct sequence *s,
		   const Perfetto__Protos__TrackDescriptor *track)
{
	const char *name = track->name ? track->name : track->static_name;
	struct place *place = perfetto_place(p, track->uuid);

	if (!place)
		return 0; /* its events will be counted as lost */
	if (name)
		place->name = perfetto_name(p, name);
	if (track->has_parent_uuid)
		place->parent = track->parent_uuid;
	place->is_given =
		p->own && track->description && !strcmp(track->description, PERFETTO_GIVEN);
	if (track->counter)
		track_read_counter(p, place, track->counter);
	else if (track->thread)
		return track_read_thread(p, s, place, track);
	else if (track->process)
		return track_read_process(p, place, track);
	return 0;
}

int perfetto_process_tree(struct perfetto *p, const Perfetto__Protos__ProcessTree *tree)
{
	int error = 0;

	for (size_t i = 0; i < tree->n_processes && !error; i++) {
		const Perfetto__Protos__ProcessTree__Process *process = tree->processes[i];

		/* The comm of a task comes with the context switches. */
		if (process->n_cmdline && !process->cmdline_is_comm)
			error = send_track_name(p, EVENT_PROCESS_NAME, (uint32_t)process->pid, 0,
						process->cmdline[0]);
	}
	for (size_t i = 0; i < tree->n_threads && !error; i++) {
		const Perfetto__Protos__ProcessTree__Thread *thread = tree->threads[i];

		if (thread->has_tid && thread->has_tgid)
			perfetto_task(p, (uint32_t)thread->tid, (uint32_t)thread->tgid);
	}
	return error;
}
