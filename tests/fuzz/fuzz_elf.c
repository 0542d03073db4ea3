/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as an ELF file: opened, searched for markers and probes, asked for strings and symbols. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracee/elf_file.h"
#include "tracee/marker_names.h"
#include "tracee/markers.h"
#include "tracee/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void ask(struct elf_file *elf, uint64_t vaddr)
{
	char text[130], bytes[24];
	uint64_t offset;
	ssize_t n = elf_file_string(elf, vaddr, text, sizeof(text));

	check(n < 0 || (size_t)n <= sizeof(text));
	check(n < 0 || strlen(text) == ((size_t)n == sizeof(text) ? sizeof(text) - 1 : (size_t)n));
	(void)elf_file_bytes(elf, vaddr, bytes, sizeof(bytes));
	(void)elf_file_offset(elf, vaddr, ELF_EXECUTABLE, &offset);
}

static void check_text(void *context, const char *text)
{
	(void)context;
	check(*text != '\0' && strlen(text) < PATH_MAX);
}

static void look_for_names(struct elf_file *elf, const struct marker_sites *sites)
{
	struct marker_names names;
	unsigned i;

	if (marker_names_find(elf, sites, &names))
		return;
	check(names.n <= MARKER_NAMES_MAX);
	for (i = 0; i < names.n; i++) {
		check(memchr(names.names[i].text, '\0', sizeof(names.names[i].text)) != NULL);
		check(marker_kind_name(names.names[i].kind) != NULL);
		check(i == 0 ||
		      marker_domain_compare(names.names[i - 1].domain, names.names[i].domain) <= 0);
	}
	marker_names_free(&names);
}

static void look_for_markers(struct elf_file *elf)
{
	struct marker_sites sites;
	struct failure f;
	unsigned i;

	if (markers_find(elf, &sites, &f))
		return;
	for (i = 0; i < sites.n; i++) {
		uint8_t first;

		check(elf_file_read(elf, sites.sites[i].offset, &first, 1) == 0);
		check(first == (elf->machine == EM_X86_64 ? 0x90 : 0x1f));
		check(marker_kind_name(sites.sites[i].kind) != NULL);
		check(memchr(sites.sites[i].domain, '\0', sizeof(sites.sites[i].domain)) != NULL);
		ask(elf, sites.sites[i].vaddr - 64);
	}
	look_for_names(elf, &sites);
	marker_sites_free(&sites);
}

static void look_for_probes(struct elf_file *elf)
{
	struct usdt_probes probes;
	struct failure f;
	size_t length = 0;
	unsigned i;

	if (usdt_find(elf, &probes, &f))
		return;
	for (i = 0; i < probes.n_probes; i++)
		length += strlen(probes.probes[i].provider) + strlen(probes.probes[i].name) +
			  strlen(probes.probes[i].arguments);
	check(length <= ELF_MAX_NOTES);
	usdt_free(&probes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_file *elf;
	struct failure f;
	uint64_t vaddr;
	unsigned i;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	if (elf_file_open(fd, &elf, &f))
		return 0;
	look_for_markers(elf);
	look_for_probes(elf);
	(void)elf_file_dynamic_symbol(elf, "_dl_debug_state", &vaddr);
	elf_file_dynamic_strings(elf, DT_NEEDED, check_text, NULL);
	elf_file_dynamic_strings(elf, DT_RUNPATH, check_text, NULL);
	for (i = 0; i < elf->n_segments; i++) {
		ask(elf, elf->segments[i].vaddr);
		ask(elf, elf->segments[i].vaddr + elf->segments[i].filesz - 4);
	}
	elf_file_free(elf);
	return 0;
}
