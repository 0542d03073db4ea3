/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration of `proftrace serve` (serve_config.c). */
#ifndef PROFTRACE_CMD_SERVE_SERVE_H
#define PROFTRACE_CMD_SERVE_SERVE_H

#define SERVE_CONFIG	"/etc/proftrace/serve.conf"
#define SERVE_DIRECTORY "/var/lib/proftrace"
#define SERVE_METRICS	"127.0.0.1:9464"

struct record_options;

/*
 * Ends the program like wrong usage if a line is wrong, with a message that names the line. The options point into
 * `text`, which is changed.
 */
void serve_config_parse(const char *file, char *text, struct record_options *ret_options);

#endif
