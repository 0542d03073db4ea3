/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recorder that was taken over may send to the broker: any packets, with any descriptors. The
 * kernel and the processes are told by a small model here, which also knows what the broker must never
 * do. The input: a byte for the kernel's kind, a file, then packets, each behind a byte that says which
 * descriptor comes with it; before the file and each packet two of its length.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long kernel(long number, ...);
static int give_back(int fd);
static int keep_open(int fd, int how, int least);
#define syscall(...)	      kernel(__VA_ARGS__)
#define close(fd)	      give_back(fd)
#define fcntl(fd, how, least) keep_open(fd, how, least)
#include "privilege/broker/attach.c"
#include "privilege/broker/links.c"
#include "privilege/broker/requested.c"
#include "privilege/broker/server.c"
#undef syscall
#undef close
#undef fcntl
#include "../unit/elf_image.h"

/*
 * In the known file: a marker with its two probe sites, another program's probe and a function. The bytes of a marker
 * stand there once more, without a note.
 */
#define STUB	  (IMAGE_CODE + 0x20)
#define SEMAPHORE (IMAGE_DATA + 0x10)
#define PROBE	  IMAGE_CODE
#define PROBES	  (IMAGE_DATA + 0x80)
#define FUNCTION  (IMAGE_CODE + 0x100)
#define UNSAID	  (IMAGE_CODE + 0x40)

/* Processes 1 and 2 were requested for, 3 is a child, 4 another's child, 5 another user's; 6 ends soon. */
enum {
	REQUESTED = 1,
	ALSO_REQUESTED,
	CHILD,
	STRANGER,
	ANOTHER_USERS,
	ENDS,
	PIDS = 8
};

static bool traced[PIDS];
static uint32_t traced_flags[PIDS];
static unsigned executes;
static bool used_again; /* the number of ALSO_REQUESTED */
static int looked_at;	/* whose directory was opened last */
static int program_fd = -1, foreign_fd = -1;
static uint64_t given, taken_back; /* descriptors: none is real but those of two files */

#define NOT_REAL 100000
#define PROGRAMS 1000

static void must(int condition)
{
	if (!condition)
		abort();
}

static int any_descriptor(void)
{
	given++;
	return NOT_REAL;
}

static int give_back(int fd)
{
	must(fd == NOT_REAL || fd == program_fd || fd == foreign_fd);
	taken_back++;
	return 0;
}

/* --- in place of the processes of closing.c -------------------------------------------------------- */

struct closers *closers_new(void)
{
	return NULL;
}

int closers_await(const struct closers *closers)
{
	(void)closers;
	return 0;
}

int closers_fd(const struct closers *closers)
{
	(void)closers;
	return -1;
}

void closers_end(struct closers *closers)
{
	(void)closers;
}

/* decode.c, which maps the file and looks into the memory */
int sites_decode(const struct loaded_programs *programs, int elf_fd,
		 const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	must(programs && elf_fd >= 0 && sites && n && n <= BROKER_MAX_SITES);
	links[0] = any_descriptor();
	*n_links = 1;
	return 0;
}

unsigned sites_decoded(int elf_fd, const struct broker_site *sites, unsigned n)
{
	must(elf_fd >= 0 && sites);
	return n;
}

void links_drop(struct closers *closers, const int *fds, unsigned n)
{
	(void)closers;
	while (n)
		give_back(fds[--n]);
}

