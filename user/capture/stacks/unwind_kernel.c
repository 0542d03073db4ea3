/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows, pages and rules in the kernel's maps. The rules of all files are numbered together, since
 * most are the same.
 */
#include "capture/stacks/unwind_internal.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/unwind_rows.h"

static bool find_rule_number(struct unwind *u, const struct unwind_rule *rule, uint32_t *ret)
{
	struct unwind_known_rule *known;

	HASH_FIND(hh, u->known_rules, rule, sizeof(*rule), known);
	if (known) {
		*ret = known->number;
		return true;
	}
	if (u->n_rules == UNWIND_RULES)
		return false;
	known = calloc(1, sizeof(*known));
	if (!known)
		return false;
	known->rule = *rule;
	known->number = u->n_rules++;
	u->rules[known->number] = *rule;
	HASH_ADD(hh, u->known_rules, rule, sizeof(*rule), known);
	*ret = known->number;
	return true;
}

bool kernel_rows_begin(struct unwind *u, uint32_t n_rules)
{
	static const struct unwind_rule none = { .cfa = UNWIND_NONE };
	uint32_t number;

	/* Number 0 is what an empty row says. */
	if (!find_rule_number(u, &none, &number))
		return false;
	free(u->numbers);
	u->numbers = calloc(n_rules, sizeof(*u->numbers));
	u->n_numbers = 0;
	u->rows_before = u->n_rows;
	u->pages_before = u->n_pages;
	u->rule = 0;
	return u->numbers != NULL;
}

bool kernel_rows_add_rules(struct unwind *u, const struct unwind_rule *rules, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!find_rule_number(u, &rules[i], &u->numbers[u->n_numbers]))
			return false;
		u->n_numbers++;
	}
	return true;
}

static bool add_kernel_row(struct unwind *u, uint32_t place, uint32_t rule)
{
	if (u->n_rows == UNWIND_ROWS)
		return false;
	u->rows[u->n_rows++] = UNWIND_ROW(place, rule);
	u->pages[u->n_pages - 1].n++;
	return true;
}

/* Pages up to this one. Each begins with the rule that holds there. */
static bool add_pages(struct unwind *u, uint32_t n)
{
	while (u->n_pages - u->pages_before < n) {
		if (u->n_pages == UNWIND_PAGES)
			return false;
		u->pages[u->n_pages++] = (struct unwind_page){ .first = u->n_rows };
		if (!add_kernel_row(u, 0, u->rule))
			return false;
	}
	return true;
}

bool kernel_rows_add(struct unwind *u, const struct unwind_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = rows[i].distance & ((1u << UNWIND_PAGE_BITS) - 1);
		uint32_t rule = u->numbers[rows[i].rule];

		if (!add_pages(u, (rows[i].distance >> UNWIND_PAGE_BITS) + 1))
			return false;
		u->rule = rule;
		if (!place)
			u->rows[u->n_rows - 1] = UNWIND_ROW(0, rule);
		else if (!add_kernel_row(u, place, rule))
			return false;
	}
	return true;
}

void kernel_rows_end(struct unwind *u, bool keep)
{
	free(u->numbers);
	u->numbers = NULL;
	if (keep)
		return;
	u->n_rows = u->rows_before;
	u->n_pages = u->pages_before;
}

void kernel_rules_free(struct unwind *u)
{
	struct unwind_known_rule *rule, *next;

	HASH_ITER (hh, u->known_rules, rule, next) {
		HASH_DEL(u->known_rules, rule);
		free(rule);
	}
	free(u->numbers);
}
