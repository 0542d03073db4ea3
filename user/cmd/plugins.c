/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace handlers of a recording that are shared objects of the user's own (--handler). */
#include "cmd/record.h"
#include "handlers/plugin.h"

int plugins_open(struct recording *r, struct failure *f)
{
	unsigned i;
	int error = 0;

	for (i = 0; !error && i < r->options->n_plugins; i++) {
		error = plugin_handler_new(r->options->plugins[i], &r->info, &r->plugins[i].handler,
					   f);
		if (error)
			break;
		r->n_plugins++;
		plugin_live(r->plugins[i].handler);
		error = timeline_add_handler(r->timeline, r->plugins[i].handler);
	}
	return error;
}

/* They take what was kept for them. Each that has failed is named once, when it is known how. */
void plugins_tend(struct recording *r)
{
	unsigned i;

	for (i = 0; i < r->n_plugins; i++) {
		struct failure f = { 0 };

		if (r->plugins[i].told || !plugin_tend(r->plugins[i].handler) ||
		    !r->plugins[i].handler->error)
			continue;
		r->plugins[i].told = true;
		plugin_failure(r->plugins[i].handler, &f);
		status_clear(r);
		failure_print(&f, stderr);
	}
}

void plugins_flush(struct recording *r)
{
	unsigned i;

	for (i = 0; i < r->n_plugins; i++) {
		struct handler *h = r->plugins[i].handler;

		if (!h->error)
			h->error = h->ops->flush(h);
	}
	plugins_tend(r);
}

void plugins_json_file(struct recording *r, const char *path)
{
	unsigned i;

	for (i = 0; i < r->n_plugins; i++)
		plugin_json_file(r->plugins[i].handler, path);
}

void plugins_recorded(struct recording *r)
{
	unsigned i;

	for (i = 0; i < r->n_plugins; i++)
		plugin_recorded(r->plugins[i].handler, recording_signals, r);
}

void plugins_close(struct recording *r, const struct account *account)
{
	unsigned i;

	for (i = 0; i < r->n_plugins; i++) {
		struct handler *h = r->plugins[i].handler;

		if (!h->error)
			h->error = h->ops->close(h, account);
	}
	plugins_tend(r);
}

unsigned plugins_pids(const struct recording *r, pid_t pids[MAX_PLUGINS])
{
	unsigned i, n = 0;

	for (i = 0; i < r->n_plugins; i++) {
		pids[n] = plugin_pid(r->plugins[i].handler);
		n += pids[n] > 0;
	}
	return n;
}

void plugins_free(struct recording *r)
{
	while (r->n_plugins) {
		struct handler *h = r->plugins[--r->n_plugins].handler;

		h->ops->free(h);
	}
}
