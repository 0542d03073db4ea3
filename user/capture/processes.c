/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traced processes: scanning their mappings, the names of their threads, and which of them are
 * alive.
 */
#include "capture/batch/batch.h"
#include "capture/file_limits.h"
#include "capture/mappings/mappings.h"
#include "capture/stacks/stacks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privilege/living_thread.h"
#include "tracee/maps.h"
#include "tracee/memory/target_memory.h"

#define SCAN_TRIES 8

/* Signals are checked after this many mappings of a process that is being attached to. */
#define LOOK_AT_SIGNALS 1024

struct scan {
	struct capture *c;
	const struct broker_target *target;
	unsigned marked, fresh;
	unsigned looked_at; /* number of searched files, for the message */
	unsigned lines;	    /* number of its mappings */
	int error;
	struct failure *f;
	struct failure failure; /* of the current file */
};

/*
 * Opens the path of a mapped file as the process's user may. This is tried if the broker may not
 * open the mapping itself, for this reason.
 */
static int open_mapped_file(struct scan *s, const struct mapping *m, int refusal)
{
	int tasks = broker_open(s->c->broker, BROKER_TASKS, s->target, 0, 0, NULL);
	int process = tasks < 0 ? -1 : openat(tasks, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = process < 0 ? -ESRCH : open_mapped_path(process, m->path, m->inode);

	if (tasks >= 0)
		close(tasks);
	if (process >= 0)
		close(process);
	if (fd >= 0 || fd == -ESRCH)
		return fd;
	failure_set(&s->failure, fd, "cannot open", m->path,
		    fd == -ESTALE || fd == -ENOENT ? "deleted or replaced since it was mapped"
						   : NULL);
	failure_hint(
		&s->failure,
		refusal == -EACCES
			? "its mode or capabilities permit more than reading (writing, more "
			  "rights): only a recording by root itself, without sudo, opens it as "
			  "it is mapped"
			: "with CAP_CHECKPOINT_RESTORE, or sudo, it can be opened as it is "
			  "mapped");
	return fd == -ENOENT ? -ESTALE : fd;
}

/* Opens the file of a mapping. 1: it is not mapped any more, or its process has exited; the next scan will tell. */
static int open_mapping(struct scan *s, const struct mapping *m, int *ret_fd)
{
	int fd = broker_open(s->c->broker, BROKER_MAPPED, s->target, m->start, m->end, &s->failure);
	const struct file_key numbers = mapping_numbers(m);

	if (fd == -EPERM || fd == -EACCES) {
		fd = open_mapped_file(s, m, fd);
		if (fd < 0 && fd != -ESRCH)
			files_refuse(s->c, &numbers, s->target->pid);
	}
	*ret_fd = fd;
	return fd == -ESRCH || fd == -ENOENT ? 1 : fd < 0 ? fd : 0;
}

/* Finds the file of a mapping whose numbers do not say which one it is, or adds it. 1: as open_mapping(). */
static int add_mapped_file(struct scan *s, const struct mapping *m, struct file **ret,
			   enum file_news *ret_news)
{
	const struct file_key numbers = mapping_numbers(m);
	struct capture *c = s->c;
	struct file_key key;
	int fd, error = open_mapping(s, m, &fd);

	if (error)
		return error;
	if (!files_key_of(c, fd, &numbers, &key)) {
		close(fd);
		return 0;
	}
	*ret = files_find(c, &key);
	if (*ret && (*ret)->is_ambiguous)
		file_is_mapped_as(*ret, m);
	if (*ret && file_attached(*ret)->is_ambiguous)
		file_is_mapped_as(file_attached(*ret), m);
	if (*ret && files_known(c, &key, s->target->pid, ret_news)) {
		close(fd);
		*ret = files_find(c, &key);
		return 0;
	}
	error = files_add(c, fd, &key, m->path, s->target->pid, m, ret_news, &s->failure);
	*ret = files_find(c, &key);
	if (!error)
		siblings_note(c, m->path, s->target->pid, *ret);
	return error;
}

/* Whether the numbers say which file it is, and it is known. */
static bool is_known_by_numbers(struct scan *s, const struct mapping *m, struct file **ret,
				enum file_news *ret_news)
{
	const struct file_key key = mapping_numbers(m);

	*ret = files_find(s->c, &key);
	if (!*ret || (*ret)->is_ambiguous || !files_known(s->c, &key, s->target->pid, ret_news)) {
		*ret = NULL;
		return false;
	}
	*ret = files_find(s->c, &key);
	return true;
}

/* Whether the process had it mapped before, and what file it was is known. */
static bool is_known_of_process(struct scan *s, const struct mapping *m, struct file **ret,
				enum file_news *ret_news)
{
	const struct file_key *known = mapping_resolved(s->c, s->target->pid, m);
	struct file_key key;

	if (!known)
		return false;
	key = *known;
	*ret = files_find(s->c, &key);
	if (!*ret)
		return false;
	file_is_mapped_as(*ret, m);
	if (file_attached(*ret)->is_ambiguous)
		file_is_mapped_as(file_attached(*ret), m);
	if (files_known(s->c, &key, s->target->pid, ret_news))
		*ret = files_find(s->c, &key);
	else
		*ret = NULL;
	return *ret;
}

/*
 * Finds existing batches. This is done after attaching: later ones are announced, except by children that share memory
 * and have no links of their own yet.
 */
static void find_mapped_batches(const struct scan *s, const struct mapping *m,
				const struct file *file)
{
	const struct batches *b = s->c->batches;

	if (!b || !file || !file->flush_stub || file->refused)
		return;
	if (b->finding)
		batches_find_existing(s->c, s->target->pid, file, m->start, m->offset);
	if (s->c->options.own_links)
		batches_publish_table(s->c, s->target->pid, file, m->start, m->offset);
}

/* Whether the user has asked to end before the recording has begun. */
static bool scan_is_cancelled(struct scan *s)
{
	const struct capture_options *o = &s->c->options;

	if (!s->c->attaching || !o->end_requests || !o->end_requests(o->context))
		return false;
	s->error = failure_set(s->f, -ECANCELED, "not attached", "", NULL);
	return true;
}

/* The broker is lost, so no file can be attached to any more. */
static int scan_lost_broker(struct scan *s)
{
	if (s->f)
		*s->f = s->failure;
	s->error = -EPIPE;
	return 1;
}

/* A file may be mapped in several pieces; its sites are in the executable one. */
static int scan_mapping(void *context, const struct mapping *m)
{
	struct scan *s = context;
	enum file_news news = FILE_NOTHING;
	struct file *file = NULL;
	int error = 0;

	if (s->lines++ % LOOK_AT_SIGNALS == 0 && scan_is_cancelled(s))
		return 1;
	if (capture_check_stuck(s->c, ""))
		return scan_lost_broker(s);
	if (!m->executable)
		return 0;
	if (!m->inode) {
		if (s->c->stacks)
			stacks_scan_mapping(s->c->stacks, m, NULL);
		return 0;
	}
	s->looked_at++;
	if (!is_known_by_numbers(s, m, &file, &news) && !is_known_of_process(s, m, &file, &news)) {
		/* A file beyond the limit is not even opened, unless it may be one of those before. */
		bool closed = !s->c->n_ambiguous && files_full(s->c, &s->failure);

		if (scan_is_cancelled(s))
			return 1;
		if (!closed && scans_out_of_time(s->c))
			return 0;
		error = closed ? -EMFILE : add_mapped_file(s, m, &file, &news);
		/* Without its file, it would take the plain name of the mappings of call stacks from those that have one. */
		if (error > 0)
			return 0;
		if (!error && file)
			mapping_resolve(s->c, s->target->pid, m, file);
		/* Other files may be all right. A file that cannot be attached to is counted. */
		if (error && error != -EPIPE) {
			if (!s->error && s->f)
				*s->f = s->failure;
			s->error = error;
			if (error == -EBUSY)
				scans_put_off(s->c, s->target->pid);
			else
				files_report_refused(s->c, m->path, &s->failure);
		}
	}
	if (capture_check_stuck(s->c, m->path) || error == -EPIPE)
		return scan_lost_broker(s);
	file = file_attached(file);
	find_mapped_batches(s, m, file);
	if (s->c->stacks)
		stacks_scan_mapping(s->c->stacks, m, file);
	s->marked += news != FILE_NOTHING;
	s->fresh += news == FILE_ATTACHED;
	return 0;
}

const char *capture_nothing(bool usdt, bool functions)
{
	if (functions)
		return usdt ? "no markers, probes of -u or functions of -f"
			    : "no markers or functions of -f";
	return usdt ? "no markers or probes of -u" : "no markers";
}

/* The command that lists what exists depends on the request. */
static void process_without_sites(const struct capture_options *o, pid_t pid, unsigned n_files,
				  struct failure *f)
{
	const char *hint =
		o->n_functions ? "`proftrace list -f FILE` shows which functions -f could name"
		: o->n_usdt    ? "`proftrace list -p %d` shows which probes -u could name"
			       : "`proftrace list -v -p %d` shows its files; was it compiled with "
				 "proftrace.h, and does -D select its domain?";
	char what[96], object[16], reason[96];

	snprintf(what, sizeof(what), "%s found in process",
		 capture_nothing(o->n_usdt, o->n_functions));
	snprintf(object, sizeof(object), "%d", (int)pid);
	snprintf(reason, sizeof(reason), "searched the %u file%s it has mapped executable", n_files,
		 n_files == 1 ? "" : "s");
	failure_set(f, -ENOENT, what, object, reason);
	failure_hint(f, hint, (int)pid);
}

/* Returns how many mappings it has, or negative errno. -EAGAIN: the thread by which they were read has ended meanwhile. */
static int scan_mappings(struct capture *c, struct scan *s)
{
	const struct broker_target *target = s->target;
	int error;

	s->marked = s->looked_at = s->lines = 0;
	if (c->stacks)
		stacks_scan_begin(c->stacks, (uint32_t)target->pid);
	/* What was read before the process executed its program. */
	running_maps_forget(c);
	error = mappings_read(c, target, c->stacks, scan_mapping, s, s->f);
	/* While a process is attached to, it was read until the user wanted to end. */
	if (error == -EBUSY)
		scan_is_cancelled(s);
	running_maps_forget(c);
	if (c->stacks)
		stacks_scan_end(c->stacks, error != -EBUSY);
	return error;
}

int process_scan(struct capture *c, const struct broker_target *target, unsigned *ret_marked,
		 unsigned *ret_new, struct failure *f)
{
	struct scan s = { .c = c, .target = target, .f = f };
	const struct traced_process *p;
	int error = -EAGAIN;

	/* It may be another thread than the first, if that has ended. Whether the process has ended, the broker knows. */
	for (unsigned i = 0; i < SCAN_TRIES && error == -EAGAIN && s.error != -ECANCELED; i++)
		error = scan_mappings(c, &s);
	c->late += error == -EAGAIN && s.error != -ECANCELED;
	if (error == -EBUSY && s.error != -ECANCELED)
		scans_put_off(c, target->pid);
	if (s.error && (!s.marked || s.error == -ECANCELED || s.error == -EPIPE))
		return s.error;
	if (error < 0)
		return error;
	*ret_marked = s.marked;
	*ret_new = s.fresh;
	c->scans.n_mapped = s.looked_at;
	p = process_find(c, target->pid);
	if (s.marked && p && p->is_hidden)
		process_show(c, target);
	if (!s.marked)
		process_without_sites(&c->options, target->pid, s.looked_at, f);
	return 0;
}

/*
 * The name of the program as it was executed, because the kernel's name may be that of its main
 * thread.
 */
static void read_process_name(struct capture *c, const struct broker_target *target, int tasks)
{
	struct event e = { .kind = EVENT_PROCESS_NAME, .level = -1, .pid = target->pid };
	int fd = openat(tasks, "../cmdline", O_RDONLY | O_CLOEXEC);
	struct target_memory *memory = fd < 0 ? NULL : target_memory_new(fd);
	char command[256];
	const char *base;
	ssize_t n;

	if (!memory)
		return;
	n = target_memory_read_text(memory, 0, command, sizeof(command) - 1);
	target_memory_free(memory);
	if (n == -EAGAIN)
		capture_log(c, 0, "process %d is known by the name of its first thread: %s",
			    (int)target->pid,
			    "it holds the lock of its memory, where its command line is");
	if (n <= 0)
		return;
	command[n] = '\0';
	base = strrchr(command, '/');
	base = base ? base + 1 : command;
	if (!*base)
		return;
	e.ts_ns = monotonic_now();
	e.name = names_intern(c->options.names, base, strlen(base), MAX_NAME);
	capture_emit(c, &e);
}

/* The kernel reports later names. */
void process_names(struct capture *c, const struct broker_target *target)
{
	int directory = broker_open(c->broker, BROKER_TASKS, target, 0, 0, NULL);
	DIR *tasks = directory < 0 ? NULL : fdopendir(directory);
	struct dirent *entry;

	if (!tasks) {
		if (directory >= 0)
			close(directory);
		return;
	}
	read_process_name(c, target, dirfd(tasks));
	while ((entry = readdir(tasks))) {
		struct event e = { .kind = EVENT_COMM, .level = -1, .pid = target->pid };
		char path[300], comm[64];
		ssize_t n;
		int fd;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/comm", entry->d_name);
		fd = openat(dirfd(tasks), path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, comm, sizeof(comm));
		close(fd);
		if (n > 0 && comm[n - 1] == '\n')
			n--;
		if (n <= 0)
			continue;
		e.tid = strtoul(entry->d_name, NULL, 10);
		e.ts_ns = monotonic_now();
		e.name = names_intern(c->options.names, comm, n, MAX_NAME);
		capture_emit(c, &e);
	}
	closedir(tasks);
}

struct traced_process *process_find(const struct capture *c, pid_t pid)
{
	struct traced_process *p;

	HASH_FIND(hh, c->processes, &pid, sizeof(pid), p);
	return p;
}

struct traced_process *process_add(struct capture *c, pid_t pid, bool is_new)
{
	struct traced_process *p = process_find(c, pid);

	if (p)
		return p;
	p = hash_add_new(hh, c->processes, pid, pid);
	if (!p)
		return NULL;
	p->is_hidden = capture_hides(c);
	p->is_paused = c->paused;
	p->since_ns = monotonic_now();
	guard_process_begin(c, p, is_new);
	return p;
}

void process_set_attached(struct capture *c, pid_t pid, uint64_t at_ns)
{
	struct traced_process *p = process_find(c, pid);

	if (p)
		p->attached_ns = at_ns;
}

void process_set_paused(struct capture *c, pid_t pid, bool paused)
{
	struct traced_process *p = process_find(c, pid);

	if (p)
		p->is_paused = paused;
}

void process_show(struct capture *c, const struct broker_target *target)
{
	struct traced_process *p = process_find(c, target->pid);

	if (!p)
		return;
	p->is_hidden = false;
	process_names(c, target);
	process_place_emit(c, target->pid, false);
}

void process_remove(struct capture *c, pid_t pid, uint64_t cpu_ns)
{
	struct traced_process *p = process_find(c, pid);

	if (!p)
		return;
	guard_process_end(c, p, cpu_ns);
	if (c->stacks)
		stacks_forget(c->stacks, (uint32_t)pid);
	HASH_DEL(c->processes, p);
	mappings_forget_list(p);
	free(p->resolved);
	free(p);
}

void capture_check_alive(struct capture *c)
{
	hash_each (c->processes, p) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/%d", (int)p->pid);
		if (!access(path, F_OK) || errno != ENOENT) {
			p->is_missing = false;
		} else if (!p->is_missing) {
			/* What it has forked may not have been read yet. */
			p->is_missing = true;
		} else {
			files_release(c, p->pid);
			process_remove(c, p->pid, 0);
		}
	}
}

