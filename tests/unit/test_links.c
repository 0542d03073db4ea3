/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's table of links: one number for several processes, and what forks and executions make of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "privilege/broker/links.c"

#define EMPTY	   900 /* the program that does nothing */
#define DECODES	   901
#define PROGRAMS   1000
#define PARENT	   10
#define CHILD	   11
#define GRANDCHILD 12

/* --- the kernel: who has been attached to with which program ---------------------------------------- */

static struct {
	int program;
	pid_t pid;
} made[64];
static unsigned n_made, closed, decoded;
static int refusal; /* what the kernel answers; 0: it attaches */
static pid_t refused_pid;
static bool partial;	   /* and it has attached to some sites before */
static int refusal_of_pid; /* what it answers for this process */

int links_create(const struct loaded_programs *programs, int program_fd, pid_t pid,
		 bool must_be_traced, int elf_fd, const struct broker_site *sites, unsigned n,
		 int *links, unsigned *n_links)
{
	(void)programs, (void)elf_fd, (void)sites;
	assert_true(must_be_traced);
	assert_true(n > 0 && n_made < sizeof(made) / sizeof(made[0]));
	*n_links = 0;
	if (refusal)
		return refusal;
	if (pid == refused_pid && partial) {
		made[n_made].program = program_fd;
		links[0] = (int)n_made++;
		*n_links = 1;
	}
	if (pid == refused_pid)
		return refusal_of_pid;
	made[n_made].program = program_fd;
	made[n_made].pid = pid;
	links[0] = (int)n_made++;
	*n_links = 1;
	return 0;
}

unsigned links_most(const struct loaded_programs *unused, unsigned n)
{
	(void)unused, (void)n;
	return 1;
}

int sites_decode(const struct loaded_programs *unused, int elf, const struct broker_site *sites,
		 unsigned n, int *fds, unsigned *n_fds)
{
	(void)unused, (void)elf, (void)sites, (void)n;
	fds[0] = (int)n_made;
	made[n_made].program = DECODES;
	made[n_made++].pid = 0;
	*n_fds = 1;
	decoded++;
	return 0;
}

static struct links *links;
static bool closed_locked; /* members: it may take long */

/* Of functions at one site. */
unsigned sites_decoded(int elf, const struct broker_site *sites, unsigned n)
{
	(void)elf, (void)sites, (void)n;
	return 1;
}

void members_close(struct closers *closers, struct member *list)
{
	(void)closers;
	if (pthread_mutex_trylock(&links->lock))
		closed_locked = true;
	else
		pthread_mutex_unlock(&links->lock);
	while (list) {
		struct member *next = list->next;

		closed += list->n;
		free(list);
		list = next;
	}
}

void members_close_later(struct closers *closers, struct member *list)
{
	members_close(closers, list);
}

void members_wait(struct closers *closers)
{
	(void)closers;
}

void links_drop(struct closers *closers, const int *fds, unsigned n)
{
	(void)closers, (void)fds;
	closed += n;
}

/* --- the requests of a recorder ------------------------------------------------------------------------ */

static struct loaded_programs programs = { .uprobe_multi = true, .empty_fd = EMPTY };
static struct proftrace_bpf__bss account;
static int elf_fd = -1;

static int start(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < BROKER_PROGRAMS; i++)
		programs.program_fds[i] = PROGRAMS + (int)i;
	memset(&account, 0, sizeof(account));
	programs.shared = &account;
	n_made = closed = decoded = 0;
	refusal = 0;
	refused_pid = 0;
	partial = closed_locked = false;
	elf_fd = memfd_create("program", MFD_CLOEXEC);
	links = links_new(NULL);
	return !links || elf_fd < 0;
}

static int end(void **state)
{
	(void)state;
	links_close_all(links);
	hash_each (links->processes, p)
		members_close(NULL, links_process_remove(links, p));
	/* Everything that was made is closed, once. */
	assert_int_equal(closed, n_made);
	assert_int_equal(links->n_sites, 0);
	assert_false(closed_locked);
	free(links->list);
	free(links);
	close(elf_fd);
	return 0;
}

