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

/* --- libraries that all but a rank that hands its process over use: library_load_common() --- */

#define OF_BPF(F)                                \
	F(bpf_iter_create)                       \
	F(bpf_link_create)                       \
	F(bpf_map__autocreate)                   \
	F(bpf_map__fd)                           \
	F(bpf_map__initial_value)                \
	F(bpf_map__key_size)                     \
	F(bpf_map__map_flags)                    \
	F(bpf_map__max_entries)                  \
	F(bpf_map__name)                         \
	F(bpf_map__reuse_fd)                     \
	F(bpf_map__set_autocreate)               \
	F(bpf_map__set_map_flags)                \
	F(bpf_map__set_max_entries)              \
	F(bpf_map__type)                         \
	F(bpf_map__value_size)                   \
	F(bpf_map_create)                        \
	F(bpf_map_freeze)                        \
	F(bpf_map_delete_elem)                   \
	F(bpf_map_get_next_key)                  \
	F(bpf_map_lookup_elem)                   \
	F(bpf_map_update_elem)                   \
	F(bpf_object__btf)                       \
	F(bpf_object__destroy_skeleton)          \
	F(bpf_object__load_skeleton)             \
	F(bpf_object__open_skeleton)             \
	F(bpf_prog_load)                         \
	F(bpf_prog_test_run_opts)                \
	F(bpf_program__autoload)                 \
	F(bpf_program__expected_attach_type)     \
	F(bpf_program__fd)                       \
	F(bpf_program__insn_cnt)                 \
	F(bpf_program__insns)                    \
	F(bpf_program__name)                     \
	F(bpf_program__section_name)             \
	F(bpf_program__set_autoload)             \
	F(bpf_program__set_expected_attach_type) \
	F(bpf_program__set_flags)                \
	F(bpf_program__set_insns)                \
	F(bpf_program__set_type)                 \
	F(bpf_program__type)                     \
	F(bpf_raw_tracepoint_open)               \
	F(btf__name_by_offset)                   \
	F(btf__type_by_id)                       \
	F(btf__type_cnt)                         \
	F(libbpf_find_vmlinux_btf_id)            \
	F(libbpf_num_possible_cpus)              \
	F(libbpf_probe_bpf_helper)               \
	F(libbpf_register_prog_handler)          \
	F(libbpf_set_print)                      \
	F(libbpf_unregister_prog_handler)        \
	F(libbpf_version_string)                 \
	F(ring_buffer__consume)                  \
	F(ring_buffer__epoll_fd)                 \
	F(ring_buffer__free)                     \
	F(ring_buffer__new)
LIBRARY(bpf, "libbpf.so.1", "libbpf1", OF_BPF)

#define OF_ELF(F) F(elf_begin) F(elf_end) F(elf_getscn) F(gelf_getshdr)
LIBRARY(elf, "libelf.so.1", "libelf1", OF_ELF)

#define OF_M(F) F(expm1) F(fmax) F(fmin) F(llrint) F(log) F(log1p) F(log2) F(sqrt)
LIBRARY(m, "libm.so.6", "libc6", OF_M)

#define OF_PROTOBUF_C(F)                           \
	F(protobuf_c_message_descriptor_get_field) \
	F(protobuf_c_message_free_unpacked)        \
	F(protobuf_c_message_get_packed_size)      \
	F(protobuf_c_message_pack)                 \
	F(protobuf_c_message_pack_to_buffer)       \
	F(protobuf_c_message_unpack)               \
	F(protobuf_c_version)
LIBRARY(protobuf_c, "libprotobuf-c.so.1", "libprotobuf-c1", OF_PROTOBUF_C)
/* What unset strings are: a value that the library must not free. The program exports it, so that it is the library's own, too. */
extern const char protobuf_c_empty_string[];
const char protobuf_c_empty_string[] = "";

#define OF_SECCOMP(F)       \
	F(seccomp_attr_set) \
	F(seccomp_init)     \
	F(seccomp_load)     \
	F(seccomp_release)  \
	F(seccomp_rule_add) \
	F(seccomp_syscall_resolve_num_arch)
LIBRARY(seccomp, "libseccomp.so.2", "libseccomp2", OF_SECCOMP)

#define OF_Z(F)          \
	F(compress2)     \
	F(compressBound) \
	F(crc32)         \
	F(deflate)       \
	F(deflateBound)  \
	F(deflateEnd)    \
	F(deflateInit2_) \
	F(inflate)       \
	F(inflateEnd)    \
	F(inflateInit2_) \
	F(inflateReset)  \
	F(uncompress)    \
	F(zlibVersion)
LIBRARY(z, "libz.so.1", "zlib1g", OF_Z)

/* --- libraries that many do not use --- */

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