/*
 * The kernel has checked nothing yet: a program may execute any path, also one that its user may not. `by_fd`: the process
 * has it open, wherever it is.
 */
static bool process_may_execute(int directory, const char *at, bool by_fd, int place)
{
	struct requester r;
	struct stat st;
	bool may;
	int base;

	if (requester_of_process(&r, directory) || fstat(place, &st))
		return false;
	/* What the kernel lets us open, it lets this user open. */
	if (r.uid && r.uid == geteuid())
		return true;
	if (!requester_may(&r, place, &st, S_IXOTH))
		return false;
	base = by_fd ? -1 : openat(directory, at, O_PATH | O_DIRECTORY | O_CLOEXEC);
	may = by_fd || !requester_may_open(&r, base, place);
	if (base >= 0)
		close(base);
	return may;
}

/* `at`: the directory of a relative path, as path_within_directory() has it. */
static int open_in_process(int directory, const char *at, const char *path, bool by_fd)
{
	int place;

	if (by_fd)
		place = openat(directory, at, O_PATH | O_CLOEXEC);
	else if (path[0] == '/')
		place = path_within_root(directory, path);
	else
		place = path_within_directory(directory, at, path);
	if (place < 0 || process_may_execute(directory, path[0] == '/' ? "root" : at, by_fd, place))
		return place;
	close(place);
	return -1;
}

