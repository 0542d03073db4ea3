/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace --complete [WORD...] CURRENT`: what a shell offers for the last word of a command line. The scripts of
 * bash, zsh and fish (tools/completions) call it, so that each option and each verb is known to all of them as soon
 * as it exists. Each line is a word, a tab and what it means. A line whose word is empty, so that it begins with the tab,
 * is for the script:
 *
 *	files		the word is the name of a file
 *	command N	word N, counted from 0, begins a command with completions of its own
 *
 * Everybody on the machine chooses names of processes, so a word may have any character that is visible, and the scripts
 * must quote it before it becomes part of a command line. It has no tab and no newline (print_visible), and is not empty:
 * no name can be taken for a line that is for the script.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"

#define TABLES "table markdown json"

/* The values of options, separated by spaces. The first line that matches counts. */
static const struct option_words {
	const char *verb; /* NULL: of each verb */
	const char *option;
	const char *words;
	bool list; /* separated by commas */
} option_words[] = {
	{ NULL, "counters",
	  "none task-clock page-faults context-switches cpu-migrations cpu-clock cycles "
	  "instructions cache-misses branch-misses",
	  true },
	{ NULL, "system", "cpu memory disk network", true },
	{ NULL, "trigger", "slice: instant:", false },
	{ NULL, "otlp", "env http://localhost:4318", false },
	{ NULL, "mode", "exact auto batch batch-now", false },
	{ "top", "sort", "total self avg max count name", false },
	{ NULL, "sort", "total self avg min max count name p50 p95 p99 share", false },
	{ NULL, "by", "thread process rank epoch batch", false },
	{ NULL, "unit", "auto ns us ms s", false },
	{ "diff", "format", TABLES, false },
	{ "bench", "format", TABLES, false },
	{ NULL, "format", "table json csv openmetrics", false },
};

/* Options whose values are names of files. */
static const char *const option_files[] = { "output",	    "summary-json", "handler",
					    "include-json", "against",	    "viewer",
					    "ui",	    "cgroup",	    "config" };

static void complete_files(void)
{
	puts("\tfiles");
}

/* Prints a word if it begins with what was typed; of the description, what comes before the first detail. */
static void complete_word(const char *typed, const char *before, const char *word, const char *doc)
{
	size_t length;

	if (!word[0] || strncmp(word, typed, strlen(typed)) != 0)
		return;
	length = doc ? strcspn(doc, ";:(\n") : 0;
	while (length && isspace((unsigned char)doc[length - 1]))
		length--;
	print_visible(stdout, "%s%s", before, word);
	if (length)
		fputc('\t', stdout);
	print_visible(stdout, "%.*s", (int)length, doc ? doc : "");
	fputc('\n', stdout);
}

static void complete_words(const char *typed, const char *before, const char *words)
{
	char word[64];
	int next;

	for (; sscanf(words, " %63[^ |]%n", word, &next) == 1; words += strspn(words, " |")) {
		words += next;
		complete_word(typed, before, word, NULL);
	}
}

/* The part of a list before its last item, which is what is completed. */
static const char *complete_list(const char *typed, char *before, size_t size)
{
	const char *item = strrchr(typed, ',');
	size_t used = strlen(before);

	if (!item)
		return typed;
	snprintf(before + used, size - used, "%.*s", (int)(item + 1 - typed), typed);
	return item + 1;
}

/* The processes by their numbers, or by their names; a shell shows a name once. */
static void complete_processes(const char *typed, const char *before, bool by_name)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	char path[280], name[64];

	while (proc && (entry = readdir(proc))) {
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file)) {
			name[strcspn(name, "\n")] = '\0';
			complete_word(typed, before, by_name ? name : entry->d_name,
				      by_name ? NULL : name);
		}
		if (file)
			fclose(file);
	}
	if (proc)
		closedir(proc);
}

/* The value of an option. `before` is what comes before it in the same word: "--mode=". */
static void complete_value(const char *verb, const char *option, const char *typed,
			   const char *before)
{
	char all_before[256];

	snprintf(all_before, sizeof(all_before), "%s", before);
	if (!strcmp(option, "name") && !strcmp(verb, "record")) {
		complete_processes(typed, all_before, true);
		return;
	}
	if (!strcmp(option, "pid") || !strcmp(option, "only")) {
		typed = complete_list(typed, all_before, sizeof(all_before));
		complete_processes(typed, all_before, false);
		return;
	}
	for (unsigned i = 0; i < sizeof(option_files) / sizeof(option_files[0]); i++) {
		if (!strcmp(option, option_files[i])) {
			complete_files();
			return;
		}
	}
	for (unsigned i = 0; i < sizeof(option_words) / sizeof(option_words[0]); i++) {
		const struct option_words *w = &option_words[i];

		if (strcmp(w->option, option) != 0 || (w->verb && strcmp(w->verb, verb) != 0))
			continue;
		if (w->list)
			typed = complete_list(typed, all_before, sizeof(all_before));
		complete_words(typed, all_before, w->words);
		return;
	}
}

/* The option that takes the next word as its value: "--mode", "-o", "-qo". */
static const struct argp_option *find_valued(const struct argp_option *o, const char *word)
{
	if (word[0] != '-' || !word[1])
		return NULL;
	for (; o->name || o->key || o->doc; o++) {
		if (!o->arg || (o->flags & OPTION_ARG_OPTIONAL))
			continue;
		if (word[1] == '-' ? o->name && !strcmp(o->name, word + 2)
				   : o->key == word[strlen(word) - 1])
			return o;
	}
	return NULL;
}

static void complete_options(const struct argp_option *o, const char *typed)
{
	char word[80];

	for (; o->name || o->key || o->doc; o++) {
		if (!o->name || (o->flags & OPTION_HIDDEN))
			continue;
		snprintf(word, sizeof(word), "--%s", o->name);
		complete_word(typed, "", word, o->doc);
	}
	complete_word(typed, "", "--help", "Show all options");
}

/* What is neither an option nor its value. */
static void complete_argument(const struct verb *verb, const char *typed)
{
	static const char *const of_files[] = {
		"report", "diff", "list", "open", "convert", "merge"
	};

	if (!strcmp(verb->name, "ctl"))
		complete_words(typed, "", verb->usage->argp->args_doc);
	for (unsigned i = 0; i < sizeof(of_files) / sizeof(of_files[0]); i++) {
		if (!strcmp(verb->name, of_files[i]))
			complete_files();
	}
}

int cmd_complete(const struct verb *verbs, int n, char **words)
{
	const struct verb *verb = &verbs[0], *v;
	const struct argp_option *option;
	const char *typed, *value;
	char before[80];

	if (n < 1)
		return STATUS_USAGE;
	typed = words[n - 1];
	for (v = verbs; v->name; v++) {
		if (n == 1 && typed[0] != '-')
			complete_word(typed, "", v->name, v->does);
		else if (n > 1 && !strcmp(words[0], v->name))
			verb = v;
	}
	if (n == 1 && typed[0] != '-')
		return STATUS_DONE;
	for (int i = 0; i < n - 1; i++) {
		if (strcmp(words[i], "--") != 0)
			continue;
		if (!strcmp(verb->name, "record") || !strcmp(verb->name, "bench")) {
			fputs("\t", stdout);
			print_visible(stdout, "command %d\n", i + 1);
		} else {
			complete_files();
		}
		return STATUS_DONE;
	}
	option = n > 1 ? find_valued(verb->usage->argp->options, words[n - 2]) : NULL;
	value = strncmp(typed, "--", 2) ? NULL : strchr(typed, '=');
	if (option) {
		complete_value(verb->name, option->name ? option->name : "", typed, "");
	} else if (value && (size_t)(value - typed) + 2 < sizeof(before)) {
		snprintf(before, sizeof(before), "%.*s", (int)(value - typed), typed);
		option = find_valued(verb->usage->argp->options, before);
		strcat(before, "=");
		if (option)
			complete_value(verb->name, option->name, value + 1, before);
	} else if (typed[0] == '-') {
		complete_options(verb->usage->argp->options, typed);
	} else {
		complete_argument(verb, typed);
	}
	return STATUS_DONE;
}