/* As the broker does it for a request. */
static uint32_t attach(pid_t pid, enum broker_program program, uint64_t cookie)
{
	const struct broker_site sites[] = { { 0x100, 0, cookie }, { 0x200, 0, cookie } };
	struct link_sites of;
	struct failure f;
	unsigned n = 0;
	uint32_t number;
	int fd;

	assert_int_equal(link_sites_init(&of, elf_fd, program, sites, 2, true), 0);
	if (links_has(links, &of, pid, &number)) {
		link_sites_free(&of);
		return number;
	}
	assert_int_equal(links_may_add(links, &of, pid, &f), 0);
	assert_int_equal(links_create(&programs, PROGRAMS + (int)program, pid, true, elf_fd, sites,
				      2, &fd, &n),
			 0);
	assert_int_equal(links_add(links, &programs, &of, pid, &fd, n, &number), 0);
	link_sites_free(&of);
	return number;
}

static struct process *fork_process(pid_t parent, pid_t pid)
{
	struct process *p = links_process_new(links, pid);

	assert_non_null(p);
	p->parent = parent;
	return p;
}

static unsigned count_made(pid_t pid, int program)
{
	unsigned i, n = 0;

	for (i = 0; i < n_made; i++)
		n += made[i].pid == pid && made[i].program == program;
	return n;
}

/* --- the tests ----------------------------------------------------------------------------------------- */

static void one_number_for_several(void **state)
{
	uint32_t number = attach(PARENT, BROKER_MARKS, 1);

	(void)state;
	assert_int_equal(attach(CHILD, BROKER_MARKS, 1), number);
	assert_int_equal(n_made, 2);
	/* Once for each. */
	assert_int_equal(attach(PARENT, BROKER_MARKS, 1), number);
	assert_int_equal(n_made, 2);
	assert_int_not_equal(attach(PARENT, BROKER_MARKS, 2), number);
	assert_int_not_equal(attach(PARENT, BROKER_FLUSH, 1), number);
	assert_int_equal(links_close(links, &number, 1, false), 0);
	assert_int_equal(closed, 2);
	assert_int_equal(links_close(links, &number, 1, false), -ENOENT);
	/* Its number is free again. */
	assert_int_equal(attach(CHILD, BROKER_USDT, 1), number);
}

static void a_child_inherits(void **state)
{
	struct process *child;

	(void)state;
	attach(PARENT, BROKER_LIBRARIES, 1);
	attach(PARENT, BROKER_MARKS, 1);
	child = fork_process(PARENT, CHILD);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)), 0);
	assert_int_equal(n_made, 4);
	/* Marks first: hold points have time until the child loads something. */
	assert_int_equal(made[2].program, PROGRAMS + BROKER_MARKS);
	assert_int_equal(made[3].program, PROGRAMS + BROKER_LIBRARIES);
	/* What it has, it does not get again. */
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)), 0);
	attach(CHILD, BROKER_MARKS, 1);
	assert_int_equal(n_made, 4);
}

/* A child gets its links while the kernel attaches what a request has space for already. */
static void not_too_many_sites(void **state)
{
	const struct broker_site sites[] = { { 0x100, 0, 2 }, { 0x200, 0, 2 } };
	uint32_t number, before;
	struct link_sites of;
	struct failure f;
	struct process *child;
	const int fd = 0;

	(void)state;
	attach(PARENT, BROKER_MARKS, 1);
	before = links->n_sites;
	links->n_sites = SITES_MOST - 3;
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_USDT, sites, 2, true), 0);
	assert_int_equal(links_may_add(links, &of, PARENT, &f), 0);
	child = fork_process(PARENT, CHILD);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)),
			 -EMFILE);
	/* It was not attached after all. */
	links_give_back(links, &of);
	assert_int_equal(links->n_sites, SITES_MOST - 3);
	assert_int_equal(links_may_add(links, &of, PARENT, &f), 0);
	assert_int_equal(links_add(links, &programs, &of, PARENT, &fd, 1, &number), 0);
	n_made++;
	link_sites_free(&of);
	assert_int_equal(links->n_sites, SITES_MOST - 1);
	/* No number wraps around. */
	links->n_sites = SITES_MOST + 1;
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_USDT, sites, 1, true), 0);
	assert_int_equal(links_may_add(links, &of, CHILD, &f), -EMFILE);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)),
			 -EMFILE);
	link_sites_free(&of);
	links->n_sites = before + 2;
}

