/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the traced processes are: the container and the unit, which their cgroup says, the rank in their environment,
 * and the PID that they have in a pid namespace of their own. The broker is asked for the name of each container once.
 */
#include "capture/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/containers.h"
#include "privilege/living_thread.h"
#include "tracee/maps.h"
#include "tracee/rank.h"

#define KNOWN_CONTAINERS 1024

struct known_container {
	char id[CONTAINER_ID];
	char name[CONTAINER_NAME];
	UT_hash_handle hh;
};

/* "" if it has none. Beyond the limit the oldest is asked for again: whoever may make cgroups can invent any number of IDs. */
static const char *container_name(struct capture *c, pid_t pid, const char *id)
{
	struct known_container *known, *oldest = c->places.containers;

	HASH_FIND(hh, c->places.containers, id, CONTAINER_ID, known);
	if (known)
		return known->name;
	if (HASH_COUNT(oldest) >= KNOWN_CONTAINERS) {
		HASH_DEL(c->places.containers, oldest);
		free(oldest);
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return "";
	memcpy(known->id, id, CONTAINER_ID);
	HASH_ADD(hh, c->places.containers, id, CONTAINER_ID, known);
	if (!hash_added(hh, known)) {
		free(known);
		return "";
	}
	broker_container(c->broker, pid, known->name, sizeof(known->name));
	return known->name;
}

static void count_place(struct capture *c, const struct name *text)
{
	struct places *p = &c->places;
	unsigned i = 0;

	while (i < p->n && p->list[i].text != text)
		i++;
	if (i == p->n && p->n < PLACES)
		p->list[p->n++] = (struct place_count){ text, 0 };
	if (i < p->n)
		p->list[i].n++;
	else
		p->n_elsewhere++;
}

static void emit_place(struct capture *c, const struct traced_process *p, long inner)
{
	struct event e = { .kind = EVENT_PROCESS_LABELS, .level = -1, .pid = (uint32_t)p->pid };
	char text[2 * MAX_NAME];
	int n = 0;

	if (!p->place && !p->rank && !inner)
		return;
	if (p->rank)
		n = snprintf(text, sizeof(text), "%s", p->rank->text);
	if (p->place)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", n ? ", " : "",
			      p->place->text);
	if (inner)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%sPID %ld inside", n ? ", " : "",
			      inner);
	e.ts_ns = monotonic_now();
	e.name = names_intern(c->options.names, text, strlen(text), sizeof(text));
	capture_emit(c, &e);
}

/*
 * The ranks of a job that share a recorder are told apart by this. A process that is expected to execute its program has the
 * environment for it already, but it may not be readable.
 */
static void find_rank(struct capture *c, struct traced_process *p, bool is_expected)
{
	char rank[12], text[24];

	if (p->is_expected) {
		p->is_expected = false;
		return;
	}
	if (target_rank(p->pid, rank, sizeof(rank)) && !p->rank)
		capture_log(c, 0, "process %d has no rank in the trace: %s", (int)p->pid,
			    "it holds the lock of its memory, where its environment is");
	p->is_expected = is_expected && rank[0];
	if (!rank[0])
		return;
	snprintf(text, sizeof(text), "rank %s", rank);
	p->rank = names_intern_string(c->options.names, text);
}

void process_place_emit(struct capture *c, pid_t pid, bool is_expected)
{
	struct traced_process *p = process_find(c, pid);
	const struct name *before = p ? p->place : NULL;
	struct process_place place;
	char text[MAX_NAME];
	int directory;
	long inner;

	if (!p || p->is_hidden)
		return;
	directory = open_living_thread(pid);
	if (directory < 0)
		return;
	p->has_our_root =
		process_has_our_root(directory) || (p->has_our_root && thread_has_ended(directory));
	inner = process_inner_pid(directory);
	p->has_inner_pid = inner && inner != pid;
	if (process_place(directory, &place)) {
		process_place_text(
			&place, place.container[0] ? container_name(c, pid, place.container) : "",
			text, sizeof(text));
		p->place = names_intern(c->options.names, text, strlen(text), MAX_NAME);
	}
	close(directory);
	find_rank(c, p, is_expected);
	if (p->place && p->place != before)
		count_place(c, p->place);
	emit_place(c, p, p->has_inner_pid ? inner : 0);
}

void process_place_inherit(struct capture *c, pid_t parent, pid_t child)
{
	const struct traced_process *from = process_find(c, parent);
	struct traced_process *p = process_find(c, child);

	if (!p || p->is_hidden)
		return;
	if (!from || from->has_inner_pid) {
		process_place_emit(c, child, false);
		return;
	}
	p->has_our_root = from->has_our_root;
	p->place = from->place;
	p->rank = from->rank;
	if (p->place)
		count_place(c, p->place);
	emit_place(c, p, 0);
}

bool capture_has_our_root(const struct capture *c, pid_t pid)
{
	const struct traced_process *p = process_find(c, pid);

	return p && p->has_our_root;
}

void capture_print_places(const struct capture *c, char *line, size_t size)
{
	size_t n = 0;

	line[0] = '\0';
	for (unsigned i = 0; i < c->places.n && n < size; i++)
		n += (size_t)snprintf(line + n, size - n, "%s%u in %s", i ? "; " : "",
				      c->places.list[i].n, c->places.list[i].text->text);
	if (c->places.n_elsewhere && n < size)
		snprintf(line + n, size - n, "; %u elsewhere", c->places.n_elsewhere);
}

void places_free(struct capture *c)
{
	hash_clear(hh, c->places.containers, known);
}
