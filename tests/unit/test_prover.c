/* SPDX-License-Identifier: BSD-2-Clause */
/* Real provers, of files that are made for them: what is proved, what is not, and what they may do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "elf_image.h"
#include "privilege/broker/protocol.h"
#include "privilege/broker/server.h"
#include "privilege/prover/prover.h"
#include "tracee/code/prove.h"

#define FUNCTION (IMAGE_CODE + 0x100)
#define STUB	 (IMAGE_CODE + 0x20)

static const uint8_t function[] = {
	0x55,			/* 0 push */
	0x74, 0x03,		/* 1 je 6 */
	0xb0, 0xc3,		/* 3 mov $0xc3,%al: no return instruction */
	0xc3,			/* 5 ret */
	0xe9, 0x00, 0x10, 0, 0, /* 6 jmp away */
};

static Elf64_Sym *symbol_of(struct image *m)
{
	return (Elf64_Sym *)(m->bytes + IMAGE_DYNSYM) + 2;
}

static void init(struct image *m)
{
	image_init(m, EM_X86_64);
	image_put(m, FUNCTION, function, sizeof(function));
	symbol_of(m)->st_size = sizeof(function);
}

static bool is_one(struct provers *p, int fd, uint64_t offset, uint64_t semaphore)
{
	const struct broker_site site = { offset, semaphore, 0 };
	struct segments s;

	return segments_read(fd, &s) &&
	       functions_proved(p, functions_file(p, fd), &s, &site, 1, false);
}

/* Whether a return probe may be there. */
static bool is_beginning(struct provers *p, int fd, uint64_t offset, uint64_t semaphore)
{
	const struct broker_site site = { offset, semaphore, 0 };
	struct segments s;

	return segments_read(fd, &s) &&
	       functions_proved(p, functions_file(p, fd), &s, &site, 1, true);
}

/* Which bytes of the whole file are proved. */
static unsigned count(struct provers *p, int fd)
{
	unsigned n = 0;
	uint64_t at;

	for (at = 0; at < IMAGE_SIZE; at++)
		n += is_one(p, fd, at, 0);
	return n;
}

/* 0, 1: it is refused; or negative errno. */
static int ask(struct provers *p, int fd, uint64_t vaddr)
{
	const struct proved_function *f;
	const struct proved_exit *exits;
	struct proved_reader reader;
	const char *refusal = NULL;
	struct failure why;
	const void *answer;
	int copy = dup(fd), error;

	error = provers_request(p, copy, &vaddr, 1, true, &answer, &reader.left, &why);
	if (error) {
		close(copy);
		return error;
	}
	reader.at = answer;
	assert_int_equal(proved_next(&reader, &f, &exits, &refusal), 1);
	assert_int_equal(f->vaddr, vaddr);
	assert_int_equal(proved_next(&reader, &f, &exits, &refusal), 0);
	return refusal != NULL;
}

static void only_its_sites(void **state)
{
	struct provers *p = provers_new(prove_functions);
	struct image m;
	uint64_t at;
	int fd;

	(void)state;
	init(&m);
	fd = image_fd(&m);
	assert_non_null(p);
	assert_int_equal(count(p, fd), 0);
	/* No address but that of a symbol is the beginning of a function. */
	for (at = 0; at < sizeof(function) + 32; at++)
		assert_int_equal(ask(p, fd, IMAGE_SYMBOL_VADDR - 16 + at), at != 16);
	assert_int_equal(ask(p, fd, 0), 1);
	assert_int_equal(ask(p, fd, UINT64_MAX), 1);
	assert_int_equal(ask(p, fd, IMAGE_DATA_VADDR + IMAGE_DATA), 1);
	for (at = 0; at < IMAGE_SIZE; at++)
		assert_int_equal(is_one(p, fd, at, 0),
				 at == FUNCTION || at == FUNCTION + 5 || at == FUNCTION + 6);
	/* At its exits the return address may be anywhere. */
	for (at = 0; at < IMAGE_SIZE; at++)
		assert_int_equal(is_beginning(p, fd, at, 0), at == FUNCTION);
	assert_false(is_beginning(p, fd, 1ull << 63 | FUNCTION, 0));
	assert_false(is_one(p, fd, 1ull << 63 | FUNCTION, 0));
	/* No function has a semaphore. */
	assert_false(is_one(p, fd, FUNCTION, IMAGE_DATA));
	assert_false(is_beginning(p, fd, FUNCTION, IMAGE_DATA));
	close(fd);
	provers_free(p);
}

