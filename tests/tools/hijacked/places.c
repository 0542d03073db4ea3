/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in a file that are no probe sites. */
#include "hijacked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_true_site(const struct broker_site *site)
{
	unsigned i;

	for (i = 0; i < h.n_sites; i++) {
		if (h.sites[i].offset == site->offset &&
		    h.sites[i].semaphore_offset == site->semaphore_offset)
			return true;
	}
	return false;
}

void ask_places(void)
{
	unsigned i, step;
	int by;

	step = h.n_sites / 8 + 1;
	for (i = 0; i < h.n_sites; i += step) {
		for (by = -12; by <= 24; by++) {
			struct broker_site site = h.sites[i], other = h.sites[i];

			site.offset += (uint64_t)by;
			other.semaphore_offset += (uint64_t)by;
			if (!is_true_site(&site) &&
			    !attach(BROKER_MARKS, h.target, h.elf_fd, &site))
				got("a marker where there is none, moved by", by);
			if (!is_true_site(&other) &&
			    !attach(BROKER_MARKS, h.target, h.elf_fd, &other))
				got("a semaphore that is none, moved by", by);
			if (!attach(BROKER_FUNCTIONS, h.target, h.elf_fd, &site))
				got("a function that is not proved, moved by", by);
			if (!attach(BROKER_RETURNS, h.target, h.elf_fd, &site))
				got("a return probe where no function begins, moved by", by);
		}
	}
}

/* Bytes of the library that are those of a nop, most of them inside an instruction. */
void ask_library(void)
{
	static unsigned char code[1 << 20];
	ssize_t n = pread(h.library_fd, code, sizeof(code), 0x28000);
	unsigned i, tries;

	for (tries = 0; n > 0 && tries < 200; tries++) {
		uint64_t from = random_number() % (uint64_t)n;
		const unsigned char *nop = memchr(code + from, 0x90, (size_t)n - from);
		struct broker_site site = { 0 };

		if (!nop)
			continue;
		site.offset = 0x28000 + (uint64_t)(nop - code);
		for (i = 0; i < BROKER_PROGRAMS; i++) {
			if (!attach(i, h.target, h.library_fd, &site))
				printf("granted %u 0x%016" PRIx64 "\n", i, site.offset);
		}
	}
}
