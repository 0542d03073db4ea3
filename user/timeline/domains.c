/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domains that are turned off (--max-overhead). No more marks of such a domain come, so no END
 * closes its open slices. They end at once or, if slices of other domains are open inside, together
 * with these.
 */
#include <string.h>

#include "timeline/state.h"

bool is_of_domain(const struct name *category, const struct name *domain)
{
	if (category == domain)
		return true;
	/* The domain is the first of several categories. */
	return category && category->length > domain->length &&
	       category->text[domain->length] == ',' &&
	       !memcmp(category->text, domain->text, domain->length);
}

void domain_off(struct timeline *t, const struct event *e)
{
	struct process_state *p;
	struct thread_state *thread;

	if (!e->category)
		return;
	for (p = t->processes; p; p = p->hh.next) {
		for (thread = p->threads; thread; thread = thread->next)
			slices_off(t, thread, e->category, e->ts_ns);
		asyncs_off(t, p, e->category, e->ts_ns);
		pools_off(t, p, e->category);
	}
}

bool fact_is_change_of_mode(const struct fact *fact)
{
	return fact->kind == FACT_INSTANT && fact->scope == SCOPE_GLOBAL && !fact->category &&
	       (!strcmp(fact->name->text, INSTANT_DOMAIN_BUFFERED) ||
		!strcmp(fact->name->text, INSTANT_DOMAIN_EXACT));
}