/* What the symbols of a hostile file say of it. */
static void symbols_that_lie(void **state)
{
	static const struct {
		uint64_t value, size;
		uint8_t info;
		uint16_t section;
	} cases[] = {
		{ IMAGE_SYMBOL_VADDR, 1ull << 63, STT_FUNC, 1 },
		{ IMAGE_SYMBOL_VADDR, UINT64_MAX, STT_FUNC, 1 },
		{ IMAGE_SYMBOL_VADDR, 0, STT_FUNC, 1 },
		{ IMAGE_SYMBOL_VADDR, 4, STT_FUNC, 1 }, /* and runs on */
		{ IMAGE_SYMBOL_VADDR, sizeof(function), STT_OBJECT, 1 },
		{ IMAGE_SYMBOL_VADDR, sizeof(function), STT_GNU_IFUNC, 1 },
		{ IMAGE_SYMBOL_VADDR, sizeof(function), STT_FUNC, SHN_UNDEF },
		{ IMAGE_DATA_VADDR + IMAGE_DATA, sizeof(function), STT_FUNC, 1 },
		{ IMAGE_DATA_VADDR + IMAGE_DATA - 4, 1 << 20, STT_FUNC, 1 },
		{ UINT64_MAX - 8, sizeof(function), STT_FUNC, 1 },
		{ IMAGE_CODE_VADDR + IMAGE_DATA - 1, sizeof(function), STT_FUNC, 1 },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct provers *p = provers_new(prove_functions);
		struct image m;
		int fd;

		init(&m);
		image_put(&m, IMAGE_DATA, function, sizeof(function));
		symbol_of(&m)->st_value = cases[i].value;
		symbol_of(&m)->st_size = cases[i].size;
		symbol_of(&m)->st_info = ELF64_ST_INFO(STB_GLOBAL, cases[i].info);
		symbol_of(&m)->st_shndx = cases[i].section;
		fd = image_fd(&m);
		assert_int_not_equal(ask(p, fd, cases[i].value), 0);
		assert_int_equal(count(p, fd), 0);
		close(fd);
		provers_free(p);
	}
}

static void arm64(void **state)
{
	static const uint32_t code[] = { 0xd503201f, 0x54000040, 0xd65f03c0, 0x14001000 };
	struct provers *p = provers_new(prove_functions);
	struct image m;
	uint64_t at;
	int fd;

	(void)state;
	image_init(&m, EM_AARCH64);
	image_put(&m, FUNCTION, code, sizeof(code));
	symbol_of(&m)->st_size = sizeof(code);
	fd = image_fd(&m);
	assert_int_equal(ask(p, fd, IMAGE_SYMBOL_VADDR), 0);
	for (at = 0; at < IMAGE_SIZE; at++)
		assert_int_equal(is_one(p, fd, at, 0),
				 at == FUNCTION || at == FUNCTION + 8 || at == FUNCTION + 12);
	close(fd);
	/* Between two instructions of four bytes nothing begins. */
	symbol_of(&m)->st_value += 2;
	fd = image_fd(&m);
	assert_int_not_equal(ask(p, fd, IMAGE_SYMBOL_VADDR + 2), 0);
	assert_int_equal(count(p, fd), 0);
	close(fd);
	provers_free(p);
}

