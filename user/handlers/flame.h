/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph: stacks, and how much of everything each of them is. As a picture, one SVG file that needs
 * nothing else, and as text, one line a stack, as other tools read it.
 */
#ifndef PROFTRACE_HANDLERS_FLAME_H
#define PROFTRACE_HANDLERS_FLAME_H

#include <stdint.h>
#include <stdio.h>

#include "timeline/names.h"

enum flame_kind {
	FLAME_NATIVE,
	FLAME_INLINED,
	FLAME_JIT,
	FLAME_KERNEL,
	FLAME_OTHER, /* no code: a process */
};

enum {
	FLAME_MAX_FRAMES = 1 << 20, /* of all stacks, those that they share counted once */
	FLAME_MAX_DEPTH = 2048,
};

struct flame_frame {
	const struct name *name;
	enum flame_kind kind;
};

struct flame_text {
	const char *title;
	const char *subtitle; /* may be NULL */
	const char *unit;     /* "samples" */
};

struct flame;

/* NULL when out of memory. */
struct flame *flame_new(void);
void flame_free(struct flame *flame);
/*
 * The outermost frame first. Beyond a limit the stack ends sooner, which is counted.
 */
void flame_add(struct flame *flame, const struct flame_frame *frames, unsigned n, uint64_t weight);
uint64_t flame_total(const struct flame *flame);
uint64_t flame_cut(const struct flame *flame); /* weight of the stacks that end too soon */

/* Write errors are the file's. Returns 0 or -ENOMEM. */
int flame_write_folded(struct flame *flame, FILE *out);
void flame_write_svg(struct flame *flame, const struct flame_text *text, FILE *out);

#endif