/* Of functions and others' probes in files that are not the caller's, which slow down everybody; not of markers. */
static void not_too_many_sites_of_others(void **state)
{
	const struct broker_site sites[] = { { 0x100, 0, 1 }, { 0x200, 0, 1 } };
	struct link_sites of;
	struct failure f;
	struct process *child;

	(void)state;
	links->most_foreign = 3;
	attach(PARENT, BROKER_MARKS, 1);
	attach(PARENT, BROKER_USDT, 1);
	assert_int_equal(links->n_foreign, 0); /* the file is the caller's */
	links->list[1].of.foreign = true;
	links->n_foreign = 2;
	child = fork_process(PARENT, CHILD);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)),
			 -EMFILE);
	assert_int_equal(count_made(CHILD, PROGRAMS + BROKER_MARKS), 1);
	assert_int_equal(count_made(CHILD, PROGRAMS + BROKER_USDT), 0);
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_USDT, sites, 2, true), 0);
	of.foreign = true;
	assert_int_equal(links_may_add(links, &of, CHILD, &f), -EMFILE);
	links->most_foreign = 4;
	assert_int_equal(links_may_add(links, &of, CHILD, &f), 0);
	assert_int_equal(links->n_foreign, 4);
	links_give_back(links, &of);
	link_sites_free(&of);
	links_forget(links, PARENT);
	assert_int_equal(links->n_foreign, 0);
}

/* Hold points have a limit of their own: a process that cannot be followed is refused, and counted by the caller. */
static void not_too_many_hold_points_in_files_of_others(void **state)
{
	const struct broker_site sites[] = { { 0x100, 0, 1 }, { 0x200, 0, 1 } };
	struct link_sites of;
	struct failure f;
	struct process *child;

	(void)state;
	links->most_foreign = 0;
	links->most_foreign_holds = 3;
	attach(PARENT, BROKER_LIBRARIES, 1);
	assert_int_equal(links->n_foreign_holds, 0); /* the file is the caller's */
	links->list[0].of.foreign = true;
	links->n_foreign_holds = 2;
	child = fork_process(PARENT, CHILD);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)),
			 -EMFILE);
	assert_int_equal(count_made(CHILD, PROGRAMS + BROKER_LIBRARIES), 0);
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_EXECUTES, sites, 2, true), 0);
	of.foreign = true;
	assert_int_equal(links_may_add(links, &of, CHILD, &f), -EMFILE);
	assert_non_null(strstr(f.reason, "hold points"));
	links->most_foreign_holds = 4;
	assert_int_equal(links_may_add(links, &of, CHILD, &f), 0);
	assert_int_equal(links->n_foreign_holds, 4);
	assert_int_equal(links->n_foreign, 0);
	links_give_back(links, &of);
	link_sites_free(&of);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)), 0);
	assert_int_equal(links->n_foreign_holds, 4);
	links_forget(links, CHILD);
	links_forget(links, PARENT);
	assert_int_equal(links->n_foreign_holds, 0);
}

/* A file and one that an overlay shows may have the same numbers. What slows others down is counted, whichever came first. */
static void of_others_is_another_link(void **state)
{
	const struct broker_site sites[] = { { 0x100, 0, 1 }, { 0x200, 0, 1 } };
	const int fd = 700;
	uint32_t first, number;
	struct link_sites of;
	struct failure f;

	(void)state;
	links->most_foreign = 2;
	first = attach(PARENT, BROKER_USDT, 1);
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_USDT, sites, 2, true), 0);
	of.foreign = true;
	assert_false(links_has(links, &of, PARENT, &number));
	assert_int_equal(links_may_add(links, &of, CHILD, &f), 0);
	n_made++;
	assert_int_equal(links_add(links, &programs, &of, CHILD, &fd, 1, &number), 0);
	link_sites_free(&of);
	assert_int_not_equal(number, first);
	assert_int_equal(links->n_foreign, 2);
	assert_int_equal(links_inherit(links, &programs, links_process_new(links, GRANDCHILD),
				       links_process(links, CHILD)),
			 -EMFILE);
	links_forget(links, CHILD);
	assert_int_equal(links->n_foreign, 0);
}