static void markers_return(void **state)
{
	static const struct image_site marker = {
		.stub = IMAGE_CODE_VADDR + STUB,
		.semaphore_vaddr = IMAGE_DATA_VADDR + IMAGE_DATA + 0x10,
		.kind = 1,
		.slow = 1,
		.fast = 2,
		.domain = "net",
	};
	struct provers *p = provers_new(prove_functions);
	struct image m;
	uint64_t at;
	int fd;

	(void)state;
	init(&m);
	image_put_stub(&m, STUB);
	image_put_stub(&m, IMAGE_CODE + 0x60); /* of which no note says anything */
	image_add_site(&m, &marker);
	fd = image_fd(&m);
	for (at = 0; at < IMAGE_SIZE; at++)
		assert_int_equal(is_one(p, fd, at, 0), at == STUB + 12);
	for (at = 0; at < IMAGE_SIZE; at++)
		assert_false(is_beginning(p, fd, at, 0));
	assert_false(is_one(p, fd, STUB + 12, IMAGE_DATA + 0x10));
	close(fd);
	provers_free(p);
}

/* A function without a semaphore would keep everybody else from a marker's or a probe's that is on its first instruction. */
static void no_probe_sites(void **state)
{
	static const struct {
		uint64_t at;
		unsigned kind, flags;
		bool refused;
	} cases[] = {
		{ STUB + 1, 33, 0, true }, /* a control site begins with its nop */
		{ STUB + 1, 49, 2, true },   { STUB, 49, 2, true }, /* the steady nop */
		{ IMAGE_CODE, 33, 0, true },			    /* an existing probe */
		{ FUNCTION, 33, 0, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct image_site marker = {
			.stub = IMAGE_CODE_VADDR + STUB,
			.semaphore_vaddr = IMAGE_DATA_VADDR + IMAGE_DATA + 0x10,
			.kind = cases[i].kind,
			.flags = cases[i].flags,
			.slow = 1,
			.fast = 2,
			.domain = "",
		};
		const uint64_t vaddr = IMAGE_CODE_VADDR + cases[i].at;
		struct provers *p = provers_new(prove_functions);
		struct image m;
		int fd;

		init(&m);
		image_put_stub(&m, STUB);
		image_put(&m, STUB, "\x90", 1);
		image_put(&m, IMAGE_CODE, "\x90\xc3", 2);
		image_add_site(&m, &marker);
		symbol_of(&m)->st_value = vaddr;
		symbol_of(&m)->st_size = STUB + 13 - cases[i].at;
		if (cases[i].at == IMAGE_CODE)
			symbol_of(&m)->st_size = 2;
		if (cases[i].at == FUNCTION)
			symbol_of(&m)->st_size = sizeof(function);
		fd = image_fd(&m);
		assert_int_equal(ask(p, fd, vaddr), cases[i].refused);
		assert_int_equal(is_one(p, fd, cases[i].at, 0), !cases[i].refused);
		assert_int_equal(is_beginning(p, fd, cases[i].at, 0), !cases[i].refused);
		close(fd);
		provers_free(p);
	}
}

/* Kernels before 6.13 have one time for all that happens between two ticks. */
static void write_later(int fd, const void *bytes, size_t n, off_t at)
{
	struct stat before, after;

	assert_int_equal(fstat(fd, &before), 0);
	do {
		assert_int_equal(pwrite(fd, bytes, n, at), n);
		assert_int_equal(fstat(fd, &after), 0);
	} while (!memcmp(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim)));
}

/* What was proved of a file is not of another, nor of what the same file is later. */
static void file_by_file(void **state)
{
	struct provers *p = provers_new(prove_functions);
	const uint8_t other[] = { 0xb8, 0xc3, 0xc3, 0xc3, 0xc3 };
	int fd, copy, again;
	struct image m;

	(void)state;
	init(&m);
	fd = image_fd(&m);
	copy = image_fd(&m);
	assert_int_equal(ask(p, fd, IMAGE_SYMBOL_VADDR), 0);
	assert_true(is_one(p, fd, FUNCTION, 0));
	assert_false(is_one(p, copy, FUNCTION, 0));
	again = dup(fd);
	assert_true(is_one(p, again, FUNCTION, 0));
	close(again);
	write_later(fd, other, sizeof(other), FUNCTION + 3);
	assert_false(is_one(p, fd, FUNCTION, 0));
	assert_false(is_one(p, fd, FUNCTION + 5, 0));
	/* Of what it is now. */
	ask(p, fd, IMAGE_SYMBOL_VADDR);
	assert_false(is_one(p, fd, FUNCTION + 5, 0));
	close(copy);
	close(fd);
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(ask(p, fd, IMAGE_SYMBOL_VADDR), -EINVAL);
	close(fd);
	provers_free(p);
}

