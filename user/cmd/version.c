/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace --version`: the version, and below it what the program was built with: first questions about a report of
 * a bug. Nothing of it depends on when and where it was built, so that two builds of the same sources are the same.
 */
#include <bpf/libbpf.h>
#include <curl/curlver.h>
#include <curses.h>
#include <elfutils/version.h>
#include <libdeflate.h>
#include <lzma.h>
#include <microhttpd.h>
#include <perfmon/pfmlib.h>
#include <protobuf-c/protobuf-c.h>
#include <seccomp.h>
#include <stdio.h>
#include <yajl/yajl_version.h>
#include <zlib.h>

#include "base/text.h"
#include "built_with.h"
#include "cmd/cmd.h"

#ifdef __clang__
#define COMPILER "" /* its version says who it is */
#else
#define COMPILER "gcc "
#endif

/* Beside static libraries there are others of functions that only a static program has: tools/static.c. */
extern const char static_program[] __attribute__((weak));

int cmd_version(void)
{
	puts("proftrace " PROFTRACE_VERSION);
	print_visible(stdout,
		      "compilers: " COMPILER __VERSION__ ", clang " BUILT_CLANG " for BPF\n");
	print_visible(stdout, "kernel types: of Linux " BUILT_KERNEL "\n");
	print_visible(stdout, "libraries (%s): libbpf %s, elfutils 0.%d, zlib %s, ",
		      static_program ? "static" : "shared", libbpf_version_string() + 1,
		      _ELFUTILS_VERSION, zlibVersion());
	print_visible(stdout, "libdeflate %s, protobuf-c %s, ", LIBDEFLATE_VERSION_STRING,
		      protobuf_c_version());
	print_visible(stdout, "yajl %d.%d.%d, liblzma %s, ", YAJL_MAJOR, YAJL_MINOR, YAJL_MICRO,
		      lzma_version_string());
	print_visible(stdout, "libseccomp %d.%d.%d, ncurses %s", SCMP_VER_MAJOR, SCMP_VER_MINOR,
		      SCMP_VER_MICRO, NCURSES_VERSION);
	if (static_program) {
		print_visible(stdout, ", libpfm %d\n", PFM_MAJ_VERSION(LIBPFM_VERSION));
		return STATUS_DONE;
	}
	puts("");
	print_visible(stdout, "loaded when needed: libpfm %d, libmicrohttpd %x.%x.%x, ",
		      PFM_MAJ_VERSION(LIBPFM_VERSION), MHD_VERSION >> 24, MHD_VERSION >> 16 & 0xff,
		      MHD_VERSION >> 8 & 0xff);
	print_visible(stdout, "libcurl %s, libdebuginfod\n", LIBCURL_VERSION);
	return STATUS_DONE;
}