void members_close(struct closers *closers, struct member *list)
{
	while (list) {
		struct member *next = list->next;

		links_drop(closers, list->fds, list->n);
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

/* The broker keeps the file of some links open. */
static int keep_open(int fd, int how, int least)
{
	must(how == F_DUPFD_CLOEXEC && !least && (fd == program_fd || fd == foreign_fd));
	return any_descriptor();
}

/* --- the processes ------------------------------------------------------------------------------- */

int process_directory(const struct broker_target *target, struct failure *f)
{
	looked_at = target->pid;
	if (target->pid < REQUESTED || target->pid > ENDS ||
	    (target->birth && target->birth != process_birth(0)))
		return failure_set(f, -ESRCH, "no such process", "", "");
	if (target->pid == ANOTHER_USERS)
		return failure_set(f, -EPERM, "not permitted to trace process", "", "");
	return any_descriptor();
}

/* What the child executes now and then is not for the user. */
const char *process_untraceable(int directory)
{
	must(directory >= 0 && traced[looked_at]);
	return looked_at == CHILD && executes++ % 3 == 0 ? "it has more rights" : NULL;
}

pid_t process_parent(int directory)
{
	must(directory >= 0);
	return looked_at == CHILD || looked_at == ENDS ? getppid() : 1;
}

bool process_protected(int directory)
{
	must(directory >= 0);
	return false;
}

uint64_t processes_protected(void)
{
	return 0;
}

int runs_this_program(int directory)
{
	(void)directory;
	return 0;
}

int process_check_first(pid_t pid, int error, const struct broker_config *config, struct failure *f)
{
	(void)config;
	return pid == ALSO_REQUESTED && used_again
		       ? failure_set(f, error, "cannot record process", "", "")
		       : 0;
}

bool process_alive(int directory)
{
	must(directory >= 0);
	return looked_at != ENDS;
}

uint64_t process_birth(int directory)
{
	must(directory >= 0);
	return 100 + (uint64_t)looked_at + (looked_at == ALSO_REQUESTED && used_again ? 1000 : 0);
}

/* A process serves some files, and may show others something else. */
bool file_is_served(int fd)
{
	return fd % 8 == 7;
}

bool file_has_layers(int fd)
{
	(void)fd;
	return false;
}

int process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
		 uint64_t end, struct failure *f)
{
	must(target->pid >= REQUESTED && target->pid < PIDS && traced[target->pid]);
	if (what >= BROKER_FILES || (what == BROKER_MAPPED && start >= end))
		return failure_set(f, -EINVAL, "refused request", "open", NULL);
	return any_descriptor();
}

/* --- the kernel ---------------------------------------------------------------------------------- */

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint32_t pid;

	(void)fd;
	memcpy(&pid, key, sizeof(pid));
	if (pid >= PIDS || !traced[pid])
		return -1;
	memcpy(value, &traced_flags[pid], sizeof(traced_flags[pid]));
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 how)
{
	uint32_t pid, flags;

	(void)fd;
	memcpy(&pid, key, sizeof(pid));
	memcpy(&flags, value, sizeof(flags));
	must(!(flags & ~(TRACED_KEPT | TRACED_PAUSED | ~((1u << TRACED_ORDER_SHIFT) - 1))));
	must(pid == REQUESTED || pid == ALSO_REQUESTED || pid == CHILD || pid == ENDS);
	must(pid != ALSO_REQUESTED || !used_again);
	/* These say what happened in the kernel. */
	must(!(flags & (TRACED_STOPPED | TRACED_WHOLE)));
	/* No flags before somebody has looked once more, and none to what was taken out again. */
	must(how == (flags ? BPF_EXIST : BPF_NOEXIST));
	if (traced[pid] != (how == BPF_EXIST)) {
		errno = traced[pid] ? EEXIST : ENOENT;
		return -1;
	}
	traced[pid] = true;
	traced_flags[pid] = flags;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	uint32_t pid;

	(void)fd;
	memcpy(&pid, key, sizeof(pid));
	must(pid < PIDS);
	traced[pid] = false;
	return 0;
}

/*
 * Of the file with a known contents: nothing else may be attached to. What takes batches may leave the
 * semaphore of a marker as it is.
 */
static void must_be_right(const char *path, uint64_t offset, uint64_t semaphore, bool may_omit)
{
	char known[32];

	snprintf(known, sizeof(known), "/proc/self/fd/%d", program_fd);
	if (strcmp(path, known))
		return;
	if (offset == STUB + 1 || offset == STUB + 2)
		must(semaphore == SEMAPHORE || (may_omit && !semaphore));
	else if (offset == PROBE)
		must(semaphore == PROBES);
	else
		must(offset == FUNCTION && !semaphore);
}

static long link_create(va_list args)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, semaphores, cookies;
		uint32_t cnt, multi_flags, pid, pad;
	} attr;
	unsigned i;

	must(va_arg(args, int) == BPF_LINK_CREATE);
	memcpy(&attr, va_arg(args, void *), sizeof(attr));
	must(attr.cnt > 0 && attr.cnt <= BROKER_MAX_SITES && (int)attr.pid >= 0);
	must(!attr.pid || traced[attr.pid]);
	for (i = 0; i < attr.cnt; i++)
		must_be_right((const char *)(uintptr_t)attr.path,
			      ((uint64_t *)(uintptr_t)attr.offsets)[i],
			      attr.semaphores ? ((uint64_t *)(uintptr_t)attr.semaphores)[i] : 0,
			      attr.prog_fd == PROGRAMS + BROKER_FLUSH);
	return any_descriptor();
}

static long kernel(long number, ...)
{
	const struct perf_event_attr *event;
	va_list args;
	long fd;

	va_start(args, number);
	if (number == SYS_bpf) {
		fd = link_create(args);
	} else {
		must(number == SYS_perf_event_open);
		event = va_arg(args, const struct perf_event_attr *);
		must_be_right((const char *)(uintptr_t)event->uprobe_path, event->probe_offset,
			      event->config >> 32, true);
		fd = any_descriptor();
	}
	va_end(args);
	return fd;
}