/* As long as anything is attached, instructions stay as they were decoded. */
static void decoded_when_there_is_none(void **state)
{
	struct process *child;

	(void)state;
	attach(PARENT, BROKER_FUNCTIONS, 1);
	child = fork_process(PARENT, CHILD);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)), 0);
	links_forget(links, PARENT);
	assert_int_equal(links_attach_all(links, &programs, links_process_new(links, GRANDCHILD)),
			 0);
	assert_int_equal(decoded, 0);
	links_forget(links, CHILD);
	links_forget(links, GRANDCHILD);
	assert_int_equal(links_attach_all(links, &programs, links_process_new(links, PARENT)), 0);
	assert_int_equal(decoded, 1);
	assert_int_equal(links_attach_all(links, &programs, links_process_new(links, CHILD)), 0);
	assert_int_equal(decoded, 1);
}

/* Nobody reads any more what a process that was forked then records. */
static void nothing_after_the_end(void **state)
{
	struct process *child;
	struct member *old;

	(void)state;
	attach(PARENT, BROKER_MARKS, 1);
	attach(PARENT, BROKER_USDT, 1);
	child = fork_process(PARENT, CHILD);
	links_end(links);
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)),
			 -ECANCELED);
	assert_int_equal(links_attach_all(links, &programs, child), -ECANCELED);
	assert_int_equal(links_renew(links, &programs, links_process(links, PARENT), &old),
			 -ECANCELED);
	assert_null(old);
	assert_int_equal(n_made, 2);
}

/* A file can be attached to after a process that has it mapped was forked. */
static void children_get_it_later(void **state)
{
	(void)state;
	attach(PARENT, BROKER_LIBRARIES, 1);
	fork_process(PARENT, CHILD);
	fork_process(CHILD, GRANDCHILD);
	fork_process(99, 13);
	attach(PARENT, BROKER_MARKS, 1);
	assert_int_equal(count_made(CHILD, PROGRAMS + BROKER_MARKS), 1);
	assert_int_equal(count_made(GRANDCHILD, PROGRAMS + BROKER_MARKS), 1);
	assert_int_equal(count_made(13, PROGRAMS + BROKER_MARKS), 0);
}

/* Who did not get it is counted: once, and not if it has ended. */
static void children_that_lack_it_are_counted(void **state)
{
	(void)state;
	attach(PARENT, BROKER_LIBRARIES, 1);
	fork_process(PARENT, CHILD);
	fork_process(PARENT, GRANDCHILD);
	refused_pid = CHILD;
	refusal_of_pid = -ESRCH;
	attach(PARENT, BROKER_MARKS, 1);
	assert_int_equal(account.account[0][ACCOUNT_PROCESSES], 0);
	refusal_of_pid = -EMFILE;
	attach(PARENT, BROKER_MARKS, 2);
	attach(PARENT, BROKER_MARKS, 3);
	assert_int_equal(account.account[0][ACCOUNT_PROCESSES], 1);
	assert_int_equal(count_made(GRANDCHILD, PROGRAMS + BROKER_MARKS), 3);
}

/* No program of marks runs twice, whoever executes how often. */
static void an_execution_installs(void **state)
{
	struct process *p, *child;
	struct member *old;

	(void)state;
	attach(PARENT, BROKER_MARKS, 1);
	attach(PARENT, BROKER_LIBRARIES, 1);
	p = links_process(links, PARENT);
	/* At the limit of sites of others: at these, something is attached already. */
	links->list[0].of.foreign = true;
	links->n_foreign = links->most_foreign = 2;
	assert_int_equal(links_renew(links, &programs, p, &old), 0);
	assert_int_equal(links->n_foreign, 2);
	assert_null(old);
	assert_int_equal(count_made(PARENT, EMPTY), 2);
	assert_int_equal(links_renew(links, &programs, p, &old), 0);
	members_close(NULL, old);
	assert_int_equal(closed, 2);
	assert_int_equal(links->n_foreign, 2);
	assert_int_equal(count_made(PARENT, PROGRAMS + BROKER_MARKS), 1);
	links->most_foreign = 4;
	child = fork_process(PARENT, CHILD);
	assert_int_equal(links_inherit(links, &programs, child, p), 0);
	assert_int_equal(count_made(CHILD, PROGRAMS + BROKER_MARKS), 1);
	assert_int_equal(count_made(CHILD, EMPTY), 0);
}

