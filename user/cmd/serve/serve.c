/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace serve`: records as a configuration file says, until it is told to end. */
#include "cmd/serve/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "record/record.h"

enum {
	KEY_CHECK = 256,
};

struct serve_options {
	const char *config;
	bool check;
};

static const struct argp_option options[] = {
	{ "config", 'c', "FILE", 0, "Read this file (" SERVE_CONFIG ")", 0 },
	{ "check", KEY_CHECK, NULL, 0, "Only check the configuration", 0 },
	{ 0 },
};

static error_t parse_serve_option(int key, char *arg, struct argp_state *state)
{
	struct serve_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*o = (struct serve_options){ .config = SERVE_CONFIG };
		return 0;
	case 'c':
		o->config = arg;
		return 0;
	case KEY_CHECK:
		o->check = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state,
			    "unexpected argument '%s': what to record is in the file of "
			    "--config",
			    arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char serve_doc[] =
	"Record all the time, as a service: serve the table of all matching processes as "
	"OpenMetrics, "
	"and keep the traces of slow requests.\v"
	"SIGHUP reads the configuration again. man proftrace-serve has an example.";

static const struct argp argp = { options, parse_serve_option, NULL, serve_doc, NULL, NULL, NULL };
const struct usage usage_serve = { .argp = &argp, .size = sizeof(struct serve_options) };

/* In the recorder's process. */
static int serve_record(const char *file, char *text, const struct service *service)
{
	static struct record_options o;

	serve_config_parse(file, text, &o);
	o.service = service;
	service_send(service, SERVICE_ACCEPTED);
	if (!service_may_begin(service))
		return STATUS_DONE;
	/* systemd has made it. If this fails, opening the first file says why. */
	if (o.n_outputs && !strncmp(o.outputs[0], SERVE_DIRECTORY "/", strlen(SERVE_DIRECTORY) + 1))
		mkdir(SERVE_DIRECTORY, 0700);
	return record(&o, NULL);
}

static int serve_check(const char *file)
{
	static struct record_options o;
	struct failure f = { 0 };
	char *text = service_read_file(file, &f);

	if (!text) {
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	serve_config_parse(file, text, &o);
	free(text);
	print_visible(stdout, "%s: no mistakes\n", file);
	return STATUS_DONE;
}

int cmd_serve(int argc, char **argv)
{
	struct serve_options o;
	int status = usage_parse(&usage_serve, argc, argv, &o) ? STATUS_USAGE : 0;

	if (status)
		return status;
	journal_begin();
	return o.check ? serve_check(o.config) : service_supervise(o.config, serve_record);
}