int bpf_link_create(int program, int target, enum bpf_attach_type type,
		    const struct bpf_link_create_opts *opts)
{
	(void)program, (void)target, (void)type, (void)opts;
	return any_descriptor();
}

/* --- the recorder -------------------------------------------------------------------------------- */

static void write_program(void)
{
	static const struct image_site marker = {
		.stub = IMAGE_CODE_VADDR + STUB,
		.semaphore_vaddr = IMAGE_DATA_VADDR + SEMAPHORE,
		.kind = 1,
		.slow = 1,
		.fast = 2,
		.domain = "net",
	};
	struct image m;

	image_init(&m, EM_X86_64);
	m.bytes[PROBE] = 0x90;
	image_put_stub(&m, STUB);
	image_put_stub(&m, UNSAID);
	image_add_site(&m, &marker);
	must(pwrite(program_fd, m.bytes, sizeof(m.bytes), 0) == sizeof(m.bytes));
}

static void prepare(void)
{
	program_fd = memfd_create("program", MFD_CLOEXEC);
	foreign_fd = memfd_create("foreign", MFD_CLOEXEC);
	must(program_fd >= 0 && foreign_fd >= 0);
	write_program();
}

/* The packet at hand, in place of a socket. */
static struct {
	const uint8_t *bytes;
	size_t size;
	int fd; /* -1: none */
	bool answered;
} packet;

int message_receive(int socket, void *buffer, size_t size, size_t *ret_size, int *fds,
		    unsigned *n_fds)
{
	(void)socket;
	must(*n_fds == 1 && size >= packet.size);
	memcpy(buffer, packet.bytes, packet.size);
	*ret_size = packet.size;
	*n_fds = packet.fd >= 0;
	if (packet.fd >= 0) {
		given++;
		fds[0] = packet.fd;
	}
	return 0;
}

int message_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
		 const int *fds, unsigned n_fds)
{
	const struct reply *reply = head;
	uint32_t kind = 0;

	(void)socket, (void)body, (void)fds;
	must(head_size == sizeof(*reply) && !body_size && !packet.answered);
	if (packet.size >= sizeof(struct request))
		memcpy(&kind, packet.bytes, sizeof(kind));
	must(reply->error <= 0 && n_fds == (kind == REQUEST_OPEN && !reply->error));
	must(memchr(reply->failure.what, '\0', sizeof(reply->failure.what)) != NULL);
	must(memchr(reply->failure.object, '\0', sizeof(reply->failure.object)) != NULL);
	must(memchr(reply->failure.reason, '\0', sizeof(reply->failure.reason)) != NULL);
	must(memchr(reply->failure.hint, '\0', sizeof(reply->failure.hint)) != NULL);
	packet.answered = true;
	return 0;
}

static void serve_packet(struct server *s, unsigned how, const uint8_t *bytes, size_t size)
{
	static const int *const choice[] = { &program_fd, &program_fd, &program_fd, &foreign_fd };

	packet.bytes = bytes;
	packet.size = size;
	packet.fd = how ? *choice[how & 3] : -1;
	packet.answered = false;
	must(!serve_one(s) && packet.answered);
}

static void free_links(struct links *links)
{
	links_close_all(links);
	must(!links->n_sites);
	hash_each (links->processes, p)
		must(!links_process_remove(links, p));
	free(links->list);
	free(links);
}

static size_t length_of(const uint8_t *bytes, size_t most)
{
	size_t n = bytes[0] | bytes[1] << 8;

	return n < most ? n : most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const pid_t requested[] = { REQUESTED, ALSO_REQUESTED };
	static struct broker_config config = { .pids = requested, .n_pids = 2 };
	static struct server server;
	size_t n;
	unsigned i;

	if (program_fd < 0)
		prepare();
	if (size < 3)
		return 0;
	given = taken_back = 0;
	config.follow_children = !(data[0] & 2);
	server.config = &config;
	server.links = links_new(NULL);
	used_again = false;
	must(!requested_init(&server.requested, &config, NULL));
	used_again = data[0] & 4;
	server.programs.uprobe_multi = data[0] & 1;
	/* Functions have provers: fuzz_prover. */
	for (i = 0; i < BROKER_PROGRAMS; i++)
		server.programs.program_fds[i] = i <= BROKER_USDT ? (int)(PROGRAMS + i) : -1;
	memset(traced, 0, sizeof(traced));
	executes = 0;
	n = length_of(data + 1, size - 3);
	must(pwrite(foreign_fd, data + 3, n, 0) == (ssize_t)n && !ftruncate(foreign_fd, (off_t)n));
	data += 3 + n;
	size -= 3 + n;
	while (size > 3) {
		n = length_of(data + 1, size - 3);
		serve_packet(&server, data[0], data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
	free_links(server.links);
	free(server.requested.list);
	must(given == taken_back); /* nothing stays open */
	return 0;
}
