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
	print_visible(stdout, "libraries (%s): libbpf %s, elfutils 0.%d, zlib %s, protobuf-c %s, ",
		      static_program ? "static" : "shared", libbpf_version_string() + 1,
		      _ELFUTILS_VERSION, zlibVersion(), protobuf_c_version());
	print_visible(stdout, "libseccomp %d.%d.%d", SCMP_VER_MAJOR, SCMP_VER_MINOR,
		      SCMP_VER_MICRO);
	if (static_program)
		fputs(", ", stdout);
	else
		fputs("\nloaded when needed: libdw, ", stdout);
	print_visible(stdout, "libdeflate %s, yajl %d.%d.%d, liblzma %s, ncurses %s, libpfm %d",
		      LIBDEFLATE_VERSION_STRING, YAJL_MAJOR, YAJL_MINOR, YAJL_MICRO,
		      LZMA_VERSION_STRING, NCURSES_VERSION, PFM_MAJ_VERSION(LIBPFM_VERSION));
	if (!static_program)
		print_visible(stdout, ", libmicrohttpd %x.%x.%x, libcurl %s, libdebuginfod",
			      MHD_VERSION >> 24, MHD_VERSION >> 16 & 0xff, MHD_VERSION >> 8 & 0xff,
			      LIBCURL_VERSION);
	puts("");
	return STATUS_DONE;
}
