/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `make` links instead of libraries that user/base/library loads: for each function that is used of them, one of the
 * same name, which jumps to where library_load() has found it. The compiler knows the functions by the headers of the
 * libraries, and their callers are the same however they are linked. A function that is not listed here is an error
 * of the linker.
 */
#include "base/library/library.h"

/* An indirect call may arrive at a function, where the processor checks that (IBT, BTI). The registers are the caller's. */
#if defined(__x86_64__)
#define JUMP(slot)   \
	"	endbr64\n" \
	"	jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(slot)                                \
	"	hint #34\n"                             \
	"	adrp x16, " slot "\n"             \
	"	ldr x16, [x16, :lo12:" slot "]\n" \
	"	br x16\n"
#endif

/* clang-format off */
#define STUB(name)                                                                             \
	extern void *slot_##name;                                                              \
	__attribute__((used, visibility("hidden"))) void *slot_##name = library_is_missing;    \
	__asm__(".pushsection .text." #name ", \"ax\", %progbits\n"                            \
		"	.balign 16\n"                                                          \
		"	.hidden " #name "\n"                                                   \
		"	.globl " #name "\n"                                                    \
		"	.type " #name ", %function\n"                                          \
		#name ":\n" JUMP("slot_" #name)                                                \
		"	.size " #name ", . - " #name "\n"                                      \
		".popsection\n");
/* clang-format on */
#define FUNCTION(name) { #name, &slot_##name },

#define LIBRARY(name, soname, debian, FUNCTIONS)                                              \
	FUNCTIONS(STUB)                                                                       \
	static const struct library_function functions_of_##name[] = { FUNCTIONS(FUNCTION) }; \
	struct library library_##name = { soname, debian, functions_of_##name,                \
					  sizeof(functions_of_##name) /                       \
						  sizeof(functions_of_##name[0]),             \
					  false };

#define OF_DEFLATE(F)                     \
	F(libdeflate_alloc_compressor)    \
	F(libdeflate_free_compressor)     \
	F(libdeflate_gzip_compress)       \
	F(libdeflate_gzip_compress_bound) \
	F(libdeflate_zlib_compress)
LIBRARY(deflate, "libdeflate.so.0", "libdeflate0", OF_DEFLATE)

#define OF_LZMA(F) F(lzma_code) F(lzma_end) F(lzma_stream_decoder)
LIBRARY(lzma, "liblzma.so.5", "liblzma5", OF_LZMA)

#define OF_YAJL(F)                 \
	F(yajl_alloc)              \
	F(yajl_complete_parse)     \
	F(yajl_config)             \
	F(yajl_free)               \
	F(yajl_free_error)         \
	F(yajl_get_bytes_consumed) \
	F(yajl_get_error)          \
	F(yajl_parse)              \
	F(yajl_tree_free)          \
	F(yajl_tree_get)           \
	F(yajl_tree_parse)
LIBRARY(yajl, "libyajl.so.2", "libyajl2", OF_YAJL)

#define OF_NCURSES(F) \
	F(cbreak)     \
	F(clearok)    \
	F(curs_set)   \
	F(endwin)     \
	F(keypad)     \
	F(newterm)    \
	F(newwin)     \
	F(nodelay)    \
	F(noecho)     \
	F(resizeterm) \
	F(waddnstr)   \
	F(wattr_off)  \
	F(wattr_on)   \
	F(werase)     \
	F(wgetch)     \
	F(whline)     \
	F(wmove)      \
	F(wrefresh)
LIBRARY(ncurses, "libncursesw.so.6", "libncursesw6", OF_NCURSES)

#define OF_DW(F)                        \
	F(dwarf_attr)                   \
	F(dwarf_attr_integrate)         \
	F(dwarf_begin)                  \
	F(dwarf_child)                  \
	F(dwarf_dieoffset)              \
	F(dwarf_end)                    \
	F(dwarf_filesrc)                \
	F(dwarf_formstring)             \
	F(dwarf_formudata)              \
	F(dwarf_get_units)              \
	F(dwarf_getsrc_die)             \
	F(dwarf_getsrcfiles)            \
	F(dwarf_haschildren)            \
	F(dwarf_lineno)                 \
	F(dwarf_linesrc)                \
	F(dwarf_offdie)                 \
	F(dwarf_ranges)                 \
	F(dwarf_setalt)                 \
	F(dwarf_siblingof)              \
	F(dwarf_tag)                    \
	F(dwelf_dwarf_gnu_debugaltlink) \
	F(dwelf_elf_gnu_build_id)       \
	F(dwfl_begin)                   \
	F(dwfl_end)                     \
	F(dwfl_module_build_id)         \
	F(dwfl_module_getdwarf)         \
	F(dwfl_module_getsym_info)      \
	F(dwfl_module_getsymtab)        \
	F(dwfl_module_info)             \
	F(dwfl_offline_section_address) \
	F(dwfl_report_begin)            \
	F(dwfl_report_elf)              \
	F(dwfl_report_end)
LIBRARY(dw, "libdw.so.1", "libdw1", OF_DW)
