/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a prover that was taken over may say to the broker of a known file: any packet. Whatever it is, nothing
 * is proved outside of the one function that the file's symbols name, but instructions that leave, of which
 * this file has no others. The input: two bytes of length before each packet. What the broker accepts the recorder reads as well.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "privilege/prover/proved.c"
#include "../unit/elf_image.h"

#define FUNCTION (IMAGE_CODE + 0x100)
#define PACKETS	 8

static const uint8_t function[] = { 0x55, 0x74, 0x03, 0xb0, 0xc3, 0xc3, 0xe9, 0, 0x10, 0, 0 };

static void must(int condition)
{
	if (!condition)
		abort();
}

static int known_file(void)
{
	struct image m;

	image_init(&m, EM_X86_64);
	image_put(&m, FUNCTION, function, sizeof(function));
	((Elf64_Sym *)(m.bytes + IMAGE_DYNSYM))[2].st_size = sizeof(function);
	return image_fd(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	const uint64_t vaddr = IMAGE_SYMBOL_VADDR;
	struct provers *p = provers_new(NULL);
	int sockets[2], i, n = 0;
	unsigned j;

	if (fd < 0)
		fd = known_file();
	must(p && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	p->prover = sockets[0];
	must(file_state_read(fd, &p->of) && segments_read(fd, &p->segments));
	must(!function_symbols_add(&p->symbols, fd));
	function_symbols_sort(&p->symbols);
	while (size > 2 && n < PACKETS) {
		size_t length = data[0] | data[1] << 8;

		data += 2;
		size -= 2;
		if (length > size)
			length = size;
		must(send(sockets[1], data, length, MSG_DONTWAIT) == (ssize_t)length);
		data += length;
		size -= length;
		n++;
	}
	shutdown(sockets[1], SHUT_WR);
	for (i = 0; i < n && p->prover >= 0; i++) {
		int copy = dup(fd);
		const void *answer;
		size_t answer_size;

		must(copy >= 0);
		if (provers_request(p, copy, &vaddr, 1, true, &answer, &answer_size, NULL))
			close(copy);
	}
	for (i = 0; i < (int)p->n_files; i++) {
		for (j = 0; j < p->files[i].n; j++)
			must((p->files[i].offsets[j] & ~PROVED_ENTRY) - FUNCTION <
			     sizeof(function));
	}
	must(p->n_sites <= PACKETS * (2 + PROVER_MAX_EXITS));
	provers_free(p);
	close(sockets[1]);
	return 0;
}
