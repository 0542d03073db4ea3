/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes replies about functions. The broker does so with those of a prover, which may be compromised by its file, and
 * the recorder with those of the broker.
 */
#include "privilege/prover/prover.h"

#include <errno.h>
#include <string.h>

static bool proved_within(uint64_t vaddr, uint64_t begin, uint64_t size)
{
	return vaddr - begin < size;
}

static bool refusal_is_text(const char text[PROVER_MAX_REFUSAL])
{
	size_t i, n = strnlen(text, PROVER_MAX_REFUSAL);

	for (i = 0; i < n; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return n && n < PROVER_MAX_REFUSAL;
}

static bool proved_exit_is_valid(const struct proved_function *f, const struct proved_exit *e)
{
	return (proved_within(e->vaddr, f->vaddr, f->size) ||
		proved_within(e->vaddr, f->cold_vaddr, f->cold_size)) &&
	       e->exit >= CALL_RETURN && e->exit <= CALL_INDIRECT && e->condition < 16 &&
	       e->target.form <= USDT_ADDRESS && e->target.reg <= USDT_NO_REGISTER &&
	       e->target.index <= USDT_NO_REGISTER && e->target.scale < 64;
}

int proved_next(struct proved_reader *r, const struct proved_function **ret_function,
		const struct proved_exit **ret_exits, const char **ret_refusal)
{
	const struct proved_function *f = (const void *)r->at;
	const struct proved_exit *exits = (const void *)(f + 1);
	size_t size;

	if (!r->left)
		return 0;
	if (r->left < sizeof(*f) || f->n_exits > PROVER_MAX_EXITS || f->refused > 1 ||
	    (f->refused && f->n_exits))
		return -EBADMSG;
	size = sizeof(*f) + (f->refused ? PROVER_MAX_REFUSAL : f->n_exits * sizeof(*exits));
	if (r->left < size || f->vaddr > UINT64_MAX - f->size ||
	    f->cold_vaddr > UINT64_MAX - f->cold_size)
		return -EBADMSG;
	*ret_refusal = f->refused ? (const char *)exits : NULL;
	if (f->refused ? !refusal_is_text(*ret_refusal)
		       : !proved_within(f->entry, f->vaddr, f->size))
		return -EBADMSG;
	for (uint32_t i = 0; i < f->n_exits; i++) {
		if (!proved_exit_is_valid(f, &exits[i]))
			return -EBADMSG;
	}
	*ret_function = f;
	*ret_exits = exits;
	r->at += size;
	r->left -= size;
	return 1;
}