/* Opens the program that the held thread is going to execute, as it sees it: each thread may have a directory and a root of its own. */
static int open_held_program(const struct record_hold *r)
{
	char at[16] = "cwd";
	bool by_fd = r->ops.b == HOLD_FEXECVE || (r->ops.b == HOLD_EXECVEAT && !r->path[0]);
	int directory, place;

	/* A path without a NUL was cut. */
	if (memchr(r->path, '\0', MAX_STRING - 1) == NULL)
		return -1;
	if (by_fd || (r->ops.b == HOLD_EXECVEAT && r->fd >= 0))
		snprintf(at, sizeof(at), "fd/%d", r->fd);
	/*
	 * The program may name any path, and opening a device may have side effects, so it is only
	 * opened with O_PATH first.
	 */
	directory = open_thread_of((pid_t)r->head.tgid, (pid_t)r->head.tid);
	if (directory < 0)
		return -1;
	place = open_in_process(directory, at, r->path, by_fd);
	close(directory);
	return place < 0 ? -1 : open_stored_file(place);
}

static void prepare_program(struct capture *c, const struct record_hold *r)
{
	enum file_news news;
	const struct file *program;
	struct failure f = { 0 };
	char directory[48];
	struct file_key key;
	int fd;

	fd = capture_check_stuck(c, "") ? -1 : open_held_program(r);
	if (fd < 0)
		return;
	if (!files_key_of(c, fd, NULL, &key) || files_known(c, &key, r->head.tgid, &news)) {
		close(fd);
		return;
	}
	if (files_add(c, fd, &key, r->path, r->head.tgid, NULL, &news, &f) &&
	    !capture_check_stuck(c, r->path))
		files_report_refused(c, r->path, &f);
	program = files_find(c, &key);
	snprintf(directory, sizeof(directory), "/proc/%u/task/%u/cwd/", r->head.tgid, r->head.tid);
	if (program && !program->refused)
		libraries_expect(c, program, (pid_t)r->head.tgid, directory);
}

