/* SPDX-License-Identifier: BSD-2-Clause */
/* The compressed data is untrusted: its size, its unpacked size and the memory of the decoder are all limited. */
#include "tracee/debug_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"
#define MAX_MEMORY	(96 << 20) /* of the decoder: xz -9 needs 65 MiB */

static bool elf_same_build_id(const struct elf_file *a, const struct elf_file *b)
{
	return a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

int debug_symbols_open(const struct elf_file *elf)
{
	char path[sizeof(DEBUG_DIRECTORY) + 2 * ELF_MAX_BUILD_ID + 16];
	int n;

	if (elf->build_id_size < 2)
		return -ENOENT;
	n = snprintf(path, sizeof(path), DEBUG_DIRECTORY "/%02x/", elf->build_id[0]);
	for (unsigned i = 1; i < elf->build_id_size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", elf->build_id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	n = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return n < 0 ? -errno : n;
}

static int write_unpacked(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t done = TEMP_FAILURE_RETRY(write(fd, bytes, n));

		if (done <= 0)
			return done ? -errno : -EIO;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Unpacks in blocks, because a few compressed bytes may become any amount of data. */
static int unpack_xz(lzma_stream *stream, int fd)
{
	size_t block = 1 << 20, total = 0;
	uint8_t *out = malloc(block);
	lzma_ret r = LZMA_OK;
	int error = out ? 0 : -ENOMEM;

	while (!error && r == LZMA_OK) {
		stream->next_out = out;
		stream->avail_out = block;
		r = lzma_code(stream, LZMA_FINISH);
		total += block - stream->avail_out;
		if ((r != LZMA_OK && r != LZMA_STREAM_END) || total > DEBUG_MAX_DATA)
			error = r == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
		else
			error = write_unpacked(fd, out, block - stream->avail_out);
	}
	free(out);
	return error;
}

int debug_symbols_unpack(const struct elf_file *elf)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	Elf64_Shdr section;
	uint8_t *packed, last;
	int fd, error;

	if (elf_file_section(elf, SHT_PROGBITS, ".gnu_debugdata", &section))
		return -ENOENT;
	/* Reads the last byte first, so that no memory is allocated for a size that exceeds the file. */
	if (!section.sh_size || section.sh_size > DEBUG_MAX_COMPRESSED ||
	    section.sh_offset > INT64_MAX - section.sh_size ||
	    elf_file_read(elf, section.sh_offset + section.sh_size - 1, &last, 1))
		return -EBADMSG;
	packed = malloc(section.sh_size);
	if (!packed)
		return -ENOMEM;
	error = elf_file_read(elf, section.sh_offset, packed, section.sh_size);
	fd = error ? error : memfd_create("debugdata", MFD_CLOEXEC);
	if (!error && fd < 0)
		error = -errno;
	if (!error && lzma_stream_decoder(&stream, MAX_MEMORY, 0) != LZMA_OK)
		error = -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = section.sh_size;
	error = error ?: unpack_xz(&stream, fd);
	lzma_end(&stream);
	free(packed);
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

/* `of`: the file whose build id it has to have; NULL: not checked. */
static int debug_symbols_add_file(struct elf_functions *functions, int fd,
				  const struct elf_file *of)
{
	struct elf_file *elf;
	int error = 0;

	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	if (!elf_file_open(fd, &elf, NULL)) {
		if (!of || elf_same_build_id(of, elf))
			error = elf_functions_add(functions, elf);
		elf_file_free(elf);
	}
	return error;
}

int debug_symbols_add(struct elf_functions *functions, const struct elf_file *elf, int debug_fd)
{
	int error = debug_symbols_add_file(functions, debug_fd, elf), packed;

	if (error)
		return error;
	packed = debug_symbols_unpack(elf);
	error = debug_symbols_add_file(functions, packed, NULL);
	if (packed >= 0)
		close(packed);
	return error;
}