/* Perf events of the thread that was the first are of nobody. */
static void an_execution_attaches_anew(void **state)
{
	struct member *old;

	(void)state;
	programs.uprobe_multi = false;
	attach(PARENT, BROKER_MARKS, 1);
	assert_int_equal(links_renew(links, &programs, links_process(links, PARENT), &old), 0);
	programs.uprobe_multi = true;
	members_close(NULL, old);
	assert_int_equal(closed, 1);
	assert_int_equal(count_made(PARENT, PROGRAMS + BROKER_MARKS), 2);
}

static void refused_by_the_kernel(void **state)
{
	struct process *child;

	(void)state;
	attach(PARENT, BROKER_MARKS, 1);
	child = fork_process(PARENT, CHILD);
	refusal = -ESRCH;
	assert_int_equal(links_inherit(links, &programs, child, links_process(links, PARENT)),
			 -ESRCH);
	assert_null(child->members);
	assert_int_equal(links->n_sites, 2);
	refusal = 0;
	/* Also what missed it: all that there is. */
	assert_int_equal(links_attach_all(links, &programs, child), 0);
	assert_int_equal(count_made(CHILD, PROGRAMS + BROKER_MARKS), 1);
}

/* As the broker does it for a request where a link is for one process, or for all. */
static int attach_alone(pid_t pid, uint32_t *ret_number)
{
	const struct broker_site site = { 0x100, 0, 1 };
	struct link_sites of;
	struct failure f;
	const int fd = 0;
	int error;

	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_MARKS, &site, 1, false), 0);
	error = links_may_add(links, &of, pid, &f);
	if (!error) {
		n_made++;
		assert_int_equal(links_add(links, &programs, &of, pid, &fd, 1, ret_number), 0);
	}
	link_sites_free(&of);
	return error;
}

/* The program of a link for one process does not run for others: those of each count by themselves, with those for all. */
static void a_limit_for_each_process(void **state)
{
	uint32_t number, common, unused;
	unsigned i;
	pid_t pid;

	(void)state;
	assert_int_equal(attach_alone(0, &common), 0);
	for (pid = 1; pid <= 3 * OURS_MOST; pid++)
		assert_int_equal(attach_alone(pid, &number), 0);
	for (i = 2; i < OURS_MOST; i++)
		assert_int_equal(attach_alone(PARENT, &unused), 0);
	assert_int_equal(attach_alone(PARENT, &unused), -EEXIST);
	/* Nor one for all of them, since it would be for this one, too. */
	assert_int_equal(attach_alone(0, &unused), -EEXIST);
	assert_int_equal(attach_alone(CHILD, &unused), 0);
	assert_int_equal(links_close(links, &common, 1, false), 0);
	assert_int_equal(attach_alone(PARENT, &number), 0);
	assert_int_equal(attach_alone(PARENT, &unused), -EEXIST);
	assert_int_equal(links_close(links, &number, 1, false), 0);
	assert_int_equal(attach_alone(PARENT, &number), 0);
}

/* Whoever asks for it: links for one process after the other take numbers, and sites. */
static void a_limit_of_links(void **state)
{
	uint32_t number;
	pid_t pid;

	(void)state;
	for (pid = 1; pid <= LINKS_MOST; pid++)
		assert_int_equal(attach_alone(pid, &number), 0);
	assert_int_equal(links->n_sites, LINKS_MOST);
	assert_int_equal(attach_alone(pid, &number), -EMFILE);
}

/* A link that others may join counts for all of them. */
static void a_limit_for_several(void **state)
{
	const struct broker_site sites[] = { { 0x100, 0, 9 }, { 0x200, 0, 9 } };
	struct link_sites of;
	struct failure f;
	uint64_t cookie;

	(void)state;
	for (cookie = 1; cookie <= OURS_MOST; cookie++)
		attach(PARENT, BROKER_MARKS, cookie);
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_MARKS, sites, 2, true), 0);
	assert_int_equal(links_may_add(links, &of, CHILD, &f), -EEXIST);
	link_sites_free(&of);
}