void process_prepare(struct capture *c, const struct record_hold *r)
{
	prepare_program(c, r);
	running_maps_forget(c);
}

/*
 * Attaches to a child whose parent was not attached to when it was forked: the parent may have ended before, or have mapped
 * something else since. `has_links`: those of its parent act for it all the same, so that nothing is missing if it has ended,
 * unless that was in buffers from before.
 */
static void attach_child(struct capture *c, struct traced_process *p, pid_t parent, bool has_links)
{
	unsigned fresh = 0;
	int error;

	p->attached_ns = has_links ? monotonic_now() : UINT64_MAX;
	/* Without credit the scan is owed, which is counted. */
	if (!scans_can_afford(c, p->pid))
		return;
	/* Of what it has in its memory, its parent has made all up to the fork. */
	if (c->batches)
		batches_start_process(c, p->pid, p->since_ns);
	batches_find(c, true);
	error = scans_run(c, p->pid, &fresh, NULL);
	batches_find(c, false);
	if (!error)
		p->attached_ns = monotonic_now();
	/* What cannot be read for now is owed as well. */
	if (error == -EBUSY ||
	    (error == -ESRCH && (c->searching || (has_links && !batches_were_there(c, parent)))))
		return;
	if (error)
		count_not_followed(c, 1);
	else if (!c->searching && !has_links)
		c->late += fresh ? fresh : capture_attaches_each(c);
}

