/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes give their threads batches. That takes system calls, made by the process itself, and
 * one that has forbidden itself these (seccomp(2)) would die of being recorded. So its marks go one by
 * one, past all batches, until it is known to be free to make them. Then a switch is turned on in it
 * which no other process has; what it forks inherits the switch, and what it stands for.
 *
 * A program that forbids itself something does so early, as a rule, and before its work. So one that has
 * just begun, or has not marked anything, is not believed yet, unless that is asked for. Later they are looked at again and again: who has changed
 * loses the switch. Threads that have a batch need nothing more, and others go without. What remains is
 * a moment between such a change and the look.
 *
 * Whether what a process has forbidden itself is any of what we need, the kernel's side says with each
 * mark that goes by itself (bpf/batch.h).
 *
 * The switch is a link for each process and file, which takes a moment to make and longer to undo. So the
 * first processes have it when they can, and of more those that mark often.
 */
#include "capture/batch.h"
#include "capture/file_limits.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROOMS     1024
#define AT_ONCE	      64	    /* are made when they can */
#define LATER_MARKS   256	    /* the others when so many marks have gone by themselves */
#define APART_NS      200000000ull  /* and not faster than one in this time, as they are undone */
#define SETTLED_NS    1000000000ull /* a program has begun so long ago */
#define LOOK_NS	      50000000ull
#define LOOKS_AT_ONCE 8
#define MAX_THREADS   64 /* looked at, of each process */
#define MODE_FILTER   2	 /* of seccomp */

/* What a process has forbidden itself, as far as /proc tells: all of its threads the same. */
struct forbidden {
	unsigned mode, filters;
};

struct batch_room {
	struct room_key {
		uint64_t pid;
		const struct file *file;
	} key;
	uint64_t marks;	   /* that went by themselves, and could have done otherwise */
	uint64_t since_ns; /* when its program began, or was first seen */
	uint64_t looked_ns;
	struct forbidden forbidden; /* when it was made */
	int tasks;		    /* /proc/PID/task; -1: not open */
	unsigned link;
	bool made, refused, over;
	UT_hash_handle hh;
};

static struct batch_room *room_of(struct batches *b, uint32_t pid, const struct file *file)
{
	struct room_key key;
	struct batch_room *room;

	memset(&key, 0, sizeof(key));
	key.pid = pid;
	key.file = file;
	HASH_FIND(hh, b->rooms, &key, sizeof(key), room);
	if (room || HASH_COUNT(b->rooms) >= MAX_ROOMS)
		return room;
	room = calloc(1, sizeof(*room));
	if (!room)
		return NULL;
	room->key = key;
	room->tasks = -1;
	room->since_ns = monotonic_now();
	HASH_ADD(hh, b->rooms, key, sizeof(room->key), room);
	return room;
}

static void undo(struct capture *c, struct batch_room *room)
{
	if (!room->made)
		return;
	broker_detach(c->broker, room->link);
	c->n_links--;
	c->batches->n_rooms--;
	c->batches->room_ns = monotonic_now();
	room->made = false;
}

static void forget(struct batches *b, struct batch_room *room)
{
	if (room->tasks >= 0)
		close(room->tasks);
	HASH_DEL(b->rooms, room);
	free(room);
}

static void room_free(struct capture *c, struct batch_room *room)
{
	undo(c, room);
	forget(c->batches, room);
}

void batch_rooms_forget(struct batches *b)
{
	struct batch_room *room, *next;

	HASH_ITER (hh, b->rooms, room, next)
		forget(b, room);
}

/* --- what a process has forbidden itself --------------------------------------------------------- */

static unsigned number_in(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at ? (unsigned)strtoul(at + strlen(line), NULL, 10) : 0;
}

/*
 * Positive: here it is; 0: it has ended, or cannot be looked at; negative: it has more groups than there is
 * room for, which stand before it. The kernel escapes newlines in names: lines are its own.
 */
static int look_at_thread(int tasks, const char *tid, struct forbidden *ret)
{
	char path[300], text[16384];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/status", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (n == sizeof(text) - 1 && !strstr(text, "\nSeccomp_filters:\t"))
		return -1;
	ret->mode = number_in(text, "\nSeccomp:\t");
	ret->filters = number_in(text, "\nSeccomp_filters:\t");
	return 1;
}