static void a_limit_of_processes(void **state)
{
	const struct broker_site site = { 0x100, 0, 0 };
	struct link_sites of;
	struct failure f;
	pid_t pid;

	(void)state;
	for (pid = 1; pid <= PROCESSES_MOST; pid++)
		assert_non_null(links_process_new(links, pid));
	assert_null(links_process_new(links, pid));
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_MARKS, &site, 1, true), 0);
	assert_int_equal(links_may_add(links, &of, pid, &f), -EMFILE);
	assert_int_equal(links_may_add(links, &of, PROCESSES_MOST, &f), 0);
	links_give_back(links, &of);
	link_sites_free(&of);
}

/* Before Linux 6.6, each site takes a descriptor. */
static void a_limit_of_descriptors(void **state)
{
	const struct broker_site sites[] = { { 0x100, 0, 0 }, { 0x200, 0, 0 } };
	struct rlimit before, files;
	struct link_sites of;
	struct failure f;
	int lowest = dup(STDIN_FILENO);

	(void)state;
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	files = (struct rlimit){ (rlim_t)lowest + DESCRIPTORS_KEPT + DESCRIPTORS_OF_OURS + 3,
				 before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	links_limit_sites(links);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(link_sites_init(&of, elf_fd, BROKER_USDT, sites, 2, false), 0);
	assert_int_equal(links_may_add(links, &of, 0, &f), 0);
	assert_int_equal(links_may_add(links, &of, 0, &f), -EMFILE);
	assert_non_null(strstr(f.reason, "too many open files"));
	assert_non_null(strstr(f.hint, "ulimit"));
	/* Markers of files that are mapped later have some of their own. */
	of.program = BROKER_MARKS;
	assert_int_equal(links_may_add(links, &of, 0, &f), 0);
	links_give_back(links, &of);
	of.program = BROKER_USDT;
	links_give_back(links, &of);
	assert_int_equal(links_may_add(links, &of, 0, &f), 0);
	links_give_back(links, &of);
	link_sites_free(&of);
}

/* What the kernel attached to before it refused the rest is closed, when nobody waits for the table. */
static void refused_in_part(void **state)
{
	struct process *child;
	unsigned closed_then;
	int error;

	(void)state;
	child = fork_process(PARENT, CHILD);
	refused_pid = CHILD;
	refusal_of_pid = -EINVAL;
	partial = true;
	attach(PARENT, BROKER_MARKS, 1);
	assert_int_equal(n_made, 2);
	assert_int_equal(closed, 1);
	assert_null(child->members);
	pthread_mutex_lock(&links->lock);
	error = links_inherit(links, &programs, child, links_process(links, PARENT));
	closed_then = closed;
	pthread_mutex_unlock(&links->lock);
	assert_int_equal(error, -EINVAL);
	assert_int_equal(closed_then, 1);
	members_close(NULL, links_unlink_partial(links));
	assert_int_equal(closed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_number_for_several, start, end),
		cmocka_unit_test_setup_teardown(a_child_inherits, start, end),
		cmocka_unit_test_setup_teardown(not_too_many_sites, start, end),
		cmocka_unit_test_setup_teardown(of_others_is_another_link, start, end),
		cmocka_unit_test_setup_teardown(decoded_when_there_is_none, start, end),
		cmocka_unit_test_setup_teardown(not_too_many_sites_of_others, start, end),
		cmocka_unit_test_setup_teardown(not_too_many_hold_points_in_files_of_others, start,
						end),
		cmocka_unit_test_setup_teardown(nothing_after_the_end, start, end),
		cmocka_unit_test_setup_teardown(children_get_it_later, start, end),
		cmocka_unit_test_setup_teardown(children_that_lack_it_are_counted, start, end),
		cmocka_unit_test_setup_teardown(an_execution_installs, start, end),
		cmocka_unit_test_setup_teardown(an_execution_attaches_anew, start, end),
		cmocka_unit_test_setup_teardown(refused_by_the_kernel, start, end),
		cmocka_unit_test_setup_teardown(refused_in_part, start, end),
		cmocka_unit_test_setup_teardown(a_limit_for_each_process, start, end),
		cmocka_unit_test_setup_teardown(a_limit_for_several, start, end),
		cmocka_unit_test_setup_teardown(a_limit_of_links, start, end),
		cmocka_unit_test_setup_teardown(a_limit_of_processes, start, end),
		cmocka_unit_test_setup_teardown(a_limit_of_descriptors, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
