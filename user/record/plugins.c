/* SPDX-License-Identifier: BSD-2-Clause */
/* --handler: the trace handlers of users that belong to a recording. One that fails is named once, and gets no more. */
#include "record/record.h"
#include "plugin/plugin.h"

int plugins_open(struct recording *r, struct failure *f)
{
	int error = 0;

	for (unsigned i = 0; !error && i < r->options->n_plugins; i++) {
		error = plugin_new(r->options->plugins[i], &r->info, &r->plugins[i].consumer, f);
		if (error)
			break;
		r->n_plugins++;
		plugin_live(r->plugins[i].consumer);
		error = timeline_add_consumer(r->timeline, r->plugins[i].consumer);
	}
	return error;
}

/* Sends what is buffered for each plug-in. One that failed is reported once its process has exited. */
void plugins_poll(struct recording *r)
{
	for (unsigned i = 0; i < r->n_plugins; i++) {
		struct failure f = { 0 };

		if (r->plugins[i].reported || !plugin_tend(r->plugins[i].consumer) ||
		    !r->plugins[i].consumer->error)
			continue;
		r->plugins[i].reported = true;
		plugin_failure(r->plugins[i].consumer, &f);
		status_clear(r);
		failure_print(&f, stderr);
	}
}

void plugins_flush(struct recording *r)
{
	for (unsigned i = 0; i < r->n_plugins; i++) {
		struct consumer *h = r->plugins[i].consumer;

		if (!h->error)
			h->error = h->ops->flush(h);
	}
	plugins_poll(r);
}

/* Each plug-in that is still running gets the path of a trace that joins the recording, before its events. */
void plugins_announce_trace(struct recording *r, const char *path)
{
	for (unsigned i = 0; i < r->n_plugins; i++)
		plugin_json_file(r->plugins[i].consumer, path);
}

void plugins_recording_ended(struct recording *r)
{
	for (unsigned i = 0; i < r->n_plugins; i++)
		plugin_recorded(r->plugins[i].consumer, recording_signals, r);
}

void plugins_close(struct recording *r, const struct account *account)
{
	for (unsigned i = 0; i < r->n_plugins; i++) {
		struct consumer *h = r->plugins[i].consumer;

		if (!h->error)
			h->error = h->ops->close(h, account);
	}
	plugins_poll(r);
}

unsigned plugins_pids(const struct recording *r, pid_t pids[MAX_PLUGINS])
{
	unsigned i, n = 0;

	for (i = 0; i < r->n_plugins; i++) {
		pids[n] = plugin_pid(r->plugins[i].consumer);
		n += pids[n] > 0;
	}
	return n;
}

void plugins_free(struct recording *r)
{
	while (r->n_plugins) {
		struct consumer *h = r->plugins[--r->n_plugins].consumer;

		h->ops->free(h);
	}
}