struct writer {
	int fd;
	bool stop;
};

static void *write_on(void *context)
{
	static const uint8_t instructions[][2] = { { 0xb0, 0xc3 }, { 0xc3, 0x90 }, { 0x90, 0xc3 } };
	struct writer *w = context;
	unsigned i;

	for (i = 0; !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); i++) {
		if (pwrite(w->fd, instructions[i % 3], 2, FUNCTION + 3) != 2)
			break;
	}
	return NULL;
}

/* What is proved is proved of something: never with a state of the file that was another meanwhile. */
static void written_to_meanwhile(void **state)
{
	struct provers *p = provers_new(prove_functions);
	struct writer w = { 0 };
	pthread_t thread;
	struct image m;
	unsigned i;

	(void)state;
	init(&m);
	w.fd = image_fd(&m);
	assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
	for (i = 0; i < 100; i++) {
		int error = ask(p, w.fd, IMAGE_SYMBOL_VADDR);

		if (error && error != 1)
			assert_int_equal(error, -EBADMSG);
		assert_false(is_one(p, w.fd, FUNCTION + 1, 0) && is_one(p, w.fd, FUNCTION + 2, 0));
	}
	__atomic_store_n(&w.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	write_later(w.fd, function, sizeof(function), FUNCTION);
	/* Nothing of then counts now; what it is now can be proved. */
	assert_int_equal(count(p, w.fd), 0);
	assert_int_equal(ask(p, w.fd, IMAGE_SYMBOL_VADDR), 0);
	assert_int_equal(count(p, w.fd), 3);
	close(w.fd);
	provers_free(p);
}

/* --- what a prover may do ------------------------------------------------------------------------ */

struct tried {
	int opened, socket, child, killed, limited, descriptors, code;
};

static void try_all(int socket_fd, int elf_fd)
{
	struct tried t;
	void *code;
	int i;

	(void)elf_fd;
	t.opened = open("/etc/passwd", O_RDONLY);
	t.socket = socket(AF_UNIX, SOCK_STREAM, 0);
	t.child = fork();
	t.killed = kill(getppid(), 0);
	t.limited = prctl(PR_SET_DUMPABLE, 1);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t.code = code == MAP_FAILED ? -1 : 0;
	for (i = t.descriptors = 0; i < 1000; i++) {
		struct stat st;

		t.descriptors += !fstat(i, &st);
	}
	message_send(socket_fd, &t, sizeof(t), NULL, 0, NULL, 0);
	read(socket_fd, &t, 1);
}

static void confined(void **state)
{
	int starter = starter_start(try_all), prover, unused = open("/etc/passwd", O_RDONLY);
	struct tried t;
	unsigned n = 0;
	size_t size;
	struct image m;
	int fd;

	(void)state;
	init(&m);
	fd = image_fd(&m);
	assert_true(starter >= 0);
	prover = starter_prover(starter, fd);
	assert_true(prover >= 0);
	assert_int_equal(message_receive(prover, &t, sizeof(t), &size, NULL, &n), 0);
	assert_int_equal(size, sizeof(t));
	assert_int_equal(t.opened, -1);
	assert_int_equal(t.socket, -1);
	assert_int_equal(t.child, -1);
	assert_int_equal(t.killed, -1);
	assert_int_equal(t.limited, -1);
	assert_int_equal(t.code, -1);
	/* /dev/null three times, the socket and the file. */
	assert_int_equal(t.descriptors, 5);
	close(prover);
	close(starter);
	close(unused);
	close(fd);
}

static void give_none(int socket, int elf_fd)
{
	(void)socket, (void)elf_fd;
}

/* What the broker says first, and the request. */
static struct prover_request greet(int socket, uint64_t *ret_vaddr)
{
	const struct prover_hello hello = { 0 };
	struct {
		struct prover_request head;
		uint64_t vaddr;
	} request = { 0 };
	unsigned n = 0;
	size_t size;

	message_send(socket, &hello, sizeof(hello), NULL, 0, NULL, 0);
	message_receive(socket, &request, 1, &size, NULL, &n);
	n = 0;
	message_receive(socket, &request, sizeof(request), &size, NULL, &n);
	*ret_vaddr = request.vaddr;
	return request.head;
}

static void talk_nonsense(int socket, int elf_fd)
{
	static uint8_t nonsense[1000];
	uint64_t vaddr;

	(void)elf_fd;
	greet(socket, &vaddr);
	memset(nonsense, 0xff, sizeof(nonsense));
	message_send(socket, nonsense, sizeof(nonsense), NULL, 0, NULL, 0);
}

static void talk_too_much(int socket, int elf_fd)
{
	static uint8_t much[PROVER_MAX_REPLY + 100];
	uint64_t vaddr;

	(void)elf_fd;
	greet(socket, &vaddr);
	message_send(socket, much, sizeof(much), NULL, 0, NULL, 0);
}

/* It says that what it was asked about begins, or ends, in the middle of an instruction. */
static void lie(int socket, bool begins)
{
	struct {
		struct proved_function function;
		struct proved_exit exit;
	} answer = { .exit.exit = CALL_RETURN };
	uint64_t vaddr;

	greet(socket, &vaddr);
	answer.function = (struct proved_function){
		.vaddr = begins ? vaddr + 1 : vaddr,
		.size = sizeof(function) - 1,
		.entry = begins ? vaddr + 1 : vaddr,
		.n_exits = 1,
	};
	answer.exit.vaddr = vaddr + (begins ? 5 : 3);
	message_send(socket, &answer, sizeof(answer), NULL, 0, NULL, 0);
}

static void lie_of_beginning(int socket, int elf_fd)
{
	(void)elf_fd;
	lie(socket, true);
}

static void lie_of_exit(int socket, int elf_fd)
{
	(void)elf_fd;
	lie(socket, false);
}

static void provers_that_fail(void **state)
{
	static const prover_fn fails[] = { give_none, talk_nonsense, talk_too_much,
					   lie_of_beginning, lie_of_exit };
	struct image m;
	unsigned i, j;

	(void)state;
	init(&m);
	for (i = 0; i < sizeof(fails) / sizeof(fails[0]); i++) {
		struct provers *p = provers_new(fails[i]);
		int fd = image_fd(&m);

		/* More often than there may be provers at a time. */
		for (j = 0; j < 10; j++)
			assert_int_equal(ask(p, fd, IMAGE_SYMBOL_VADDR), -EBADMSG);
		assert_int_equal(count(p, fd), 0);
		close(fd);
		provers_free(p);
	}
}

static void one_ends_with_the_broker(void **state)
{
	int starter = starter_start(prove_functions), status;
	struct image m;
	int fd, prover;
	struct pollfd end;

	(void)state;
	/* What other tests started ends with this process; this one is the last child. */
	init(&m);
	fd = image_fd(&m);
	prover = starter_prover(starter, fd);
	assert_true(prover >= 0);
	end = (struct pollfd){ .fd = prover, .events = POLLRDHUP };
	close(starter);
	assert_int_equal(poll(&end, 1, 10000), 1);
	assert_true(waitpid(-1, &status, WNOHANG) >= 0);
	close(prover);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_sites),
		cmocka_unit_test(symbols_that_lie),
		cmocka_unit_test(arm64),
		cmocka_unit_test(markers_return),
		cmocka_unit_test(no_probe_sites),
		cmocka_unit_test(file_by_file),
		cmocka_unit_test(written_to_meanwhile),
		cmocka_unit_test(confined),
		cmocka_unit_test(provers_that_fail),
		cmocka_unit_test(one_ends_with_the_broker),
	};

	return cmocka_run_group_tests_name("prover", tests, NULL, NULL);
}
