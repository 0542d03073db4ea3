/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a file with libdwfl, and finds its debug file and the file that dwz split off, which it
 * requests from the recorder. A candidate is used only if its build id or checksum matches.
 */
#include "symbols/code_file.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbols/symbols.h"

struct code_file {
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: not an ELF file */
	file_request_fn wanted;
	void *context;
	bool searched; /* debug information and symbols were loaded */
	struct symbol_table *symbols;
	struct dwarf_code *code;
	uint64_t bias; /* the file's addresses minus those of the debug information */
	int alternate_fd;
	Dwarf *alternate;
};

/* --- lines of the reply --- */

void line_reply_add(struct reply *a, const char *function, const char *file, int line)
{
	struct symbol_line head = { .line = line > 0 ? (uint32_t)line : 0 };
	char *at = a->bytes + a->used;
	const size_t most = sizeof(head) + 2 * SYMBOL_MAX_TEXT;

	if (a->head.n_lines == a->max || a->used + most > sizeof(a->bytes) || !function[0])
		return;
	head.function = (uint16_t)symbol_demangle(function, at + sizeof(head), SYMBOL_MAX_TEXT);
	head.file = (uint16_t)(file ? strnlen(file, SYMBOL_MAX_TEXT) : 0);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head) + head.function, file ? file : "", head.file);
	a->used += sizeof(head) + head.function + head.file;
	a->head.n_lines++;
}

/* --- debug files ------------------------------------------------------------------------------- */

static bool file_has_build_id(int fd, const void *id, size_t size)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *its = NULL;
	ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &its) : -1;
	bool same = n > 0 && (size_t)n == size && !memcmp(its, id, size);

	elf_end(elf);
	return same;
}

static bool file_has_checksum(int fd, uint32_t checksum)
{
	unsigned char buffer[65536];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		sum = crc32(sum, buffer, (uInt)n);
		at += n;
	}
	return n == 0 && sum == checksum;
}

/* Requests one candidate after the other until one matches. Returns its descriptor or -1. */
static int request_matching_file(struct code_file *file, struct symbol_file_request *wanted,
				 uint32_t checksum)
{
	uint32_t index;

	for (;;) {
		int fd = file->wanted(file->context, wanted, &index);

		if (fd < 0)
			return -1;
		if (wanted->build_id_size
			    ? file_has_build_id(fd, wanted->build_id, wanted->build_id_size)
			    : file_has_checksum(fd, checksum))
			return fd;
		close(fd);
		wanted->first = index + 1;
	}
}

static void set_wanted_link(struct symbol_file_request *wanted, const char *link)
{
	if (link && strlen(link) < sizeof(wanted->link))
		strcpy(wanted->link, link);
}

static void set_wanted_build_id(struct symbol_file_request *wanted, const void *id, size_t size)
{
	if (size > sizeof(wanted->build_id))
		return;
	memcpy(wanted->build_id, id, size);
	wanted->build_id_size = (uint32_t)size;
}

static int find_debug_file(Dwfl_Module *module, void **userdata, const char *module_name,
			   Dwarf_Addr base, const char *file_name, const char *link,
			   GElf_Word checksum, char **ret_name)
{
	struct symbol_file_request wanted = { .is_alternate = 0 };
	const unsigned char *id;
	GElf_Addr at;
	int n = dwfl_module_build_id(module, &id, &at);

	(void)module_name, (void)base, (void)file_name, (void)ret_name;
	if (n > 0)
		set_wanted_build_id(&wanted, id, (size_t)n);
	set_wanted_link(&wanted, link);
	if (!wanted.build_id_size && !wanted.link[0])
		return -1;
	return request_matching_file(*userdata, &wanted, checksum);
}

/* Opens the file into which dwz moved what this file has in common with others. */
static void open_alternate_file(struct code_file *file, Dwarf *dwarf)
{
	struct symbol_file_request wanted = { .is_alternate = 1 };
	const char *link;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &id);

	if (n <= 0)
		return;
	set_wanted_build_id(&wanted, id, (size_t)n);
	set_wanted_link(&wanted, link);
	if (!wanted.build_id_size)
		return;
	file->alternate_fd = request_matching_file(file, &wanted, 0);
	if (file->alternate_fd < 0)
		return;
	file->alternate = dwarf_begin(file->alternate_fd, DWARF_C_READ);
	if (file->alternate)
		dwarf_setalt(dwarf, file->alternate);
}

/* --- files ------------------------------------------------------------------------------------- */

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_debug_file,
	.section_address = dwfl_offline_section_address,
};

static void open_dwfl_module(struct code_file *file, int fd)
{
	void **userdata;

	file->dwfl = dwfl_begin(&callbacks);
	if (file->dwfl) {
		dwfl_report_begin(file->dwfl);
		/* At base 0, so that addresses are those in the file. */
		file->module = dwfl_report_elf(file->dwfl, "code", "", fd, 0, true);
		dwfl_report_end(file->dwfl, NULL, NULL);
	}
	if (!file->module) {
		close(fd);
		return;
	}
	dwfl_module_info(file->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = file;
}

struct code_file *code_file_open(int fd, file_request_fn wanted, void *context)
{
	struct code_file *file = calloc(1, sizeof(*file));

	if (!file) {
		close(fd);
		return NULL;
	}
	file->wanted = wanted;
	file->context = context;
	file->alternate_fd = -1;
	open_dwfl_module(file, fd);
	return file;
}

void code_file_close(struct code_file *file)
{
	if (!file)
		return;
	symbol_table_free(file->symbols);
	dwarf_code_free(file->code);
	if (file->dwfl)
		dwfl_end(file->dwfl);
	dwarf_end(file->alternate);
	if (file->alternate_fd >= 0)
		close(file->alternate_fd);
	free(file);
}

static void load_symbols(struct code_file *file)
{
	Dwarf *dwarf;

	file->searched = true;
	dwarf = dwfl_module_getdwarf(file->module, &file->bias);
	if (dwarf) {
		open_alternate_file(file, dwarf);
		file->code = dwarf_code_new(dwarf);
	}
	file->symbols = symbol_table_new(file->module);
}

void code_file_lines(struct code_file *file, uint64_t address, struct reply *reply)
{
	const char *symbol;

	if (!file->module)
		return;
	if (!file->searched)
		load_symbols(file);
	symbol = file->symbols ? symbol_table_find(file->symbols, address) : NULL;
	if (file->code && dwarf_code_lines(file->code, address - file->bias, symbol, reply))
		return;
	if (symbol)
		line_reply_add(reply, symbol, NULL, 0);
}