/* False: its threads differ, or there is none to be seen. */
static bool look_at(struct capture *c, struct batch_room *room, struct forbidden *ret)
{
	const struct broker_target target = { (pid_t)room->key.pid, 0 };
	bool alike = true;
	struct dirent *entry;
	unsigned n = 0;
	DIR *list;
	int fd;

	room->looked_ns = monotonic_now();
	if (room->tasks < 0)
		room->tasks = broker_open(c->broker, BROKER_TASKS, &target, 0, 0, NULL);
	fd = room->tasks < 0 ? -1 : openat(room->tasks, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (alike && n < MAX_THREADS && (entry = readdir(list))) {
		struct forbidden one = { 0 };
		int seen = isdigit((unsigned char)entry->d_name[0])
				   ? look_at_thread(room->tasks, entry->d_name, &one)
				   : 0;

		if (!seen)
			continue;
		if (!n++)
			*ret = one;
		alike = seen > 0 && one.mode == ret->mode && one.filters == ret->filters;
	}
	closedir(list);
	return alike && n;
}

static void refuse(struct capture *c, struct batch_room *room)
{
	if (!room->refused)
		capture_log(c, 1,
			    "process %u may have forbidden itself system calls: its marks come one "
			    "by one",
			    (unsigned)room->key.pid);
	room->refused = true;
	undo(c, room);
}

/* --- when ---------------------------------------------------------------------------------------- */

void batch_room_wanted(struct capture *c, const struct record_batch *r)
{
	struct batch_room *room, *next;

	if (r->ops.b == BATCH_ALONE && r->head.site < c->n_sites) {
		room = room_of(c->batches, r->head.tgid, c->sites[r->head.site].file);
		if (room)
			room->marks += !r->head.object;
	}
	if (!r->head.object)
		return;
	HASH_ITER (hh, c->batches->rooms, room, next) {
		if (room->key.pid == r->head.tgid)
			refuse(c, room);
	}
}

static bool attach(struct capture *c, struct batch_room *room)
{
	const struct file *file = room->key.file;
	struct failure f = { 0 };
	unsigned i;

	for (i = 0; i < file->n_sites; i++) {
		const struct site *s = &c->sites[file->first_site + i];
		const struct broker_site site = { s->offset, s->switch_offset,
						  files_cookie_of(c, file->first_site + i) };

		if (s->kind == RECORD_BATCH_ROOM && !files_too_many_links(c, &f))
			return !broker_attach(c->broker, BROKER_MARKS, (pid_t)room->key.pid,
					      file->fd, &site, 1, &room->link, &f);
	}
	return false;
}

static void make(struct capture *c, struct batch_room *room)
{
	struct forbidden *forbidden = &room->forbidden;

	/* With filters: those of a thread that has marked are known to let us. */
	if (!look_at(c, room, forbidden) || (forbidden->mode && forbidden->mode != MODE_FILTER)) {
		refuse(c, room);
		return;
	}
	if (forbidden->mode && !room->marks)
		return;
	c->batches->room_ns = monotonic_now();
	if (!attach(c, room)) {
		room->refused = true;
		return;
	}
	room->made = true;
	c->n_links++;
	c->batches->n_rooms++;
	capture_log(c, 1, "process %u: in batches from now on", (unsigned)room->key.pid);
}

static bool is_due(const struct capture *c, const struct batch_room *room, uint64_t now_ns)
{
	const struct batches *b = c->batches;

	if (room->made || room->refused || room->over)
		return false;
	if (!c->options.batching_now && (!room->marks || now_ns - room->since_ns < SETTLED_NS))
		return false;
	return b->n_rooms < AT_ONCE ||
	       (room->marks >= LATER_MARKS && now_ns - b->room_ns >= APART_NS);
}

/* Since its process began. What it executed later is not known, but for what is seen from here on. */
static uint64_t began_ns(struct capture *c, pid_t pid)
{
	struct broker_target target;
	struct timespec now;
	uint64_t age_ns, at_ns = monotonic_now();

	if (broker_identify(c->broker, pid, &target, NULL) || clock_gettime(CLOCK_BOOTTIME, &now))
		return at_ns;
	age_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec -
		 target.birth * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return age_ns < at_ns ? at_ns - age_ns : 0;
}

void batch_room_now(struct capture *c, pid_t pid, const struct file *file)
{
	struct batch_room *room;

	if (!file->flush_stub || file->refused)
		return;
	room = room_of(c->batches, (uint32_t)pid, file);
	if (!room || room->looked_ns)
		return;
	if (c->attaching)
		room->since_ns = began_ns(c, pid);
	if (is_due(c, room, monotonic_now()))
		make(c, room);
}

static bool has_changed(struct capture *c, struct batch_room *room)
{
	struct forbidden now;

	return !look_at(c, room, &now) || now.mode != room->forbidden.mode ||
	       now.filters != room->forbidden.filters;
}

void batch_rooms_round(struct capture *c)
{
	struct batches *b = c->batches;
	struct batch_room *room, *next;
	uint64_t now_ns = monotonic_now();
	unsigned looks = 0;

	HASH_ITER (hh, b->rooms, room, next) {
		if (room->over) {
			if (!room->made || now_ns - b->room_ns >= APART_NS)
				room_free(c, room);
		} else if (now_ns - room->looked_ns < LOOK_NS || looks >= LOOKS_AT_ONCE) {
			continue;
		} else if (room->made) {
			looks++;
			if (has_changed(c, room))
				refuse(c, room);
		} else if (is_due(c, room, now_ns)) {
			looks++;
			make(c, room);
		}
	}
}

void batch_rooms_exec(struct capture *c, pid_t pid, uint64_t ns)
{
	struct batch_room *room, *next;

	HASH_ITER (hh, c->batches->rooms, room, next) {
		if (room->key.pid == (uint64_t)pid && room->since_ns <= ns)
			room_free(c, room);
	}
}

void batch_rooms_over(struct capture *c, pid_t pid)
{
	struct batch_room *room, *next;

	HASH_ITER (hh, c->batches->rooms, room, next) {
		if (room->key.pid == (uint64_t)pid)
			room->over = true;
	}
}

void batch_rooms_free(struct capture *c)
{
	struct batch_room *room, *next;

	HASH_ITER (hh, c->batches->rooms, room, next)
		room_free(c, room);
}