void process_forked(struct capture *c, pid_t child, pid_t parent_pid, uint64_t forked_ns)
{
	const struct traced_process *parent;
	struct traced_process *p = process_find(c, child);

	/* It had the number before, and its exit was lost. Otherwise links may be the child's: it may have been held already. */
	if (p && p->since_ns < forked_ns) {
		process_remove(c, child, 0);
		files_release(c, child);
	}
	p = process_add(c, child, true);
	parent = process_find(c, parent_pid);
	if (p && parent && !parent->is_hidden)
		p->is_hidden = false;
	if (p && parent)
		p->is_paused = parent->is_paused;
	files_follow(c, parent_pid, child);
	if (c->stacks)
		stacks_fork(c->stacks, (uint32_t)child, (uint32_t)parent_pid);
	/* Unless it was itself found and attached to. */
	if (!p || p->attached_ns)
		return;
	p->since_ns = forked_ns;
	if (!parent || forked_ns < parent->attached_ns)
		attach_child(c, p, parent_pid, parent && parent->attached_ns != UINT64_MAX);
}

/*
 * Scans a process that has executed a program. Most programs are attached to while a thread is
 * held. But this program was already running if its dynamic linker was not known, if a static
 * program was executed in a way that cannot be held, if a user keeps the kernel from attaching hold points for all processes,
 * or if the kernel cannot hold threads.
 */
void process_executed(struct capture *c, pid_t pid)
{
	unsigned fresh = 0, linkers = c->n_linkers, statics = c->n_statics;
	struct traced_process *p = process_find(c, pid);
	int error;

	if (p) {
		p->n_mapped = p->n_resolved = 0;
		mappings_forget_list(p);
	}
	if (c->stacks)
		stacks_execute(c->stacks, (uint32_t)pid);
	if (!scans_can_afford(c, pid)) {
		/* Its code is no longer that of the old program. */
		if (c->stacks)
			stacks_forget(c->stacks, (uint32_t)pid);
		return;
	}
	error = scans_run(c, pid, &fresh, NULL);
	if (error == -EBUSY && c->stacks)
		stacks_forget(c->stacks, (uint32_t)pid);
	if (error)
		return;
	if (!c->loaded.can_hold || c->holds_alone || c->n_linkers != linkers ||
	    c->n_statics != statics)
		c->late += fresh;
}
