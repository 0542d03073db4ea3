/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of libcurl. The library and the twenty that it needs itself are for this one use, so it is opened in the
 * process that sends.
 */
#ifndef PROFTRACE_OTLP_OTLP_CURL_H
#define PROFTRACE_OTLP_OTLP_CURL_H

/* Its checks of types are macros with the functions' names, which would hide the pointers. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define CURL_LIBRARY	   "libcurl.so.4"
#define CURL_LIBRARY_OTHER "libcurl-gnutls.so.4" /* Debian's other build of the same version */

#define CURL_FUNCTIONS(USE)   \
	USE(easy_getinfo)     \
	USE(easy_init)        \
	USE(easy_setopt)      \
	USE(easy_strerror)    \
	USE(global_init)      \
	USE(multi_add_handle) \
	USE(multi_info_read)  \
	USE(multi_init)       \
	USE(multi_perform) USE(multi_poll) USE(multi_remove_handle) USE(slist_append)

#define CURL_POINTER(name) typeof(&curl_##name) name;

struct curl_functions {
	CURL_FUNCTIONS(CURL_POINTER)
};

#endif
