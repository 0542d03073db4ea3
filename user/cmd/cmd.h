/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs. Each parses its own options and returns the exit status of the program. */
#ifndef PROFTRACE_CMD_CMD_H
#define PROFTRACE_CMD_CMD_H

enum exit_status {
	STATUS_DONE = 0,
	STATUS_FAILED = 1, /* after an error message */
	STATUS_USAGE = 2,
	STATUS_LOSSY = 3,     /* --strict, and events were lost or malformed */
	STATUS_REGRESSED = 4, /* diff or bench --fail-over */
};

int cmd_record(int argc, char **argv);
/* Rejects a limit on open files with which no recording is possible. */
struct failure;
int check_limits(struct failure *f);
/* Raises a low limit of the stack, first of all; STATUS_FAILED: it cannot be, and this is said. */
int stack_limit_raise(void);
struct rlimit;
/* Changes the limit to that which the caller had set. */
void stack_limit_callers(struct rlimit *limit);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_open(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_serve(int argc, char **argv);

/* What --version prints: the version alone in the first line, then what the program was built with. */
int cmd_version(void);

/* The options of the verbs (cmd/usage.h). */
struct usage;
extern const struct usage usage_record, usage_report, usage_list, usage_open, usage_top,
	usage_convert, usage_merge, usage_check, usage_ctl, usage_diff, usage_bench, usage_serve;

struct verb {
	const char *name; /* NULL: the end of a list */
	int (*run)(int argc, char **argv);
	const struct usage *usage;
	const char *does;
};

/* For the completions of shells: complete.c. The first verb is the default one. */
int cmd_complete(const struct verb *verbs, int n, char **words);

/* record_rules.c: ends the program if options are missing that others need, or cannot be combined. */
struct argp_state;
struct record_options;
void record_rules_check(struct argp_state *state, const struct record_options *options);

/* record_end.c: finishes the outputs and prints what users have to know. Returns the exit status. */
struct recording;
int record_finish(struct recording *recording);

/* End the program if the verb would reject its arguments. They open nothing. */
void report_check_arguments(int argc, char **argv);
void diff_check_arguments(int argc, char **argv);

#endif
